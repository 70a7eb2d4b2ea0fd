/**
 * Sentences that the commands have, too, as the pages show them. They name commands between backticks. Where a page does
 * the same, it is named in the command's place; every other command is the administrator's, and is folded away below.
 */
import { addressWith, booksAddress, breakAddress, monthAddress } from './addresses.ts';
import { html, when, type Html, type Part } from './html.ts';
import type { Texts } from './texts/en.ts';

const link = (href: string, name: string): Html => html`<a href="${href}">${name}</a>`;

type InPlace = (texts: Texts, command: string, found: RegExpExecArray) => Part;

/** What stands in place of a command of which a page does the same, or shows the same. */
const ON_PAGES: readonly (readonly [RegExp, InPlace])[] = [
  [/^(?:daybook )?breaks show (\d+|ID)/, (texts, _, [, id]) => breakPart(texts, id!)],
  [
    /^(?:daybook )?breaks resolve (\d+|ID)/,
    (texts, _, [, id]) => ['“', texts.case.resolve, '” (', breakPart(texts, id!), ')'],
  ],
  [/^daybook breaks$/, ({ breaks }) => link('/breaks', breaks.title)],
  [/^daybook amendments$/, ({ changes }) => link('/changes', changes.title)],
  [/^(?:daybook )?quarantine acknowledge/, ({ unreadable, cures }) => cures.onPageOf(unreadable.acknowledge)],
  [
    /^daybook quarantine( --all)?$/,
    ({ unreadable }, _, [, all]) =>
      link(addressWith('/unreadable', { all: all === undefined ? null : 'yes' }), unreadable.title),
  ],
  [/^daybook run --from/, (texts, command) => repeatPart(texts, 'read', command)],
  [/^daybook publish(?: --(?:from|repair)|$)/, (texts, command) => repeatPart(texts, 'publish', command)],
  [/^daybook close (?:YYYY|\d{4})-/, ({ cures }, command) => link(monthOf(command, '#close'), cures.month)],
  [/^daybook close --list/, ({ home }) => link('/', home.title)],
  [
    /^daybook books unmatched --merchant (\S+) --currency (\w+)/,
    ({ books }, _, [, merchantNo, currency]) =>
      link(booksAddress({ merchantNo: merchantNo!, currency: currency! }), books.title),
  ],
  [/^daybook books unmatched/, ({ books }) => link('/books', books.title)],
  [/^daybook status$/, ({ status }) => link('/status', status.title)],
  [/^daybook entries find/, ({ search }) => link('/entry', search.title)],
];

const breakPart = ({ close, cures }: Texts, id: string): Part =>
  id === 'ID' ? link('/breaks', cures.aBreak) : link(breakAddress(Number(id)), close.breakNumber(Number(id)));

const repeatPart = ({ work }: Texts, kind: 'read' | 'publish', command: string): Part =>
  link(monthOf(command, '#work'), `“${work.kind[kind]}”`);

/** The page of the month, where the command names it and its merchant; else that of the accounts. */
function monthOf(command: string, part: string): string {
  const merchant = / --merchant (\w[\w.-]*)/.exec(command)?.[1];
  const month = /\b\d{4}-\d\d\b/.exec(command)?.[0];
  return merchant === undefined || month === undefined ? '/' : `${monthAddress(merchant, month)}${part}`;
}

function onPages(texts: Texts, command: string): Part {
  for (const [pattern, inPlace] of ON_PAGES) {
    const found = pattern.exec(command);
    if (found !== null) return inPlace(texts, command, found);
  }
  return command.startsWith('daybook ') ? null : html`<code>${command}</code>`;
}

export interface Cured {
  /** The sentence, for within a line. */
  readonly text: Part;
  /** What is folded away, for below it; null where nothing is. */
  readonly commands: Part;
  /** Whether it names something to be done on these pages, and nothing to be done elsewhere. */
  readonly isOnPages: boolean;
}

/** A sentence without its commands, and the commands that are the administrator's. */
export function cured(texts: Texts, sentence: string): Cured {
  const { cures } = texts;
  const parts = sentence.split('`');
  const inPlace = parts.map((part, at) => (at % 2 === 1 ? onPages(texts, part) : part));
  const others = parts.filter((_, at) => inPlace[at] === null);
  const nameOf = (command: string): string => {
    if (others.length > 1) return cures.commandOfMany(others.indexOf(command) + 1);
    return sentence === `\`${command}\`` ? cures.byOther : cures.command;
  };
  const text = inPlace.map((part, at) => part ?? nameOf(parts[at]!));
  const commands = when(
    others.length > 0,
    () =>
      html`<details>
        <summary>${cures.asCommand}</summary>
        <pre tabindex="0">${others.join('\n')}</pre>
      </details>`,
  );
  return { text, commands, isOnPages: parts.length > 1 && others.length === 0 };
}

/** For a cell or an item of a list: it may hold blocks. */
export function curedPart(texts: Texts, sentence: string): Part {
  const { text, commands } = cured(texts, sentence);
  return [text, commands];
}

/** As a paragraph. */
export function curedParagraph(texts: Texts, sentence: string): Html {
  const { text, commands } = cured(texts, sentence);
  return html`<p>${text}</p>
    ${commands}`;
}
