/** Names of published files, as whoever checks them knows them: promised in docs/reference/files.md, and safe whatever a merchant number holds. */
import type { BusinessDay } from '../ledger/entry.ts';

/** Most characters of a name's part, so that each name fits a file system, also while its file is being written. */
const ENCODED_CHARACTERS_MAX = 129;

/**
 * Percent-encodes all but letters, digits, `-`, `_` and inner dots, so that the name is a single path segment in every
 * store. What is too long then is `=` and four hex digits for each of its UTF-16 units. No two parts share a name.
 */
export function encoded(part: string): string {
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

export const closeKey = (merchantNo: string, month: string, number: number): string =>
  `${MERCHANTS_PREFIX}${encoded(merchantNo)}/close=${month}/${encoded(merchantNo)}_${month}.close${number}.json`;

/** Whether a file is named as a close is. */
export const isCloseFile = (path: string): boolean => /_\d{4}-\d\d\.close\d+\.json$/.test(path);

/** A key's last part: what a person who downloads it sees. */
export const fileOf = (key: string): string => key.slice(key.lastIndexOf('/') + 1);

const OWN_WORDS =
  /^(?:manifest|summary|month)(?=[.-])|(?:\.r\d+|\.close\d+|\.manifest)?(?:\.[a-z0-9]+){1,2}$/gi;

/** The name of a file that was downloaded, its ending in small letters as daybook writes it: some systems write capitals. */
export const downloadedName = (file: string): string => file.replace(OWN_WORDS, (word) => word.toLowerCase());

/**
 * File name of the copy of a day's manifest next to a single downloaded statement. It is the same for all revisions and
 * formats of that statement.
 */
export const manifestFileNextTo = (statementFile: string): string =>
  statementFile.replace(/\.r\d+\.[a-z0-9.]+$/, '.manifest.json');
