/** Mappings and lists of a form: how they are read, and what counts as left out. */
import { z } from 'zod';
import { requiredOr } from './text.ts';

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

/** A mapping with the fields of `shape` and no others. Empty fields count as left out. */
export function fieldsOf<Shape extends Record<string, z.ZodType>>(shape: Shape) {
  const names = Object.keys(shape);
  return z.preprocess(
    (value) => (isFields(value) ? withoutBlanks(value, names) : value),
    z.strictObject(shape, { error: requiredOr('must be a mapping of fields') }),
  );
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
