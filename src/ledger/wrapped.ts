/** Sentences broken into lines of a width. Pure. */

/** Lines that are not broken: commands to copy, and lines with columns. */
const KEPT = /^\s*(?:npx )?daybook |\S {2}/;

/** Breaks lines that are longer than `width` and are sentences. All others stay as they are. */
export const wrapped = (text: string, width: number): string =>
  text
    .split('\n')
    .map((line) => (line.length <= width || KEPT.test(line) ? line : wrapLine(line, width)))
    .join('\n');

function wrapLine(line: string, width: number): string {
  const [begin = ''] = /^\s*(?:- )?/.exec(line) ?? [];
  const rows = filledLines(line.slice(begin.length).split(' '), width - begin.length);
  return begin + rows.join(`\n${' '.repeat(begin.length)}`);
}

/** Lines with as many of the words as fit on each. */
export function filledLines(words: readonly string[], width: number): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
