/**
 * Checks an application (sp1101, docs/platform.md 2.3, 2.4, 4.3), field by field in the document's order. All of it is
 * checked before anything is sent, as the platform may not take the same application a second time.
 */
import { isIP } from 'node:net';
import type { z } from 'zod';
import {
  extrasIn,
  fieldsOf,
  isFields,
  isGiven,
  listOf,
  required,
  type Fields,
  type ListRules,
} from '../../forms/text.ts';
import { problemsOf, unknownField, type Problem } from '../../forms/problem.ts';
import { withinOneOf } from '../../host/addresses.ts';
import { isCountryCode } from '../../ledger/countries.ts';
import type { BusinessDay } from '../../ledger/entry.ts';
import {
  FILE_PATH_CHARACTERS_MAX,
  uploadPathProblem,
  type FilePathRules,
} from '../../platform/upload-path.ts';
import { NATURE_PROMPT_CODE } from '../../platform/wire.ts';
import type { CodeLists } from './settings.ts';
import { CALLBACK_URL_CHARACTERS_MAX } from '../../store/notify-path.ts';
import {
  choice,
  codes,
  countries,
  country,
  date,
  email,
  englishName,
  isBareAddress,
  isOwnNature,
  natures,
  pastDate,
  phoneAreaCode,
  phoneNum,
  processVersion,
  text,
  webAddress,
  webOrAppAddress,
  yesOrNo,
} from './application-values.ts';

