/** Pages of A4 that are written from top to bottom: headings, facts, paragraphs, tables, and lines to sign on. */
import { drawable } from './drawable.ts';
import {
  COLOR,
  drawText,
  STYLE,
  lineHeight,
  rule,
  widthOf,
  wrapped,
  type Cursor,
  type TextStyle,
  type Pdf,
} from './drawing.ts';
import { drawTable, type Column, type Row } from './table.ts';

const PAGE = { width: 595.28, height: 841.89 };
const MARGIN = { side: 48, top: 48, bottom: 62 };
/** From margin to margin. */
const CONTENT_WIDTH = PAGE.width - 2 * MARGIN.side;
const BOTTOM = PAGE.height - MARGIN.bottom;
const LABEL_WIDTH = 112;
const SIGN_OFF_HEIGHT = 112;
const TITLE: TextStyle = { font: 'bold', size: 18, color: COLOR.text };
const SUBTITLE: TextStyle = { font: 'plain', size: 11, color: COLOR.soft };
const HEADING: TextStyle = { font: 'bold', size: 11, color: COLOR.text };

export interface SheetAbout {
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
  /** Lines of a label and what it is. */
  readonly facts: (facts: readonly (readonly [label: string, value: string, style?: TextStyle])[]) => void;
  /** Its header is repeated on each page. */
  readonly table: (columns: readonly Column[], rows: Iterable<Row>) => void;
  /** Lines for who prepared and who approved it. They stay together on a page. */
  readonly signOff: () => void;
  /** Puts the feet under all pages, and gives the file. Nothing can be drawn afterwards. */
  readonly end: () => AsyncIterable<Uint8Array>;
}

/** Pages are held until `end`, as each of them says how many there are. */
export async function createSheet({ title, foot, at }: SheetAbout): Promise<Sheet> {
  // Takes a quarter of a second to load, which only those wait for who want a PDF.
  const { default: Document } = await import('pdfkit');
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
    table: (columns, rows) => {
      drawTable(cursor, columns, rows);
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
