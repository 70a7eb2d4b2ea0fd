/** What the fields of a registration ask of each other (docs/platform.md 2.5), one rule after the other. */
import type { BusinessDay } from '../ledger/entry.ts';
import { uploadPathProblem, type FilePathRules } from '../platform/upload-path.ts';
import type { Problem } from '../forms/problem.ts';
import { hasLatinLettersOnly, LIES_AHEAD } from '../forms/text.ts';

/** What the platform lists for the registration's country, as last stored; null where nothing is. */
export interface StoredReference {
  readonly payoutMethods: readonly string[] | null;
  readonly banks: readonly string[] | null;
  /** `WALLET` or `BANK`, by payout method. */
  readonly methodTypes?: ReadonlyMap<string, string | null> | null;
}

export interface RuleContext extends FilePathRules {
  /** The two wallet methods of rule 1, which the document does not name. */
  readonly walletMethods: readonly string[];
  readonly reference: StoredReference;
  readonly today: BusinessDay;
  /** Told what the document leaves open and looks like a mistake; it is sent all the same. */
  readonly onWarning?: (warning: Problem) => void;
}

/**
 * The file's fields: undefined where left out, and `NOT_TEXT` where there is something that is no text, which the
 * schema has told already.
 */
export interface FieldReader {
  (name: string): string | undefined;
  /** The texts of a list, with their places in it. */
  readonly list: (name: string) => readonly (readonly [index: number, text: string])[];
}
export const NOT_TEXT = '\u0000';

export interface RuleProblem extends Problem {
  /** The document leaves it open: it is told, and refuses nothing. */
  readonly isWarning?: true;
}
type Rule = (field: FieldReader, context: RuleContext) => readonly RuleProblem[];

/**
 * `bankCountry` of the rules is `countryCode`, and `settlementNetwork` SWIFT is `paymentMode` SWIFT
 * (docs/platform.md 2.5, rule 3).
 */
const bankCountryIn = (field: FieldReader, countries: readonly string[]): boolean =>
  countries.includes(field('countryCode') ?? '');
const isLocal = (field: FieldReader): boolean => field('paymentMode') === 'LOCAL';
const isSwift = (field: FieldReader): boolean => field('paymentMode') === 'SWIFT';
const has = (field: FieldReader, name: string): boolean => field(name) !== undefined;
const told = (path: string, problem: string): readonly RuleProblem[] => [{ path, problem }];
const warned = (path: string, problem: string): readonly RuleProblem[] => [
  { path, problem, isWarning: true },
];
const NONE: readonly RuleProblem[] = [];

const BRANCH_COUNTRIES = ['CN', 'BR', 'IN'];
const PHONE_COUNTRIES = ['BR', 'KR', 'MA', 'IN'];
const PROXY_FIELDS = ['proxyBankName', 'proxyBankAddress', 'proxyBankSwiftCode'];
const WIRE = 'WIRE';

/** `payoutMethod`: `WIRE` when paymentMode is `SWIFT`. */
const wireForSwift: Rule = (field) =>
  isSwift(field) && has(field, 'payoutMethod') && field('payoutMethod') !== WIRE
    ? told('payoutMethod', `must be ${WIRE} when paymentMode is SWIFT`)
    : NONE;

/** Rule 1: `bankCode`, with paymentMode `LOCAL` only. */
const bankCodeForLocal: Rule = (field, { walletMethods }) => {
  if (!isLocal(field) || has(field, 'bankCode')) return NONE;
  if (bankCountryIn(field, BRANCH_COUNTRIES))
    return told('bankCode', 'is required with paymentMode LOCAL when countryCode is CN, BR or IN');
  const method = field('payoutMethod');
  if (method === undefined || method === NOT_TEXT || walletMethods.includes(method)) return NONE;
  return told(
    'bankCode',
    'is required with paymentMode LOCAL: only the wallet methods go without it' +
      (walletMethods.length === 0
        ? ' (none is set in PLATFORM_WALLET_METHODS)'
        : ` (${walletMethods.join(', ')})`),
  );
};

