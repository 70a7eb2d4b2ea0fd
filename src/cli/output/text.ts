/** Makes aligned tables and short wordings for a person at a terminal. */
import Table from 'cli-table3';
import { countedInText, showableText } from '../../ledger/text.ts';

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

/** The width of the terminal; without one, or where it says none, a table may be as wide as it needs. */
export const terminalWidth = ({ isTTY, columns }: Terminal = process.stdout): number =>
  isTTY && columns > 0 ? columns : Infinity;

type Terminal = Pick<NodeJS.WriteStream, 'isTTY' | 'columns'>;

/** A column of sentences reads well at this width. Columns that may be left out go before it gets narrower. */
const SENTENCE_WIDTH_GOOD = 30;
/** It never gets narrower than this; then the terminal breaks the line. */
const SENTENCE_WIDTH_MIN = 16;
const GAP = '  ';
/** The time that drawing takes grows with the square of the rows. */
const TABLE_ROWS_MAX = 500;

/** Most items of a list that are shown to a person who did not ask for all. */
export const LIST_SHOWN_MAX = 1_000;

/**
 * Draws a table. Columns named `>like this` are aligned to the right. If the table is too wide for the terminal,
 * columns named `~like this`, which hold sentences, are broken into lines. If that is not enough, columns named
 * `?like this` are left out, the last one first, and the table says so. A column can have two marks (`?>both`).
 */
export function table(columns: readonly string[], rows: readonly Row[], width = terminalWidth()): string {
  let shown = columns.map((_, at) => at);
  for (;;) {
    const heads = shown.map((at) => columns[at]!.replace('?', ''));
    const cells = rows.map((row) => shown.map((at) => row[at]!));
    const drawn = draw(heads, cells);
    const overflow = widthOf(drawn) - width;
    const droppable = shown.findLast((at) => columns[at]!.startsWith('?'));
    const widthMin = droppable === undefined ? SENTENCE_WIDTH_MIN : SENTENCE_WIDTH_GOOD;
    const { widths, isEnough } = sentenceWidths(heads, cells, overflow, widthMin);
    if (isEnough || droppable === undefined) {
      const more = columns.length - shown.length;
      const fitting = overflow <= 0 ? drawn : draw(heads, cells, widths);
      return more === 0
        ? fitting
        : `${fitting}\n(${counted(more, 'column')} more in a wider terminal, or with --json)`;
    }
    shown = shown.filter((at) => at !== droppable);
  }
}

/** The rows in tables of `TABLE_ROWS_MAX` rows, one below the other, each with the names of its columns. */
export function longTable(columns: readonly string[], rows: readonly Row[]): string {
  const tables: string[] = [];
  for (let from = 0; from < rows.length; from += TABLE_ROWS_MAX)
    tables.push(table(columns, rows.slice(from, from + TABLE_ROWS_MAX)));
  return tables.join('\n');
}

const widthOf = (text: string): number => longest(text.split('\n'));

/**
 * Makes the columns of sentences narrower by `overflow`, the widest first, and returns all widths; null for every
 * other column. None gets narrower than its longest word, as that would be cut off.
 */
function sentenceWidths(heads: readonly string[], rows: readonly Row[], overflow: number, widthMin: number) {
  const columns = heads.map((head, at) => {
    if (!head.startsWith('~')) return null;
    const texts = [head.slice(1), ...rows.map((row) => showableText(String(row[at] ?? '')))];
    return {
      width: longest(texts),
      floor: Math.max(widthMin, longest(texts.flatMap((text) => text.split(/\s/)))),
    };
  });
  let left = overflow;
  for (; left > 0; left -= 1) {
    const shrinkable = columns.filter((column) => column !== null && column.width > column.floor);
    const [widest] = shrinkable.sort((a, b) => b!.width - a!.width);
    if (widest === undefined || widest === null) break;
    widest.width -= 1;
  }
  return { widths: columns.map((column) => column?.width ?? null), isEnough: left <= 0 };
}

const longest = (texts: readonly string[]): number => Math.max(...texts.map(({ length }) => length));

function draw(
  columns: readonly string[],
  rows: readonly Row[],
  widths: readonly (number | null)[] = [],
): string {
  const aligned = new Table({
    head: columns.map((column) => column.replace(/^[>~]/, '')),
    colAligns: columns.map((column) => (column.startsWith('>') ? 'right' : 'left')),
    colWidths: [...widths],
    wordWrap: true,
    chars: { ...NO_LINES, middle: GAP },
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

export const counted = countedInText;

/** The line below a list that was cut after `LIST_SHOWN_MAX` items; null if it was not. */
export const cutLine = (isCut: boolean, noun: string, rest: string): string | null =>
  isCut ? `\nonly the first ${LIST_SHOWN_MAX.toLocaleString('en')} ${noun} are shown; ${rest}` : null;

/** Joins the parts, one on each line. False and null are left out. */
export const lines = (...parts: readonly (string | false | null)[]): string =>
  parts.filter((part) => part !== false && part !== null).join('\n');

/** A template for one line with values from elsewhere. Whatever they contain, it stays one line and shows all of it. */
export const line = (words: TemplateStringsArray, ...values: readonly (string | number | null)[]): string =>
  String.raw({ raw: words }, ...values.map((value) => showableText(String(value))));
