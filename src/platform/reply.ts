/**
 * Finds the fields of a JSON reply wherever they are. The document shows the fields, but no envelope around them. So
 * they may be inside `data` or `result`, and a code of digits may come as a number (docs/platform.md 4, 7).
 */
import { PlatformRejected, PlatformReplyInvalid } from './errors.ts';
import { ONLY_ELEMENT, parseExactJson, type ExactJson } from './exact-json.ts';
import type { Excerpt, ReplyContext } from './transport.ts';

export type ReplyFields = Readonly<Record<string, unknown>>;

const ENVELOPES_MAX = 4;
/** How many objects are read; a real reply has a few. */
const OBJECTS_MAX = 50;
/** Deeper than any real reply. Below this depth numbers are not turned into text. */
const DEPTH_MAX = 64;

export const cameOf = (text: string, excerpt: Excerpt): string =>
  text.trim() === '' ? '(nothing)' : excerpt(text);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The value with every number as text, so that an identifier sent as a number keeps all digits. */
function withPlainNumbers(value: unknown, { digitsOf }: ExactJson): unknown {
  const plain = (node: unknown, depth: number): unknown => {
    if (typeof node === 'string') return digitsOf(node) ?? node;
    if (typeof node !== 'object' || node === null || depth > DEPTH_MAX) return node;
    if (Array.isArray(node)) return node.map((element) => plain(element, depth + 1));
    return Object.fromEntries(Object.entries(node).map(([name, inner]) => [name, plain(inner, depth + 1)]));
  };
  return plain(value, 0);
}

/** A field's value as text: as it is, or as JSON. */
export function valueText(value: unknown, json: ExactJson): string {
  const plain = withPlainNumbers(value, json);
  return typeof plain === 'string' ? plain : JSON.stringify(plain);
}

/** What a JSON text says, with every number as text; undefined if it is no JSON. */
export function jsonIn(text: string): unknown {
  try {
    const json = parseExactJson(text);
    return withPlainNumbers(json.value, json);
  } catch {
    return undefined;
  }
}

/** A JSON text and its reading, of which an object is a part. */
interface Source {
  readonly text: string;
  readonly json: ExactJson;
}

export interface Layer extends Source {
  readonly fields: ReplyFields;
  /** The names that lead to it from the outside of `text`, see `elementTexts`. */
  readonly path: readonly string[];
}

