/**
 * Reads JSON so that numbers keep exactly the digits the platform sent. They never become a JS number.
 *
 * `JSON.parse` with a reviver that reads `context.source` would do the same, three times slower. Here one scan makes
 * each number into a string that begins with a marker, a character the text does not contain. Then plain `JSON.parse`
 * reads it.
 *
 * ### Example
 *
 * `{"inAmount": 10.10}` becomes `{"inAmount": "¤10.10"}`, if `¤` is the marker.
 */

/** A JSON document and the digits of its numbers. */
export interface ExactJson {
  /** The document. Its numbers are marked strings, see `digitsOf`. */
  readonly value: unknown;
  /** The digits of a number exactly as sent; null if `value` is not a number of the document. */
  readonly digitsOf: (value: unknown) => string | null;
}

const NUMBER_TOKEN = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const QUOTE = 34;
const MINUS = 45;
const ZERO = 48;
const NINE = 57;
const COLON = 58;
const BACKSLASH = 92;

/** Control characters that JSON allows unescaped. With them the text still takes one byte per character. */
const MARKER_CODES = Array.from({ length: 33 }, (_, index) => 0x7f + index);

function unusedMarker(text: string): string {
  const escapes = text.includes('\\u00') ? text.toLowerCase() : '';
  const code = MARKER_CODES.find(
    (candidate) =>
      !text.includes(String.fromCharCode(candidate)) && !escapes.includes(`\\u00${candidate.toString(16)}`),
  );
  if (code === undefined)
    throw new SyntaxError('JSON holds every control character there is to mark numbers with');
  return String.fromCharCode(code);
}

/** Index of the quote that ends the string starting at `start`, or -1. */
function stringEnd(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1);
  while (quote !== -1) {
    let backslash = quote - 1;
    while (text.charCodeAt(backslash) === BACKSLASH) backslash -= 1;
    if ((quote - backslash) % 2 === 1) return quote;
    quote = text.indexOf('"', quote + 1);
  }
  return -1;
}

const isSpace = (code: number): boolean => code === 32 || (code >= 9 && code <= 13);

function skipSpace(text: string, start: number): number {
  let at = start;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

/** Replaces every number in the text by a marked string. Invalid JSON stays invalid. */
function markNumbers(text: string, marker: string): string {
  let marked = '';
  let copied = 0;
  let at = 0;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = stringEnd(text, at);
      if (end === -1) break;
      at = end + 1;
    } else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      NUMBER_TOKEN.lastIndex = at;
      if (!NUMBER_TOKEN.test(text)) break;
      const end = NUMBER_TOKEN.lastIndex;
      // A number is no valid key, but a string would be. So leave it, and `JSON.parse` refuses the text.
      if (text.charCodeAt(skipSpace(text, end)) === COLON) break;
      marked += `${text.slice(copied, at)}"${marker}${text.slice(at, end)}"`;
      copied = at = end;
    } else {
      at += 1;
    }
  }
  return marked + text.slice(copied);
}

/** Reads a JSON text. Throws `SyntaxError` where `JSON.parse` does. */
export function parseExactJson(text: string): ExactJson {
  const marker = unusedMarker(text);
  return {
    value: JSON.parse(markNumbers(text, marker)) as unknown,
    digitsOf: (value) => (typeof value === 'string' && value.startsWith(marker) ? value.slice(1) : null),
  };
}

/** The name in a path of what is the only element of a list. */
export const ONLY_ELEMENT = '0';

/**
 * The elements of an array, each as its exact text. `path` has the names that lead to the array from the outermost object
 * or list, its own name last; a list of one on the way is `ONLY_ELEMENT`. `text` must be valid JSON.
 *
 * ### Example
 *
 * In `{"data": [{"list": [1, 2.0]}]}` the path `data`, `0`, `list` leads to `1` and `2.0`.
 */
export function elementTexts(text: string, path: readonly string[]): string[] {
  /** At each depth inside the array's place, the name read last. */
  const names: string[] = [];
  let elements: string[] = [];
  let depth = 0;
  let inArray = false;
  let start = 0;
  const take = (end: number): void => {
    const element = text.slice(start, end).trim();
    if (element !== '') elements.push(element);
    start = end + 1;
  };
  const isPlace = (): boolean => depth === path.length && path.every((name, at) => names[at] === name);
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at]!;
    if (letter === '"') {
      const end = stringEnd(text, at);
      const colon = skipSpace(text, end + 1);
      if (depth <= path.length && text[colon] === ':') {
        names[depth - 1] = JSON.parse(text.slice(at, end + 1)) as string;
        // If a name comes twice, the last one counts, as with JSON.parse.
        if (isPlace()) elements = [];
      }
      at = end;
    } else if (letter === '{' || letter === '[') {
      if (letter === '[' && !inArray && isPlace()) {
        inArray = true;
        start = at + 1;
      }
      depth += 1;
      if (letter === '[' && depth <= path.length) names[depth - 1] = ONLY_ELEMENT;
    } else if (letter === '}' || letter === ']') {
      depth -= 1;
      if (inArray && depth === path.length) {
        take(at);
        inArray = false;
      }
    } else if (letter === ',' && inArray && depth === path.length + 1) {
      take(at);
    }
  }
  return elements;
}
