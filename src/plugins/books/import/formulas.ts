/** Formulas of a workbook whose results are not stored: programs that only write workbooks leave them to the spreadsheet. */
import yauzl from 'yauzl';

/** Ends of a tag's name, its attributes, and whether it closes itself; only what tells a cell with a formula from one with a result. */
const TAG = /<(\/?)(?:[A-Za-z_][\w.-]{0,30}:)?(c|f|v|is)(?=[\s/>])([^<>]*)>/g;
const REF = /(?:^|\s)r\s*=\s*["']([A-Za-z]{1,3}\d{1,7})["']/;
const IS_TEXT = /(?:^|\s)t\s*=\s*["']str["']/;

interface Cell {
  readonly ref: string | undefined;
  readonly isText: boolean;
  hasFormula: boolean;
  hasResult: boolean;
}

/** Of a tag and what stands behind it, so much is kept until the next one; whether that is empty shows in its beginning. */
const BEGUN_CHARACTERS_MAX = 65_536;

/** Returns what is given a sheet's XML piece by piece, and the cells that it found, as `B7`. */
function formulaSearch() {
  const found = new Set<string>();
  let cell: Cell | null = null;
  let rest = '';
  let isValueEmpty = false;
  const see = ([, end, name, attributes = '']: RegExpExecArray, behind: string): void => {
    const isClosed = attributes.endsWith('/');
    if (name === 'c') {
      if (end === '/' && cell?.hasFormula === true && !cell.hasResult && cell.ref !== undefined)
        found.add(cell.ref.toUpperCase());
      const isOpen = end === '' && !isClosed;
      const ref = REF.exec(attributes)?.[1];
      cell = isOpen ? { ref, isText: IS_TEXT.test(attributes), hasFormula: false, hasResult: false } : null;
      return;
    }
    if (cell === null || end === '/') return;
    if (name === 'f') cell.hasFormula = true;
    // A text may be empty: that is a result.
    isValueEmpty = isClosed || behind === '';
    if (name === 'is' || (name === 'v' && (cell.isText || !isValueEmpty))) cell.hasResult = true;
  };
  const take = (piece: string): void => {
    const text = rest + piece;
    const cut = Math.max(text.lastIndexOf('<'), 0);
    const complete = text.slice(0, cut);
    rest = text.slice(cut, cut + BEGUN_CHARACTERS_MAX);
    // What stands behind a tag, up to the next one.
    for (const match of complete.matchAll(TAG)) {
      const at = match.index + match[0].length;
      const next = complete.indexOf('<', at);
      see(match, complete.slice(at, next === -1 ? undefined : next).trim());
    }
  };
  return { take, found };
}

const textIn = (xml: string): string =>
  xml
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&amp;', '&');

const attributeIn = (tag: string, name: string): string =>
  textIn(
    new RegExp(String.raw`\s${name}\s*=\s*"([^"]*)"|\s${name}\s*=\s*'([^']*)'`)
      .exec(tag)
      ?.slice(1)
      .find(Boolean) ?? '',
  );

/** The path of the sheet in the workbook, from its list of sheets; null where it does not say so. */
function pathOfSheet(workbook: string, relations: string, sheet: string | undefined): string | null {
  const sheets = workbook.match(/<(?:[\w.-]+:)?sheet\s[^<>]*>/g) ?? [];
  const tag = sheet === undefined ? sheets[0] : sheets.find((one) => attributeIn(one, 'name') === sheet);
  const id = tag === undefined ? '' : attributeIn(tag, String.raw`[\w.-]+:id`);
  const relation = (relations.match(/<(?:[\w.-]+:)?Relationship\s[^<>]*>/g) ?? []).find(
    (one) => attributeIn(one, 'Id') === id,
  );
  const target = relation === undefined ? '' : attributeIn(relation, 'Target');
  return target === '' ? null : target.startsWith('/') ? target.slice(1) : `xl/${target}`;
}

const OVERVIEW = ['xl/workbook.xml', 'xl/_rels/workbook.xml.rels'] as const;
const OVERVIEW_BYTES_MAX = 4_194_304;
const SHEET = /^xl\/worksheets\/[^/]+\.xml$/i;

/** The cells of the sheet, as `B7`, that have a formula and no stored result. Throws what is wrong with the ZIP. */
export async function unsolvedFormulas(
  file: Buffer,
  sheet: string | undefined,
): Promise<ReadonlySet<string>> {
  const zip = await yauzl.fromBufferPromise(file);
  const bySheet = new Map<string, ReadonlySet<string>>();
  const overview = new Map<string, string>();
  for await (const entry of zip.eachEntry()) {
    const { fileName, uncompressedSize } = entry;
    const isOverview = OVERVIEW.some((one) => one === fileName) && uncompressedSize <= OVERVIEW_BYTES_MAX;
    if (!isOverview && !SHEET.test(fileName)) continue;
    const search = formulaSearch();
    const decoder = new TextDecoder();
    let text = '';
    for await (const piece of await zip.openReadStreamPromise(entry)) {
      const read = decoder.decode(piece as Buffer, { stream: true });
      if (isOverview) text += read;
      else search.take(read);
    }
    if (isOverview) overview.set(fileName, text);
    else if (search.found.size > 0) bySheet.set(fileName, search.found);
  }
  if (bySheet.size === 0) return new Set();
  const [workbook = '', relations = ''] = OVERVIEW.map((name) => overview.get(name));
  const path = pathOfSheet(workbook, relations, sheet);
  return path === null
    ? new Set([...bySheet.values()].flatMap((cells) => [...cells]))
    : (bySheet.get(path) ?? new Set());
}

/** `AB` of 28, counted from 1. */
const lettersOf = (column: number): string =>
  (column > 26 ? lettersOf(Math.floor((column - 1) / 26)) : '') +
  String.fromCharCode(65 + ((column - 1) % 26));

/** The name of a cell, by its row and column from 0. */
export const cellName = (row: number, column: number): string => `${lettersOf(column + 1)}${row + 1}`;
