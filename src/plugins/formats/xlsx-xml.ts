/** A workbook as SpreadsheetML: its cells, which stay text whatever they hold, and the parts that hold no rows. */
import { decimalsOf } from '../../ledger/money.ts';
import { cutText, showableUncontrolled } from '../../ledger/text.ts';

/** The styles of `styles.xml`, by their place there. Amounts follow: one for each number of decimals. */
const STYLE = { header: 1, text: 2, time: 3, day: 4, count: 5, flagged: 6, amount: 7 } as const;

/** A spreadsheet computes with the 15 leading digits of a number; the others it would lose. */
const DIGITS_MAX = 15;
const DECIMALS_SHOWN_MAX = DIGITS_MAX;
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
  text.replace(
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
  const content = escaped(cutText(showableUncontrolled(text.toWellFormed()), TEXT_LENGTH_MAX));
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

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const SHEET_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

export const sheetPart = (nth: number): string => `xl/worksheets/sheet${nth}.xml`;

const contentTypes = (sheets: readonly unknown[]): string =>
  `${XML}<Types xmlns="${PACKAGE}/content-types">` +
  '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>' +
  '<Default Extension="xml" ContentType="application/xml"/>' +
  `<Override PartName="/xl/workbook.xml" ContentType="${SHEET_TYPE}.sheet.main+xml"/>` +
  `<Override PartName="/xl/styles.xml" ContentType="${SHEET_TYPE}.styles+xml"/>` +
  sheets
    .map((_, at) => `<Override PartName="/${sheetPart(at + 1)}" ContentType="${SHEET_TYPE}.worksheet+xml"/>`)
    .join('') +
  '</Types>';

const relationship = (id: string, type: string, target: string): string =>
  `<Relationship Id="${id}" Type="${RELATIONS}/${type}" Target="${target}"/>`;

const relationships = (all: readonly string[]): string =>
  `${XML}<Relationships xmlns="${PACKAGE}/relationships">${all.join('')}</Relationships>`;

/** A sheet, and how much of it is printed: so many columns and rows, its header on every page. */
export interface Printed {
  readonly name: string;
  readonly columns: number;
  readonly rows: number;
}

const workbook = (sheets: readonly Printed[]): string => {
  const printed = ({ name, columns, rows }: Printed, at: number): readonly (readonly [string, string])[] => [
    [`_xlnm.Print_Area" localSheetId="${at}`, `'${name}'!$A$1:$${LETTERS[columns - 1]!}$${rows}`],
    [`_xlnm.Print_Titles" localSheetId="${at}`, `'${name}'!$1:$1`],
  ];
  return (
    `${XML}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><sheets>` +
    sheets.map(({ name }, at) => `<sheet name="${name}" sheetId="${at + 1}" r:id="rId${at + 1}"/>`).join('') +
    `</sheets><definedNames>${sheets
      .flatMap(printed)
      .map(([name, what]) => `<definedName name="${name}">${what}</definedName>`)
      .join('')}</definedNames></workbook>`
  );
};

const TIME_FORMAT = 164;
const DAY_FORMAT = 165;
const AMOUNT_FORMAT = 166;
const TEXT_FORMAT = 49;
const COUNT_FORMAT = 3;
const decimals = Array.from({ length: DECIMALS_SHOWN_MAX + 1 }, (_, count) => count);

/** In the order of `STYLE`. */
function styles(): string {
  const amountFormats = decimals.map(
    (count) =>
      `<numFmt numFmtId="${AMOUNT_FORMAT + count}" formatCode="#,##0${count === 0 ? '' : `.${'0'.repeat(count)}`}"/>`,
  );
  const cell = (format: number, more = ''): string =>
    `<xf numFmtId="${format}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"${more}/>`;
  const cells = [
    '<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>',
    `<xf numFmtId="${TEXT_FORMAT}" fontId="1" fillId="2" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1" applyFill="1"/>`,
    ...[TEXT_FORMAT, TIME_FORMAT, DAY_FORMAT, COUNT_FORMAT].map((format) => cell(format)),
    `<xf numFmtId="${TEXT_FORMAT}" fontId="0" fillId="3" borderId="0" xfId="0" applyNumberFormat="1" applyFill="1" ` +
      'applyAlignment="1"><alignment horizontal="right"/></xf>',
    ...decimals.map((count) => cell(AMOUNT_FORMAT + count)),
  ];
  const fill = (color: string): string =>
    `<fill><patternFill patternType="solid"><fgColor rgb="${color}"/><bgColor indexed="64"/></patternFill></fill>`;
  return (
    `${XML}<styleSheet xmlns="${MAIN}"><numFmts count="${amountFormats.length + 2}">` +
    `<numFmt numFmtId="${TIME_FORMAT}" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss"/>` +
    `<numFmt numFmtId="${DAY_FORMAT}" formatCode="yyyy\\-mm\\-dd"/>${amountFormats.join('')}</numFmts>` +
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>' +
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>' +
    '<fills count="4"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>' +
    `${fill('FFE7E6E6')}${fill('FFFFF2CC')}</fills>` +
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>' +
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>' +
    `<cellXfs count="${cells.length}">${cells.join('')}</cellXfs>` +
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
  );
}

export const partsOf = (sheets: readonly Printed[]): readonly (readonly [name: string, text: string])[] => [
  ['[Content_Types].xml', contentTypes(sheets)],
  ['_rels/.rels', relationships([relationship('rId1', 'officeDocument', 'xl/workbook.xml')])],
  ['xl/workbook.xml', workbook(sheets)],
  [
    'xl/_rels/workbook.xml.rels',
    relationships([
      ...sheets.map((_, at) =>
        relationship(`rId${at + 1}`, 'worksheet', sheetPart(at + 1).slice('xl/'.length)),
      ),
      relationship(`rId${sheets.length + 1}`, 'styles', 'styles.xml'),
    ]),
  ],
  ['xl/styles.xml', styles()],
];

/** A sheet up to its first row; the header, its first row, stays in sight. Widths are in characters. */
export const sheetHead = (widths: readonly number[]): string =>
  `${XML}<worksheet xmlns="${MAIN}"><sheetPr><pageSetUpPr fitToPage="1"/></sheetPr><sheetViews><sheetView workbookViewId="0">` +
  '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>' +
  widths
    .map((width, at) => `<col min="${at + 1}" max="${at + 1}" width="${width}" customWidth="1"/>`)
    .join('') +
  '</cols><sheetData>';

/**
 * A sheet after its last row. It prints on A4 across, as wide as its columns; `foot` goes before its name at the foot of each
 * page. A text of digits is meant to be text, so no cell is marked for it.
 */
export function sheetTail(foot: string): string {
  const left = escaped(showableUncontrolled(foot.toWellFormed()).replaceAll('&', '&&'));
  return (
    '</sheetData><pageMargins left="0.4" right="0.4" top="0.5" bottom="0.7" header="0.3" footer="0.3"/>' +
    '<pageSetup paperSize="9" fitToHeight="0" orientation="landscape"/>' +
    `<headerFooter><oddFooter>&amp;L${left}: &amp;A&amp;RPage &amp;P of &amp;N</oddFooter></headerFooter>` +
    '<ignoredErrors><ignoredError sqref="A1:Z1048576" numberStoredAsText="1"/></ignoredErrors></worksheet>'
  );
}
