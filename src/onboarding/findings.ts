/**
 * What a result's message says (docs/platform.md 6.1): a JSON text with a reason and the names of affected fields. The
 * document does not show its shape, so it is read by the names of its keys. Nothing it says is lost.
 */

/** As docs/platform.md 2.3 limits it. */
const PROCESS_VERSION_CHARACTERS_MAX = 10;
/** A message of 255 characters is never nested as deep as this. */
const DEPTH_MAX = 20;

export interface Findings {
  /** Everything that is neither a field name nor the version, in order. */
  readonly reasons: readonly string[];
  /** Fields to supplement or correct. */
  readonly fields: readonly string[];
  /** For the resubmission (docs/platform.md 2.3, 9). */
  readonly processVersion: string | null;
}

const VERSION_KEY = /^process_?(?:version|id|ver)$/i;
const FIELD_KEY = /field|param|column|material/i;
/** What separates field names in one text. */
const SEPARATORS = /[\s,;|、，；]+/;

interface Gathered {
  readonly reasons: string[];
  readonly fields: string[];
  processVersion: string | null;
}

function gather(node: unknown, key: string, into: Gathered, depth: number): void {
  if (node === null || node === undefined || depth > DEPTH_MAX) return;
  if (Array.isArray(node)) {
    for (const element of node) gather(element, key, into, depth + 1);
  } else if (typeof node === 'object') {
    for (const [name, value] of Object.entries(node)) gather(value, name, into, depth + 1);
  } else if (typeof node === 'string' || typeof node === 'number' || typeof node === 'boolean') {
    place(String(node).trim(), key, into);
  }
}

function place(text: string, key: string, into: Gathered): void {
  if (text === '') return;
  if (VERSION_KEY.test(key) && text.length <= PROCESS_VERSION_CHARACTERS_MAX) into.processVersion = text;
  else if (FIELD_KEY.test(key)) into.fields.push(...text.split(SEPARATORS).filter((name) => name !== ''));
  else into.reasons.push(text);
}

const withoutRepeats = (texts: readonly string[]): string[] => [...new Set(texts)];

/** Reads a message. If it is not JSON, the complete text is one reason. */
export function findingsOf(message: string): Findings {
  const gathered: Gathered = { reasons: [], fields: [], processVersion: null };
  let content: unknown = message;
  try {
    content = JSON.parse(message);
  } catch {
    // The text is not JSON, or was cut at 255 characters: it is kept as it is.
  }
  gather(content, '', gathered, 0);
  return {
    reasons: withoutRepeats(gathered.reasons),
    fields: withoutRepeats(gathered.fields),
    processVersion: gathered.processVersion,
  };
}
