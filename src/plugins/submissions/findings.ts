/**
 * What the platform says of an application, in a refusal or in the message of a result (docs/platform.md 6.1): reasons, names
 * of fields, a process version. The document does not show its shape, so it is read by the names of its keys. Nothing it
 * says is lost. Pure.
 */

/** As docs/platform.md 2.3 limits it. */
const PROCESS_VERSION_CHARACTERS_MAX = 10;
/** A message of 255 characters is never nested as deep as this. */
const DEPTH_MAX = 20;
/** What separates field names in one text. */
const SEPARATORS = /[\s,;|、，；]+/;

export interface Findings {
  /** Everything that is neither a field name nor the version, in order. */
  readonly reasons: readonly string[];
  /** Fields to supplement or correct. */
  readonly fields: readonly string[];
  /** For the resubmission (docs/platform.md 2.3, 9). */
  readonly processVersion: string | null;
  /** The number that a reply names, in whatever form, where it could not be kept as the application's own. */
  readonly bizFlow: string | null;
}

export const NOTHING_FOUND: Findings = { reasons: [], fields: [], processVersion: null, bizFlow: null };

const VERSION_KEY = /^process_?(?:version|id|ver)$/i;
const FIELD_KEY = /field|param|column|material/i;
/** Keys of what is no field of an application: words for a reason, and what a reply or a result has around it. */
const OTHER_KEY =
  /^(?:(?:err(?:or)?|resp|ret|rsp|result|status|sub|biz)?_?(?:code|msg|message|status|flow(?:no)?)|reasons?|remarks?|details?|desc(?:ription)?|cause|comments?|texts?|notes?|why|data|body|result|head|header|success|errors?|merOrderNo|merchantNo|merNameEn|token|timestamp|traceId|requestId)?$/i;

/** Names of fields as a message has them as keys: words of one piece, as `certificate` or `shareholder[0].certNo`. */
const isFieldName = (key: string): boolean =>
  /^[a-z][A-Za-z0-9]*(?:\[\d+\])?(?:\.[a-z][A-Za-z0-9]*)*$/.test(key) && !OTHER_KEY.test(key);

/** A text that holds an object: it begins as JSON, and has a key. */
const OBJECT_TEXT = /^\s*[{[].*"\s*:/s;

interface Gathered {
  readonly reasons: string[];
  readonly fields: string[];
  processVersion: string | null;
  bizFlow: string | null;
}

/** `named`: the field that what is said here belongs to, where a key names one. */
function gather(node: unknown, key: string, named: string, into: Gathered, depth: number): void {
  if (node === null || node === undefined || depth > DEPTH_MAX) return;
  if (Array.isArray(node)) {
    for (const element of node) gather(element, key, named, into, depth + 1);
  } else if (typeof node === 'object') {
    for (const [name, value] of Object.entries(node)) {
      const isNamed =
        isFieldName(name) && !VERSION_KEY.test(name) && !FIELD_KEY.test(name) && name !== 'bizFlow';
      if (isNamed && value !== null) into.fields.push(name);
      gather(value, name, isNamed ? name : named, into, depth + 1);
    }
  } else if (typeof node === 'string' && OBJECT_TEXT.test(node) && jsonIn(node) !== undefined) {
    gather(jsonIn(node), key, named, into, depth + 1);
  } else if (typeof node === 'string' || typeof node === 'number' || typeof node === 'boolean') {
    place(String(node).trim(), key, named, into);
  }
}

function place(text: string, key: string, named: string, into: Gathered): void {
  if (text === '') return;
  if (VERSION_KEY.test(key) && text.length <= PROCESS_VERSION_CHARACTERS_MAX) into.processVersion = text;
  else if (key === 'bizFlow' && into.bizFlow === null) into.bizFlow = text;
  else if (FIELD_KEY.test(key)) into.fields.push(...text.split(SEPARATORS).filter((name) => name !== ''));
  else into.reasons.push(named === '' ? text : `${named}: ${text}`);
}

/** What a JSON text says, also where it was cut off, as at 255 characters. Undefined if it is none. */
function jsonIn(text: string): unknown {
  const ends = [''];
  let isText = false;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at]!;
    if (isText && sign === '\\') at += 1;
    else if (sign === '"') isText = !isText;
    else if (!isText && (sign === '{' || sign === '[')) ends.unshift(sign === '{' ? '}' : ']');
    else if (!isText && (sign === '}' || sign === ']')) ends.shift();
  }
  const closed = ends.join('');
  const ways = isText
    ? [`${text}"${closed}`, `${text}":null${closed}`, `${text.slice(0, -1)}"${closed}`]
    : [text, text + closed, `${text.replace(/,\s*$/, '')}${closed}`, `${text}null${closed}`];
  for (const way of ways) {
    try {
      return JSON.parse(way) as unknown;
    } catch {
      // Another way may be right.
    }
  }
  return undefined;
}

const withoutRepeats = (texts: readonly string[]): string[] => [...new Set(texts)];

/** Reads a message. If it is not JSON, the complete text is one reason. */
export function findingsOf(message: string): Findings {
  const gathered: Gathered = { reasons: [], fields: [], processVersion: null, bizFlow: null };
  const content = jsonIn(message);
  gather(content === undefined ? message : content, '', '', gathered, 0);
  return {
    reasons: withoutRepeats(gathered.reasons),
    fields: withoutRepeats(gathered.fields),
    processVersion: gathered.processVersion,
    bizFlow: gathered.bizFlow,
  };
}

/** Shorter values are not hidden: they may be part of an ordinary word. */
const HIDDEN_CHARACTERS_MIN = 3;
/** What can be a number, though it may be too long to be kept as one. Anything else may repeat the request. */
const ONE_WORD = /^[^\s{}"]{1,500}$/;
const HIDDEN = '*** (--reveal prints it)';

/** Every text in a payload. A person's name is also split into its words. */
function valuesIn(node: unknown, field = ''): string[] {
  if (typeof node === 'string') return field === 'certName' ? [node, ...node.split(/\s+/)] : [node];
  if (typeof node !== 'object' || node === null) return [];
  if (Array.isArray(node)) return node.flatMap((element) => valuesIn(element, field));
  return Object.entries(node).flatMap(([name, value]) => valuesIn(value, name));
}

const literally = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

/**
 * Replaces by *** what a sentence repeats of the application. Capital and small letters count as the same. `inParts`: also
 * parts of a value, as a list of names is split.
 */
export function withoutValues(sentence: string, payload: unknown, inParts = false): string {
  const values = valuesIn(payload)
    .flatMap((value) => (inParts ? [value, ...value.split(SEPARATORS)] : value))
    .filter((value) => value.length >= HIDDEN_CHARACTERS_MIN)
    .sort((a, b) => b.length - a.length);
  return values.reduce(
    (kept, value) => kept.replaceAll(new RegExp(literally(value), 'giu'), '***'),
    sentence,
  );
}

/** The same findings without what repeats the payload. A reason of which nothing is left says how to see it. */
export function shownFindings(findings: Findings, payload: unknown): Findings {
  const hide = (sentence: string) => withoutValues(sentence, payload);
  const { bizFlow: flow, reasons, fields, processVersion } = findings;
  return {
    reasons: reasons.map(hide).map((text) => (/[\p{L}\p{N}]/u.test(text) ? text : HIDDEN)),
    fields: fields.map((name) => withoutValues(name, payload, true)),
    processVersion,
    bizFlow: flow === null || (ONE_WORD.test(flow) && hide(flow) === flow) ? flow : HIDDEN,
  };
}
