/** Fonts and colours of a page, and how text is drawn on it and cut into lines. */
import type PDFDocument from 'pdfkit';

export type Pdf = InstanceType<typeof PDFDocument>;

/** Fonts that every reader has, so that a file does without its own. All their digits are equally wide. */
const FONTS = { plain: 'Helvetica', bold: 'Helvetica-Bold', mono: 'Courier' } as const;
export type FontName = keyof typeof FONTS;

export const COLOR = { text: '#1c1f23', soft: '#5b6168', rule: '#b9bec4', good: '#1d6b3c', bad: '#a3221a' };

/** Sizes are in points. */
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

/** From one line to the next. */
export const lineHeight = ({ size }: TextStyle): number => Math.round(size * 1.32 * 2) / 2;

const setFont = (pdf: Pdf, { font, size }: TextStyle): Pdf => pdf.font(FONTS[font]).fontSize(size);

export const widthOf = (pdf: Pdf, text: string, style: TextStyle): number =>
  setFont(pdf, style).widthOfString(text);

/** One line of text, its top left corner at the place. */
export function drawText(
  pdf: Pdf,
  text: string,
  at: { readonly x: number; readonly y: number },
  style: TextStyle,
): void {
  if (text === '') return;
  setFont(pdf, style).fillColor(style.color).text(text, at.x, at.y, { lineBreak: false });
}

/** The text in lines that are not wider: cut after spaces, and within a word only where it does not fit on a line. */
export function wrapped(pdf: Pdf, text: string, style: TextStyle, width: number): string[] {
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

/** How many of the first characters fit, at least one. */
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

/** The style, smaller where the text would be too wide for its place. */
export function shrunk(pdf: Pdf, text: string, style: TextStyle, width: number): TextStyle {
  const actual = widthOf(pdf, text, style);
  if (actual <= width) return style;
  return { ...style, size: Math.max(SIZE_MIN, Math.floor((style.size * width * 100) / actual) / 100) };
}

/** A thin line from left to right. */
export function rule(
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

/** Where the next thing is drawn. */
export interface Cursor {
  readonly pdf: Pdf;
  readonly left: number;
  readonly width: number;
  y: number;
  /** How much the page still holds, in points. */
  readonly space: () => number;
  /** Goes on at the top of a new page. */
  readonly turn: () => void;
}
