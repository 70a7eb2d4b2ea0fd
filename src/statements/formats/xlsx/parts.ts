/** The parts of a workbook that hold no rows: which sheets it has, and the style of their cells. */
import { DECIMALS_SHOWN_MAX } from './cells.ts';

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const SHEET_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';

export const sheetPart = (nth: number): string => `xl/worksheets/sheet${nth}.xml`;

const contentTypes = (sheets: readonly string[]): string =>
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

const workbook = (sheets: readonly string[]): string =>
  `${XML}<workbook xmlns="${MAIN}" xmlns:r="${RELATIONS}"><sheets>` +
  sheets.map((name, at) => `<sheet name="${name}" sheetId="${at + 1}" r:id="rId${at + 1}"/>`).join('') +
  '</sheets></workbook>';

const TIME_FORMAT = 164;
const DAY_FORMAT = 165;
const AMOUNT_FORMAT = 166;
const TEXT_FORMAT = 49;
const COUNT_FORMAT = 3;
const decimals = Array.from({ length: DECIMALS_SHOWN_MAX + 1 }, (_, count) => count);

/** In the order of `STYLE` in cells.ts. */
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

/** Every part but the sheets themselves, by name, for sheets of these names. */
export const partsOf = (sheets: readonly string[]): readonly (readonly [name: string, text: string])[] => [
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
  `${XML}<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0">` +
  '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><cols>' +
  widths
    .map((width, at) => `<col min="${at + 1}" max="${at + 1}" width="${width}" customWidth="1"/>`)
    .join('') +
  '</cols><sheetData>';

/** A text of digits is meant to be text, so no cell is marked for it. */
export const SHEET_TAIL =
  '</sheetData><ignoredErrors><ignoredError sqref="A1:Z1048576" numberStoredAsText="1"/></ignoredErrors></worksheet>';
