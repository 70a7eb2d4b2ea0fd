/**
 * Checks an application (sp1101, docs/platform.md 2.3, 2.4, 4.3), field by field in the document's order. All of it is
 * checked before anything is sent, as the platform may not take the same application a second time.
 */
import { isIP } from 'node:net';
import type { z } from 'zod';
import { problemsOf, unknownField, type Problem } from '../../forms/problem.ts';
import {
  charactersIn,
  extrasIn,
  fieldsOf,
  hasLatinLettersOnly,
  isFields,
  isGiven,
  LIES_AHEAD,
  listOf,
  matching,
  oneOf,
  required,
  textsOf,
  type Fields,
  type ListRules,
  type TextProblem,
} from '../../forms/text.ts';
import { withinOneOf } from '../../host/addresses.ts';
import { isDay } from '../../ledger/business-day.ts';
import { isCountryCode } from '../../ledger/countries.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import {
  FILE_PATH_CHARACTERS_MAX,
  uploadPathProblem,
  type FilePathRules,
} from '../../platform/upload-path.ts';
import { NATURE_PROMPT_CODE } from '../../platform/wire.ts';
import { CALLBACK_URL_CHARACTERS_MAX } from '../../store/notify-path.ts';
import type { CodeLists } from './settings.ts';

export interface ApplicationRules extends FilePathRules {
  readonly codeLists: CodeLists;
  readonly today: BusinessDay;
  /** Called with a suspicious value that the document allows. It is sent all the same. */
  readonly onWarning?: (warning: Problem) => void;
  /** Used for fields the file leaves out. Null: the file must have the field. */
  readonly defaults: {
    readonly merOrderNo: string;
    readonly referralChannel: string | null;
    readonly callbackUrl: string | null;
    readonly processVersion: string | null;
  };
}

/** An application as it goes to the platform. It has only fields that were checked. */
export interface ApplicationPayload extends Fields {
  readonly merOrderNo: string;
  readonly countryCode: string;
  readonly certificateNo: string;
  readonly callbackUrl: string;
  readonly processVersion?: string;
}

type CheckedApplication =
  { readonly payload: ApplicationPayload } | { readonly problems: readonly Problem[] };

const URL_CHARACTERS_MAX = 255;
const CODE_CHARACTERS_MAX = 64;
/** A limit of our own. */
const NATURE_CHARACTERS_MAX = 255;
/** Far above two letters, so that a country's name is reported as no code, not as too long. */
const COUNTRY_CHARACTERS_MAX = 60;

const formText = textsOf((value) =>
  typeof value === 'number' || typeof value === 'boolean' ? 'must be text; put it in quotes' : 'must be text',
);

/** A text of one line and at most `max` characters. `wrong` checks it further. */
const text = (max: number, wrong: TextProblem = () => null) =>
  formText((value) => {
    const length = charactersIn(value);
    return length > max ? `has ${length} characters; the platform takes at most ${max}` : wrong(value);
  });

/** One of the codes of the document. `meanings` has a few words for each. */
function choice(meanings: Readonly<Record<string, string>>) {
  const codes = Object.entries(meanings).map(([code, meaning]) => `${code} (${meaning})`);
  return oneOf(Object.keys(meanings), `one of ${codes.join(', ')}, in quotes`);
}