export interface ApplicationRules extends FilePathRules {
  readonly codeLists: CodeLists;
  readonly today: BusinessDay;
  /** Called with a suspicious value that the document allows. It is sent all the same. */
  readonly onWarning?: (warning: Problem) => void;
  /** Used for fields the file leaves out. Null: the file must have the field. */
  readonly defaults: {
    readonly merOrderNo: string;
    readonly referralChannel: string | null;
    /** The address of ours that was made for this application. */
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

const isChina = ({ countryCode }: Fields): boolean => countryCode === 'CN';
const isElsewhere = ({ countryCode }: Fields): boolean =>
  typeof countryCode === 'string' && isCountryCode(countryCode) && countryCode !== 'CN';

const E_COMMERCE = '2';
const isShop = ({ businessNature }: Fields): boolean =>
  isFields(businessNature) && businessNature['natureType'] === E_COMMERCE;

const ADDRESS_TYPES = {
  '0': 'self-rented office',
  '1': 'secretariat address',
  '2': 'shared office or co-working space',
};
const LAST_YEAR_TURNOVER_USD = {
  '0': 'under 100,000 USD',
  '1': '100,000 to 1,000,000',
  '2': '1,000,000 to 10,000,000',
  '3': '10,000,000 to 100,000,000',
  '4': 'over 100,000,000',
  '5': 'N/A, new company',
};
const MONTHLY_VOLUME_USD = {
  '0': 'under 50,000 USD a month',
  '1': '50,000 to 100,000',
  '2': '100,000 to 500,000',
  '3': '500,000 to 1,000,000',
  '4': '1,000,000 to 5,000,000',
  '5': 'over 5,000,000',
};

type Shape = Readonly<Record<string, z.ZodType>>;

/** The fields of a person (docs/platform.md 2.4). `type` is the value of that person's `type` in the file. */
const personShape = (rules: ApplicationRules, type?: unknown): Shape => ({
  type: choice({ '0': 'national ID card', '1': 'passport' }),
  issuPlace: country,
  certName: text(64),
  certNo: text(32),
  certificates: personImages(rules, type),
  dateOfBirth: pastDate(rules.today).optional(),
  certValidEndDate: date.optional(),
  currentCountry: country,
  currentAddress: text(255),
});

const peopleOf = (rules: ApplicationRules) =>
  listOf({
    element: (person) => fieldsOf(personShape(rules, isFields(person) ? person['type'] : undefined)),
  });

/** The fields of businessNature (docs/platform.md 2.3). */
const natureShape = ({ codeLists }: ApplicationRules, given: readonly unknown[] = []): Shape => ({
  natureType: choice({ '0': 'goods trade', '1': 'services trade', [E_COMMERCE]: 'e-commerce' }),
  natures: natures(codeLists.natures, given),
});

const naturesIn = ({ businessNature }: Fields): readonly unknown[] =>
  isFields(businessNature) ? listIn(businessNature, 'natures') : [];

const neededIf = (isNeeded: boolean, schema: z.ZodType, missing: string): z.ZodType =>
  isNeeded ? required(schema, missing) : schema.optional();

/** The fields of an application (docs/platform.md 2.3). Some are required only with certain values in `fields`. */
function applicationShape(rules: ApplicationRules, fields: Fields): Shape {
  const { codeLists, defaults } = rules;
  const people = peopleOf(rules);
  return {
    merOrderNo: text(32).optional(),
    email,
    phoneAreaCode,
    phoneNum,
    referralChannel: required(text(16), 'is required, here or as PLATFORM_REFERRAL_CHANNEL'),
    countryCode: country,
    merNameEn: englishName,
    merNameCn: neededIf(isChina(fields), text(255), 'is required where countryCode is CN'),
    payerCity: text(128),
    realCompanyAddress: text(255),
    addressType: choice(ADDRESS_TYPES),
    certificateNo: text(18),
    certificate: filePaths(rules),
    companyWebsite: webAddress.optional(),
    webSiteOrApp: neededIf(
      isShop(fields),
      webOrAppAddress,
      `is required where businessNature.natureType is ${E_COMMERCE}`,
    ),
    clientCountry: countries,
    businessMainActors: choice({ '0': 'company', '1': 'individual' }),
    lastYearTurnover: choice(LAST_YEAR_TURNOVER_USD),
    estimatedTradingVolume: choice(MONTHLY_VOLUME_USD),
    sourceFunds: codes(codeLists.sourceFunds, 'sourceFunds'),
    paymentPurpose: codes(codeLists.paymentPurpose, 'paymentPurpose'),
    riskCountryTransaction: yesOrNo,
    customerIdentity: codes(codeLists.customerIdentity, 'customerIdentity'),
    customerId: people,
    shareholder: people,
    director: neededIf(
      isElsewhere(fields),
      people,
      'is required for a merchant registered outside mainland China',
    ),
    legalPerson: neededIf(isChina(fields), people, 'is required where countryCode is CN'),
    authorization: filePaths(rules),
    parentRemark: yesOrNo,
    branchRemark: yesOrNo,
    noticeMarker: yesOrNo,
    callbackUrl: required(
      callbackUrl(defaults.callbackUrl),
      'is required, or DAYBOOK_PUBLIC_URL, from which one is made for each application',
    ),
    processVersion: processVersion.optional(),
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
    return { problems: [{ path: 'the file', problem: 'must be a mapping of the application’s fields' }] };
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
  ...[
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.168.0.0/16',
  ],
  ...['::/127', 'fc00::/7', 'fe80::/10'],
]);

function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (isIP(host) !== 0) return !isPrivate(host);
  return host.includes('.') && !/\.(?:localhost|local|internal|lan|home|test)\.?$/i.test(host);
}

function wrongAddress(value: string): string | null {
  if (!URL.canParse(value)) return 'is no URL, like https://company.example/notify';
  const url = new URL(value);
  if (url.protocol !== 'https:') return 'must begin with https://';
  if (url.username !== '' || url.password !== '') return 'must not carry a user or password';
  return isPublicHost(url.hostname) ? null : 'is not an address the platform could reach from outside';
}

/** Our own address is only checked for its length: it may be a loopback address, for tests. */
const callbackUrl = (ours: string | null) =>
  text(CALLBACK_URL_CHARACTERS_MAX, (value) => (value === ours ? null : wrongAddress(value)));

const PEOPLE = ['customerId', 'shareholder', 'director', 'legalPerson'];

const listIn = (fields: Fields, name: string): readonly unknown[] => {
  const value = fields[name];
  return Array.isArray(value) ? value : [];
};

/** No rule says how files are named, so a name that says front or back only leads to a warning. */
const swappedImages = (file: Fields): Problem[] =>
  PEOPLE.flatMap((name) =>
    listIn(file, name).flatMap((person, index) =>
      isFields(person) && person['type'] === ID_CARD && seemSwapped(listIn(person, 'certificates'))
        ? [
            {
              path: `${name}[${index}].certificates`,
              problem:
                'seem to be in the wrong order by their names: an ID card’s front goes first, then its back',
            },
          ]
        : [],
    ),
  );

/**
 * `OTHER` is the catalog's prompt to enter a name (docs/platform.md 2.2). It is not known whether the appendix has it
 * as a code, or in which place the name goes. Without a list in the settings, and for each name there is a warning.
 */
function otherNature(file: Fields, list: readonly string[] | null): Problem[] {
  const given = naturesIn(file);
  const at = given.indexOf(NATURE_PROMPT_CODE);
  if (at === -1) return [];
  const warn = (index: number, problem: string): Problem => ({
    path: `businessNature.natures[${index}]`,
    problem,
  });
  const own = given.flatMap((nature, index) =>
    typeof nature === 'string' && isOwnNature(nature, list)
      ? [warn(index, `is no code; it is sent as the nature that ${NATURE_PROMPT_CODE} asks for`)]
      : [],
  );
  if (own.length > 0 || list !== null) return own;
  return [warn(at, 'is the catalog’s prompt to enter a nature; the platform may ask which one is meant')];
}

const bareAddresses = (file: Fields): Problem[] =>
  ['companyWebsite', 'webSiteOrApp'].flatMap((path) => {
    const value = file[path];
    return typeof value === 'string' && isBareAddress(value)
      ? [{ path, problem: 'has no https:// before it; it is sent as written' }]
      : [];
  });

/** Warnings in the document's order. `natures` is the list of codes in the settings, or null. */
const odditiesIn = (file: Fields, natures: readonly string[] | null): Problem[] => [
  ...swappedImages(file),
  ...bareAddresses(file),
  ...otherNature(file, natures),
  ...extrasIn(file),
];

/** A list of at least one path, without repeats. */
function filePaths(rules: FilePathRules, wrong?: ListRules['wrong']) {
  const path = text(FILE_PATH_CHARACTERS_MAX, (value) => uploadPathProblem(value, rules));
  return listOf({ element: () => path, wrong });
}

/** The `type` of a person whose document is an ID card. */
const ID_CARD = '0';

/** An ID card has two images (docs/platform.md 2.4). */
function wrongCount({ length }: readonly unknown[]): string | null {
  if (length === 2) return null;
  const there = length === 1 ? 'is 1' : `are ${length}`;
  return `must be two images for an ID card, front and back; there ${there}`;
}

/** Scanned images of a person's document: `[front, back]` for an ID card. */
const personImages = (rules: FilePathRules, type: unknown) =>
  filePaths(rules, type === ID_CARD ? wrongCount : undefined);

const lastPart = (path: unknown): string => (typeof path === 'string' ? (path.split('/').at(-1) ?? '') : '');
const saysFront = (path: unknown) => /front/i.test(lastPart(path)) && !/back/i.test(lastPart(path));
const saysBack = (path: unknown) => /back/i.test(lastPart(path)) && !/front/i.test(lastPart(path));

/** Whether the file names say that the back comes before the front. */
const seemSwapped = (images: readonly unknown[]): boolean =>
  images.length === 2 && (saysBack(images[0]) || saysFront(images[1]));
