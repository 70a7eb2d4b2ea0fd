/**
 * Lists of uploaded documents: file paths, and a person's images in their order (docs/platform.md 2.3, 2.4).
 */
import { uploadPathProblem, type FilePathRules } from '../platform/upload-path.ts';
import { listOf, text, type Place, type Reader } from './field-rules.ts';

const FILE_PATH_CHARACTERS_MAX = 1_024;

export type { FilePathRules };

/** At least one path, none twice. */
export const filePaths = (rules: FilePathRules): Reader =>
  listOf(text({ max: FILE_PATH_CHARACTERS_MAX, wrong: (path) => uploadPathProblem(path, rules) }));

const ID_CARD = '0';
const lastPart = (path: unknown): string => (typeof path === 'string' ? (path.split('/').at(-1) ?? '') : '');
const saysFront = (path: unknown) => /front/i.test(lastPart(path)) && !/back/i.test(lastPart(path));
const saysBack = (path: unknown) => /back/i.test(lastPart(path)) && !/front/i.test(lastPart(path));

/** What is wrong with the images of an ID card, which are two (docs/platform.md 2.4). */
function wrongCount({ length }: readonly unknown[]): string | null {
  if (length === 2) return null;
  const there = length === 1 ? 'is 1' : `are ${length}`;
  return `must be two images for an ID card, front and back; there ${there}`;
}

/** Names of files are nobody's rule, so what they say of front and back is only told. */
const oddOrder = ([first, second]: readonly unknown[]): string | null =>
  saysBack(first) || saysFront(second)
    ? 'seem to be in the wrong order by their names: an ID card’s front goes first, then its back'
    : null;

/** Scanned images of a person's document: `[front, back]` for an ID card. */
export function personImages(rules: FilePathRules): Reader {
  const paths = filePaths(rules);
  return (value, place: Place) => {
    if (Array.isArray(value) && place.fields['type'] === ID_CARD) {
      const problem = wrongCount(value);
      if (problem !== null) place.note({ path: place.path, problem });
      const oddity = problem === null ? oddOrder(value) : null;
      if (oddity !== null) place.warn({ path: place.path, problem: oddity });
    }
    return paths(value, place);
  };
}
