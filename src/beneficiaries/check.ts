/** Checks a registration in full before anything is recorded or sent. */
import type { Kysely } from 'kysely';
import { isFields, withoutBlanks, type Fields } from '../forms/text.ts';
import { problemsOf, unknownField, type Problem } from '../forms/problem.ts';
import type { DB } from '../store/engine/schema.ts';
import { payoutMethodTypes, referenceCodes } from '../store/reference/reference-lists.ts';
import { RegistrationInvalid } from './errors.ts';
import { eitherSchema, FIELD_NAMES, KINDS, type Registration } from './registration.ts';
import { NOT_TEXT, RULES, type FieldReader, type RuleContext, type StoredReference } from './rules.ts';

export type { StoredReference };

type CheckedRegistration =
  { readonly registration: Registration } | { readonly problems: readonly Problem[] };

/** The path of a problem of the complete file. */
const FILE_PATH = '(the file)';

/** Checks the content of a file (docs/platform.md 2.5, 2.6, 4.4, 8). Returns all problems at once. Pure. */
export function checkRegistration(file: unknown, context: RuleContext): CheckedRegistration {
  if (!isFields(file)) return { problems: [{ path: FILE_PATH, problem: 'must be a mapping of fields' }] };
  const fields = withoutBlanks(file, FIELD_NAMES);
  const kind = kindOf(fields['bizMode']);
  const parsed = (kind === null ? eitherSchema : KINDS[kind].schema).safeParse(fields);
  const field = readerOf(fields);
  const ruled = RULES.flatMap((rule) => rule(field, context));
  const problems = [
    ...problemsOf(parsed.error?.issues ?? [], (names) => unknownFields(names, kind)),
    ...(kind === null ? unknownFields(Object.keys(fields), null) : []),
    ...ruled.filter(({ isWarning }) => isWarning !== true),
  ];
  if (problems.length > 0) return { problems: inOrder(problems) };
  for (const { path, problem } of ruled) context.onWarning?.({ path, problem });
  return { registration: parsed.data as Registration };
}

/** The country of the bank, to find reference data; null if the file does not name one. */
export const bankCountryOf = (file: unknown): string | null => {
  const country = isFields(file) ? file['countryCode'] : null;
  return typeof country === 'string' && /^[A-Z]{2}$/.test(country) ? country : null;
};

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

const NO_FIELD = "is no field of the platform's document";

function unknownFields(names: readonly string[], kind: keyof typeof KINDS | null): Problem[] {
  return names.flatMap((name) => {
    if (!FIELD_NAMES.includes(name)) return [unknownField(name, { known: FIELD_NAMES, problem: NO_FIELD })];
    if (kind === null) return [];
    const other = KINDS[kind === 'B' ? 'C' : 'B'].noun;
    return [{ path: name, problem: `belongs to ${other}, but bizMode ${kind} is ${KINDS[kind].noun}` }];
  });
}

/** Puts problems in the order in which the document lists the fields. */
function inOrder(problems: readonly Problem[]): Problem[] {
  const rank = ({ path }: Problem): number => {
    const found = FIELD_NAMES.indexOf(path.replace(/[.[].*$/, ''));
    return found === -1 ? FIELD_NAMES.length : found;
  };
  return problems
    .map((problem, index) => ({ problem, index }))
    .sort((a, b) => rank(a.problem) - rank(b.problem) || a.index - b.index)
    .map(({ problem }) => problem);
}

/** Throws `RegistrationInvalid` with all problems. */
export async function prepareRegistration(
  db: Kysely<DB>,
  file: unknown,
  rules: Omit<RuleContext, 'reference'>,
): Promise<Registration> {
  const checked = checkRegistration(file, { ...rules, reference: await storedReference(db, file) });
  if ('problems' in checked) throw new RegistrationInvalid(checked.problems);
  return checked.registration;
}

/** The platform's lists for the bank's country, as last stored (docs/platform.md 4.2). */
async function storedReference(db: Kysely<DB>, file: unknown): Promise<StoredReference> {
  const country = bankCountryOf(file);
  if (country === null) return { payoutMethods: null, banks: null };
  const methodTypes = await payoutMethodTypes(db, country);
  return {
    payoutMethods: methodTypes === null ? null : [...methodTypes.keys()],
    methodTypes,
    banks: await referenceCodes(db, { kind: 'bank', country }),
  };
}
