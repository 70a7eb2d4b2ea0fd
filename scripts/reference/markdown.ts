/** How the made pages are written in Markdown. */

/** What every made page says of itself. */
export const MADE_BY = '<!-- Made by `npm run reference`; change what it is made of instead. -->';

/** Text that stands in one cell of a table. */
export const cell = (text: string): string => text.replaceAll('|', '\\|').replace(/\s*\n\s*/g, ' ');

/** The same as code; nothing where there is no text. */
export const code = (text: string): string => (text === '' ? '' : `\`${cell(text)}\``);

/** A table, or nothing where it has no rows. */
export const table = (titles: readonly string[], rows: readonly (readonly string[])[]): string =>
  rows.length === 0
    ? ''
    : [titles, titles.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');

/** Text in a block of its own, as it is. */
export const block = (language: string, text: string): string =>
  `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;
