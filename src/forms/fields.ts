/** Mappings and lists of a form: which fields count as given, and how they are read. */
import { z } from 'zod';
import { requiredOr } from './text.ts';

export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What is empty counts as left out, as forms and exports write it. */
export const isGiven = (value: unknown): boolean =>
  value !== undefined &&
  value !== null &&
  !(typeof value === 'string' && value.trim() === '') &&
  !(Array.isArray(value) && value.length === 0);

/** The fields without those of `names` that are empty. */
export const withoutBlanks = (fields: Fields, names: readonly string[]): Fields =>
  Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => !names.includes(name) || isGiven(value)),
  );

/** A mapping with these fields, read in their order. An empty one counts as left out. */
export function fieldsOf<Shape extends Record<string, z.ZodType>>(shape: Shape) {
  const names = Object.keys(shape);
  return z.preprocess(
    (value) => (isFields(value) ? withoutBlanks(value, names) : value),
    z.strictObject(shape, { error: requiredOr('must be a mapping of fields') }),
  );
}

/** The field may not be left out, for the reason in `missing`. */
export const required = (schema: z.ZodType, missing: string): z.ZodType =>
  z
    .unknown()
    .refine((value): boolean => value !== undefined, { error: missing })
    .pipe(schema);

export interface ListRules {
  /** The schema of an element, which may depend on what the element holds. */
  readonly element: (value: unknown) => z.ZodType;
  /** What is wrong with the list as a whole. */
  readonly wrong?: ((list: readonly unknown[]) => string | null) | undefined;
}

/** A list in which nothing is empty and no text stands twice. */
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
