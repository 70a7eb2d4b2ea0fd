/** Cells of a worksheet as SpreadsheetML. Whatever a text holds, it stays text. */
import { decimalsOf } from '../../../ledger/money.ts';
import { cutText } from '../../../ledger/text.ts';

/** The styles of `styles.xml`, by their place there. Amounts follow: one for each number of decimals. */
export const STYLE = { header: 1, text: 2, time: 3, day: 4, count: 5, flagged: 6, amount: 7 } as const;

/** A spreadsheet computes with the 15 leading digits of a number; the others it would lose. */
const DIGITS_MAX = 15;
export const DECIMALS_SHOWN_MAX = DIGITS_MAX;
/** A cell holds no more; a longer text is cut. */
const TEXT_LENGTH_MAX = 32_767;

/** What a cell holds. Times are `YYYY-MM-DD HH:mm:ss`, days `YYYY-MM-DD`, amounts plain decimals. */
export type Value =
  | { readonly kind: 'text' | 'header' | 'time' | 'day' | 'amount'; readonly text: string }
  | { readonly kind: 'count'; readonly count: number };

/** What would be read as markup or as an escape, and what XML cannot hold. */
const SPECIAL = /[&<>\u0000-\u0008\u000b-\u001f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)/g;
const MARKUP: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Characters that XML cannot hold become `_x0001_`, as SpreadsheetML spells them. */
const escaped = (text: string): string =>
  text
    .toWellFormed()
    .replace(
      SPECIAL,
      (char) => MARKUP[char] ?? `_x${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`,
    );

const PLAIN = /^[\w .,:;/()+*#@=-]*$/;
const ESCAPE_LIKE = /_x[0-9A-Fa-f]{4}_/;
const OUTER_SPACE = /^\s|\s$/;

function textXml(text: string): string {
  const whole = cutText(text, TEXT_LENGTH_MAX);
  const content = PLAIN.test(whole) && !ESCAPE_LIKE.test(whole) ? whole : escaped(whole);
  return OUTER_SPACE.test(content) || content.includes('\n')
    ? `<is><t xml:space="preserve">${content}</t></is>`
    : `<is><t>${content}</t></is>`;
}

const textCell = (at: string, style: number, text: string): string =>
  `<c r="${at}" s="${style}" t="inlineStr">${textXml(text)}</c>`;

const numberCell = (at: string, style: number, number: string): string =>
  `<c r="${at}" s="${style}"><v>${number}</v></c>`;

/** Whether a spreadsheet keeps every digit of a plain decimal. */
const isKept = (amount: string): boolean =>
  amount.length <= DIGITS_MAX ||
  (decimalsOf(amount) <= DECIMALS_SHOWN_MAX && amount.replace(/^-?[0.]*|\./g, '').length <= DIGITS_MAX);

const TIME = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const DAY_MS = 86_400_000;
/** Days from the beginning of a spreadsheet's calendar to 1970. */
const DAYS_TO_1970 = 25_569;

/** Days since the beginning of a spreadsheet's calendar; null for what is no time. */
function serialOf(text: string): string | null {
  const ms = Date.parse(DAY.test(text) ? `${text}T00:00:00Z` : `${text.replace(' ', 'T')}Z`);
  return Number.isNaN(ms) ? null : String(ms / DAY_MS + DAYS_TO_1970);
}

/** The cell at a place, such as `A1`. An empty text has none. An amount with too many digits is text, and flagged. */
export function cellXml(at: string, value: Value): string {
  if (value.kind === 'count') return numberCell(at, STYLE.count, String(value.count));
  const { kind, text } = value;
  if (text === '') return '';
  switch (kind) {
    case 'amount':
      return isKept(text)
        ? numberCell(at, STYLE.amount + decimalsOf(text), text)
        : textCell(at, STYLE.flagged, text);
    case 'time':
    case 'day': {
      const serial = (kind === 'time' ? TIME : DAY).test(text) ? serialOf(text) : null;
      return serial === null ? textCell(at, STYLE.text, text) : numberCell(at, STYLE[kind], serial);
    }
    case 'header':
    case 'text':
      return textCell(at, STYLE[kind], text);
  }
}

/** `A`, `B`, ...; a statement has far fewer than 26 columns. */
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
export const COLUMNS_MAX = LETTERS.length;

/** A row of a sheet; `row` counts from 1. */
export function rowXml(row: number, values: readonly Value[]): string {
  let cells = '';
  for (let at = 0; at < values.length; at += 1) cells += cellXml(`${LETTERS[at]!}${row}`, values[at]!);
  return `<row r="${row}">${cells}</row>`;
}
