/** What people and their tools read of an alert. Pure. */
import { RUNBOOK_HEADINGS, type AlertContent } from '../../run/alerts.ts';

export interface Alert extends AlertContent {
  /** The same for each try and each receiver. */
  readonly id: string;
  readonly raisedAt: Date;
}

export const statusOf = ({ status = 'firing' }: AlertContent): 'firing' | 'resolved' => status;

/**
 * By which a receiver finds the alerts of one trouble, from its begin to its end; of something that happened once it is the
 * alert's own. `installation` tells one daybook from another.
 */
export const dedupKeyOf = ({ id, condition }: Alert, installation: string): string =>
  `daybook/${installation}/${(condition ?? id).replaceAll(' ', '-')}`;

/** What people read first. */
export const headlineOf = (alert: Alert): string =>
  statusOf(alert) === 'resolved' ? `resolved: ${alert.title}` : alert.title;

/** The document that a webhook gets. Its keys are promised in docs/reference. */
export const documentOf = (alert: Alert, installation: string) => ({
  version: 1,
  id: alert.id,
  dedup_key: dedupKeyOf(alert, installation),
  status: statusOf(alert),
  kind: alert.kind,
  title: alert.title,
  text: alert.sentences.join('\n'),
  todo: alert.todo,
  merchants: alert.merchants,
  merchantCount: alert.merchantCount,
  days: alert.days,
  since: alert.since?.toISOString() ?? null,
  raisedAt: alert.raisedAt.toISOString(),
  runId: alert.runId,
  runbook: RUNBOOK_HEADINGS[alert.kind],
});

export const linesOf = (alert: Alert): string[] => [
  ...alert.sentences,
  '',
  `What to do: ${alert.todo}`,
  `Runbook: "${RUNBOOK_HEADINGS[alert.kind]}" in docs/runbook.md`,
  ...(alert.since === null ? [] : [`Since: ${alert.since.toISOString()}`]),
  ...(alert.runId === null ? [] : [`Run: ${alert.runId} (daybook runs ${alert.runId})`]),
  `Alert: ${alert.id}, raised ${alert.raisedAt.toISOString()}`,
];

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
    text: escaped(`daybook: ${headlineOf(alert)}`),
    blocks: [
      {
        type: 'header',
        text: { type: 'plain_text', text: cut(`daybook: ${headlineOf(alert)}`, HEADER_CHARACTERS_MAX) },
      },
      ...mrkdwn(alert.sentences.join('\n')),
      ...mrkdwn(lines.slice(alert.sentences.length + 1).join('\n')),
    ],
  };
}
