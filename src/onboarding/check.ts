/**
 * The whole application (sp1101, docs/platform.md 2.3, 2.4, 4.3), field by field in the document's order,
 * checked before anything is sent: the platform is not known to take the same application twice.
 */
import type { BusinessDay } from '../ledger/entry.ts';
import { isCountryCode } from '../ledger/countries.ts';
import { callbackUrl } from './callback-url.ts';
import {
  choice,
  conditional,
  isFields,
  isGiven,
  listOf,
  mandatory,
  objectOf,
  optional,
  readFields,
  text,
  type FieldRule,
  type Fields,
  type Problem,
} from './field-rules.ts';
import { filePaths, personImages, type FilePathRules } from './file-paths.ts';
import {
  codes,
  countries,
  country,
  date,
  email,
  englishName,
  natureCodes,
  pastDate,
  phoneAreaCode,
  phoneNum,
  processVersion,
  webAddress,
  webOrAppAddress,
  yesOrNo,
} from './values.ts';

/** Codes of the appendix the document does not show; null: whatever looks like one. */
export interface CodeLists {
  readonly sourceFunds: readonly string[] | null;
  readonly paymentPurpose: readonly string[] | null;
  readonly customerIdentity: readonly string[] | null;
  readonly natures: readonly string[] | null;
}

/** What the check goes by beside the file. */
export interface ApplicationRules extends FilePathRules {
  readonly codeLists: CodeLists;
  readonly today: BusinessDay;
  /** Told what the document leaves open and looks like a mistake; it is sent all the same. */
  readonly onWarning?: (warning: Problem) => void;
  /** Taken where the file leaves them out; null: it may not. */
  readonly defaults: {
    readonly merOrderNo: string;
    readonly referralChannel: string | null;
    /** Ours: the address made for this application. */
    readonly callbackUrl: string | null;
    readonly processVersion: string | null;
  };
}

/** An application as it goes to the platform: nothing in it that the check has not seen. */
export interface ApplicationPayload extends Fields {
  readonly merOrderNo: string;
  readonly countryCode: string;
  readonly certificateNo: string;
  readonly callbackUrl: string;
  readonly processVersion?: string;
}

export type CheckedApplication =
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

/** docs/platform.md 2.4 */
const personRules = (rules: ApplicationRules): FieldRule[] => [
  mandatory('type', choice({ '0': 'national ID card', '1': 'passport' })),
  mandatory('issuPlace', country),
  mandatory('certName', text({ max: 64 })),
  mandatory('certNo', text({ max: 32 })),
  mandatory('certificates', personImages(rules)),
  optional('dateOfBirth', pastDate(rules.today)),
  optional('certValidEndDate', date),
  mandatory('currentCountry', country),
  mandatory('currentAddress', text({ max: 255 })),
];

/** docs/platform.md 2.3, sub-fields of businessNature */
const natureRules = ({ codeLists }: ApplicationRules): FieldRule[] => [
  mandatory('natureType', choice({ '0': 'goods trade', '1': 'services trade', [E_COMMERCE]: 'e-commerce' })),
  mandatory('natures', natureCodes(codeLists.natures)),
];

/** docs/platform.md 2.3 */
function applicationRules(rules: ApplicationRules): FieldRule[] {
  const { codeLists, defaults } = rules;
  const people = listOf(objectOf(personRules(rules)));
  return [
    optional('merOrderNo', text({ max: 32 })),
    mandatory('email', email(255)),
    mandatory('phoneAreaCode', phoneAreaCode),
    mandatory('phoneNum', phoneNum),
    mandatory('referralChannel', text({ max: 16 }), 'is required, here or as PLATFORM_REFERRAL_CHANNEL'),
    mandatory('countryCode', country),
    mandatory('merNameEn', englishName(255)),
    conditional('merNameCn', text({ max: 255 }), isChina, 'is required where countryCode is CN'),
    mandatory('payerCity', text({ max: 128 })),
    mandatory('realCompanyAddress', text({ max: 255 })),
    mandatory('addressType', choice(ADDRESS_TYPES)),
    mandatory('certificateNo', text({ max: 18 })),
    mandatory('certificate', filePaths(rules)),
    optional('companyWebsite', webAddress),
    conditional(
      'webSiteOrApp',
      webOrAppAddress,
      isShop,
      `is required where businessNature.natureType is ${E_COMMERCE}`,
    ),
    mandatory('clientCountry', countries),
    mandatory('businessMainActors', choice({ '0': 'company', '1': 'individual' })),
    mandatory('lastYearTurnover', choice(LAST_YEAR_TURNOVER_USD)),
    mandatory('estimatedTradingVolume', choice(MONTHLY_VOLUME_USD)),
    mandatory('sourceFunds', codes(codeLists.sourceFunds, 'sourceFunds')),
    mandatory('paymentPurpose', codes(codeLists.paymentPurpose, 'paymentPurpose')),
    mandatory('riskCountryTransaction', yesOrNo),
    mandatory('customerIdentity', codes(codeLists.customerIdentity, 'customerIdentity')),
    mandatory('customerId', people),
    mandatory('shareholder', people),
    conditional(
      'director',
      people,
      isElsewhere,
      'is required for a merchant registered outside mainland China',
    ),
    conditional('legalPerson', people, isChina, 'is required where countryCode is CN'),
    mandatory('authorization', filePaths(rules)),
    mandatory('parentRemark', yesOrNo),
    mandatory('branchRemark', yesOrNo),
    mandatory('noticeMarker', yesOrNo),
    mandatory(
      'callbackUrl',
      callbackUrl(defaults.callbackUrl),
      'is required, or DAYBOOK_PUBLIC_URL, from which one is made for each application',
    ),
    optional('processVersion', processVersion),
    mandatory('businessNature', objectOf(natureRules(rules))),
  ];
}

/**
 * Checks a file's content, from JSON or YAML. Every problem comes back at once, in the document's order; else the
 * payload, in the same order, with what the file left out filled in from `defaults`.
 */
export function checkApplication(file: unknown, rules: ApplicationRules): CheckedApplication {
  if (!isFields(file)) {
    return { problems: [{ path: 'the file', problem: 'must be a mapping of the application’s fields' }] };
  }
  const problems: Problem[] = [];
  const defaults = Object.entries(rules.defaults).filter(([name]) => !isGiven(file[name]));
  const filled: Fields = { ...file, ...Object.fromEntries(defaults) };
  const note = (problem: Problem) => void problems.push(problem);
  const warn = (warning: Problem) => rules.onWarning?.(warning);
  const payload = readFields(applicationRules(rules), filled, { path: '', fields: filled, note, warn });
  return problems.length > 0 ? { problems } : { payload: payload as ApplicationPayload };
}
