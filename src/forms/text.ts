/** Texts of a form: what every text may hold, and checks that several fields share. */
import { z } from 'zod';
import { NO_FIELD, pathText, shownName, type Path, type Problem } from './problem.ts';

/** Says what is wrong with a text, as a sentence that goes on from its path; null if nothing is. */
export type TextProblem = (text: string) => string | null;

const REQUIRED = 'is required';

/** The error message of a schema: `is required` for a missing value, else `wrong`. */
const requiredOr =
  (wrong: string | ((value: unknown) => string)) =>
  ({ input }: { readonly input?: unknown }): string => {
    if (input === undefined) return REQUIRED;
    return typeof wrong === 'string' ? wrong : wrong(input);
  };

const CONTROL = /\p{Cc}/u;
/** For texts that may have any white space, line breaks included. */
export const CONTROL_BUT_SPACE = /[^\P{Cc}\s]/u;

function generalProblem(text: string, control: RegExp): string | null {
  if (control.test(text)) return 'holds a line break or another control character; write it on one line';
  if (!text.isWellFormed()) return 'holds half a character; write it anew';
  return text === text.trim() ? null : 'begins or ends with a blank; leave the blank out';
}

/**
 * Makes the schemas for the texts of a form. `notText` is the problem of a value that is not a text. `wrong` checks a
 * text further, and `control` matches characters that it must not have.
 */
export const textsOf =
  (notText: string | ((value: unknown) => string)) =>
  (wrong: TextProblem = () => null, control = CONTROL) =>
    z.string({ error: requiredOr(notText) }).superRefine((text, context) => {
      const message = generalProblem(text, control) ?? wrong(text);
      if (message !== null) context.addIssue({ code: 'custom', message });
    });

export const matching =
  (pattern: RegExp, problem: string): TextProblem =>
  (text) =>
    pattern.test(text) ? null : problem;

/** One of these texts. `wording` lists them in the message. */
export const oneOf = <const Texts extends readonly string[]>(texts: Texts, wording: string) =>
  z.enum(texts, { error: requiredOr(`must be ${wording}`) });

/** Characters as a person counts them. */
export const charactersIn = (text: string): number => Array.from(text).length;

/** True if no letter is of another alphabet. Accents, digits and signs are allowed. */
export const hasLatinLettersOnly = (text: string): boolean => !/[^\P{L}\p{Script=Latin}]/u.test(text);

export const LIES_AHEAD = 'lies in the future';

export const isHttps = (text: string): boolean => URL.canParse(text) && new URL(text).protocol === 'https:';

export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** An empty value counts as left out: forms and exports often write it so. */
export const isGiven = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  !(typeof value === 'string' && value.trim() === '') &&
  !(Array.isArray(value) && value.length === 0);

/** Leaves out empty fields. Fields whose names are not in `names` stay in any case. */
export const withoutBlanks = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => !names.includes(name) || isGiven(value)),
  );

const MAPPING = { error: requiredOr('must be a mapping of fields') };

/** A mapping with the fields of `shape`, and those under `extra`, as they are. Empty fields count as left out. */
export function fieldsOf(shape: Readonly<Record<string, z.ZodType>>) {
  const names = [...Object.keys(shape), EXTRA];
  return z.preprocess(
    (value) => (isFields(value) ? withoutBlanks(value, names) : value),
    z
      .strictObject({ ...shape, [EXTRA]: extraFields(names).optional() }, MAPPING)
      .transform(({ [EXTRA]: extra, ...fields }) => ({ ...fields, ...extra })),
  );
}

/** A mapping in a file for fields that the platform's document does not name. They are sent as they are. */
export const EXTRA = 'extra';

const DIGITS_MAX = 15;
/** A number with more digits was changed when the file was read; what is not finite is no JSON. */
const keepsDigits = (value: unknown): boolean =>
  typeof value === 'number'
    ? Number.isFinite(value) && String(value).replaceAll(/\D/g, '').length <= DIGITS_MAX
    : typeof value !== 'object' || value === null || Object.values(value).every(keepsDigits);

/** The schema of `extra`, which must not name a field of the document. */
export const extraFields = (documented: readonly string[]) =>
  z.record(z.string(), z.unknown(), MAPPING).superRefine((fields, context) => {
    const wrong = (message: string): void => context.addIssue({ code: 'custom', message });
    for (const [name, value] of Object.entries(fields)) {
      if (documented.includes(name))
        wrong(`names ${name}, a field of the platform’s document; give it in its own place`);
      else if (!keepsDigits(value))
        wrong(`has a number in ${shownName(name)} that would not keep its digits; put it in quotes`);
    }
  });

/** A warning for each field under an `extra`, wherever in the file. */
export function extrasIn(file: Fields, at: Path = []): Problem[] {
  return Object.entries(file).flatMap(([name, value]): Problem[] => {
    const here = [...at, name];
    if (name === EXTRA && isFields(value))
      return Object.keys(value).map((field) => ({
        path: pathText([...here, shownName(field)]),
        problem: `${NO_FIELD}; it is sent as it is`,
      }));
    if (isFields(value)) return extrasIn(value, here);
    const elements: readonly unknown[] = Array.isArray(value) ? value : [];
    return elements.flatMap((element, index) =>
      isFields(element) ? extrasIn(element, [...here, index]) : [],
    );
  });
}

/** A field that must not be left out. `missing` is the sentence that says so. */
export const required = (schema: z.ZodType, missing: string): z.ZodType =>
  z
    .unknown()
    .refine((value): boolean => value !== undefined, { error: missing })
    .pipe(schema);

export interface ListRules {
  /** The schema of an element. It may depend on the element itself. */
  readonly element: (value: unknown) => z.ZodType;
  /** The problem of the complete list. */
  readonly wrong?: ((list: readonly unknown[]) => string | null) | undefined;
}

/** A list without empty elements, and without the same text twice. */
export const listOf = ({ element, wrong = () => null }: ListRules): z.ZodType<readonly unknown[]> =>
  z.array(z.unknown(), { error: requiredOr('must be a list') }).transform((list, context) => {
    const message = wrong(list);
    if (message !== null) context.addIssue({ code: 'custom', message });
    return list.map((value, index) => {
      const path = [index];
      const sameAs = typeof value === 'string' ? list.indexOf(value) : index;
      if (!isGiven(value)) context.addIssue({ code: 'custom', message: 'is empty', path });
      else if (sameAs < index)
        context.addIssue({ code: 'custom', message: 'stands twice', path, params: { sameAs } });
      else return readElement(element(value), value, context, index);
      return z.NEVER;
    });
  });

function readElement(schema: z.ZodType, value: unknown, context: z.RefinementCtx, index: number): unknown {
  const read = schema.safeParse(value);
  for (const issue of read.error?.issues ?? []) context.addIssue({ ...issue, path: [index, ...issue.path] });
  return read.data;
}
