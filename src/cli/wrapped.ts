/** Sentences broken where the terminal ends, further lines as far in as the first: a terminal breaks in the middle of words. */

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
  const indent = ' '.repeat(begin.length);
  const [first = '', ...words] = line.slice(begin.length).split(' ');
  const rows = [begin + first];
  for (const word of words) {
    const last = rows.at(-1)!;
    if (last.length + 1 + word.length <= width) rows[rows.length - 1] = `${last} ${word}`;
    else rows.push(indent + word);
  }
  return rows.join('\n');
}

/** For what is printed: by the terminal, and as written where there is none. */
export const fitted = (text: string): string =>
  process.stdout.isTTY ? wrapped(text, process.stdout.columns) : text;
