/**
 * Decides what a message may quote from the reply to a call that carried personal data. The reply may repeat that
 * data, in full, in parts or in other letters. So only its code and the names of the request's fields in it are quoted.
 */

const NAMED_FIELDS_MAX = 10;
/** A code has at most six characters (docs/platform.md 8). */
const CODE = /^[A-Z0-9]{1,6}$/;
const CODE_FIELDS = ['code', 'respCode', 'errorCode', 'status'];

interface Vocabulary {
  readonly fields: Set<string>;
  /** In lower case. */
  readonly values: string[];
}

function collect(node: unknown, into: Vocabulary): Vocabulary {
  if (Array.isArray(node)) {
    for (const element of node) collect(element, into);
  } else if (typeof node === 'object' && node !== null) {
    for (const [field, value] of Object.entries(node)) {
      into.fields.add(field);
      collect(value, into);
    }
  } else if (typeof node === 'string' || typeof node === 'number') {
    into.values.push(String(node).toLowerCase());
  }
  return into;
}

/** The first code in the reply that is not part of a value that was sent. */
function codeIn(text: string, { values }: Vocabulary): string | undefined {
  let reply: unknown;
  try {
    reply = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof reply !== 'object' || reply === null) return undefined;
  return CODE_FIELDS.map((field) => (reply as Record<string, unknown>)[field])
    .filter((value) => typeof value === 'string' || typeof value === 'number')
    .map(String)
    .find((value) => CODE.test(value) && !values.some((sent) => sent.includes(value.toLowerCase())));
}

/** `code E40000, naming certNo, shareholder; the rest may repeat personal data and is not shown`. */
export function discreetExcerpt(text: string, sent: object): string {
  const vocabulary = collect(sent, { fields: new Set(), values: [] });
  const words = new Set(text.match(/[A-Za-z]\w*/g));
  const named = [...vocabulary.fields].filter((field) => words.has(field)).slice(0, NAMED_FIELDS_MAX);
  const code = codeIn(text, vocabulary);
  const shown = [
    code === undefined ? [] : [`code ${code}`],
    named.length === 0 ? [] : [`naming ${named.join(', ')}`],
  ].flat();
  const rest = 'may repeat personal data and is not shown';
  return shown.length === 0 ? `(the reply ${rest})` : `${shown.join(', ')} (the rest ${rest})`;
}
