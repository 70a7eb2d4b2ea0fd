/**
 * Finds the fields of a JSON reply wherever they are. The document shows the fields, but no envelope around them. So
 * they may be inside `data` or `result`, and a code of digits may come as a number (docs/platform.md 4, 7).
 */
import { PlatformRejected, PlatformReplyInvalid } from './errors.ts';
import { parseExactJson } from './exact-json.ts';
import type { Excerpt } from './transport.ts';

export type ReplyFields = Readonly<Record<string, unknown>>;

/** How many levels of envelopes are opened. */
const ENVELOPES_MAX = 4;
/** How many objects are looked at; a real reply has a few. */
const OBJECTS_MAX = 50;
/** Deeper than any real reply. Below this depth numbers are not turned into text. */
const DEPTH_MAX = 64;

/**
 * Fields that may hold a code for how the call went. The document does not show what errors look like
 * (docs/platform.md 7).
 */
const CODE_FIELDS = ['code', 'respCode', 'errorCode', 'retCode', 'error'];
/** Codes that commonly mean success. A reply with one of them is no refusal. */
const WELL = /^(?:0+|2\d\d|S\d+|OK|SUCCE(?:SS|EDED?)|ACCEPT(?:ED)?|TRUE)$/i;

export const cameOf = (text: string, excerpt: Excerpt): string =>
  text.trim() === '' ? '(nothing)' : excerpt(text);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads JSON with every number as text, so that an identifier sent as a number keeps all digits. Throws
 * `SyntaxError`.
 */
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

/** The object itself, the object that is the only element of a list, or the object in a text of JSON. */
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

/** An object and all objects inside it, the outermost first. */
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

/** A reply or a notification, with its envelopes opened. */
export interface Opened {
  /** The object with most of the expected fields: the reply itself. */
  readonly body: ReplyFields;
  /** All objects, the outermost first. */
  readonly layers: readonly ReplyFields[];
  /**
   * A field of the body, or else of the outermost object that has it; undefined if it is missing or empty everywhere.
   */
  readonly field: (name: string) => unknown;
}

/**
 * Finds the object with the expected fields. Null if there is no object. Throws `SyntaxError` if the text is no JSON.
 */
export function opened(text: string, expected: readonly string[]): Opened | null {
  const root = objectIn(parseDigitsAsText(text));
  if (root === null) return null;
  const layers = layersOf(root);
  const countIn = (layer: ReplyFields) => expected.filter((name) => name in layer).length;
  // If several have equally many of the fields, the outermost wins, as it comes first.
  const body = layers.reduce((best, layer) => (countIn(layer) > countIn(best) ? layer : best), root);
  const field = (name: string) => [body, ...layers].map((layer) => layer[name]).find(isGiven);
  return { body, layers, field };
}

/** The codes that an object holds in the fields for codes. */
export const codesIn = (layer: ReplyFields): readonly unknown[] =>
  CODE_FIELDS.map((name) => layer[name]).filter(isGiven);

/**
 * Whether the reply is a refusal. The codes in the body decide; if it has none, those of all objects around it. A
 * reply with a common code for success is no refusal.
 */
export function saysNo({ body, layers }: Opened): boolean {
  const own = codesIn(body);
  const codes = own.length > 0 ? own : layers.flatMap(codesIn);
  return codes.length > 0 && !codes.some((code) => WELL.test(String(code)));
}

/**
 * Opens the reply. Throws `PlatformReplyInvalid` if it is no JSON object. Throws `PlatformRejected` if it has none of
 * the `expected` fields but a code that means refusal.
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

/** Whether a value can be an identifier or code: text of 1 to `max` printable characters, no space at either end. */
export const isPrintable = (value: unknown, max: number): value is string =>
  typeof value === 'string' &&
  value.length >= 1 &&
  value.length <= max &&
  value.trim() === value &&
  !/\p{C}/u.test(value);