/** `branchCode`: required together with bankCode when bankCountry is `CN`, `BR` or `IN`. */
const branchWithBankCode: Rule = (field) =>
  bankCountryIn(field, BRANCH_COUNTRIES) &&
  (isLocal(field) || has(field, 'bankCode')) &&
  !has(field, 'branchCode')
    ? told('branchCode', 'is required together with bankCode when countryCode is CN, BR or IN')
    : NONE;

/** Rule 2: the three proxy bank fields are all supplied or all omitted; and each is for `SWIFT` only. */
const proxyBank: Rule = (field) => {
  const given = PROXY_FIELDS.filter((name) => has(field, name));
  if (given.length === 0) return NONE;
  if (isLocal(field))
    return given.map((path) => ({ path, problem: 'is for paymentMode SWIFT only; leave it out' }));
  return PROXY_FIELDS.filter((name) => !given.includes(name)).map((path) => ({
    path,
    problem: 'is required: the three proxy bank fields are given all together or not at all',
  }));
};

/** `swiftCode`: required when settlementNetwork is `SWIFT`. */
const swiftCodeForSwift: Rule = (field) =>
  isSwift(field) && !has(field, 'swiftCode')
    ? told('swiftCode', 'is required when paymentMode is SWIFT')
    : NONE;

/** `phoneAreaCode`: required when bankCountry is `BR`, `KR`, `MA` or `IN`. */
const phoneAreaCode: Rule = (field) =>
  bankCountryIn(field, PHONE_COUNTRIES) && !has(field, 'phoneAreaCode')
    ? told('phoneAreaCode', 'is required when countryCode is BR, KR, MA or IN')
    : NONE;

/** `addressProvince`: English name for non-CN countries; province or city code for CN, whose dictionary is not shown. */
const province: Rule = (field) => {
  const value = field('addressProvince');
  if (value === undefined || value === NOT_TEXT || !has(field, 'addressCountry')) return NONE;
  if (field('addressCountry') === 'CN') {
    return /^[A-Za-z0-9._-]+$/.test(value)
      ? NONE
      : told('addressProvince', 'must be the province or city code when addressCountry is CN');
  }
  return hasLatinLettersOnly(value)
    ? NONE
    : told('addressProvince', 'must be the English name, in Latin letters, when addressCountry is not CN');
};

