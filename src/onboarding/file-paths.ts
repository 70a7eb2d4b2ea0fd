/**
 * Paths of uploaded documents: what the platform's file upload operation returned, never a local file name or a URL,
 * for which an application is rejected (platform-api.md 2.4, 4.3 rule 1). Their form is a setting, as the document
 * shows none.
 */
import { listOf, text, type Place, type Reader } from './field-rules.ts';

const FILE_PATH_CHARACTERS_MAX = 1_024;
const MEND = 'give the path that the platform’s file upload operation returned';

export interface FilePathRules {
  /** Source of the regular expression a whole path matches: `PLATFORM_FILE_PATHS`. */
  readonly filePaths: string;
  /** Whether this machine has a file of that name, which an uploaded one is not. */
  readonly isLocalFile: (path: string) => boolean;
}

/** What a path that is none of the platform's seems to be. */
function seemsToBe(path: string): string {
  if (/^[a-z][a-z\d+.-]+:/i.test(path)) return 'is a URL';
  if (/^[a-z]:|\\/i.test(path) || /^(?:~|\.{1,2}\/)/.test(path)) return 'is a path of a local computer';
  if (!path.includes('/')) return 'is a local file name';
  return 'does not look like an uploaded file (PLATFORM_FILE_PATHS)';
}

function wrongPath(path: string, { filePaths, isLocalFile }: FilePathRules): string | null {
  if (!new RegExp(filePaths, 'u').test(path)) return `${seemsToBe(path)}; ${MEND}`;
  if (path.split('/').some((part) => part === '..' || part === '.')) return `is not a plain path; ${MEND}`;
  return isLocalFile(path) ? `is a file of this computer; ${MEND}` : null;
}

/** At least one path, none twice. */
export const filePaths = (rules: FilePathRules): Reader =>
  listOf(text({ max: FILE_PATH_CHARACTERS_MAX, wrong: (path) => wrongPath(path, rules) }));

const ID_CARD = '0';
const lastPart = (path: unknown): string => (typeof path === 'string' ? (path.split('/').at(-1) ?? '') : '');
const saysFront = (path: unknown) => /front/i.test(lastPart(path)) && !/back/i.test(lastPart(path));
const saysBack = (path: unknown) => /back/i.test(lastPart(path)) && !/front/i.test(lastPart(path));

/** What is wrong with the images of an ID card, which are two: front, back (2.4). */
function wrongSides(images: readonly unknown[]): string | null {
  if (images.length !== 2) {
    const there = images.length === 1 ? 'is 1' : `are ${images.length}`;
    return `must be two images for an ID card, front and back; there ${there}`;
  }
  const [first, second] = images;
  return saysBack(first) || saysFront(second)
    ? 'are in the wrong order by their names: an ID card’s front goes first, then its back'
    : null;
}

/** Scanned images of a person's document: `[front, back]` for an ID card. */
export function personImages(rules: FilePathRules): Reader {
  const paths = filePaths(rules);
  return (value, place: Place) => {
    const sides = Array.isArray(value) && place.fields['type'] === ID_CARD ? wrongSides(value) : null;
    if (sides !== null) place.note({ path: place.path, problem: sides });
    return paths(value, place);
  };
}
