/** Removes secrets of requests from messages. */
import { cutText } from '../ledger/text.ts';

/** A fixed header value shorter than this is an ordinary word, not a secret. */
const FIXED_SECRET_CHARACTERS_MIN = 8;
/**
 * Finding a piece of a fixed header value counts from this length on. Shorter pieces are words, as in
 * `application/json`.
 */
const FIXED_PIECE_CHARACTERS = 16;
const NOT_SHOWN = '(it repeats a secret in another form and is not shown)';
/** How much of a reply a message quotes. */
const EXCERPT_CHARACTERS_MAX = 120;
/** How much of a reply is searched for secrets. It is searched before it is cut, so that no cut hides half a secret. */
const SEARCHED_CHARACTERS_MAX = 4_096;

/** The forms in which a secret may come back in a reply. */
const spellings = (secret: string): string[] => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  secret.replaceAll('/', '\\/'),
  encodeURIComponent(secret),
  Buffer.from(secret).toString('base64'),
];

/**
 * Replaces secrets by `***`, and so all other fixed header values that are not in `known`. If a text holds one of
 * them in a disguised form, it is not shown at all, as its other parts may be disguised as well.
 */
export function createRedactor({
  headers,
  secrets,
  known,
}: {
  readonly headers: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  readonly known: readonly string[];
}): (text: string) => string {
  const fixed = Object.values(headers).filter(
    (value) => !known.includes(value) && value.length >= FIXED_SECRET_CHARACTERS_MIN,
  );
  const kept = [...new Set([...fixed, ...secrets].flatMap(spellings))]
    .filter((secret) => secret !== '')
    .sort((a, b) => b.length - a.length);
  return (text) => {
    const shown = kept.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
    const isDisguised =
      holdsDisguised(shown, secrets) || holdsDisguised(shown, fixed, FIXED_PIECE_CHARACTERS);
    return isDisguised ? NOT_SHOWN : shown;
  };
}

/** The beginning of a reply on one line, printable, without secrets. */
export function excerptOf(text: string, redact: (text: string) => string): string {
  const printable = redact(cutText(text, SEARCHED_CHARACTERS_MAX)).replaceAll(/[\p{C}\s]+/gu, ' ');
  const line = redact(printable).trim();
  return line.length <= EXCERPT_CHARACTERS_MAX ? line : `${cutText(line, EXCERPT_CHARACTERS_MAX)}...`;
}

/** A piece of this many characters, in any form, counts as the secret. Shorter secrets are searched for in full. */
const PIECE_CHARACTERS = 8;
/** Shorter secrets are not searched for, as they occur in any text by chance. */
const SECRET_CHARACTERS_MIN = 6;
const DISGUISE_SEARCHED_CHARACTERS_MAX = 16_384;

/** Letters and digits only, in lower case. So case and inserted characters make no difference. */
const bare = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

const reversed = (text: string): string => Array.from(text).reverse().join('');

/**
 * The base64 forms of the text at the three positions it can have in a longer text, without the characters that
 * depend on what is around it.
 */
const base64Forms = (text: string): string[] =>
  [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(text)]);
    const encoded = bytes.toString('base64').replace(/=+$/, '');
    return encoded.slice(before === 0 ? 0 : before + 1, bytes.length % 3 === 0 ? undefined : -1);
  });

const decimals = (text: string): string => [...Buffer.from(text)].join('');

/** Every form that a secret may have, each reduced by `bare`. */
function formsOf(secret: string): string[] {
  const cases = [secret, secret.toLowerCase(), secret.toUpperCase()];
  const both = [...cases, ...cases.map(reversed)];
  const encoded = both.flatMap((text) => {
    const hex = Buffer.from(text).toString('hex');
    const base64 = base64Forms(text);
    return [hex, reversed(hex), decimals(text), ...base64, ...base64.map(reversed)];
  });
  return [...both, ...encoded].map(bare);
}

/** All pieces of that many characters, or the complete form if it is shorter. */
function* piecesOf(form: string, characters: number): Generator<string> {
  if (form.length < SECRET_CHARACTERS_MIN) return;
  for (let at = 0; at === 0 || at + characters <= form.length; at += 1) {
    yield form.slice(at, at + characters);
  }
}

const character = (code: string, base: number): string => {
  const point = Number.parseInt(code, base);
  return point <= 0x10_ff_ff ? String.fromCodePoint(point) : '';
};

/** Replaces the escapes of URLs, JSON and HTML by the characters they mean. */
const unescaped = (text: string): string =>
  text
    .replaceAll(/(?:%|\\x|\\u00|\\u\{|&#x)([0-9a-f]{2})[};]?/gi, (_, code: string) => character(code, 16))
    .replaceAll(/&#(\d{1,7});?/g, (_, code: string) => character(code, 10));

/** Whether the text holds one of the secrets, or a piece of one, in another form. */
function holdsDisguised(
  text: string,
  secrets: readonly string[],
  pieceCharacters = PIECE_CHARACTERS,
): boolean {
  const searched = text.slice(0, DISGUISE_SEARCHED_CHARACTERS_MAX);
  const once = unescaped(searched);
  const views = [searched, searched.replaceAll(/0x|\\x/gi, ''), once, unescaped(once)].map(bare);
  return secrets
    .filter((secret) => bare(secret).length >= SECRET_CHARACTERS_MIN)
    .some((secret) =>
      formsOf(secret).some((form) =>
        [...piecesOf(form, pieceCharacters)].some((piece) => views.some((view) => view.includes(piece))),
      ),
    );
}

const NAMED_FIELDS_MAX = 10;
/** A code has at most six characters (docs/platform.md 8). */
const CODE = /^[A-Z0-9]{1,6}$/;
const CODE_FIELDS = ['code', 'respCode', 'errorCode', 'status'];

/** No reply repeats a longer value, such as an image, and it may hold any code by chance. */
const REPEATED_CHARACTERS_MAX = 4_096;

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
    const value = String(node).toLowerCase();
    if (value.length <= REPEATED_CHARACTERS_MAX) into.values.push(value);
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
