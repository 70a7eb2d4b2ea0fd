/** Text as a database and JSON can hold it: whole characters and no NUL. PostgreSQL refuses anything else. */

/** The text with halves of characters and NULs replaced by the sign for a character that is not readable. */
export const storableText = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd');

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;

/** At most the first `max` UTF-16 units, and no half of a character at the end. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text;
  return text.slice(0, max > 0 && isHighSurrogate(text.charCodeAt(max - 1)) ? max - 1 : max);
}
