/** Names of published objects: promised in docs/reference/files.md, and safe whatever a merchant number holds. */
import type { Account, BusinessDay } from '../ledger/entry.ts';
import type { StatementFormat } from './formats/format.ts';

/** Most characters of a name's part, so that each name fits a file system, also while its file is being written. */
const ENCODED_CHARACTERS_MAX = 129;

/**
 * Percent-encodes all but letters, digits, `-`, `_` and inner dots, so that the name is a single path segment in every
 * store. What is too long then is `=` and four hex digits for each of its UTF-16 units. No two parts share a name.
 */
function encoded(part: string): string {
  const percent = encodeURIComponent(part)
    .replace(/[!'()*~]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
    .replace(/^\.+/, (dots) => '%2E'.repeat(dots.length));
  return percent.length <= ENCODED_CHARACTERS_MAX
    ? percent
    : `=${Buffer.from(part, 'utf16le').swap16().toString('hex')}`;
}

export const MERCHANTS_PREFIX = 'merchant=';

/** Names the database that the store's statements belong to. */
export const STORE_MARK_KEY = 'daybook-store.json';

export const merchantPrefix = (merchantNo: string): string =>
  `${MERCHANTS_PREFIX}${encoded(merchantNo)}/date=`;

export const dayPrefix = (merchantNo: string, day: BusinessDay): string =>
  `${merchantPrefix(merchantNo)}${day}/`;

export const statementKey = ({ merchantNo, currency }: Account, day: BusinessDay, revision: number): string =>
  `${dayPrefix(merchantNo, day)}${encoded(merchantNo)}_${encoded(currency)}_${day}.r${revision}.csv`;

export const summaryKey = (merchantNo: string, day: BusinessDay, revision: number): string =>
  `${dayPrefix(merchantNo, day)}summary.r${revision}.csv`;

export const manifestKey = (merchantNo: string, day: BusinessDay): string =>
  `${dayPrefix(merchantNo, day)}manifest.json`;

/** Whether a file lies where the store has the manifest of another day. Any other layout says nothing. */
export const isOfAnotherDay = (path: string, merchantNo: string, day: BusinessDay): boolean =>
  /(^|\/)merchant=[^/]*\/date=[^/]*\/manifest\.json$/.test(path) &&
  !`/${path}`.endsWith(`/${manifestKey(merchantNo, day)}`);

/** What a signature's file name adds to that of the manifest. */
export const SIGNATURE_EXTENSION = '.minisig';

/** What takes the place of a signature that is none any more. No program takes it for a signature. */
export const WITHDRAWN =
  'untrusted comment: the manifest of this file was replaced, and the new one is not signed\n';

export const signatureKey = (merchantNo: string, day: BusinessDay): string =>
  manifestKey(merchantNo, day) + SIGNATURE_EXTENSION;

export const closeKey = (merchantNo: string, month: string, number: number): string =>
  `${MERCHANTS_PREFIX}${encoded(merchantNo)}/close=${month}/${encoded(merchantNo)}_${month}.close${number}.json`;

/** The file name of a merchant's overview of a month. */
export const overviewName = (
  { extension }: Pick<StatementFormat, 'extension'>,
  month: string,
  merchantNo: string,
): string => `month-${month}-${encoded(merchantNo)}.${extension}`;

/** The file name of an account's month as one file. */
export const accountMonthName = (
  { extension }: Pick<StatementFormat, 'extension'>,
  month: string,
  { merchantNo, currency }: Account,
): string => `month-${month}-${encoded(merchantNo)}_${encoded(currency)}.${extension}`;

/** The file name of a month's download, which names its merchant if it is of one. `ending`: what it says behind that. */
export const monthZipName = (month: string, merchants: readonly string[], ending = ''): string =>
  `statements-${month}${merchants.length === 1 ? `-${encoded(merchants[0]!)}` : ''}${ending}.zip`;

/** Whether a file is named as a close is. */
export const isCloseFile = (path: string): boolean => /_\d{4}-\d\d\.close\d+\.json$/.test(path);

/** A key's last part: what a person who downloads it sees. */
export const fileOf = (key: string): string => key.slice(key.lastIndexOf('/') + 1);

const OWN_WORDS =
  /^(?:manifest|summary|month)(?=[.-])|(?:\.r\d+|\.close\d+|\.manifest)?(?:\.[a-z0-9]+){1,2}$/gi;

/** The name of a file that was downloaded, its ending in small letters as daybook writes it: some systems write capitals. */
export const downloadedName = (file: string): string => file.replace(OWN_WORDS, (word) => word.toLowerCase());

export const nameIn = ({ extension }: Pick<StatementFormat, 'extension'>, statement: string): string =>
  statement.replace(/\.csv$/, `.${extension}`);

/** The file name of what changed in a statement since an earlier revision of it: `10001_USD_2026-03-31.r1-r3.csv`. */
export const changesName = (
  { extension }: Pick<StatementFormat, 'extension'>,
  statement: string,
  since: number,
): string => statement.replace(/\.r(\d+)\.csv$/, `.r${since}-r$1.${extension}`);

/**
 * File name of the copy of a day's manifest next to a single downloaded statement. It is the same for all revisions and
 * formats of that statement.
 */
export const manifestFileNextTo = (statementFile: string): string =>
  statementFile.replace(/\.r\d+\.[a-z0-9.]+$/, '.manifest.json');
