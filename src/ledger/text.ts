/** Text that a database and JSON can store, and that a terminal can show safely. */

/** Replaces halves of surrogate pairs and NULs by the replacement character. PostgreSQL refuses both. */
export const storableText = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd');

/** JSON without characters that cannot be stored. */
export const storableJson = (figures: object): string =>
  JSON.stringify(figures, (_, value: unknown) => (typeof value === 'string' ? storableText(value) : value));

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;

/** At most the first `max` UTF-16 units, without half a character at the end. */
export function cutText(text: string, max: number): string {
  if (text.length <= max) return text;
  return text.slice(0, max > 0 && isHighSurrogate(text.charCodeAt(max - 1)) ? max - 1 : max);
}

/**
 * Characters that a terminal would act on or not show: controls (line ends, ESC), marks that change the direction of
 * writing, characters without width, halves of surrogate pairs. Inside a name they could fake a line of output.
 */
const UNSHOWN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu;
const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Each UTF-16 unit as JSON escapes it, so that JSON output stays valid JSON. */
const escaped = (character: string): string =>
  NAMED[character] ??
  Array.from(
    { length: character.length },
    (_, unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`,
  ).join('');

const showable =
  (kept: RegExp) =>
  (text: string): string =>
    text.replace(UNSHOWN, (character) => (kept.test(character) ? character : escaped(character)));

/** The text as it can be shown on one line. Characters that would not show are spelled out (`\u202e`). */
export const showableText = showable(/(?!)/);

/** The same, but keeps line ends: for text whose lines daybook made itself. */
export const showableLines = showable(/\n/);

/** The same, but keeps line ends and tabs, which a page folds or shows as they are. */
export const showableMarkup = showable(/[\n\r\t]/);

/** The same, but keeps all controls: for a file that spells those in its own way. */
export const showableUncontrolled = showable(/\p{Cc}/u);

/** A text as one word of a shell's command line, for commands that are named to a person. */
export const shellWord = (text: string): string =>
  /^[\w./][\w.,:/@%+-]*$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** `A1, A2 and 398 more`: the first `max` of the names. */
export function firstNamed(names: readonly string[], max: number, count = names.length): string {
  const named = names.slice(0, max);
  return named.join(', ') + (count > named.length ? ` and ${count - named.length} more` : '');
}

/** `1 day`, `3 days`: a count with its noun, for sentences. */
export const counted = (count: number, one: string, more = `${one}s`): string =>
  `${count} ${count === 1 ? one : more}`;

/** The same with large numbers as people read them: `3,600 entries`. */
export const countedInText = (count: number, noun: string, plural = `${noun}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? noun : plural}`;

/** What an error says, whatever was thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
