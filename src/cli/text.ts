/** Plain aligned tables and small wordings for a person at a terminal. */
import Table from 'cli-table3';
import { showableText } from '../ledger/text.ts';

const NO_LINES = Object.fromEntries(
  [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
  ].map((part) => [part, '']),
);

type Row = readonly (string | number | null)[];

/** How wide the terminal is; without one, a table may be as wide as it likes. */
const terminalWidth = (): number => (process.stdout.isTTY ? process.stdout.columns : Infinity);

/**
 * Columns named `>like this` are set to the right. Those named `?like this` are left out where the table is too wide for
 * the terminal, the last of them first, and the table says so: `?>both`.
 */
export function table(columns: readonly string[], rows: readonly Row[], width = terminalWidth()): string {
  let shown = columns.map((_, at) => at);
  for (;;) {
    const drawn = draw(
      shown.map((at) => columns[at]!.replace('?', '')),
      rows.map((row) => shown.map((at) => row[at]!)),
    );
    const droppable = shown.findLast((at) => columns[at]!.startsWith('?'));
    const fits = Math.max(...drawn.split('\n').map(({ length }) => length)) <= width;
    const more = columns.length - shown.length;
    if (fits || droppable === undefined)
      return more === 0
        ? drawn
        : `${drawn}\n(${counted(more, 'column')} more in a wider terminal, or with --json)`;
    shown = shown.filter((at) => at !== droppable);
  }
}

function draw(columns: readonly string[], rows: readonly Row[]): string {
  const aligned = new Table({
    head: columns.map((column) => column.replace(/^>/, '')),
    colAligns: columns.map((column) => (column.startsWith('>') ? 'right' : 'left')),
    chars: { ...NO_LINES, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  aligned.push(
    ...rows.map((row) => row.map((cell) => (typeof cell === 'string' ? showableText(cell) : (cell ?? '')))),
  );
  return aligned
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** `1 day`, `3 days`. */
export const counted = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? noun : plural}`;

/** Parts line by line; false and null are left out. */
export const lines = (...parts: readonly (string | false | null)[]): string =>
  parts.filter((part) => part !== false && part !== null).join('\n');

/** A line with values from elsewhere in it: whatever they hold, it stays one line and shows all of it. */
export const line = (words: TemplateStringsArray, ...values: readonly (string | number | null)[]): string =>
  String.raw({ raw: words }, ...values.map((value) => showableText(String(value))));
