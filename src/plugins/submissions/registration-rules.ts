/** What the fields of a registration require of each other (docs/platform.md 2.5), one function a rule. */
import type { Problem } from '../../forms/problem.ts';
import { hasLatinLettersOnly, LIES_AHEAD, type Fields } from '../../forms/text.ts';
import { daysFromTo } from '../../ledger/business-day.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import { counted } from '../../ledger/text.ts';
import { imageProblem, uploadPathProblem, type ImageRules } from '../../platform/upload-path.ts';
import { SET_ASIDE_MAX } from '../reference/stored.ts';

/** A list of the platform, as last stored. */
export interface StoredList {
  readonly codes: readonly string[];
  readonly country: string;
  /** The day on which it was read. */
  readonly day: BusinessDay;
  /** How many of its items could not be read. */
  readonly setAside: number;
}

/** The lists that a registration is checked by, by their names in `--despite`. */
export const CHECKED_LISTS = ['bank', 'payout_method'] as const;
export type CheckedList = (typeof CHECKED_LISTS)[number];

/** What the platform lists for the country of the bank, as last stored; null if nothing is stored. */
export interface StoredReference {
  readonly payoutMethods: StoredList | null;
  readonly banks: StoredList | null;
  /** `WALLET` or `BANK`, by payout method. */
  readonly methodTypes?: ReadonlyMap<string, string | null> | null;
}

export interface RuleContext extends ImageRules {
  /** The two wallet methods of rule 1, which the document does not name. */
  readonly walletMethods: readonly string[];
  readonly reference: StoredReference;
  readonly today: BusinessDay;
  /** Of `today`, and of the days on which lists were read. Default: UTC. */
  readonly zone?: string;
  /** Lists whose word does not count: what they do not have is a warning. */
  readonly despite?: readonly CheckedList[];
  /** Called with a list that would have refused the file. */
  readonly onDespite?: (list: CheckedList) => void;
  /** Called with a suspicious value that the document allows. It is sent all the same. */
  readonly onWarning?: (warning: Problem) => void;
}

export interface RuleProblem extends Problem {
  /** Only a warning, as the document does not forbid it. */
  readonly isWarning?: boolean;
  /** The list that does not have the code. */
  readonly list?: CheckedList;
}
/** A field is undefined if it was left out. One that is no text was reported by the schema. */
type Rule = (fields: Fields, context: RuleContext) => readonly RuleProblem[];

/** A rule about one field. `problem` says what is wrong; null or false if nothing is. */
const rule =
  (path: string, problem: (fields: Fields, context: RuleContext) => string | null | false): Rule =>
  (fields, context) => {
    const found = problem(fields, context);
    return found === null || found === false ? [] : [{ path, problem: found }];
  };
const warning = (path: string, problem: string): readonly RuleProblem[] => [
  { path, problem, isWarning: true },
];

const textOf = (fields: Fields, name: string): string | undefined => {
  const value = fields[name];
  return typeof value === 'string' ? value : undefined;
};
const has = (fields: Fields, name: string): boolean => fields[name] !== undefined;
/**
 * What the rules call `bankCountry` is the field `countryCode`, and `settlementNetwork` is `paymentMode`
 * (docs/platform.md 2.5, rule 3).
 */
const isBankIn = ({ countryCode }: Fields, countries: readonly unknown[]): boolean =>
  countries.includes(countryCode);
const isLocal = ({ paymentMode }: Fields): boolean => paymentMode === 'LOCAL';
const isSwift = ({ paymentMode }: Fields): boolean => paymentMode === 'SWIFT';

const BRANCH_COUNTRIES = ['CN', 'BR', 'IN'];
const PHONE_COUNTRIES = ['BR', 'KR', 'MA', 'IN'];
const PROXY_FIELDS = ['proxyBankName', 'proxyBankAddress', 'proxyBankSwiftCode'];
const WIRE = 'WIRE';

/** `payoutMethod`: `WIRE` when paymentMode is `SWIFT`. */
const wireForSwift = rule(
  'payoutMethod',
  (fields) =>
    isSwift(fields) &&
    has(fields, 'payoutMethod') &&
    fields['payoutMethod'] !== WIRE &&
    `must be ${WIRE} when paymentMode is SWIFT`,
);

/** Rule 1: `bankCode`, with paymentMode `LOCAL` only. */
const bankCodeForLocal = rule('bankCode', (fields, { walletMethods }) => {
  if (!isLocal(fields) || has(fields, 'bankCode')) return null;
  if (isBankIn(fields, BRANCH_COUNTRIES))
    return 'is required with paymentMode LOCAL when countryCode is CN, BR or IN';
  const method = textOf(fields, 'payoutMethod');
  if (method === undefined || walletMethods.includes(method)) return null;
  const listed =
    walletMethods.length === 0 ? 'none is set in PLATFORM_WALLET_METHODS' : walletMethods.join(', ');
  return `is required with paymentMode LOCAL: only the wallet methods go without it (${listed})`;
});

