/** The mapping: a YAML file that says how a merchant's own book is read. No message repeats a value of it. */
import { z } from 'zod';
import { readYaml } from '../../../cli/input-file.ts';
import { listRefused } from '../../../cli/merchant-list.ts';
import { pathText, type Path } from '../../../forms/problem.ts';
import { isDay, isTimeZone } from '../../../ledger/business-day.ts';
import { zoneProblem } from '../../../ledger/zone-names.ts';
import { isMerchantNo, MERCHANT_NO_RULE } from '../../../ledger/merchant-no.ts';
import { CURRENCY_CODE } from '../../../ledger/money.ts';
import { UsageError } from '../../../run/verdict/exit-codes.ts';
import { BOOK_CONNECTION, BOOK_CONNECTION_RULE } from '../../../ledger/own-books.ts';
import { didYouMean } from '../../../settings/problem.ts';
import { datePattern } from './values.ts';

/** A mapping has some hundred, and its query some thousand. Reading time grows with the square of them. */
const MAPPING_CHARACTERS_MAX = 8_192;
export const MAPPING_BYTES_MAX = 4 * MAPPING_CHARACTERS_MAX;
const COLUMNS_MAX = 5;
/** Keys that no mapping has; more come of a file that is no mapping. */
const UNKNOWN_NAMED_MAX = 20;
const BOOK = /^[\p{L}\p{N}](?:[\p{L}\p{N} ._-]{0,38}[\p{L}\p{N}])?$/u;
const DATES_RULE = 'is a form with day, month and year, like DD.MM.YYYY, D MMM YYYY or MM/DD/YYYY hh:mm A';
const COLUMNS_RULE = 'is missing: which columns of the file are the number, the day and the amount';

/** A text of this form, or for which this is true. */
const text = (isRight: RegExp | ((given: string) => boolean), error: string) =>
  z
    .string({ error })
    .refine((given) => (isRight instanceof RegExp ? isRight.test(given) : isRight(given)), { error });
const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.enum(values, { error: `is one of: ${values.join(', ')}` });
const lines = text(/^\d{1,3}$/, 'is a number of lines, 0 to 999').transform(Number);

/** One text, or a list of some. */
function oneOrMore(noun: string, max: number) {
  const error = `names a ${noun}, or a list of 1 to ${max} ${noun}s`;
  const one = z.string().trim().min(1, { error });
  return z
    .union([one, z.array(one).min(1).max(max)], { error })
    .transform((given): readonly string[] => [given].flat());
}

/** One column, or several whose cells belong together. */
const columns = oneOrMore('column', COLUMNS_MAX);
const maybe = columns.optional();
const COLUMNS = {
  ...{ number: columns, booked: columns, currency: maybe, amount: maybe, credit: maybe, debit: maybe },
  ...{ direction: maybe, reference: maybe, type: maybe, text: maybe },
};

const WORDS_MAX = 20;
/** Words of the column of the direction, in small letters. */
const words = oneOrMore('word', WORDS_MAX).transform((given) => given.map((one) => one.toLowerCase()));
const DIRECTION_RULE =
  'has the words for debit, for credit, or for both, like {debit: Debit, credit: Credit}';
const DIRECTIONS = { debit: words.optional(), credit: words.optional() };
const directions = z
  .strictObject(DIRECTIONS, { error: DIRECTION_RULE })
  .refine(({ debit, credit }) => debit !== undefined || credit !== undefined, { error: DIRECTION_RULE })
  .refine(({ debit = [], credit = [] }) => !debit.some((one) => credit.includes(one)), {
    error: 'has a word for both debit and credit',
  });
const side = oneOf(['above-zero', 'below-zero']);

