/**
 * Reads a JSON reply wherever its fields stand: the document shows fields and no envelope around them, so they may be
 * inside `data` or `result`, and a code of digits may come as a number (docs/platform.md 4, 7).
 */
import { PlatformRejected, PlatformReplyInvalid } from './errors.ts';
import { parseExactJson } from './exact-json.ts';
import type { Excerpt } from './transport.ts';

export type ReplyFields = Readonly<Record<string, unknown>>;

/** Envelopes within envelopes that are opened. */
const ENVELOPES_MAX = 4;
/** Objects looked at; a reply of an operation has a handful. */
const OBJECTS_MAX = 50;
/** Deeper than any reply: what lies below is left as it is. */
const DEPTH_MAX = 64;

/**
 * Where a reply says by a code how the call went, as the document does not show the shape of errors
 * (docs/platform.md 7).
 */
const CODE_FIELDS = ['code', 'respCode', 'errorCode', 'retCode', 'error'];
/** Codes by which others say that all is well; none of them is a refusal. */
const WELL = /^(?:0+|2\d\d|S\d+|OK|SUCCE(?:SS|EDED?)|ACCEPT(?:ED)?|TRUE)$/i;

export const cameOf = (text: string, excerpt: Excerpt): string =>
  text.trim() === '' ? '(nothing)' : excerpt(text);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** JSON with every number as the text of its digits: an identifier sent as a number keeps them all. Throws `SyntaxError`. */
function parseDigitsAsText(text: string): unknown {
  const { value, digitsOf } = parseExactJson(text.replace(/^\uFEFF/, ''));
  const plain = (node: unknown, depth: number): unknown => {
    if (typeof node === 'string') return digitsOf(node) ?? node;
    if (typeof node !== 'object' || node === null || depth > DEPTH_MAX) return node;
    if (Array.isArray(node)) return node.map((element) => plain(element, depth + 1));
    return Object.fromEntries(Object.entries(node).map(([name, inner]) => [name, plain(inner, depth + 1)]));
  };
  return plain(value, 0);
}

/** The object a value is or holds: itself, the only element of a list, or JSON written as text. */
function objectIn(value: unknown): ReplyFields | null {
  if (isObject(value)) return value;
  if (Array.isArray(value)) return value.length === 1 && isObject(value[0]) ? value[0] : null;
  if (typeof value !== 'string' || !/^\s*\{/.test(value)) return null;
  try {
    const inner = parseDigitsAsText(value);
    return isObject(inner) ? inner : null;
  } catch {
    return null;
  }
}

/** An object and the objects within it, from the outside in. */
function layersOf(root: ReplyFields): ReplyFields[] {
  const layers = [root];
  let level = [root];
  for (let depth = 0; depth < ENVELOPES_MAX && level.length > 0; depth += 1) {
    level = level
      .flatMap((layer) => Object.values(layer).map(objectIn))
      .filter((layer) => layer !== null)
      .slice(0, OBJECTS_MAX - layers.length);
    layers.push(...level);
  }
  return layers;
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== '';

/** A reply, or a notification, with its envelopes open. */
export interface Opened {
  /** The object that holds most of the expected fields: the reply itself. */
  readonly body: ReplyFields;
  /** Every object there is, from the outside in. */
  readonly layers: readonly ReplyFields[];
  /** A field of the body, or of the outermost envelope that has it; undefined where it is nowhere filled. */
  readonly field: (name: string) => unknown;
}

/** Opens what surrounds the expected fields. Null where there is no object. Throws `SyntaxError` where it is no JSON. */
export function opened(text: string, expected: readonly string[]): Opened | null {
  const root = objectIn(parseDigitsAsText(text));
  if (root === null) return null;
  const layers = layersOf(root);
  const countIn = (layer: ReplyFields) => expected.filter((name) => name in layer).length;
  // Of equals the outermost, which is the first.
  const body = layers.reduce((best, layer) => (countIn(layer) > countIn(best) ? layer : best), root);
  const field = (name: string) => [body, ...layers].map((layer) => layer[name]).find(isGiven);
  return { body, layers, field };
}

/** What an object says by its fields for codes. */
export const codesIn = (layer: ReplyFields): readonly unknown[] =>
  CODE_FIELDS.map((name) => layer[name]).filter(isGiven);

/**
 * Whether the reply says no: by the codes beside its fields, or where there are none by those around them. A code by which
 * others say that all is well is no refusal.
 */
export function saysNo({ body, layers }: Opened): boolean {
  const own = codesIn(body);
  const codes = own.length > 0 ? own : layers.flatMap(codesIn);
  return codes.length > 0 && !codes.some((code) => WELL.test(String(code)));
}

/**
 * The reply, opened. Throws `PlatformReplyInvalid` where it is no JSON object, and `PlatformRejected` where none of the
 * `expected` fields is there but a code that says no.
 */
export function openReply(text: string, excerpt: Excerpt, expected: readonly string[]): Opened {
  let reply: Opened | null;
  try {
    reply = opened(text, expected);
  } catch {
    const kind = /^\s*</.test(text) ? 'HTML' : 'no JSON';
    throw new PlatformReplyInvalid(`answered by ${kind}: ${cameOf(text, excerpt)}`);
  }
  if (reply === null) {
    throw new PlatformReplyInvalid(`answered by something else than an object: ${cameOf(text, excerpt)}`);
  }
  if (!expected.some((field) => field in reply.body) && saysNo(reply)) {
    throw new PlatformRejected(`answered by an error document: ${cameOf(text, excerpt)}`, false, text);
  }
  return reply;
}

/** Text as an identifier or code may be: printable, without spaces at its ends, 1 to `max` characters. */
export const isPrintable = (value: unknown, max: number): value is string =>
  typeof value === 'string' &&
  value.length >= 1 &&
  value.length <= max &&
  value.trim() === value &&
  !/\p{C}/u.test(value);
