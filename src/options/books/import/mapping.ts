/** The mapping: a YAML file that says how a merchant's own book is read. No message repeats a value of it. */
import { LineCounter, parseDocument } from 'yaml';
import { z } from 'zod';
import { isMerchantNo, MERCHANT_NO_RULE } from '../../../ledger/merchant-no.ts';
import { isTimeZone } from '../../../ledger/business-day.ts';
import { counted } from '../../../ledger/text.ts';
import { UsageError } from '../../../run/verdict/exit-codes.ts';
import { didYouMean } from '../../../settings/problem.ts';
import { datePattern } from './values.ts';

const COLUMNS_MAX = 5;
const LINES_MAX = 1_000;

const name = z.string({ error: 'names a column' }).trim().min(1, { error: 'names a column' });
/** One column, or several whose cells belong together. */
const columns = z
  .union([name, z.array(name).min(1).max(COLUMNS_MAX)], {
    error: `names a column, or a list of 1 to ${COLUMNS_MAX} columns`,
  })
  .transform((given): readonly string[] => (typeof given === 'string' ? [given] : given));
const lines = (min: number) =>
  z
    .string()
    .regex(/^\d{1,4}$/, { error: `is a number from ${min} to ${LINES_MAX}` })
    .transform(Number)
    .refine((count) => count >= min && count <= LINES_MAX, {
      error: `is a number from ${min} to ${LINES_MAX}`,
    });
const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.enum(values, { error: `is one of: ${values.join(', ')}` });

const schema = z.strictObject({
  merchant: z.string({ error: 'is missing' }).refine(isMerchantNo, { error: MERCHANT_NO_RULE }),
  book: z
    .string()
    .regex(/^[\p{L}\p{N}](?:[\p{L}\p{N} ._-]{0,38}[\p{L}\p{N}])?$/u, {
      error: 'has 1 to 40 letters, digits, blanks, dots, dashes and underscores',
    })
    .default('books'),
  format: oneOf(['csv', 'xlsx', 'query']),
  zone: z.string().refine(isTimeZone, { error: 'is a time zone, like Asia/Shanghai' }).optional(),
  dates: z
    .string()
    .refine((form) => datePattern(form) !== null, {
      error: 'is a form with day, month and year, like DD.MM.YYYY or MM/DD/YYYY hh:mm A',
    })
    .optional(),
  decimal: oneOf(['point', 'comma']).default('point'),
  sign: oneOf(['as-is', 'reversed']).default('as-is'),
  covers: oneOf(['days', 'nothing']).default('days'),
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, { error: 'is a currency code of three capitals' })
    .optional(),
  delimiter: z.enum([',', ';', '\t', '|'], { error: String.raw`is one of: , ; | and "\t"` }).optional(),
  encoding: z.string().refine(isEncoding, { error: 'is an encoding, like windows-1252' }).optional(),
  sheet: z.string().min(1).optional(),
  header: lines(1).optional(),
  footer: lines(0).optional(),
  connectionEnv: z
    .string()
    .regex(/^[A-Z_][A-Z0-9_]*$/, { error: 'is the name of a variable of the environment, in capitals' })
    .optional(),
  query: z.string().trim().min(1).optional(),
  columns: z.strictObject(
    {
      number: columns,
      booked: columns,
      currency: name.optional(),
      amount: name.optional(),
      credit: name.optional(),
      debit: name.optional(),
      reference: columns.optional(),
      type: name.optional(),
      text: columns.optional(),
    },
    { error: 'is missing: which columns of the file are the number, the day and the amount' },
  ),
});

export type Mapping = z.output<typeof schema>;
export type ColumnNames = Mapping['columns'];

function isEncoding(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== '';
  } catch {
    return false;
  }
}

type At = readonly PropertyKey[];

/** What belongs to other formats, or is given twice or not at all. */
function* conflicts(mapping: Mapping): Generator<{ readonly at: At; readonly problem: string }> {
  const { format, columns: named } = mapping;
  const isOf = {
    csv: ['delimiter', 'encoding'],
    xlsx: ['sheet'],
    query: ['query', 'connectionEnv'],
  } as const;
  for (const [other, keys] of Object.entries(isOf))
    for (const key of keys)
      if (other !== format && mapping[key] !== undefined)
        yield { at: [key], problem: `belongs to format: ${other}; leave it out` };
  for (const key of isOf.query)
    if (format === 'query' && mapping[key] === undefined) yield { at: [key], problem: 'is missing' };
  for (const key of ['header', 'footer'] as const)
    if (format === 'query' && mapping[key] !== undefined)
      yield { at: [key], problem: 'belongs to a file; leave it out' };
  if ((named.amount === undefined) === (named.credit === undefined && named.debit === undefined))
    yield { at: ['columns'], problem: 'needs either amount, or credit and debit' };
  else if ((named.credit === undefined) !== (named.debit === undefined))
    yield { at: ['columns'], problem: 'needs both credit and debit' };
  if ((named.currency === undefined) === (mapping.currency === undefined))
    yield { at: ['columns'], problem: 'needs a column currency, or one currency stands above for all rows' };
}

/** Reads the text of a mapping. Throws `UsageError` with every problem and its line. `path` names the file. */
export function readMapping(text: string, path: string): Mapping {
  const counter = new LineCounter();
  // All values are texts: the merchant 0123 keeps its zero.
  const document = parseDocument(text, { lineCounter: counter, prettyErrors: false, schema: 'failsafe' });
  const [error] = document.errors;
  const placed = (offset: number): string => {
    const { line, col } = counter.linePos(offset);
    return `line ${line}, column ${col}`;
  };
  if (error !== undefined) {
    const reason = error.code.toLowerCase().replaceAll('_', ' ');
    throw new UsageError(`${path} is no YAML: ${placed(error.pos[0])} (${reason}).`);
  }
  const problems: string[] = [];
  const add = (at: At, problem: string): void => {
    let known = at;
    let node: unknown = null;
    while (known.length > 0 && (node = document.getIn(known, true)) === undefined) known = known.slice(0, -1);
    const range = (node as { readonly range?: readonly number[] } | null)?.range ?? document.contents?.range;
    problems.push(`  ${placed(range?.[0] ?? 0)}: ${at.join('.') || 'the mapping'} ${problem}`);
  };
  const parsed = schema.safeParse(aliasFree(document, path));
  for (const issue of parsed.error?.issues ?? []) {
    if (issue.code === 'unrecognized_keys')
      for (const key of issue.keys) add([...issue.path, key], unknownKey(key, issue.path));
    else add(issue.path, issue.message);
  }
  if (parsed.success) for (const { at, problem } of conflicts(parsed.data)) add(at, problem);
  if (problems.length === 0) return parsed.data!;
  throw new UsageError(
    [`${counted(problems.length, 'problem')} in ${path}; nothing was read:`, ...problems].join('\n'),
  );
}

function aliasFree(document: ReturnType<typeof parseDocument>, path: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 });
  } catch {
    throw new UsageError(`${path} uses YAML anchors (text after & or *); write each value where it belongs.`);
  }
}

function unknownKey(key: string, at: At): string {
  const known = Object.keys(at.length === 0 ? schema.shape : schema.shape.columns.shape);
  const meant = didYouMean(key, known);
  return `is not known; ${meant === null ? `known are ${known.join(', ')}` : `did you mean ${meant}?`}`;
}
