/** Pages of A4 that are written from top to bottom: headings, facts, paragraphs, tables, and lines to sign on. */
import { setImmediate } from 'node:timers/promises';
import type PDFDocument from 'pdfkit';
import { loadFor } from '../../host/packages.ts';

/** What the fonts have beyond printable ASCII and Latin-1: the rest of the encoding WinAnsi. */
const WIN_ANSI =
  '\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013\u2014\u2018\u2019\u201a\u201c\u201d\u201e\u2020\u2021\u2022\u2026\u2030\u2039\u203a\u20ac\u2122';
/** Without no-break space and soft hyphen, which resemble others. */
const OTHERS = new RegExp(`[^ -~\u00a1-\u00ac\u00ae-\u00ff${WIN_ANSI}]`, 'g');
/** Spaces that a reader would not see, or count. */
const UNSEEN_SPACE = /^ | $|(?<= ) /g;
/** A backslash that would resemble the start of a spelled-out character. */
const LIKE_SPELLED = /\\(?=u[0-9a-f]{4})/g;

const spelled = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** `Größe` stays as it is, `支付` becomes `\u652f\u4ed8`. Different texts stay different. */
export const drawable = (text: string): string =>
  text.replace(LIKE_SPELLED, spelled).replace(OTHERS, spelled).replace(UNSEEN_SPACE, spelled);

type Pdf = InstanceType<typeof PDFDocument>;

/** Fonts that every reader has, so that a file does without its own. All their digits are equally wide. */
const FONTS = { plain: 'Helvetica', bold: 'Helvetica-Bold', mono: 'Courier' } as const;
type FontName = keyof typeof FONTS;

export const COLOR = { text: '#1c1f23', soft: '#5b6168', rule: '#b9bec4', good: '#1d6b3c', bad: '#a3221a' };

export interface TextStyle {
  readonly font: FontName;
  readonly size: number;
  readonly color: string;
}

export const STYLE = {
  text: { font: 'plain', size: 9, color: COLOR.text },
  soft: { font: 'plain', size: 8, color: COLOR.soft },
  cell: { font: 'plain', size: 8, color: COLOR.text },
  strong: { font: 'bold', size: 8, color: COLOR.text },
  mono: { font: 'mono', size: 7.5, color: COLOR.text },
} as const satisfies Readonly<Record<string, TextStyle>>;

const lineHeight = ({ size }: TextStyle): number => Math.round(size * 1.32 * 2) / 2;

const setFont = (pdf: Pdf, { font, size }: TextStyle): Pdf => pdf.font(FONTS[font]).fontSize(size);

const widthOf = (pdf: Pdf, text: string, style: TextStyle): number => setFont(pdf, style).widthOfString(text);

function drawText(
  pdf: Pdf,
  text: string,
  at: { readonly x: number; readonly y: number },
  style: TextStyle,
): void {
  if (text === '') return;
  setFont(pdf, style).fillColor(style.color).text(text, at.x, at.y, { lineBreak: false });
}

/** The text in lines that are not wider: cut after spaces, and within a word only where it does not fit on a line. */
function wrapped(pdf: Pdf, text: string, style: TextStyle, width: number): string[] {
  // No character is narrower than a point.
  const fits = (some: string): boolean =>
    some.length <= width && widthOf(pdf, some.trimEnd(), style) <= width;
  if (fits(text)) return [text];
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/(?<= )/)) {
    if (fits(line + word)) {
      line += word;
      continue;
    }
    if (line !== '') lines.push(line);
    line = word;
    while (!fits(line)) {
      const length = longestFit(pdf, line, style, width);
      lines.push(line.slice(0, length));
      line = line.slice(length);
    }
  }
  return line === '' ? lines : [...lines, line];
}

function longestFit(pdf: Pdf, text: string, style: TextStyle, width: number): number {
  let [fits, tooMany] = [1, Math.min(text.length, Math.ceil(width))];
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (widthOf(pdf, text.slice(0, middle), style) <= width) fits = middle;
    else tooMany = middle;
  }
  return fits;
}

/** No amount of a real ledger gets near: it has some 60 digits. */
const SIZE_MIN = 3;

