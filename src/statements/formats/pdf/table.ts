/** Tables of a page: rows are not split where they fit on one, and the header is repeated on each. */
import { drawable } from './drawable.ts';
import { drawText, STYLE, lineHeight, rule, shrunk, widthOf, wrapped } from './drawing.ts';
import type { Cursor, TextStyle, Pdf } from './drawing.ts';

export interface Column {
  readonly head: string;
  /** In points; the widths of all add up to the table's. */
  readonly width: number;
  /** At the right edge, and on one line as long as that can be read. */
  readonly isAmount?: boolean;
}

/** Texts that stand below each other in a cell. */
export type Cell = string | readonly { readonly text: string; readonly style: TextStyle }[];

export interface Row {
  readonly cells: readonly Cell[];
  /** Of texts that have no style of their own. */
  readonly style?: TextStyle;
  /** Drawn across the full row, above it. */
  readonly before?: { readonly text: string; readonly style: TextStyle };
  /** Drawn across the full row, below it. */
  readonly after?: { readonly text: string; readonly style: TextStyle };
}

/** A line of text in a cell, at `x` from the table's left. */
interface Line {
  readonly text: string;
  readonly style: TextStyle;
  readonly x: number;
}

const PADDING = { side: 3, above: 4, below: 1.5 };

/** Draws at the cursor, and moves it. */
export function drawTable(cursor: Cursor, columns: readonly Column[], rows: Iterable<Row>): void {
  const head: Row = { cells: columns.map((column) => column.head), style: STYLE.strong };
  const drawHead = (): void => {
    drawRow(cursor, linesOf(cursor.pdf, columns, head));
    rule(cursor.pdf, { x: cursor.left, y: cursor.y, width: cursor.width });
  };
  const turn = (): void => {
    cursor.turn();
    drawHead();
  };
  drawHead();
  for (const row of rows) {
    const levels = [
      ...acrossOf(cursor, row.before),
      ...linesOf(cursor.pdf, columns, row),
      ...acrossOf(cursor, row.after),
    ];
    drawRow(cursor, levels, turn);
    rule(cursor.pdf, { x: cursor.left, y: cursor.y, width: cursor.width });
  }
}

/** What is drawn at the same height. */
type Level = readonly Line[];

const heightOf = (level: Level): number => Math.max(...level.map(({ style }) => lineHeight(style)), 0);

/** A row as the lines of its cells, level by level. */
function linesOf(pdf: Pdf, columns: readonly Column[], { cells, style = STYLE.cell }: Row): Level[] {
  const levels: Line[][] = [];
  let left = 0;
  for (const [at, { width, isAmount = false }] of columns.entries()) {
    const cell = cells[at] ?? '';
    const space = width - 2 * PADDING.side;
    const texts = typeof cell === 'string' ? [{ text: cell, style }] : cell;
    let level = 0;
    for (const one of texts) {
      const text = drawable(one.text);
      const own = isAmount ? shrunk(pdf, text, one.style, space) : one.style;
      for (const line of wrapped(pdf, text, own, space)) {
        const x = left + PADDING.side + (isAmount ? space - widthOf(pdf, line.trimEnd(), own) : 0);
        (levels[level] ??= []).push({ text: line, style: own, x });
        level += 1;
      }
    }
    left += width;
  }
  return levels;
}

const acrossOf = ({ pdf, width }: Cursor, said: Row['before']): Level[] =>
  said === undefined
    ? []
    : wrapped(pdf, drawable(said.text), said.style, width - 2 * PADDING.side).map((text) => [
        { text, style: said.style, x: PADDING.side },
      ]);

/** A row that is longer than the page goes on on the next. */
function drawRow(cursor: Cursor, levels: readonly Level[], turn: () => void = cursor.turn): void {
  const padding = PADDING.above + PADDING.below;
  const height = levels.reduce((sum, level) => sum + heightOf(level), padding);
  if (cursor.space() < height) turn();
  cursor.y += PADDING.above;
  for (const level of levels) {
    if (cursor.space() < heightOf(level) + PADDING.below) turn();
    for (const { text, style, x } of level)
      drawText(cursor.pdf, text, { x: cursor.left + x, y: cursor.y }, style);
    cursor.y += heightOf(level);
  }
  cursor.y += PADDING.below;
}
