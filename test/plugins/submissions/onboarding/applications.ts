/** Makes valid application files, in which tests spoil one field at a time. */
import { loadSettings } from '../../../../src/settings/load.ts';
import type { ApplicationRules } from '../../../../src/plugins/submissions/application-check.ts';

type Change = Readonly<Record<string, unknown>>;

/** The path of an uploaded file. */
export const path = (name: string): string => `/upload/kyc/2026/${name}.jpg`;

export const person = (name: string, change: Change = {}) => ({
  type: '1',
  issuPlace: 'HK',
  certName: name,
  certNo: `K${name.length}0012345`,
  certificates: [path(`${name.toLowerCase().replaceAll(/\W/g, '-')}-passport`)],
  dateOfBirth: '1980-02-29',
  certValidEndDate: '9999-12-31',
  currentCountry: 'HK',
  currentAddress: '1 Harbour Road, Wan Chai',
  ...change,
});

/** A merchant in Hong Kong. */
export const application = (change: Change = {}) => ({
  email: 'kyc@example.com',
  phoneAreaCode: '+852',
  phoneNum: '5123 4567',
  referralChannel: 'A0001',
  countryCode: 'HK',
  merNameEn: 'Blue Lantern Trading (HK) Limited',
  payerCity: 'Hong Kong',
  realCompanyAddress: '1 Harbour Road, Wan Chai, Hong Kong',
  addressType: '0',
  certificateNo: '76543210-000',
  certificate: [path('registration')],
  clientCountry: ['US', 'DE'],
  businessMainActors: '0',
  lastYearTurnover: '2',
  estimatedTradingVolume: '1',
  sourceFunds: ['01'],
  paymentPurpose: ['1001'],
  riskCountryTransaction: '0',
  customerIdentity: ['PASSPORT'],
  customerId: [person('Ada Wong')],
  shareholder: [person('Ada Wong'), person('Ben Lee')],
  director: [person('Ben Lee')],
  authorization: [path('board-resolution')],
  parentRemark: '0',
  branchRemark: '0',
  noticeMarker: '0',
  businessNature: { natureType: '0', natures: ['101'] },
  ...change,
});

/** A merchant in mainland China, with a Chinese name and a legal person instead of directors. */
export const applicationOfChina = (change: Change = {}) => ({
  ...application({ director: undefined }),
  countryCode: 'CN',
  merNameCn: '蓝灯笼贸易有限公司',
  legalPerson: [person('Wang Fang', idCard())],
  ...change,
});

export const idCard = () => ({
  type: '0',
  issuPlace: 'CN',
  certificates: [path('id-front'), path('id-back')],
});

export const OURS = 'https://daybook.example.com/notify/onboarding/secret';

export const rules = (change: Partial<ApplicationRules> = {}): ApplicationRules => ({
  codeLists: { sourceFunds: null, paymentPurpose: null, customerIdentity: null, natures: null },
  filePaths: loadSettings({ env: {}, readFile: () => '', needs: [] }).fileRules.filePaths,
  isLocalFile: () => false,
  today: '2026-03-10',
  defaults: { merOrderNo: 'DB1', referralChannel: null, callbackUrl: OURS, processVersion: null },
  ...change,
});