function shrunk(pdf: Pdf, text: string, style: TextStyle, width: number): TextStyle {
  const actual = widthOf(pdf, text, style);
  if (actual <= width) return style;
  return { ...style, size: Math.max(SIZE_MIN, Math.floor((style.size * width * 100) / actual) / 100) };
}

function rule(
  pdf: Pdf,
  { x, y, width }: { readonly x: number; readonly y: number; readonly width: number },
): void {
  pdf
    .moveTo(x, y)
    .lineTo(x + width, y)
    .lineWidth(0.5)
    .strokeColor(COLOR.rule)
    .stroke();
}

interface Cursor {
  readonly pdf: Pdf;
  readonly left: number;
  readonly width: number;
  y: number;
  /** How much the page still holds, in points. */
  readonly space: () => number;
  readonly turn: () => void;
}

export interface Column {
  readonly head: string;
  /** In points; the widths of all add up to the table's. */
  readonly width: number;
  /** At the right edge, and on one line as long as that can be read. */
  readonly isAmount?: boolean;
}

type Cell = string | readonly { readonly text: string; readonly style: TextStyle }[];

export interface Row {
  readonly cells: readonly Cell[];
  readonly style?: TextStyle;
  readonly before?: { readonly text: string; readonly style: TextStyle };
  readonly after?: { readonly text: string; readonly style: TextStyle };
}

interface Line {
  readonly text: string;
  readonly style: TextStyle;
  readonly x: number;
}

const PADDING = { side: 3, above: 4, below: 1.5 };

/** A row takes up to a millisecond; after so many, other work of the process has its turn. */
const ROWS_A_TURN = 20;

async function drawTable(cursor: Cursor, columns: readonly Column[], rows: Iterable<Row>): Promise<void> {
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
  let drawn = 0;
  for (const row of rows) {
    if ((drawn += 1) % ROWS_A_TURN === 0) await setImmediate();
    const levels = [
      ...acrossOf(cursor, row.before),
      ...linesOf(cursor.pdf, columns, row),
      ...acrossOf(cursor, row.after),
    ];
    drawRow(cursor, levels, turn);
    rule(cursor.pdf, { x: cursor.left, y: cursor.y, width: cursor.width });
  }
}

type Level = readonly Line[];

const heightOf = (level: Level): number => Math.max(...level.map(({ style }) => lineHeight(style)), 0);

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

const PAGE = { width: 595.28, height: 841.89 };
const MARGIN = { side: 48, top: 48, bottom: 62 };
const CONTENT_WIDTH = PAGE.width - 2 * MARGIN.side;
const BOTTOM = PAGE.height - MARGIN.bottom;
const LABEL_WIDTH = 112;
const SIGN_OFF_HEIGHT = 112;
const TITLE: TextStyle = { font: 'bold', size: 18, color: COLOR.text };
const SUBTITLE: TextStyle = { font: 'plain', size: 11, color: COLOR.soft };
const HEADING: TextStyle = { font: 'bold', size: 11, color: COLOR.text };

interface SheetAbout {
  readonly title: string;
  /** What each page says at its foot, of what it is. */
  readonly foot: string;
  /** When its content was made. The same time and title give the same file. */
  readonly at: Date;
}

export interface Sheet {
  readonly title: (text: string, under: string) => void;
  readonly heading: (text: string) => void;
  readonly paragraph: (text: string, style?: TextStyle) => void;
  readonly facts: (facts: readonly (readonly [label: string, value: string, style?: TextStyle])[]) => void;
  readonly table: (columns: readonly Column[], rows: Iterable<Row>) => Promise<void>;
  /** Lines for who prepared and who approved it. They stay together on a page. */
  readonly signOff: () => void;
  /** Puts the feet under all pages, and gives the file. Nothing can be drawn afterwards. */
  readonly end: () => AsyncIterable<Uint8Array>;
}