const OUTSIDE_ADDRESS_LINE = /[^\p{L}\p{M}\p{Nd}\s.,!?:;'"()[\]{}/*\\-]/gu;
const CHARACTERS_SHOWN_MAX = 5;

/** `addressLine`: for individuals a set of allowed characters. */
const addressLine: Rule = (field) => {
  const value = field('addressLine');
  if (field('bizMode') !== 'C' || value === undefined || value === NOT_TEXT) return NONE;
  const outside = [...new Set(value.match(OUTSIDE_ADDRESS_LINE))].slice(0, CHARACTERS_SHOWN_MAX);
  return outside.length === 0
    ? NONE
    : told(
        'addressLine',
        `has ${outside.join(' ')}, but for an individual only letters, digits, white space and ` +
          `. , ! ? : ; ' " ( ) [ ] { } / * \\ - are allowed`,
      );
};

/** `backCertImg`: required when idType is `01`. */
const backOfIdCard: Rule = (field) =>
  field('bizMode') === 'C' && field('idType') === '01' && !has(field, 'backCertImg')
    ? told('backCertImg', 'is required when idType is 01 (national ID card)')
    : NONE;

/** As the country dictionary may have it, which is not shown (docs/platform.md 2.5). */
const CHINA = ['CN', 'CHN', '156'];
const HONG_KONG = ['HK', 'HKG', '344'];

/** Images of a company's papers, each "applicable" for companies of some countries: more than that is not said. */
const companyPapers: Rule = (field) => {
  const registered = field('registerCountry');
  if (field('bizMode') !== 'B' || registered === undefined || registered === NOT_TEXT) return NONE;
  const isIn = (codes: readonly string[]) => codes.includes(registered.toUpperCase());
  const papers = [
    { path: 'businessLicenseImg', applies: isIn(CHINA), where: 'in CN' },
    { path: 'registerCertImg', applies: isIn(HONG_KONG), where: 'in HK' },
    { path: 'incorporateCertImg', applies: !isIn(CHINA), where: 'outside CN' },
  ];
  return papers
    .filter(({ path, applies }) => has(field, path) && !applies)
    .flatMap(({ path, where }) => warned(path, `is described for companies registered ${where}`));
};

const IMAGES = ['businessLicenseImg', 'registerCertImg', 'incorporateCertImg', 'frontCertImg', 'backCertImg'];

/** `relationProof` and the images: paths returned by the file upload operation. */
const uploadedFiles: Rule = (field, context) => {
  const images = IMAGES.map((path) => [path, field(path)] as const);
  const proofs = field
    .list('relationProof')
    .map(([index, text]) => [`relationProof[${index}]`, text] as const);
  return [...proofs, ...images].flatMap(([path, text]) => {
    const problem = text === undefined || text === NOT_TEXT ? null : uploadPathProblem(text, context);
    return problem === null ? NONE : told(path, problem);
  });
};

const SYNC = 'if it is new, run `daybook reference sync` first';

/**
 * `payoutMethod`: a code from the payout_method catalog, which lists methods of paymentMode `LOCAL`
 * (docs/platform.md 4.2).
 */
const payoutMethodListed: Rule = (field, { reference: { payoutMethods } }) => {
  const method = field('payoutMethod');
  if (!isLocal(field) || payoutMethods === null || method === undefined || method === NOT_TEXT) return NONE;
  return payoutMethods.includes(method)
    ? NONE
    : told('payoutMethod', `is none of the payout methods the platform lists for the country; ${SYNC}`);
};

/** `bankCode`: bank codes are per country (docs/platform.md 2.2). */
const bankListed: Rule = (field, { reference: { banks } }) => {
  const bankCode = field('bankCode');
  if (banks === null || bankCode === undefined || bankCode === NOT_TEXT) return NONE;
  if (banks.includes(bankCode)) return NONE;
  const problem = `is none of the banks the platform lists for the country; ${SYNC}`;
  // With SWIFT it is not required, and nothing is said of which banks may be meant.
  return isLocal(field) ? told('bankCode', problem) : warned('bankCode', problem);
};

/** `payoutType` and the catalog's `type` have the same values; that they must agree is not said. */
const payoutTypeListed: Rule = (field, { reference: { methodTypes } }) => {
  const [type, listed] = [field('payoutType'), methodTypes?.get(field('payoutMethod') ?? '') ?? null];
  return type === undefined || type === NOT_TEXT || listed === null || type === listed
    ? NONE
    : warned('payoutType', `is ${type}, but the platform lists the payoutMethod as ${listed}`);
};

/** `birthDate`: nobody is born tomorrow. */
const bornBefore: Rule = (field, { today }) => {
  const day = field('birthDate');
  return day !== undefined && /^\d{4}-\d{2}-\d{2}$/.test(day) && day > today
    ? told('birthDate', LIES_AHEAD)
    : NONE;
};

export const RULES: readonly Rule[] = [
  wireForSwift,
  payoutMethodListed,
  payoutTypeListed,
  bankCodeForLocal,
  bankListed,
  branchWithBankCode,
  proxyBank,
  swiftCodeForSwift,
  phoneAreaCode,
  province,
  addressLine,
  uploadedFiles,
  companyPapers,
  bornBefore,
  backOfIdCard,
];
