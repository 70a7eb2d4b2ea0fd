/** Reads a list of merchants, where their tokens are and what they are called: CSV, or a list in YAML or JSON. Its messages never repeat a token. */
import { CURRENCY_CODE } from '../ledger/money.ts';
import { isMerchantNo, MERCHANT_NO_RULE } from '../ledger/merchant-no.ts';
import {
  ACCOUNT_FIELDS,
  MERCHANT_FIELDS,
  type NameField,
  nameProblems,
  type NamesGiven,
  type OwnNames,
  storedName,
} from '../ledger/names.ts';
import { counted } from '../ledger/text.ts';
import { UsageError } from '../run/verdict/exit-codes.ts';
import { readYaml } from './input-file.ts';
import { csvRows, withLineEnds, UnreadableRows } from '../verify/csv.ts';

const TOKEN_FIELDS = ['token', 'tokenEnv', 'tokenFile'] as const;
const FIELDS = ['merchantNo', ...TOKEN_FIELDS, ...MERCHANT_FIELDS] as const;
type Field = (typeof FIELDS)[number];
/** Of a list in YAML or JSON, by currency. */
const ACCOUNTS = 'accounts';

/** A merchant of the list, with names or one of the three: its token, a variable that holds it, or a file. */
export interface ListedMerchant {
  /** `line 3` of a CSV file, `merchant 3` of a list. */
  readonly place: string;
  readonly merchantNo: string;
  readonly token?: string;
  readonly tokenEnv?: string;
  readonly tokenFile?: string;
  /** Names and references that the list gives. */
  readonly names: readonly NamesGiven[];
}

interface Problem {
  readonly place: string;
  readonly problem: string;
}

/** Problems that are named one by one; the others are counted. */
const NAMED_MAX = 20;

/** All problems of a list at once. Nothing of it was used. */
export function listRefused(path: string, problems: readonly Problem[]): UsageError {
  const named = problems.slice(0, NAMED_MAX).map(({ place, problem }) => `  ${place}: ${problem}`);
  const more = problems.length > NAMED_MAX ? [`  and ${problems.length - NAMED_MAX} more`] : [];
  const head = `${counted(problems.length, 'problem')} in ${path}; nothing was stored:`;
  return new UsageError([head, ...named, ...more].join('\n'));
}

/** Reads the text of the file at `path`, whose name says which form it has. Throws `UsageError` with every problem. */
export async function readMerchantList(text: string, path: string): Promise<readonly ListedMerchant[]> {
  const isYaml = /\.(?:ya?ml|json)$/i.test(path);
  const rows = isYaml ? listRows(text, path) : await tableRows(text, path);
  if (rows.length === 0) throw new UsageError(`${path} names no merchant; nothing was stored.`);
  const problems: Problem[] = [];
  const placeOf = new Map<string, string>();
  const merchants = rows.map(({ place, fields, accounts }) => {
    const merchantNo = fields.merchantNo ?? '';
    const own = { merchantNo, currency: null, fields: pickedFields(MERCHANT_FIELDS, fields) };
    const names = [own, ...accounts.map((one) => ({ merchantNo, ...one }))].filter(
      (one) => Object.keys(one.fields).length > 0,
    );
    for (const problem of [...problemsOf(fields, names.length > 0), ...names.flatMap(namesProblems)])
      problems.push({ place, problem });
    const earlier = placeOf.get(merchantNo);
    if (earlier !== undefined && merchantNo !== '')
      problems.push({ place, problem: `merchant ${merchantNo} is in ${earlier} already` });
    placeOf.set(merchantNo, earlier ?? place);
    const { token, tokenEnv, tokenFile } = fields;
    return {
      ...{ place, merchantNo, names },
      ...(token !== undefined && { token }),
      ...(tokenEnv !== undefined && { tokenEnv }),
      ...(tokenFile !== undefined && { tokenFile }),
    };
  });
  if (problems.length > 0) throw listRefused(path, problems);
  return merchants;
}

type Fields = Partial<Record<Field, string>>;

interface Row {
  readonly place: string;
  readonly fields: Fields;
  readonly accounts: readonly Omit<NamesGiven, 'merchantNo'>[];
}

const pickedFields = (own: readonly NameField[], fields: OwnNames): OwnNames =>
  Object.fromEntries(
    own.flatMap((field) => {
      const text = fields[field];
      return text === undefined ? [] : [[field, storedName(field, text)]];
    }),
  );

