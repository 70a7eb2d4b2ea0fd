/**
 * Reads JSON without letting a number through a JS number, so that amounts keep the digits the platform sent.
 *
 * `JSON.parse` with a reviver that asks for `context.source` does the same, three times slower. Here one scan turns
 * each number token into a string that begins with a marker the text does not contain, and plain `JSON.parse` reads
 * that.
 */

/** JSON read with its numbers' digits. */
export interface ExactJson {
  /** The document; numbers stand in it as marked strings, see `digitsOf`. */
  readonly value: unknown;
  /** Digits of a number exactly as sent; null where `value` is not a number of the document. */
  readonly digitsOf: (value: unknown) => string | null;
}

const NUMBER_TOKEN = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const QUOTE = 34;
const MINUS = 45;
const ZERO = 48;
const NINE = 57;
const COLON = 58;
const BACKSLASH = 92;

/** Control characters that JSON allows unescaped and that keep a text in one byte a character. */
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

/** Index of the quote that ends the string beginning at `start`, or -1. */
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

/** The text with every number token made a marked string; what is no JSON stays none. */
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
      // A number cannot be a key, and as a string it could.
      if (text.charCodeAt(skipSpace(text, end)) === COLON) break;
      marked += `${text.slice(copied, at)}"${marker}${text.slice(at, end)}"`;
      copied = at = end;
    } else {
      at += 1;
    }
  }
  return marked + text.slice(copied);
}

/** Reads a JSON text. Throws `SyntaxError` for what `JSON.parse` would refuse. */
export function parseExactJson(text: string): ExactJson {
  const marker = unusedMarker(text);
  return {
    value: JSON.parse(markNumbers(text, marker)) as unknown,
    digitsOf: (value) => (typeof value === 'string' && value.startsWith(marker) ? value.slice(1) : null),
  };
}

/**
 * The texts, exactly as sent, of the elements of the array under `key` of a JSON object, or of one so many objects within
 * it. `text` must be valid JSON.
 */
export function elementTexts(text: string, key: string, within = 0): string[] {
  const keyDepth = within + 1;
  let elements: string[] = [];
  let depth = 0;
  let inArray = false;
  let start = 0;
  const take = (end: number): void => {
    const element = text.slice(start, end).trim();
    if (element !== '') elements.push(element);
    start = end + 1;
  };
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at]!;
    if (letter === '"') {
      const end = stringEnd(text, at);
      const colon = skipSpace(text, end + 1);
      const value = skipSpace(text, colon + 1);
      const isKey = depth === keyDepth && text[colon] === ':';
      if (isKey && JSON.parse(text.slice(at, end + 1)) === key && text[value] === '[') {
        // Of a key given twice the last counts, as with JSON.parse.
        elements = [];
        inArray = true;
        depth = keyDepth + 1;
        start = value + 1;
        at = value;
      } else {
        at = end;
      }
    } else if (letter === '{' || letter === '[') {
      depth += 1;
    } else if (letter === '}' || letter === ']') {
      depth -= 1;
      if (inArray && depth === keyDepth) {
        take(at);
        inArray = false;
      }
    } else if (letter === ',' && inArray && depth === keyDepth + 1) {
      take(at);
    }
  }
  return elements;
}
