/** An alert in the format of Slack's incoming webhooks. Pure. */
import { linesOf, type Alert } from './alert.ts';

/** Slack refuses a header of more than 150 characters and a section of more than 3,000. */
const HEADER_CHARACTERS_MAX = 150;
const SECTION_CHARACTERS_MAX = 2_900;

/** Slack reads these three as markup, in everything that is not plain text. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const cut = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max - 1)}…`);

/** Cut as it is sent, and behind no half of an escaped character. */
const cutEscaped = (text: string): string =>
  cut(escaped(text), SECTION_CHARACTERS_MAX).replace(/&[a-z]*…$/, '…');

/** None for no text, as Slack refuses an empty one. */
const mrkdwn = (text: string) =>
  text === '' ? [] : [{ type: 'section', text: { type: 'mrkdwn', text: cutEscaped(text) } }];

/** `text` is what a notification shows, `blocks` what the channel does. */
export function slackDocument(alert: Alert) {
  const lines = linesOf(alert);
  return {
    text: escaped(`daybook: ${alert.title}`),
    blocks: [
      {
        type: 'header',
        text: { type: 'plain_text', text: cut(`daybook: ${alert.title}`, HEADER_CHARACTERS_MAX) },
      },
      ...mrkdwn(alert.sentences.join('\n')),
      ...mrkdwn(lines.slice(alert.sentences.length + 1).join('\n')),
    ],
  };
}
