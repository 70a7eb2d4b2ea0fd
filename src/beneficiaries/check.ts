/** Checks a registration file in full before anything is recorded or sent: all problems at once, values never repeated. */
import type { z } from 'zod';
import { didYouMean } from '../settings/suggest.ts';
import { eitherSchema, FIELD_NAMES, KINDS, type Registration } from './registration.ts';
import { NOT_TEXT, RULES, type FieldReader, type RuleContext, type StoredReference } from './rules.ts';

export type { StoredReference };

export interface RegistrationProblem {
  /** Where in the file: `swiftCode`, `relationProof[1]`. */
  readonly path: string;
  /** What is wrong, to be read after the path; without the value, which may be personal. */
  readonly problem: string;
}

export type CheckedRegistration =
  { readonly registration: Registration } | { readonly problems: readonly RegistrationProblem[] };

/** How the file as a whole is called where it is no mapping of fields. */
const WHOLE_FILE = '(the file)';

/** Checks what a file holds against docs/platform.md 2.5, 2.6, 4.4 and 8. Pure. */
export function checkRegistration(file: unknown, context: RuleContext): CheckedRegistration {
  if (!isMapping(file)) return { problems: [{ path: WHOLE_FILE, problem: 'must be a mapping of fields' }] };
  const fields = withoutBlanks(file);
  const kind = kindOf(fields['bizMode']);
  const parsed = (kind === null ? eitherSchema : KINDS[kind].schema).safeParse(fields);
  const field = readerOf(fields);
  const ruled = RULES.flatMap((rule) => rule(field, context));
  const problems = [
    ...(parsed.success ? [] : parsed.error.issues.flatMap((issue) => problemsOf(issue, kind))),
    ...(kind === null ? unknownProblems(Object.keys(fields), null) : []),
    ...ruled.filter(({ isWarning }) => isWarning !== true),
  ];
  if (problems.length > 0) return { problems: inOrder(problems) };
  for (const { path, problem } of ruled) context.onWarning?.({ path, problem });
  return { registration: parsed.data as Registration };
}

/** The country of the file's bank, for looking up reference data; null where the file does not say. */
export const bankCountryOf = (file: unknown): string | null => {
  const country = isMapping(file) ? file['countryCode'] : null;
  return typeof country === 'string' && /^[A-Z]{2}$/.test(country) ? country : null;
};

type Fields = Readonly<Record<string, unknown>>;
const isMapping = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function readerOf(fields: Fields): FieldReader {
  const field = (name: string): string | undefined => {
    const value = fields[name];
    return value === undefined || typeof value === 'string' ? value : NOT_TEXT;
  };
  const list = (name: string): [number, string][] => {
    const value = fields[name];
    return Array.isArray(value)
      ? value.flatMap((text: unknown, index): [number, string][] =>
          typeof text === 'string' ? [[index, text]] : [],
        )
      : [];
  };
  return Object.assign(field, { list });
}

const kindOf = (bizMode: unknown): keyof typeof KINDS | null =>
  bizMode === 'B' || bizMode === 'C' ? bizMode : null;

/**
 * A field with nothing in it counts as left out, as forms write it; payoutType may even be sent empty
 * (docs/platform.md 2.5).
 */
const withoutBlanks = (file: Fields): Fields =>
  Object.fromEntries(
    Object.entries(file).filter(([name, value]) => !FIELD_NAMES.includes(name) || isGiven(value)),
  );

const isGiven = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  !(typeof value === 'string' && value.trim() === '') &&
  !(Array.isArray(value) && value.length === 0);

function problemsOf(issue: z.core.$ZodIssue, kind: keyof typeof KINDS | null): RegistrationProblem[] {
  if (issue.code === 'unrecognized_keys') return unknownProblems(issue.keys, kind);
  return [{ path: pathOf(issue.path), problem: issue.message }];
}

/** `relationProof[1]`, as one would write it to reach the value. */
const pathOf = (path: readonly PropertyKey[]): string =>
  path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : `${index > 0 ? '.' : ''}${String(step)}`))
    .join('');

function unknownProblems(names: readonly string[], kind: keyof typeof KINDS | null): RegistrationProblem[] {
  return names.flatMap((path) => {
    if (FIELD_NAMES.includes(path)) {
      if (kind === null) return [];
      const other = KINDS[kind === 'B' ? 'C' : 'B'].noun;
      return [{ path, problem: `belongs to ${other}, but bizMode ${kind} is ${KINDS[kind].noun}` }];
    }
    const meant = didYouMean(path, FIELD_NAMES);
    const hint = meant === null ? '' : `; did you mean ${meant}?`;
    return [{ path: shownName(path), problem: `is no field of the platform's document${hint}` }];
  });
}

/** A name nobody knows, shortened and printable: it may be a value put in the wrong place. */
const shownName = (name: string): string => (/^[\w.-]{1,40}$/.test(name) ? name : '(unreadable name)');

/** As the document lists the fields, so that the same file always gets the same list. */
function inOrder(problems: readonly RegistrationProblem[]): RegistrationProblem[] {
  const rank = ({ path }: RegistrationProblem): number => {
    const found = FIELD_NAMES.indexOf(path.replace(/[.[].*$/, ''));
    return found === -1 ? FIELD_NAMES.length : found;
  };
  return problems
    .map((problem, index) => ({ problem, index }))
    .sort((a, b) => rank(a.problem) - rank(b.problem) || a.index - b.index)
    .map(({ problem }) => problem);
}
