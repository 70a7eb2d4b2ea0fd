/**
 * What a field of an application must be, as small rules put together in tables. Every rule notes its problem and goes
 * on, so that a person learns all of them at once; none ever repeats a value, as these are personal data.
 */
import { didYouMean } from '../settings/suggest.ts';

/** One thing to mend. */
export interface Problem {
  /** Where in the file: `shareholder[0].certNo`. */
  readonly path: string;
  /** A sentence that goes on from the path: `is required`. */
  readonly problem: string;
}

export type Fields = Readonly<Record<string, unknown>>;

/** The place a value stands at, and where its problems are noted. */
export interface Place {
  readonly path: string;
  /** The object the value stands in: some rules look at its neighbours. */
  readonly fields: Fields;
  readonly note: (problem: Problem) => void;
  /** Where things are noted that the document leaves open: told, and sent all the same. */
  readonly warn: (problem: Problem) => void;
}

/** Reads a given value; notes what is wrong and returns undefined, or returns it as it goes to the platform. */
export type Reader = (value: unknown, place: Place) => unknown;

export interface FieldRule {
  readonly name: string;
  readonly read: Reader;
  /** Why the field may not be left out beside these others: a sentence, or null where it may. */
  readonly missing: (fields: Fields) => string | null;
}

const REQUIRED = 'is required';
const CONTROL = /\p{Cc}/u;
const SHOWN_NAME_CHARACTERS_MAX = 40;

export const mandatory = (name: string, read: Reader, missing = REQUIRED): FieldRule => ({
  name,
  read,
  missing: () => missing,
});
export const optional = (name: string, read: Reader): FieldRule => ({ name, read, missing: () => null });
/** Required where `isNeeded` says so of the fields beside it. */
export const conditional = (
  name: string,
  read: Reader,
  isNeeded: (fields: Fields) => boolean,
  missing: string,
): FieldRule => ({ name, read, missing: (fields) => (isNeeded(fields) ? missing : null) });

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What is empty counts as left out, as forms and exports write it. */
export const isGiven = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  !(typeof value === 'string' && value.trim() === '') &&
  !(Array.isArray(value) && value.length === 0);

/** Notes what is wrong at a place; the value is left out. */
const refuse = ({ path, note }: Place, problem: string): unknown => {
  note({ path, problem });
  return undefined;
};

/** A name nobody knows, shortened and printable: it may be a value put in the wrong place. */
const shownName = (name: string): string =>
  /^[\w.-]+$/.test(name) && name.length <= SHOWN_NAME_CHARACTERS_MAX ? name : '(unreadable name)';

/** Reads an object by its table, in the table's order; notes fields missing and fields nobody knows. */
export function readFields(rules: readonly FieldRule[], value: Fields, { path, note, warn }: Place): Fields {
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);
  const names = rules.map(({ name }) => name);
  const read: Record<string, unknown> = {};
  for (const rule of rules) {
    const given = Object.hasOwn(value, rule.name) ? value[rule.name] : undefined;
    const place: Place = { path: at(rule.name), fields: value, note, warn };
    if (isGiven(given)) {
      const kept = rule.read(given, place);
      if (kept !== undefined) read[rule.name] = kept;
      continue;
    }
    const why = rule.missing(value);
    if (why !== null) note({ path: place.path, problem: why });
  }
  for (const name of Object.keys(value).filter((key) => !names.includes(key))) {
    const meant = didYouMean(name, names);
    const hint = meant === null ? '' : `; did you mean ${meant}?`;
    note({ path: at(shownName(name)), problem: `is no field of the platform’s document${hint}` });
  }
  return read;
}

/** An object with fields of its own. */
export const objectOf =
  (rules: readonly FieldRule[]): Reader =>
  (value, place) =>
    isFields(value) ? readFields(rules, value, place) : refuse(place, 'must be a mapping of fields');

/** Characters as a person counts them. */
const lengthOf = (text: string): number => Array.from(text).length;

export interface TextRule {
  /** In characters. */
  readonly max: number;
  /** The first thing wrong with a text that is no longer than that: a sentence, or null. */
  readonly wrong?: (text: string, place: Place) => string | null;
  /** What is odd about a text that is sent all the same: a sentence, or null. */
  readonly odd?: (text: string) => string | null;
}

const generalProblem = (text: string, max: number): string | null => {
  if (CONTROL.test(text)) return 'holds a line break or another control character; write it on one line';
  if (!text.isWellFormed()) return 'holds half a character; write it anew';
  if (text !== text.trim()) return 'begins or ends with a blank; leave the blank out';
  const length = lengthOf(text);
  return length > max ? `has ${length} characters; the platform takes at most ${max}` : null;
};

/** A text of one line. */
export const text =
  ({ max, wrong, odd }: TextRule): Reader =>
  (value, place) => {
    if (typeof value !== 'string') {
      const mend = typeof value === 'number' || typeof value === 'boolean' ? '; put it in quotes' : '';
      return refuse(place, `must be text${mend}`);
    }
    const problem = generalProblem(value, max) ?? wrong?.(value, place) ?? null;
    if (problem !== null) return refuse(place, problem);
    const oddity = odd?.(value) ?? null;
    if (oddity !== null) place.warn({ path: place.path, problem: oddity });
    return value;
  };

/** A text that looks like `pattern`; else `problem`. */
export const matching = (max: number, pattern: RegExp, problem: string): Reader =>
  text({ max, wrong: (value) => (pattern.test(value) ? null : problem) });

/** One of the document's own codes, each with what it means. */
export function choice(meanings: Readonly<Record<string, string>>): Reader {
  const codes = Object.entries(meanings).map(([code, meaning]) => `${code} (${meaning})`);
  const problem = `must be one of ${codes.join(', ')}, in quotes`;
  return (value, place) =>
    typeof value === 'string' && Object.hasOwn(meanings, value) ? value : refuse(place, problem);
}

/** A list whose every element is read by `element`; texts may not repeat. */
export const listOf =
  (element: Reader): Reader =>
  (value, place) => {
    if (!Array.isArray(value)) return refuse(place, 'must be a list');
    return value.map((one: unknown, index) => {
      const at: Place = { ...place, path: `${place.path}[${index}]` };
      if (!isGiven(one)) return refuse(at, 'is empty');
      const earlier = typeof one === 'string' ? value.indexOf(one) : index;
      return earlier < index ? refuse(at, `is the same as ${place.path}[${earlier}]`) : element(one, at);
    });
  };