/** Pages are held until `end`, as each of them says how many there are. */
export async function createSheet({ title, foot, at }: SheetAbout): Promise<Sheet> {
  // Takes a quarter of a second to load, which only those wait for who want a PDF.
  const { default: Document } = await loadFor('PDF statements', () => import('pdfkit'));
  const pdf = new Document({
    ...{ size: 'A4', margin: 0, bufferPages: true, lang: 'en', displayTitle: true, pdfVersion: '1.7' },
    // Times and title make the file's id as well.
    info: { Title: drawable(title), Creator: 'daybook', Producer: 'daybook', CreationDate: at },
  });
  const cursor: Cursor = {
    pdf,
    ...{ left: MARGIN.side, width: CONTENT_WIDTH, y: MARGIN.top },
    space: () => BOTTOM - cursor.y,
    turn: () => {
      pdf.addPage();
      cursor.y = MARGIN.top;
    },
  };
  return {
    title: (text, under) => {
      paragraph(cursor, text, TITLE);
      paragraph(cursor, under, SUBTITLE);
      cursor.y += 8;
    },
    heading: (text) => {
      // A heading does not stand alone at the bottom of a page.
      if (cursor.space() < 72) cursor.turn();
      else cursor.y += 12;
      paragraph(cursor, text, HEADING);
      cursor.y += 2;
    },
    paragraph: (text, style = STYLE.text) => {
      paragraph(cursor, text, style);
      cursor.y += 3;
    },
    facts: (facts) => {
      for (const [label, value, style = STYLE.text] of facts) fact(cursor, label, value, style);
      cursor.y += 3;
    },
    table: async (columns, rows) => {
      await drawTable(cursor, columns, rows);
      cursor.y += 4;
    },
    signOff: () => {
      signOff(cursor);
    },
    end: () => {
      feet(pdf, drawable(foot));
      pdf.end();
      return pdf as AsyncIterable<Uint8Array>;
    },
  };
}

function paragraph(cursor: Cursor, text: string, style: TextStyle): void {
  const { pdf, left, width } = cursor;
  for (const line of wrapped(pdf, drawable(text), style, width)) drawLine(cursor, line, left, style);
}

function drawLine(cursor: Cursor, text: string, x: number, style: TextStyle): void {
  if (cursor.space() < lineHeight(style)) cursor.turn();
  drawText(cursor.pdf, text, { x, y: cursor.y }, style);
  cursor.y += lineHeight(style);
}

function fact(cursor: Cursor, label: string, value: string, style: TextStyle): void {
  const { pdf, left, width } = cursor;
  const lines = wrapped(pdf, drawable(value), style, width - LABEL_WIDTH);
  if (cursor.space() < lineHeight(style)) cursor.turn();
  drawText(pdf, label, { x: left, y: cursor.y + 0.8 }, STYLE.soft);
  for (const line of lines) drawLine(cursor, line, left + LABEL_WIDTH, style);
  cursor.y += 2.5;
}

function signOff(cursor: Cursor): void {
  const { pdf, left, width } = cursor;
  if (cursor.space() < SIGN_OFF_HEIGHT) cursor.turn();
  const [top, gap] = [cursor.y + 14, 24];
  const side = (width - gap) / 2;
  for (const [at, who] of ['Prepared by', 'Approved by'].entries()) {
    const x = left + at * (side + gap);
    drawText(pdf, who, { x, y: top }, HEADING);
    for (const [nth, what] of ['Name', 'Date', 'Signature'].entries()) {
      const y = top + 38 + nth * 24;
      drawText(pdf, what, { x, y: y - 10 }, STYLE.soft);
      rule(pdf, { x: x + 50, y, width: side - 50 });
    }
  }
  cursor.y += SIGN_OFF_HEIGHT;
}

function feet(pdf: Pdf, foot: string): void {
  const { start, count } = pdf.bufferedPageRange();
  for (let page = start; page < start + count; page += 1) {
    pdf.switchToPage(page);
    const y = PAGE.height - 40;
    const number = `Page ${page + 1} of ${count}`;
    rule(pdf, { x: MARGIN.side, y: y - 6, width: CONTENT_WIDTH });
    const x = PAGE.width - MARGIN.side - widthOf(pdf, number, STYLE.soft);
    const lines = wrapped(pdf, foot, STYLE.soft, x - MARGIN.side - 12);
    for (const [nth, line] of lines.slice(0, 2).entries())
      drawText(pdf, line, { x: MARGIN.side, y: y + nth * lineHeight(STYLE.soft) }, STYLE.soft);
    drawText(pdf, number, { x, y }, STYLE.soft);
  }
}