/** The object itself, the object that is the only element of a list, or the object in a text of JSON. */
function layerIn(value: unknown, source: Source, path: readonly string[]): Layer | null {
  if (isObject(value)) return { ...source, fields: value, path };
  if (Array.isArray(value)) {
    const only: unknown = value.length === 1 ? value[0] : null;
    return isObject(only) ? { ...source, fields: only, path: [...path, ONLY_ELEMENT] } : null;
  }
  if (typeof value !== 'string' || !/^\s*[{[]/.test(value)) return null;
  try {
    const json = parseExactJson(value);
    return typeof json.value === 'string' ? null : layerIn(json.value, { text: value, json }, []);
  } catch {
    return null;
  }
}

/**
 * All objects of a reply, the outermost first; what is under one of the `data` names is none of them. Empty where the
 * text holds no object. Throws `SyntaxError` if it is no JSON.
 */
export function layersOf(text: string, data: readonly string[] = []): Layer[] {
  const trimmed = text.replace(/^\uFEFF/, '');
  const json = parseExactJson(trimmed);
  const root = layerIn(json.value, { text: trimmed, json }, []);
  if (root === null) return [];
  const layers = [root];
  let level = [root];
  for (let depth = 0; depth < ENVELOPES_MAX && level.length > 0; depth += 1) {
    level = level
      .flatMap((layer) =>
        Object.entries(layer.fields).map(([name, value]) =>
          data.includes(name) ? null : layerIn(value, layer, [...layer.path, name]),
        ),
      )
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
  return openedFrom(layersOf(text), expected);
}

/** The same; null where the text is no JSON, too. */
export function openedOrNull(text: string, expected: readonly string[]): Opened | null {
  try {
    return opened(text, expected);
  } catch {
    return null;
  }
}

function openedFrom(found: readonly Layer[], expected: readonly string[]): Opened | null {
  const layers = found.map(({ fields, json }) => withPlainNumbers(fields, json) as ReplyFields);
  const [root] = layers;
  if (root === undefined) return null;
  const countIn = (layer: ReplyFields) => expected.filter((name) => name in layer).length;
  // If several have equally many of the fields, the outermost wins, as it comes first.
  const body = layers.reduce((best, layer) => (countIn(layer) > countIn(best) ? layer : best), root);
  const field = (name: string) => [body, ...layers].map((layer) => layer[name]).find(isGiven);
  return { body, layers, field };
}

interface ReplyShape {
  /** Names of the fields that the document shows. */
  readonly expected: readonly string[];
  /** Which of them hold data: nothing in there says how the call went. */
  readonly data?: readonly string[];
  /** Whether `status` is the state of what was asked for, and not how the call went. */
  readonly hasState?: boolean;
}

interface Reply {
  readonly layers: readonly Layer[];
  /** The name of the first field that says that the platform refused; null where none does. */
  readonly refusal: string | null;
}

/** The objects of a reply. Throws `PlatformReplyInvalid` if it is no JSON object. */
export function readReply(text: string, { excerpt, isSuccess }: ReplyContext, shape: ReplyShape): Reply {
  let layers: readonly Layer[];
  try {
    layers = layersOf(text, shape.data);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const isCut = /^\s*[{[]/.test(text);
    const kind = /^\s*</.test(text) ? 'HTML' : isCut ? 'broken off or garbled JSON' : 'no JSON';
    throw new PlatformReplyInvalid(`answered by ${kind}: ${cameOf(text, excerpt)}`);
  }
  if (layers.length === 0) {
    throw new PlatformReplyInvalid(`answered by something else than an object: ${cameOf(text, excerpt)}`);
  }
  return { layers, refusal: refusalIn(layers, isSuccess, shape.hasState) };
}

/** The error for a reply in which `field` says no. */
export const refusedBy = (field: string, text: string, excerpt: Excerpt): PlatformRejected =>
  new PlatformRejected(
    `refused: ${field} has no value that means success (PLATFORM_SUCCESS_CODES): ${cameOf(text, excerpt)}`,
    false,
    text,
  );

/** A code of HTTP, as `401` or `E40100`, or a code or message that names the token or the login. */
const NAMES_TOKEN =
  /"(?:resp|ret|result|status|err|error)?_?code"\s*:\s*"?[a-z]?40[13](?:00)?(?!\w)|"\w*(?:code|msg|message|error|reason)"\s*:\s*"[^"]*(?<![a-z])(?:token|unauthori[sz]ed|unauthenticated)(?![a-z])/i;

/** The same for a merchant's own call that changes nothing: where the reply names the token, that is what was refused. */
export function refusedWithToken(field: string, text: string, excerpt: Excerpt): PlatformRejected {
  const { message } = refusedBy(field, text, excerpt);
  return new PlatformRejected(message, false, text, NAMES_TOKEN.test(text));
}

/**
 * Opens the reply. Throws `PlatformReplyInvalid` if it is no JSON object, and `PlatformRejected` if a code, status or
 * flag in it says no, whatever else it holds.
 */
export function openReply(text: string, context: ReplyContext, shape: ReplyShape): Opened {
  const { layers, refusal } = readReply(text, context, shape);
  if (refusal !== null) throw refusedBy(refusal, text, context.excerpt);
  return openedFrom(layers, shape.expected)!;
}

/** Whether a value can be an identifier or code: text of 1 to `max` printable characters, no space at either end. */
export const isPrintable = (value: unknown, max: number): value is string =>
  typeof value === 'string' &&
  value.length >= 1 &&
  value.length <= max &&
  value.trim() === value &&
  !/\p{C}/u.test(value);

/** Longest number of an application or a registration that is kept: a limit of our own (docs/platform.md 8). */
export const REFERENCE_CHARACTERS_MAX = 128;

/** The number that a field names, without the blanks around it; null where it is none that can be kept and shown. */
export function referenceIn(value: unknown): string | null {
  const text = typeof value === 'string' ? value.trim() : value;
  return isPrintable(text, REFERENCE_CHARACTERS_MAX) ? text : null;
}

type Kind = 'code' | 'status' | 'flag' | 'error';

/** What a name may begin with that is of the reply. */
const OF_REPLY = '(?:resp|response|rsp|res|ret|return|rtn|result|status|biz|sub)?';

/**
 * The document shows no error reply (docs/platform.md 7), so the usual names of codes, statuses and flags are read.
 * Compared in lower case and without `_` and `-`.
 */
const NAMES: readonly (readonly [Kind, RegExp])[] = [
  ['error', /^(?:has|is)?(?:err|fail|fault|exception)/],
  ['code', new RegExp(`^(?:${OF_REPLY}(?:code|cd)|ret)$`)],
  ['status', new RegExp(`^(?:${OF_REPLY}(?:status|state)|result)$`)],
  ['flag', new RegExp(`^(?:(?:is)?(?:succ|success|successful|succeeded|ok)(?:flag)?|${OF_REPLY}flag)$`)],
];

const YES = /^(?:1|y|yes)$/i;
const NO = /^(?:0+|false|none|no|null)$/i;
const TRUE = /^true$/i;

const kindOf = (name: string): Kind | undefined => {
  const plain = name.toLowerCase().replace(/[_-]/g, '');
  return NAMES.find(([, pattern]) => pattern.test(plain))?.[0];
};

/** Whether a field of this name says how a call went, so that `refusalIn` reads it. */
export const saysOutcome = (name: string): boolean => kindOf(name) !== undefined;

/** Whether the value of an outcome field says no. */
function saysNo(kind: Kind, value: unknown, isSuccess: (code: string) => boolean): boolean {
  if (typeof value === 'boolean') return (kind === 'error') === value;
  // Objects and lists under another name are envelopes.
  if (typeof value === 'object' && value !== null) return kind === 'error' && Object.keys(value).length > 0;
  if (typeof value !== 'string' || value.trim() === '') return false;
  const text = value.trim();
  if (kind === 'flag') return NO.test(text) || !(YES.test(text) || isSuccess(text));
  if (kind === 'error') return TRUE.test(text) || !(NO.test(text) || isSuccess(text));
  // A text of JSON is an envelope.
  return !isSuccess(text) && !/^[{[]/.test(text);
}

/** The name of the first field that says no; null where none does. With `hasState`, `status` itself is not read. */
export function refusalIn(
  layers: readonly Layer[],
  isSuccess: (code: string) => boolean,
  hasState = false,
): string | null {
  for (const { fields, json } of layers) {
    for (const [name, given] of Object.entries(fields)) {
      const kind = kindOf(name);
      if (kind === undefined || (hasState && name === 'status')) continue;
      if (saysNo(kind, json.digitsOf(given) ?? given, isSuccess)) return name;
    }
  }
  return null;
}