const yesOrNo = choice({ '0': 'no', '1': 'yes' });
const country = text(COUNTRY_CHARACTERS_MAX, (code) =>
  isCountryCode(code) ? null : 'is no ISO 3166-1 country code of two capital letters, like HK',
);
const EMAIL = /^[^\s@<>()[\],;:"\\]+@[^\s@.]+(?:\.[^\s@.]+)+$/;
const AREA_CODE = /^(?=(?:\D*\d){1,9}\D*$)[+(\d][\d()+ -]*$/;
const NO_AREA_CODE = 'is no international dialling code, like +852 or 1-684';
const PHONE = /^[\d(][\d ().-]*$/;
const NO_PHONE =
  'is no phone number without its area code: digits, and blanks, dots, dashes or parentheses between them';

/** Latin letters, digits and signs, as on a certificate in English. */
const englishName = text(255, (name) =>
  /\p{Script=Latin}/u.test(name) && hasLatinLettersOnly(name)
    ? null
    : 'is no English name: it takes letters of the Latin alphabet',
);

/** An address without a scheme: a host with a domain that has letters, and a path. */
const isBareAddress = (value: string): boolean =>
  /^[^\s:/?#@\\]+(?::\d+)?(?:[/?#]\S*)?$/.test(value) &&
  URL.canParse(`https://${value}`) &&
  /\.[a-z][a-z0-9-]+$/i.test(new URL(`https://${value}`).hostname);
/** An address as people write it, with or without a scheme. */
const isWebAddress = (value: string): boolean =>
  /^https?:\/\//i.test(value)
    ? URL.canParse(value) && new URL(value).hostname.includes('.')
    : isBareAddress(value);
/** An app's address has a scheme of its own: market://details?id=..., itms-apps://... (docs/platform.md 2.3). */
const isAppAddress = (value: string): boolean =>
  /^[a-z][a-z\d+.-]*:\/\/[^\s/]/i.test(value) && !/^(?:https?|ftp|file):/i.test(value) && URL.canParse(value);
const NO_URL = 'is no URL, like https://www.company.example';
const webAddress = text(URL_CHARACTERS_MAX, (value) => (isWebAddress(value) ? null : NO_URL));
const webOrAppAddress = text(URL_CHARACTERS_MAX, (value) =>
  isWebAddress(value) || isAppAddress(value) ? null : `${NO_URL} or market://details?id=com.company.app`,
);

/** A process version is sent from V2 on only (docs/platform.md 2.3, 9). One without a number in it may be sent. */
export const isSuppliedVersion = (version: string): boolean => Number(/\d+/.exec(version)?.[0] ?? 2) >= 2;

/** A day of the calendar, `yyyy-MM-dd`; `9999-12-31` where there is no end (docs/platform.md 2.4). */
const date = (latest: BusinessDay = '9999-12-31') =>
  text(10, (value) => {
    if (!isDay(value)) return 'is no date of the form yyyy-MM-dd';
    return value <= latest ? null : LIES_AHEAD;
  });

/** Checks a code of the appendix that the document does not show: by the list in the settings, or else by its form. */
function wrongCode(code: string, list: readonly string[] | null, field: string): string | null {
  if (list !== null) return list.includes(code) ? null : `is not among ${field} in PLATFORM_CODE_LISTS`;
  return /^[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*$/.test(code)
    ? null
    : 'is no code: letters and digits, with dots, dashes or underscores between them';
}

const codes = (lists: CodeLists, field: 'sourceFunds' | 'paymentPurpose' | 'customerIdentity') =>
  listOf({
    element: () => text(CODE_CHARACTERS_MAX, (value) => wrongCode(value, lists[field], field)),
  });

/** Whether a text among natures is none of their codes. */
const isOwnNature = (nature: string, list: readonly string[] | null): boolean =>
  wrongCode(nature, list, 'natures') !== null;

/** Codes of natures. Next to `OTHER`, which asks for the name of a nature, any text may be one (docs/platform.md 2.2). */
function natures(list: readonly string[] | null, given: readonly unknown[]) {
  if (given.includes(NATURE_PROMPT_CODE) && !isOwnNature(NATURE_PROMPT_CODE, list))
    return listOf({ element: () => text(NATURE_CHARACTERS_MAX) });
  const hint = list === null ? `; give ${NATURE_PROMPT_CODE} as well to name a nature of its own` : '';
  const code = text(CODE_CHARACTERS_MAX, (value) => {
    const wrong = wrongCode(value, list, 'natures');
    return wrong === null ? null : `${wrong}${hint}`;
  });
  return listOf({ element: () => code });
}

/** A list of at least one path, without repeats. */
const filePaths = (rules: FilePathRules, wrong?: ListRules['wrong']) =>
  listOf({
    element: () => text(FILE_PATH_CHARACTERS_MAX, (value) => uploadPathProblem(value, rules)),
    wrong,
  });

/** The `type` of a person whose document is an ID card. */
const ID_CARD = '0';
/** An ID card has two images (docs/platform.md 2.4). */
function wrongCount({ length }: readonly unknown[]): string | null {
  if (length === 2) return null;
  return `must be two images for an ID card, front and back; there ${length === 1 ? 'is 1' : `are ${length}`}`;
}

type Shape = Readonly<Record<string, z.ZodType>>;

/** The fields of a person (docs/platform.md 2.4). `type` is the value of that person's `type` in the file. */
const personShape = (rules: ApplicationRules, type?: unknown): Shape => ({
  type: choice({ [ID_CARD]: 'national ID card', '1': 'passport' }),
  issuPlace: country,
  certName: text(64),
  certNo: text(32),
  certificates: filePaths(rules, type === ID_CARD ? wrongCount : undefined),
  dateOfBirth: date(rules.today).optional(),
  certValidEndDate: date().optional(),
  currentCountry: country,
  currentAddress: text(255),
});

const E_COMMERCE = '2';
/** The fields of businessNature (docs/platform.md 2.3). */
const natureShape = ({ codeLists }: ApplicationRules, given: readonly unknown[] = []): Shape => ({
  natureType: choice({
    '0': 'goods trade',
    '1': 'services trade',
    [E_COMMERCE]: 'e-commerce',
  }),
  natures: natures(codeLists.natures, given),
});

const listIn = (fields: Fields, name: string): readonly unknown[] => {
  const value = fields[name];
  return Array.isArray(value) ? value : [];
};
const naturesIn = ({ businessNature }: Fields): readonly unknown[] =>
  isFields(businessNature) ? listIn(businessNature, 'natures') : [];

const neededIf = (isNeeded: boolean, schema: z.ZodType, where: string): z.ZodType =>
  isNeeded ? required(schema, `is required ${where}`) : schema.optional();

/** The fields of an application (docs/platform.md 2.3). Some are required only with certain values in `fields`. */
function applicationShape(rules: ApplicationRules, fields: Fields): Shape {
  const { codeLists, defaults } = rules;
  const { countryCode, businessNature } = fields;
  const isElsewhere = typeof countryCode === 'string' && isCountryCode(countryCode) && countryCode !== 'CN';
  const isShop = isFields(businessNature) && businessNature['natureType'] === E_COMMERCE;
  const people = listOf({
    element: (person) => fieldsOf(personShape(rules, isFields(person) ? person['type'] : undefined)),
  });
  const inChina = (schema: z.ZodType) => neededIf(countryCode === 'CN', schema, 'where countryCode is CN');
  return {
    merOrderNo: text(32).optional(),
    email: text(255, matching(EMAIL, 'is no e-mail address, like name@company.example')),
    phoneAreaCode: text(10, matching(AREA_CODE, NO_AREA_CODE)),
    phoneNum: text(32, matching(PHONE, NO_PHONE)),
    referralChannel: required(text(16), 'is required, here or as PLATFORM_REFERRAL_CHANNEL'),
    countryCode: country,
    merNameEn: englishName,
    merNameCn: inChina(text(255)),
    payerCity: text(128),
    realCompanyAddress: text(255),
    addressType: choice({
      '0': 'self-rented office',
      '1': 'secretariat address',
      '2': 'shared office or co-working space',
    }),
    certificateNo: text(18),
    certificate: filePaths(rules),
    companyWebsite: webAddress.optional(),
    webSiteOrApp: neededIf(isShop, webOrAppAddress, `where businessNature.natureType is ${E_COMMERCE}`),
    clientCountry: listOf({ element: () => country }),
    businessMainActors: choice({ '0': 'company', '1': 'individual' }),
    lastYearTurnover: choice({
      '0': 'under 100,000 USD',
      '1': '100,000 to 1,000,000',
      '2': '1,000,000 to 10,000,000',
      '3': '10,000,000 to 100,000,000',
      '4': 'over 100,000,000',
      '5': 'N/A, new company',
    }),
    estimatedTradingVolume: choice({
      '0': 'under 50,000 USD a month',
      '1': '50,000 to 100,000',
      '2': '100,000 to 500,000',
      '3': '500,000 to 1,000,000',
      '4': '1,000,000 to 5,000,000',
      '5': 'over 5,000,000',
    }),
    sourceFunds: codes(codeLists, 'sourceFunds'),
    paymentPurpose: codes(codeLists, 'paymentPurpose'),
    riskCountryTransaction: yesOrNo,
    customerIdentity: codes(codeLists, 'customerIdentity'),
    customerId: people,
    shareholder: people,
    director: neededIf(isElsewhere, people, 'for a merchant registered outside mainland China'),
    legalPerson: inChina(people),
    authorization: filePaths(rules),
    parentRemark: yesOrNo,
    branchRemark: yesOrNo,
    noticeMarker: yesOrNo,
    callbackUrl: required(
      callbackUrl(defaults.callbackUrl),
      'is required, or DAYBOOK_PUBLIC_URL, from which one is made for each application',
    ),
    processVersion: text(10, (version) =>
      isSuppliedVersion(version) ? null : 'is supplied from V2 on only; leave it out',
    ).optional(),
    businessNature: fieldsOf(natureShape(rules, naturesIn(fields))),
  };
}

/** The names of the fields at a place in the file: of the application, of its businessNature or of a person. */
function namesAt(at: readonly PropertyKey[], rules: ApplicationRules): readonly string[] {
  if (at.length === 0) return Object.keys(applicationShape(rules, {}));
  return Object.keys(at[0] === 'businessNature' ? natureShape(rules) : personShape(rules));
}

/**
 * Checks the content of a file. Returns all problems at once, in the document's order. If there are none, returns the
 * payload in the same order; fields the file left out are taken from `defaults`.
 */
export function checkApplication(file: unknown, rules: ApplicationRules): CheckedApplication {
  if (!isFields(file)) {
    return {
      problems: [
        {
          path: 'the file',
          problem: 'must be a mapping of the application’s fields',
        },
      ],
    };
  }
  const defaults = Object.entries(rules.defaults).filter(([name]) => !isGiven(file[name]));
  const fields: Fields = { ...file, ...Object.fromEntries(defaults) };
  for (const oddity of odditiesIn(fields, rules.codeLists.natures)) rules.onWarning?.(oddity);
  const read = fieldsOf(applicationShape(rules, fields)).safeParse(fields);
  if (read.success) return { payload: read.data as unknown as ApplicationPayload };
  const problems = problemsOf(read.error.issues, (names, at) => {
    const known = namesAt(at, rules);
    return names.map((name) => unknownField(name, known, at));
  });
  return { problems };
}

const isPrivate = withinOneOf([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.168.0.0/16', '::/127', 'fc00::/7', 'fe80::/10'],
]);

function wrongAddress(value: string): string | null {
  if (!URL.canParse(value)) return 'is no URL, like https://company.example/notify';
  const { protocol, username, password, hostname } = new URL(value);
  if (protocol !== 'https:') return 'must begin with https://';
  if (username !== '' || password !== '') return 'must not carry a user or password';
  const host = hostname.replace(/^\[|\]$/g, '');
  const isPublic =
    isIP(host) === 0
      ? host.includes('.') && !/\.(?:localhost|local|internal|lan|home|test)\.?$/i.test(host)
      : !isPrivate(host);
  return isPublic ? null : 'is not an address the platform could reach from outside';
}

/** Our own address is only checked for its length: it may be a loopback address, for tests. */
const callbackUrl = (ours: string | null) =>
  text(CALLBACK_URL_CHARACTERS_MAX, (value) => (value === ours ? null : wrongAddress(value)));

const lastPart = (path: unknown): string => (typeof path === 'string' ? (path.split('/').at(-1) ?? '') : '');
const saysFront = (path: unknown) => /front/i.test(lastPart(path)) && !/back/i.test(lastPart(path));
const saysBack = (path: unknown) => /back/i.test(lastPart(path)) && !/front/i.test(lastPart(path));

/** No rule says how files are named, so a name that says front or back only leads to a warning. */
const swappedImages = (file: Fields): Problem[] =>
  ['customerId', 'shareholder', 'director', 'legalPerson'].flatMap((name) =>
    listIn(file, name).flatMap((person, index) => {
      if (!isFields(person) || person['type'] !== ID_CARD) return [];
      const images = listIn(person, 'certificates');
      if (images.length !== 2 || !(saysBack(images[0]) || saysFront(images[1]))) return [];
      const problem =
        'seem to be in the wrong order by their names: an ID card’s front goes first, then its back';
      return [{ path: `${name}[${index}].certificates`, problem }];
    }),
  );

/**
 * `OTHER` is the catalog's prompt to enter a name (docs/platform.md 2.2). It is not known whether the appendix has it
 * as a code, or in which place the name goes. Without a list in the settings, and for each name there is a warning.
 */
function otherNature(file: Fields, list: readonly string[] | null): Problem[] {
  const given = naturesIn(file);
  const at = given.indexOf(NATURE_PROMPT_CODE);
  if (at === -1) return [];
  const path = (index: number) => `businessNature.natures[${index}]`;
  const problem = `is no code; it is sent as the nature that ${NATURE_PROMPT_CODE} asks for`;
  const own = given.flatMap((nature, index) =>
    typeof nature === 'string' && isOwnNature(nature, list) ? [{ path: path(index), problem }] : [],
  );
  if (own.length > 0 || list !== null) return own;
  const prompt = 'is the catalog’s prompt to enter a nature; the platform may ask which one is meant';
  return [{ path: path(at), problem: prompt }];
}

const bareAddresses = (file: Fields): Problem[] =>
  ['companyWebsite', 'webSiteOrApp'].flatMap((path) => {
    const value = file[path];
    return typeof value === 'string' && isBareAddress(value)
      ? [{ path, problem: 'has no https:// before it; it is sent as written' }]
      : [];
  });

/** Warnings in the document's order. `list` has the codes of natures in the settings, or is null. */
const odditiesIn = (file: Fields, list: readonly string[] | null): Problem[] => [
  ...swappedImages(file),
  ...bareAddresses(file),
  ...otherNature(file, list),
  ...extrasIn(file),
];
