/** Cells of a worksheet as SpreadsheetML. Whatever a text holds, it stays text. */
import { decimalsOf } from '../../../ledger/money.ts';
import { cutText } from '../../../ledger/text.ts';

/** The styles of `styles.xml`, by their place there. Amounts follow: one for each number of decimals. */
const STYLE = { header: 1, text: 2, time: 3, day: 4, count: 5, flagged: 6, amount: 7 } as const;

/** A spreadsheet computes with the 15 leading digits of a number; the others it would lose. */
const DIGITS_MAX = 15;
export const DECIMALS_SHOWN_MAX = DIGITS_MAX;
/** A cell holds no more; a longer text is cut. */
const TEXT_LENGTH_MAX = 32_767;

/** What a cell holds. Times are `YYYY-MM-DD HH:mm:ss`, days `YYYY-MM-DD`, amounts plain decimals. */
export type TextKind = 'text' | 'header' | 'time' | 'day' | 'amount';
export type Value =
  { readonly kind: TextKind; readonly text: string } | { readonly kind: 'count'; readonly count: number };

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

const [SPACE, AMPERSAND, LESS, MORE, TILDE] = [0x20, 0x26, 0x3c, 0x3e, 0x7e];

/** Whether a text is short and holds nothing to be escaped or kept by force, as nearly every one is. */
function isPlain(text: string): boolean {
  if (text.length > 255 || text.startsWith(' ') || text.endsWith(' ') || text.includes('_x')) return false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < SPACE || code > TILDE || code === AMPERSAND || code === LESS || code === MORE) return false;
  }
  return true;
}

const OUTER_SPACE = /^\s|\s$/;

function textXml(text: string): string {
  if (isPlain(text)) return `<is><t>${text}</t></is>`;
  const content = escaped(cutText(text, TEXT_LENGTH_MAX));
  return OUTER_SPACE.test(content) || content.includes('\n')
    ? `<is><t xml:space="preserve">${content}</t></is>`
    : `<is><t>${content}</t></is>`;
}

/** A cell without its place: `<c r="A1` goes before it. */
const textCell = (style: number, text: string): string => `" s="${style}" t="inlineStr">${textXml(text)}</c>`;

const numberCell = (style: number, number: string): string => `" s="${style}"><v>${number}</v></c>`;

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

function cellOf(value: Value): string {
  if (value.kind === 'count') return numberCell(STYLE.count, String(value.count));
  const { kind, text } = value;
  switch (kind) {
    case 'amount':
      return isKept(text) ? numberCell(STYLE.amount + decimalsOf(text), text) : textCell(STYLE.flagged, text);
    case 'time':
    case 'day': {
      const serial = (kind === 'time' ? TIME : DAY).test(text) ? serialOf(text) : null;
      return serial === null ? textCell(STYLE.text, text) : numberCell(STYLE[kind], serial);
    }
    case 'header':
    case 'text':
      return textCell(STYLE[kind], text);
  }
}

/** `A`, `B`, ...; a statement has far fewer than 26 columns. */
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';

/**
 * A row of a sheet; `row` counts from 1. An empty text has no cell. An amount with too many digits is text, and flagged.
 */
export function rowXml(row: number, values: readonly Value[]): string {
  let cells = '';
  for (const [at, value] of values.entries())
    if (value.kind === 'count' || value.text !== '') cells += `<c r="${LETTERS[at]!}${row}${cellOf(value)}`;
  return `<row r="${row}">${cells}</row>`;
}

/**
 * The same for many rows whose columns hold the same kinds. Neighbours often have the same cell, of which the text is
 * made once.
 */
export function rowWriter(kinds: readonly TextKind[]): (row: number, cells: readonly string[]) => string {
  const columns = kinds.map((kind, at) => ({ kind, begin: `<c r="${LETTERS[at]!}`, text: '', cell: '' }));
  return (row, cells) => {
    let xml = `<row r="${row}">`;
    for (let at = 0; at < columns.length; at += 1) {
      const column = columns[at]!;
      const text = cells[at] ?? '';
      if (text === '') continue;
      if (column.text !== text) {
        column.text = text;
        column.cell = cellOf({ kind: column.kind, text });
      }
      xml += `${column.begin}${row}${column.cell}`;
    }
    return `${xml}</row>`;
  };
}
