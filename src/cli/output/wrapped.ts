/** Sentences broken where the terminal ends, further lines as far in as the first: a terminal breaks in the middle of words. */
import { terminalWidth } from './text.ts';

/** What is copied as a whole, and what stands in columns. */
const KEPT = /^\s*(?:npx )?daybook |\S {2}/;

/** Lines longer than `width` that are sentences, broken between words; all others as they are. */
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

/** As many words on each line as fit. */
export function filledLines(words: readonly string[], width: number): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** For what is printed: by the terminal, and as written where there is none. */
export const fitted = (text: string): string => wrapped(text, terminalWidth());