const FIELDS = {
  merchant: text(isMerchantNo, MERCHANT_NO_RULE),
  book: text(BOOK, 'has 1 to 40 letters, digits, blanks, dots, dashes and underscores').default('books'),
  format: oneOf(['csv', 'xlsx', 'query']),
  zone: z
    .string()
    .refine(isTimeZone, { error: ({ input }) => zoneProblem(String(input)) })
    .optional(),
  dates: text((form) => datePattern(form) !== null, DATES_RULE).optional(),
  decimal: oneOf(['point', 'comma']).optional(),
  sign: oneOf(['as-is', 'reversed']).default('as-is'),
  ...{ debits: side.optional(), credits: side.optional(), direction: directions.optional() },
  covers: oneOf(['days', 'nothing']).default('days'),
  from: z.string().refine(isDay, { error: 'is the first day of the book, like 2026-03-01' }).optional(),
  currency: text(CURRENCY_CODE, 'is a currency code of three capitals').optional(),
  delimiter: text(/^[,;\t|]$/, String.raw`is one of: , ; | and "\t"`).optional(),
  ...{ encoding: z.string().optional(), sheet: z.string().optional(), query: z.string().optional() },
  ...{ header: lines.optional(), footer: lines.optional() },
  connectionEnv: text(BOOK_CONNECTION, BOOK_CONNECTION_RULE).optional(),
  columns: z.strictObject(COLUMNS, { error: COLUMNS_RULE }),
};
const fields = z.strictObject(FIELDS);

export type Mapping = z.output<typeof fields>;
export type ColumnName = keyof typeof COLUMNS;

const OWN_KEYS = {
  csv: ['delimiter', 'encoding', 'header', 'footer'],
  xlsx: ['sheet', 'header', 'footer'],
  query: ['connectionEnv', 'query'],
} as const;

const schema = fields.superRefine((mapping, context) => {
  const { format, currency, columns: named } = mapping;
  const add = (key: string, message: string) => context.addIssue({ code: 'custom', path: [key], message });
  for (const key of new Set(Object.values(OWN_KEYS).flat())) {
    const isOwn = OWN_KEYS[format].some((own) => own === key);
    if (mapping[key] !== undefined && !isOwn) add(key, `is not for format: ${format}; leave it out`);
    if (mapping[key] === undefined && isOwn && format === 'query') add(key, 'is missing');
  }
  const [amount, credit, debit] = [named.amount, named.credit, named.debit].map((one) => one !== undefined);
  if (mapping.direction !== undefined && named.direction === undefined)
    add('columns', 'needs a column direction, as direction has its words');
  if (named.direction !== undefined && (mapping.direction === undefined || !amount))
    add('direction', `${DIRECTION_RULE}, and columns needs amount`);
  for (const key of ['debits', 'credits'] as const)
    if (mapping[key] !== undefined && named.direction === undefined && !debit)
      add(key, 'is for columns of debit and credit, or for a column of the direction; leave it out');
  if (credit !== debit || amount === credit)
    add('columns', 'needs either amount, or needs both credit and debit');
  if ((named.currency === undefined) === (currency === undefined))
    add('columns', 'needs a column currency, or one currency stands above for all rows');
});

/** Reads the text of a mapping. Throws `UsageError` with its problems and their lines. `path` names the file. */
export function readMapping(given: string, path: string): Mapping {
  if (given.length > MAPPING_CHARACTERS_MAX)
    throw new UsageError(
      `${path} has ${given.length.toLocaleString('en')} characters; a mapping has ${MAPPING_CHARACTERS_MAX.toLocaleString('en')} at most.`,
    );
  const { content, placeOf } = readYaml(given, path, 'failsafe');
  const parsed = schema.safeParse(content);
  if (parsed.success) return parsed.data;
  const problemOf = (at: Path, problem: string) => {
    return { place: placeOf(at), problem: `${pathText(at) || 'the mapping'} ${problem}` };
  };
  const problems = parsed.error.issues.flatMap(({ path: at, ...issue }) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.slice(0, UNKNOWN_NAMED_MAX).map((key) => problemOf([...at, key], unknownKey(key, at)))
      : [problemOf(at, issue.message)],
  );
  throw listRefused(path, problems);
}

function unknownKey(key: string, at: Path): string {
  const known = Object.keys(at.length === 0 ? FIELDS : at[0] === 'direction' ? DIRECTIONS : COLUMNS);
  const meant = didYouMean(key, known);
  return `is not known; ${meant === null ? `known are ${known.join(', ')}` : `did you mean ${meant}?`}`;
}