/** `branchCode`: required together with bankCode when bankCountry is `CN`, `BR` or `IN`. */
const branchWithBankCode = rule(
  'branchCode',
  (fields) =>
    isBankIn(fields, BRANCH_COUNTRIES) &&
    (isLocal(fields) || has(fields, 'bankCode')) &&
    !has(fields, 'branchCode') &&
    'is required together with bankCode when countryCode is CN, BR or IN',
);

/** Rule 2: the three proxy bank fields are all supplied or all omitted; and each is for `SWIFT` only. */
const proxyBank: Rule = (fields) => {
  const given = PROXY_FIELDS.filter((name) => has(fields, name));
  if (given.length === 0) return [];
  if (isLocal(fields))
    return given.map((path) => ({
      path,
      problem: 'is for paymentMode SWIFT only; leave it out',
    }));
  const problem = 'is required: the three proxy bank fields are given all together or not at all';
  return PROXY_FIELDS.filter((name) => !given.includes(name)).map((path) => ({
    path,
    problem,
  }));
};

/** `swiftCode`: required when settlementNetwork is `SWIFT`. */
const swiftCodeForSwift = rule(
  'swiftCode',
  (fields) => isSwift(fields) && !has(fields, 'swiftCode') && 'is required when paymentMode is SWIFT',
);

/** `phoneAreaCode`: required when bankCountry is `BR`, `KR`, `MA` or `IN`. */
const phoneAreaCode = rule(
  'phoneAreaCode',
  (fields) =>
    isBankIn(fields, PHONE_COUNTRIES) &&
    !has(fields, 'phoneAreaCode') &&
    'is required when countryCode is BR, KR, MA or IN',
);

/** A number, or letters as in GD and CN-GD; a word is a name. */
const CHINESE_PLACE_CODE = /^(?:(?=.*\d)[A-Za-z0-9._-]+|(?:CN-)?[A-Z]{2,3})$/;

/** `addressProvince`: an English name; for CN a province or city code, whose list the document does not show. */
const province = rule('addressProvince', (fields) => {
  const value = textOf(fields, 'addressProvince');
  if (value === undefined || !has(fields, 'addressCountry')) return null;
  if (fields['addressCountry'] === 'CN')
    return !CHINESE_PLACE_CODE.test(value) && 'must be the province or city code when addressCountry is CN';
  return (
    !hasLatinLettersOnly(value) && 'must be the English name, in Latin letters, when addressCountry is not CN'
  );
});

