/** Lists of uploaded documents: file paths, and a person's images in their order (docs/platform.md 2.3, 2.4). */
import { uploadPathProblem, type FilePathRules } from '../platform/upload-path.ts';
import { listOf, type ListRules } from '../forms/fields.ts';
import { text } from './values.ts';

const FILE_PATH_CHARACTERS_MAX = 1_024;

export type { FilePathRules };

/** At least one path, none twice. */
export function filePaths(rules: FilePathRules, wrong?: ListRules['wrong']) {
  const path = text(FILE_PATH_CHARACTERS_MAX, (value) => uploadPathProblem(value, rules));
  return listOf({ element: () => path, wrong });
}

/** `type` of a person's document. */
export const ID_CARD = '0';

/** What is wrong with the images of an ID card, which are two (docs/platform.md 2.4). */
function wrongCount({ length }: readonly unknown[]): string | null {
  if (length === 2) return null;
  const there = length === 1 ? 'is 1' : `are ${length}`;
  return `must be two images for an ID card, front and back; there ${there}`;
}

/** Scanned images of a person's document: `[front, back]` for an ID card. */
export const personImages = (rules: FilePathRules, type: unknown) =>
  filePaths(rules, type === ID_CARD ? wrongCount : undefined);

const lastPart = (path: unknown): string => (typeof path === 'string' ? (path.split('/').at(-1) ?? '') : '');
const saysFront = (path: unknown) => /front/i.test(lastPart(path)) && !/back/i.test(lastPart(path));
const saysBack = (path: unknown) => /back/i.test(lastPart(path)) && !/front/i.test(lastPart(path));

/** Whether the names of two images say that the back goes first. */
export const seemSwapped = (images: readonly unknown[]): boolean =>
  images.length === 2 && (saysBack(images[0]) || saysFront(images[1]));
