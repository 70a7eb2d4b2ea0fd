/** The mapping: a YAML file that says how a merchant's own book is read. No message repeats a value of it. */
import { z } from 'zod';
import { readYaml } from '../../../cli/input-file.ts';
import { pathText, type Path } from '../../../forms/problem.ts';
import { isTimeZone } from '../../../ledger/business-day.ts';
import { isMerchantNo, MERCHANT_NO_RULE } from '../../../ledger/merchant-no.ts';
import { CURRENCY_CODE } from '../../../ledger/money.ts';
import { counted } from '../../../ledger/text.ts';
import { UsageError } from '../../../run/verdict/exit-codes.ts';
import { didYouMean } from '../../../settings/problem.ts';
import { datePattern } from './values.ts';

const COLUMNS_MAX = 5;
const LINES_MAX = 1_000;

const text = (isRight: (given: string) => boolean, error: string) =>
  z.string({ error }).refine(isRight, { error });
const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.enum(values, { error: `is one of: ${values.join(', ')}` });
const lines = (min: number) =>
  text(
    (given) => /^\d{1,4}$/.test(given) && Number(given) >= min && Number(given) <= LINES_MAX,
    `is a number from ${min} to ${LINES_MAX}`,
  ).transform(Number);

const NAMES_COLUMN = `names a column, or a list of 1 to ${COLUMNS_MAX} columns`;
const name = z.string().trim().min(1, { error: NAMES_COLUMN });
/** One column, or several whose cells belong together. */
const columns = z
  .union([name, z.array(name).min(1).max(COLUMNS_MAX)], { error: NAMES_COLUMN })
  .transform((given): readonly string[] => [given].flat());
const COLUMNS = {
  ...{ number: columns, booked: columns, currency: columns.optional() },
  ...{ amount: columns.optional(), credit: columns.optional(), debit: columns.optional() },
  ...{ reference: columns.optional(), type: columns.optional(), text: columns.optional() },
};

const FIELDS = {
  merchant: text(isMerchantNo, MERCHANT_NO_RULE),
  book: text(
    (given) => /^[\p{L}\p{N}](?:[\p{L}\p{N} ._-]{0,38}[\p{L}\p{N}])?$/u.test(given),
    'has 1 to 40 letters, digits, blanks, dots, dashes and underscores',
  ).default('books'),
  format: oneOf(['csv', 'xlsx', 'query']),
  zone: text(isTimeZone, 'is a time zone, like Asia/Shanghai').optional(),
  dates: text(
    (form) => datePattern(form) !== null,
    'is a form with day, month and year, like DD.MM.YYYY or MM/DD/YYYY hh:mm A',
  ).optional(),
  decimal: oneOf(['point', 'comma']).default('point'),
  sign: oneOf(['as-is', 'reversed']).default('as-is'),
  covers: oneOf(['days', 'nothing']).default('days'),
  currency: text((code) => CURRENCY_CODE.test(code), 'is a currency code of three capitals').optional(),
  delimiter: text((given) => /^[,;\t|]$/.test(given), String.raw`is one of: , ; | and "\t"`).optional(),
  encoding: text(isEncoding, 'is an encoding, like windows-1252').optional(),
  sheet: z.string().min(1).optional(),
  header: lines(1).optional(),
  footer: lines(0).optional(),
  connectionEnv: text(
    (variable) => /^[A-Z_][A-Z0-9_]*$/.test(variable),
    'is the name of a variable of the environment, in capitals',
  ).optional(),
  query: z.string().trim().min(1).optional(),
  columns: z.strictObject(COLUMNS, {
    error: 'is missing: which columns of the file are the number, the day and the amount',
  }),
};
const schema = z.strictObject(FIELDS);

export type Mapping = z.output<typeof schema>;
export type ColumnName = keyof typeof COLUMNS;

function isEncoding(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== '';
  } catch {
    return false;
  }
}

const FORMATS_OF = {
  ...{
    delimiter: ['csv'],
    encoding: ['csv'],
    sheet: ['xlsx'],
    header: ['csv', 'xlsx'],
    footer: ['csv', 'xlsx'],
  },
  ...{ connectionEnv: ['query'], query: ['query'] },
} as const;

/** What belongs to other formats, or is given twice or not at all. */
function* conflicts(mapping: Mapping): Generator<readonly [path: Path, message: string]> {
  const { format, currency, columns: named } = mapping;
  for (const [key, formats] of Object.entries(FORMATS_OF)) {
    const isGiven = mapping[key as keyof typeof FORMATS_OF] !== undefined;
    const isOwn = (formats as readonly string[]).includes(format);
    if (isGiven && !isOwn) yield [[key], `belongs to format: ${formats.join(' or ')}; leave it out`];
    if (!isGiven && isOwn && format === 'query') yield [[key], 'is missing'];
  }
  const [amount, credit, debit] = [named.amount, named.credit, named.debit].map((one) => one !== undefined);
  if (amount === (credit || debit)) yield [['columns'], 'needs either amount, or credit and debit'];
  else if (credit !== debit) yield [['columns'], 'needs both credit and debit'];
  if ((named.currency === undefined) === (currency === undefined))
    yield [['columns'], 'needs a column currency, or one currency stands above for all rows'];
}

/** Reads the text of a mapping. Throws `UsageError` with every problem and its line. `path` names the file. */
export function readMapping(given: string, path: string): Mapping {
  const { content, placeOf } = readYaml(given, path, 'failsafe');
  const parsed = schema
    .superRefine((mapping, context) => {
      for (const [at, message] of conflicts(mapping))
        context.addIssue({ code: 'custom', path: [...at], message });
    })
    .safeParse(content);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.flatMap((issue) => {
    const at =
      issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path];
    return at.map(
      (path) =>
        `  ${placeOf(path)}: ${pathText(path) || 'the mapping'} ${issue.code === 'unrecognized_keys' ? unknownKey(path) : issue.message}`,
    );
  });
  throw new UsageError(
    [`${counted(problems.length, 'problem')} in ${path}; nothing was read:`, ...problems].join('\n'),
  );
}

function unknownKey(path: Path): string {
  const known = Object.keys(path.length === 1 ? FIELDS : COLUMNS);
  const meant = didYouMean(String(path.at(-1)), known);
  return `is not known; ${meant === null ? `known are ${known.join(', ')}` : `did you mean ${meant}?`}`;
}