const OUTSIDE_ADDRESS_LINE = /[^\p{L}\p{M}\p{Nd}\s.,!?:;'"()[\]{}/*\\-]/gu;
const CHARACTERS_SHOWN_MAX = 5;

/** `addressLine`: for individuals a set of allowed characters. */
const addressLine = rule('addressLine', (fields) => {
  const value = textOf(fields, 'addressLine');
  if (fields['bizMode'] !== 'C' || value === undefined) return null;
  const outside = [...new Set(value.match(OUTSIDE_ADDRESS_LINE))].slice(0, CHARACTERS_SHOWN_MAX);
  return (
    outside.length > 0 &&
    `has ${outside.join(' ')}, but for an individual only letters, digits, white space and ` +
      `. , ! ? : ; ' " ( ) [ ] { } / * \\ - are allowed`
  );
});

/** `backCertImg`: required when idType is `01`. */
const backOfIdCard = rule(
  'backCertImg',
  (fields) =>
    fields['bizMode'] === 'C' &&
    fields['idType'] === '01' &&
    !has(fields, 'backCertImg') &&
    'is required when idType is 01 (national ID card)',
);

/** The document does not show how it writes these countries (docs/platform.md 2.5). */
const CHINA = ['CN', 'CHN', '156'];
const HONG_KONG = ['HK', 'HKG', '344'];

/** Images of a company's papers. The document says for companies of which countries each is "applicable", no more. */
const companyPapers: Rule = (fields) => {
  const registered = textOf(fields, 'registerCountry')?.toUpperCase();
  if (fields['bizMode'] !== 'B' || registered === undefined) return [];
  const papers = [
    {
      path: 'businessLicenseImg',
      applies: CHINA.includes(registered),
      where: 'in CN',
    },
    {
      path: 'registerCertImg',
      applies: HONG_KONG.includes(registered),
      where: 'in HK',
    },
    {
      path: 'incorporateCertImg',
      applies: !CHINA.includes(registered),
      where: 'outside CN',
    },
  ];
  return papers
    .filter(({ path, applies }) => has(fields, path) && !applies)
    .flatMap(({ path, where }) => warning(path, `is described for companies registered ${where}`));
};

const IMAGES = ['businessLicenseImg', 'registerCertImg', 'incorporateCertImg', 'frontCertImg', 'backCertImg'];

/** `relationProof`: paths returned by the file upload operation. */
const relationProof: Rule = ({ relationProof: paths }, context) =>
  (Array.isArray(paths) ? (paths as readonly unknown[]) : []).flatMap((path, index) => {
    const problem = typeof path === 'string' ? uploadPathProblem(path, context) : null;
    return problem === null ? [] : [{ path: `relationProof[${index}]`, problem }];
  });

/** The images, which the document does not say to be uploaded. */
const images: Rule = (fields, context) =>
  IMAGES.flatMap((path) => {
    const image = textOf(fields, path);
    const problem = image === undefined ? null : imageProblem(image, context);
    return problem === null ? [] : [{ path, problem }];
  });

/**
 * What a code leads to that a stored list does not have. The list may be older than the code. One of which items could
 * not be read proves nothing, so that is only a warning.
 */
function unlisted(
  {
    list,
    path,
    nouns,
  }: {
    readonly list: CheckedList;
    readonly path: string;
    readonly nouns: string;
  },
  { codes, country, day, setAside }: StoredList,
  today: BusinessDay,
  isOptional = false,
): readonly RuleProblem[] {
  const days = Math.max(0, daysFromTo(day, today).length - 1);
  const age = days === 0 ? 'today' : `${counted(days, 'day')} ago`;
  const unread =
    setAside === 0 ? '' : `, ${setAside === SET_ASIDE_MAX ? 'at least ' : ''}${setAside} could not be read`;
  const problem =
    `is none of the ${nouns} listed for ${country} on ${day}, ${age} (${codes.length} read${unread}). ` +
    `If it is new, run \`daybook reference sync --country ${country}\``;
  return [{ path, problem, list, isWarning: isOptional || setAside > 0 }];
}

/** `payoutMethod`: a code from the payout_method catalog, which lists methods of paymentMode `LOCAL` (docs/platform.md 4.2). */
const payoutMethodListed: Rule = (fields, { reference: { payoutMethods }, today }) => {
  const method = textOf(fields, 'payoutMethod');
  if (!isLocal(fields) || method === undefined || payoutMethods?.codes.includes(method) === true) return [];
  if (payoutMethods !== null)
    return unlisted(
      { list: 'payout_method', path: 'payoutMethod', nouns: 'payout methods' },
      payoutMethods,
      today,
    );
  const unread =
    `is ${WIRE}, the method of paymentMode SWIFT, and no list of the country’s methods was read; ` +
    '`daybook reference sync --country CODE` reads it';
  return method === WIRE ? warning('payoutMethod', unread) : [];
};

/** `bankCode`: bank codes are per country (docs/platform.md 2.2). */
const bankListed: Rule = (fields, { reference: { banks }, today }) => {
  const bankCode = textOf(fields, 'bankCode');
  if (banks === null || bankCode === undefined || banks.codes.includes(bankCode)) return [];
  // With SWIFT a bankCode is not required, and the document does not say which banks are meant.
  return unlisted({ list: 'bank', path: 'bankCode', nouns: 'banks' }, banks, today, !isLocal(fields));
};

/** `payoutType` has the same values as the catalog's `type`. The document does not say that they must be equal. */
const payoutTypeListed: Rule = (fields, { reference: { methodTypes } }) => {
  const type = textOf(fields, 'payoutType');
  const listed = methodTypes?.get(textOf(fields, 'payoutMethod') ?? '') ?? null;
  return type === undefined || listed === null || type === listed
    ? []
    : warning('payoutType', `is ${type}, but the platform lists the payoutMethod as ${listed}`);
};

/** `birthDate`: not in the future. */
const bornBefore = rule('birthDate', (fields, { today }) => {
  const day = textOf(fields, 'birthDate');
  return day !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(day) && day > today && LIES_AHEAD;
});

export const RULES: readonly Rule[] = [
  ...[wireForSwift, payoutMethodListed, payoutTypeListed, bankCodeForLocal, bankListed, branchWithBankCode],
  ...[proxyBank, swiftCodeForSwift, phoneAreaCode, province, addressLine, relationProof, images],
  ...[companyPapers, bornBefore, backOfIdCard],
];
