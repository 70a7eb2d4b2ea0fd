/** Lists of uploaded documents: file paths, and a person's images in their order (platform-api.md 2.3, 2.4). */
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
