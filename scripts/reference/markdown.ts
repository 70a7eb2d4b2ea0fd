/** Helpers to write generated pages in Markdown. */

/** The first line of every generated page. */
export const MADE_BY = '<!-- Made by `npm run reference`; change what it is made of instead. -->';

/** Text for one cell of a table. */
export const cell = (text: string): string => text.replaceAll('|', '\\|').replace(/\s*\n\s*/g, ' ');

/** The same as code; empty if there is no text. */
export const code = (text: string): string => (text === '' ? '' : `\`${cell(text)}\``);

/** A table; empty if it has no rows. */
export const table = (titles: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.length === 0
    ? ''
    : [titles, titles.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');

/** Unchanged text in a code block. */
export const block = (language: string, text: string): string =>
  `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
