/** Text as a database and JSON can hold it: whole characters and no NUL. PostgreSQL refuses anything else. */

/** The text with halves of characters and NULs replaced by the sign for a character that is not readable. */
export const storableText = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd');

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;

/** At most the first `max` UTF-16 units, and no half of a character at the end. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text;
  return text.slice(0, max > 0 && isHighSurrogate(text.charCodeAt(max - 1)) ? max - 1 : max);
}

/**
 * What a terminal would act on, or would not show: controls (a line's end, ESC), signs that turn the direction of
 * writing, signs without width, halves of characters. Whoever writes them into a name could make a line of their own.
 */
const UNSHOWN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu;
const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Each unit as JSON would escape it, so that JSON stays JSON. */
const escaped = (character: string): string =>
  NAMED[character] ??
  Array.from(
    { length: character.length },
    (_, unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`,
  ).join('');

/** The text as it can be shown on one line: what would not be seen is spelt (`\u202e`). */
export const showableText = (text: string): string => text.replace(UNSHOWN, escaped);

/** The same of text with lines of our own making. */
export const showableLines = (text: string): string =>
  text.replace(UNSHOWN, (character) => (character === '\n' ? character : escaped(character)));

/** `1 day`, `3 days`, for sentences; a table at a terminal groups its digits. */
export const counted = (count: number, one: string, more = `${one}s`): string =>
  `${count} ${count === 1 ? one : more}`;