function namesProblems({ currency, fields }: NamesGiven): string[] {
  const of = currency === null ? '' : `${ACCOUNTS} ${currency}: `;
  return nameProblems(fields).map(({ field, problem }) => `${of}${field} ${problem}`);
}

function* problemsOf(fields: Fields, hasNames: boolean): Generator<string> {
  if (!isMerchantNo(fields.merchantNo ?? '')) yield `merchantNo ${MERCHANT_NO_RULE}`;
  const given = TOKEN_FIELDS.filter((field) => fields[field] !== undefined);
  if (given.length !== 1 && !(hasNames && given.length === 0)) {
    const which = given.length === 0 ? 'none' : given.join(' and ');
    yield `has ${which}; give one of ${TOKEN_FIELDS.join(', ')}`;
  }
}

/** The rows of a CSV file. Cells left empty are left out. */
async function tableRows(text: string, path: string): Promise<Row[]> {
  const bytes = withLineEnds([text.replace(/^\uFEFF/, '')]);
  const lines: (readonly string[])[] = [];
  try {
    for await (const part of csvRows(bytes)) lines.push(...part);
  } catch (error) {
    if (!(error instanceof UnreadableRows)) throw error;
    throw new UsageError(`${path} is no CSV: ${error.message}. A name that ends in .yaml is read as YAML.`);
  }
  const [head = [], ...others] = lines;
  const names = head.map((name) => name.trim());
  const unknown = names.filter((name) => !isField(name));
  if (unknown.length > 0 || !names.includes('merchantNo') || new Set(names).size < names.length) {
    throw new UsageError(
      `${path}: the first line names the columns, separated by commas: merchantNo, and one or more of ${FIELDS.slice(1).join(', ')}.`,
    );
  }
  const problems: Problem[] = [];
  const rows = others.flatMap((cells, index): Row[] => {
    const place = `line ${index + 2}`;
    if (cells.every((cell) => cell.trim() === '')) return [];
    if (cells.length !== names.length)
      problems.push({
        place,
        problem: `has ${counted(cells.length, 'cell')}, and the first line ${names.length}`,
      });
    const filled = names.map((name, at) => [name, cells[at]?.trim() ?? '']).filter(([, cell]) => cell !== '');
    return [{ place, fields: Object.fromEntries(filled) as Fields, accounts: [] }];
  });
  if (problems.length > 0) throw listRefused(path, problems);
  return rows;
}

const isField = (name: string): name is Field => (FIELDS as readonly string[]).includes(name);

/** The elements of a list in YAML or JSON, which may be the only value of a mapping (`merchants:`). */
function listRows(text: string, path: string): Row[] {
  const { content } = readYaml(text, path, 'failsafe');
  const list = isMapping(content) && Object.keys(content).length === 1 ? Object.values(content)[0] : content;
  if (!Array.isArray(list)) throw new UsageError(`${path} is no list of merchants.`);
  const problems: Problem[] = [];
  const rows = list.map((one: unknown, index): Row => {
    const place = `merchant ${index + 1}`;
    const { [ACCOUNTS]: accounts = {}, ...own } = isMapping(one) ? one : {};
    const fields = Object.entries(own);
    if (!isMapping(one)) problems.push({ place, problem: 'has no fields' });
    if (fields.some(([name, value]) => !isField(name) || typeof value !== 'string'))
      problems.push({ place, problem: `may have ${FIELDS.join(', ')}, each a text, and ${ACCOUNTS}` });
    const isListed = isMapping(accounts) && Object.entries(accounts).every(isAccount);
    if (!isListed)
      problems.push({
        place,
        problem: `${ACCOUNTS} has a currency (USD) with ${ACCOUNT_FIELDS.join(', ')}, each a text, for each account`,
      });
    return {
      ...{ place, fields: Object.fromEntries(fields) as Fields },
      accounts: isListed
        ? Object.entries(accounts).map(([currency, given]) => ({
            ...{ currency, fields: pickedFields(ACCOUNT_FIELDS, given as OwnNames) },
          }))
        : [],
    };
  });
  if (problems.length > 0) throw listRefused(path, problems);
  return rows;
}

const isAccount = ([currency, given]: [string, unknown]): boolean =>
  CURRENCY_CODE.test(currency) &&
  isMapping(given) &&
  Object.entries(given).every(
    ([name, text]) => (ACCOUNT_FIELDS as readonly string[]).includes(name) && typeof text === 'string',
  );

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
