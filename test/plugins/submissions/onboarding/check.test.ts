import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  checkApplication,
  type ApplicationRules,
} from '../../../../src/plugins/submissions/application-check.ts';
import { applicationSchema } from '../../../../src/plugins/sandbox/merchant-access.ts';
import { application, applicationOfChina, idCard, OURS, path, person, rules } from './applications.ts';

const problemsOf = (file: unknown, change: Partial<ApplicationRules> = {}) => {
  const checked = checkApplication(file, rules(change));
  return 'problems' in checked ? checked.problems : [];
};
const reported = (file: unknown, change: Partial<ApplicationRules> = {}) =>
  problemsOf(file, change).map(({ path: at, problem }) => `${at} ${problem}`);

/** What is sent of a file that is accepted. */
const payload = (file: unknown): unknown => {
  const checked = checkApplication(file, rules());
  expect(checked).toHaveProperty('payload');
  return 'payload' in checked ? checked.payload : null;
};

/** The warnings for a file that is accepted. */
const warnings = (file: unknown, change: Partial<ApplicationRules> = {}) => {
  const found: string[] = [];
  const onWarning = ({ path: at, problem }: { readonly path: string; readonly problem: string }) =>
    void found.push(`${at} ${problem}`);
  expect(checkApplication(file, rules({ ...change, onWarning }))).toHaveProperty('payload');
  return found;
};

const NO_APP = 'is no URL, like https://www.company.example or market://details?id=com.company.app';

const withNature = (change: object) =>
  application({ businessNature: { ...application().businessNature, ...change } });
/** An application in which the only shareholder is changed. */
const withPerson = (change: object) => application({ shareholder: [person('Ada Wong', { ...change })] });
const characters = (count: number) => '中'.repeat(count);
const letters = (count: number) => 'a'.repeat(count);
const UPLOADED = 'give the path that the platform’s file upload operation returned';

describe('an application that is accepted', () => {
  it('is unchanged, in the document’s order, with missing fields filled in', () => {
    const file = application();
    const shuffled = Object.fromEntries(Object.entries(file).reverse());
    const checked = checkApplication(shuffled, rules());
    expect(checked).toEqual({ payload: { merOrderNo: 'DB1', ...file, callbackUrl: OURS } });
    const keys = 'payload' in checked ? Object.keys(checked.payload) : [];
    expect(keys.slice(0, 4)).toEqual(['merOrderNo', 'email', 'phoneAreaCode', 'phoneNum']);
  });

  it('may be from mainland China', () => {
    expect(reported(applicationOfChina())).toEqual([]);
    expect(takenBySandbox(applicationOfChina())).toBe(true);
  });

  it('keeps its own values where others could be filled in', () => {
    const own = {
      merOrderNo: 'ORDER-7',
      referralChannel: 'A9',
      callbackUrl: 'https://hooks.example.com/kyc',
      processVersion: 'V2',
    };
    const defaults = { merOrderNo: 'x', referralChannel: 'x', callbackUrl: OURS, processVersion: 'V3' };
    expect(checkApplication(application(own), rules({ defaults }))).toMatchObject({ payload: own });
    const left = { merOrderNo: '', referralChannel: null, callbackUrl: undefined };
    expect(checkApplication(application(left), rules({ defaults }))).toMatchObject({ payload: defaults });
  });

  it('may have empty optional fields, which are not sent', () => {
    const empty = {
      merNameCn: '',
      companyWebsite: null,
      webSiteOrApp: ' ',
      legalPerson: [],
      processVersion: '',
    };
    expect(checkApplication(application(empty), rules())).toEqual(checkApplication(application(), rules()));
  });
});

/** Whether the sandbox accepts the payload too. It is written independently from the document. */
const takenBySandbox = (file: object): boolean => {
  const checked = checkApplication(file, rules());
  return 'payload' in checked && applicationSchema.safeParse(checked.payload).success;
};

/**
 * For the fields of docs/platform.md 2.3: the longest value or each kind of value that is accepted, and refused
 * values with their problems.
 */
type Case = readonly [field: string, value: unknown, problem: string | null];
const tooLong = (max: number) => `has ${max + 1} characters; the platform takes at most ${max}`;
const at = (length: number, end: string) => letters(length - end.length) + end;

const FIELDS: readonly Case[] = [
  ['merOrderNo', letters(32), null],
  ['merOrderNo', letters(33), tooLong(32)],
  ['email', at(255, '@example.com'), null],
  ['email', at(256, '@example.com'), tooLong(255)],
  ['email', 'kyc.example.com', 'is no e-mail address, like name@company.example'],
  ['email', 'kyc@example', 'is no e-mail address, like name@company.example'],
  ['email', 'a b@example.com', 'is no e-mail address, like name@company.example'],
  ['phoneAreaCode', '852', null],
  ['phoneAreaCode', '1-684', null],
  ['phoneAreaCode', '+1 684', null],
  ['phoneAreaCode', '(852)', null],
  ['phoneAreaCode', '+()', 'is no international dialling code, like +852 or 1-684'],
  ['phoneAreaCode', '+123456789', null],
  ['phoneAreaCode', '+1234567890', tooLong(10)],
  ['phoneAreaCode', 'HK', 'is no international dialling code, like +852 or 1-684'],
  ['phoneNum', '1'.repeat(32), null],
  ['phoneNum', '1'.repeat(33), tooLong(32)],
  ['phoneNum', '(0755) 8888-9999', null],
  [
    'phoneNum',
    '+852 5123 4567',
    'is no phone number without its area code: digits, and blanks, dots, dashes or parentheses between them',
  ],
  ['referralChannel', letters(16), null],
  ['referralChannel', letters(17), tooLong(16)],
  ['countryCode', 'SG', null],
  ['countryCode', 'sg', 'is no ISO 3166-1 country code of two capital letters, like HK'],
  ['countryCode', 'XX', 'is no ISO 3166-1 country code of two capital letters, like HK'],
  ['countryCode', 'Singapore', 'is no ISO 3166-1 country code of two capital letters, like HK'],
  ['merNameEn', letters(255), null],
  ['merNameEn', letters(256), tooLong(255)],
  ['merNameEn', 'Müller & Søn (No. 1) GmbH', null],
  ['merNameEn', '蓝灯笼贸易', 'is no English name: it takes letters of the Latin alphabet'],
  ['merNameEn', '12345', 'is no English name: it takes letters of the Latin alphabet'],
  ['merNameCn', characters(255), null],
  ['merNameCn', characters(256), tooLong(255)],
  ['payerCity', characters(128), null],
  ['payerCity', characters(129), tooLong(128)],
  ['realCompanyAddress', characters(255), null],
  ['realCompanyAddress', characters(256), tooLong(255)],
  [
    'realCompanyAddress',
    '1 Harbour Road\nWan Chai',
    'holds a line break or another control character; write it on one line',
  ],
  ['realCompanyAddress', '1 Harbour Road ', 'begins or ends with a blank; leave the blank out'],
  ['certificateNo', letters(18), null],
  ['certificateNo', letters(19), tooLong(18)],
  ['certificateNo', 'A\ud800B', 'holds half a character; write it anew'],
  ['certificateNo', 76543210, 'must be text; put it in quotes'],
  ['certificate', [path('one'), path('two')], null],
  ['certificate', path('one'), 'must be a list'],
  ['companyWebsite', at(255, '/').replace('a'.repeat(30), 'https://www.example.com/aaaaaa'), null],
  ['companyWebsite', 'www.example.com', null],
  ['companyWebsite', 'Example.com:8080/en?x=1', null],
  ['companyWebsite', 'bücher.example/de', null],
  ['companyWebsite', 'example', 'is no URL, like https://www.company.example'],
  ['companyWebsite', 'info@example.com', 'is no URL, like https://www.company.example'],
  ['companyWebsite', 'www.example.com and more', 'is no URL, like https://www.company.example'],
  ['companyWebsite', '3.14', 'is no URL, like https://www.company.example'],
  ['webSiteOrApp', 'shop.example.com/en', null],
  ['companyWebsite', `https://example.com/${letters(236)}`, tooLong(255)],
  ['companyWebsite', 'ftp://example.com', 'is no URL, like https://www.company.example'],
  ['webSiteOrApp', 'http://shop.example.com', null],
  ['webSiteOrApp', 'market://details?id=com.example.shop', null],
  ['webSiteOrApp', 'itms-apps://apps.example.com/app/id1', null],
  ['webSiteOrApp', 'ftp://example.com', NO_APP],
  ['webSiteOrApp', 'market://', NO_APP],
  ['webSiteOrApp', 'the App Store', NO_APP],
  ['companyWebsite', 'market://details?id=com.example.shop', 'is no URL, like https://www.company.example'],
  ['webSiteOrApp', `https://example.com/${letters(236)}`, tooLong(255)],
  ['clientCountry', ['CN', 'HK', 'MO', 'TW'], null],
  ['clientCountry', 'US', 'must be a list'],
  ['riskCountryTransaction', '1', null],
  ['riskCountryTransaction', 'no', 'must be one of 0 (no), 1 (yes), in quotes'],
  ['parentRemark', '1', null],
  ['parentRemark', '2', 'must be one of 0 (no), 1 (yes), in quotes'],
  ['branchRemark', '1', null],
  ['branchRemark', 0, 'must be one of 0 (no), 1 (yes), in quotes'],
  ['noticeMarker', '1', null],
  ['noticeMarker', true, 'must be one of 0 (no), 1 (yes), in quotes'],
  ['callbackUrl', `https://example.com/${letters(235)}`, null],
  ['callbackUrl', `https://example.com/${letters(236)}`, tooLong(255)],
  ['callbackUrl', 'http://example.com/notify', 'must begin with https://'],
  ['callbackUrl', 'example.com/notify', 'is no URL, like https://company.example/notify'],
  ['callbackUrl', 'https://me@example.com/notify', 'must not carry a user or password'],
  ['callbackUrl', 'https://:secret@example.com/notify', 'must not carry a user or password'],
  ...['localhost', '127.0.0.1', '10.1.2.3', '192.168.0.1', '[::1]', '[fd00::1]', 'gateway', 'box.local'].map(
    (host): Case => [
      'callbackUrl',
      `https://${host}/notify`,
      'is not an address the platform could reach from outside',
    ],
  ),
  ['callbackUrl', 'https://203.0.113.7:8443/notify', null],
  ['processVersion', 'V2', null],
  ['processVersion', 'v10', null],
  ['processVersion', 'next', null],
  ['processVersion', 'V1', 'is supplied from V2 on only; leave it out'],
  ['processVersion', letters(11), tooLong(10)],
  ['customerId', [person('Ada Wong'), person('Ben Lee')], null],
  ['customerId', person('Ada Wong'), 'must be a list'],
  ['shareholder', 'Ada Wong', 'must be a list'],
  ['businessNature', ['0'], 'must be a mapping of fields'],
];

test.each(FIELDS)('%s: %j, %s', (field, value, problem) => {
  expect(reported(application({ [field]: value }))).toEqual(problem === null ? [] : [`${field} ${problem}`]);
  if (problem === null) expect(takenBySandbox(application({ [field]: value }))).toBe(true);
});

const CHOICES = [
  [
    'addressType',
    3,
    'must be one of 0 (self-rented office), 1 (secretariat address), 2 (shared office or co-working space), in quotes',
  ],
  ['businessMainActors', 2, 'must be one of 0 (company), 1 (individual), in quotes'],
  [
    'lastYearTurnover',
    6,
    'must be one of 0 (under 100,000 USD), 1 (100,000 to 1,000,000), 2 (1,000,000 to 10,000,000), ' +
      '3 (10,000,000 to 100,000,000), 4 (over 100,000,000), 5 (N/A, new company), in quotes',
  ],
  [
    'estimatedTradingVolume',
    6,
    'must be one of 0 (under 50,000 USD a month), 1 (50,000 to 100,000), 2 (100,000 to 500,000), ' +
      '3 (500,000 to 1,000,000), 4 (1,000,000 to 5,000,000), 5 (over 5,000,000), in quotes',
  ],
] as const;

test.each(CHOICES)('%s accepts each of its %i codes and no other', (field, count, problem) => {
  for (let code = 0; code < count; code += 1)
    expect(reported(application({ [field]: String(code) }))).toEqual([]);
  for (const wrong of [String(count), '', ' ', '00', 'x', 0]) {
    const [only, ...more] = reported(application({ [field]: wrong }));
    expect(more).toEqual([]);
    if (typeof wrong === 'string' && wrong.trim() === '') expect(only).toBe(`${field} is required`);
    else expect(only).toBe(`${field} ${problem}`);
  }
});

const MANDATORY = Object.keys(application()).filter(
  (field) => !['director', 'referralChannel'].includes(field),
);

test.each(MANDATORY)('%s is required', (field) => {
  for (const left of [undefined, null, '', '  ', []])
    expect(reported(application({ [field]: left }))).toEqual([`${field} is required`]);
});

test('all mandatory fields of the document are in that list', () => {
  expect(MANDATORY).toHaveLength(25);
  expect(reported({})).toEqual([
    ...[...MANDATORY.slice(0, 3)].map((field) => `${field} is required`),
    'referralChannel is required, here or as PLATFORM_REFERRAL_CHANNEL',
    ...MANDATORY.slice(3).map((field) => `${field} is required`),
  ]);
});

test('if a field is missing that a setting can fill in, the problem says so', () => {
  const defaults = { merOrderNo: 'DB1', referralChannel: null, callbackUrl: null, processVersion: null };
  expect(reported(application({ referralChannel: undefined }), { defaults })).toEqual([
    'referralChannel is required, here or as PLATFORM_REFERRAL_CHANNEL',
    'callbackUrl is required, or DAYBOOK_PUBLIC_URL, from which one is made for each application',
  ]);
});

test('our own address may be on loopback, but not be longer than any other', () => {
  const ours = (callbackUrl: string) => ({ defaults: { ...rules().defaults, callbackUrl } });
  expect(reported(application(), ours('http://127.0.0.1:8080/notify/onboarding/x'))).toEqual([]);
  expect(reported(application(), ours(`https://example.com/${letters(236)}`))).toEqual([
    `callbackUrl ${tooLong(255)}`,
  ]);
});

describe('rules that depend on the country of registration', () => {
  it('mainland China: the Chinese name and the legal person', () => {
    expect(reported(applicationOfChina({ merNameCn: '', legalPerson: [] }))).toEqual([
      'merNameCn is required where countryCode is CN',
      'legalPerson is required where countryCode is CN',
    ]);
    expect(reported(applicationOfChina({ director: [person('Ben Lee')] }))).toEqual([]);
  });

  it.each(['HK', 'MO', 'TW', 'US'])('%s: directors', (countryCode) => {
    expect(reported(application({ countryCode, director: undefined }))).toEqual([
      'director is required for a merchant registered outside mainland China',
    ]);
    expect(
      reported(application({ countryCode, legalPerson: [person('Ada Wong')], merNameCn: '蓝' })),
    ).toEqual([]);
  });

  it('no country: only the country is asked for', () => {
    for (const countryCode of ['', 'XX', 86]) {
      const file = application({ countryCode, director: undefined });
      expect(problemsOf(file).map((problem) => problem.path)).toEqual(['countryCode']);
    }
  });
});

describe('the nature of the business', () => {
  it('e-commerce needs a site or an app', () => {
    expect(reported(withNature({ natureType: '2' }))).toEqual([
      'webSiteOrApp is required where businessNature.natureType is 2',
    ]);
    expect(
      reported({ ...withNature({ natureType: '2' }), webSiteOrApp: 'https://shop.example.com' }),
    ).toEqual([]);
    expect(reported(withNature({ natureType: '1' }))).toEqual([]);
  });

  it.each([
    [
      { natureType: '3' },
      'natureType must be one of 0 (goods trade), 1 (services trade), 2 (e-commerce), in quotes',
    ],
    [{ natureType: undefined }, 'natureType is required'],
    [{ natures: [] }, 'natures is required'],
    [{ natures: '101' }, 'natures must be a list'],
    [{ natures: ['101', '102', '101'] }, 'natures[2] is the same as businessNature.natures[0]'],
    [{ natures: ['101', ''] }, 'natures[1] is empty'],
    [{ nature: ['101'] }, 'nature is no field of the platform’s document; did you mean natures?'],
  ])('%j is refused', (change, problem) => {
    expect(reported(withNature(change))).toEqual([`businessNature.${problem}`]);
  });
});

describe('OTHER among natures', () => {
  const file = withNature({ natures: ['101', 'OTHER'] });
  const lists = (natures: string[]) => ({ codeLists: { ...rules().codeLists, natures } });

  it('is sent with a warning if there is no list', () => {
    expect(warnings(file)).toEqual([
      'businessNature.natures[1] is the catalog’s prompt to enter a nature; the platform may ask which one is meant',
    ]);
  });

  it('is accepted if the list has it, and refused if not', () => {
    expect(warnings(file, lists(['101', 'OTHER']))).toEqual([]);
    expect(reported(file, lists(['101']))).toEqual([
      'businessNature.natures[1] is not among natures in PLATFORM_CODE_LISTS',
    ]);
  });
});

describe('a nature of its own', () => {
  const own = (natures: unknown[]) => withNature({ natures });
  const NAME = 'Aquarium plants & fish';

  it('is taken next to OTHER, with a warning', () => {
    for (const natures of [
      ['OTHER', NAME],
      ['101', NAME, 'OTHER'],
      ['OTHER', '水族'],
    ]) {
      expect(reported(own(natures))).toEqual([]);
      expect(payload(own(natures))).toMatchObject({ businessNature: { natures } });
    }
    expect(warnings(own(['OTHER', NAME]))).toEqual([
      'businessNature.natures[1] is no code; it is sent as the nature that OTHER asks for',
    ]);
  });

  it('is no code without OTHER', () => {
    expect(reported(own(['101', NAME]))).toEqual([
      'businessNature.natures[1] is no code: letters and digits, with dots, dashes or underscores between them; ' +
        'give OTHER as well to name a nature of its own',
    ]);
  });

  it('is taken with a list of codes that has OTHER, and no other list', () => {
    const lists = (natures: string[]) => ({ codeLists: { ...rules().codeLists, natures } });
    expect(reported(own(['OTHER', NAME]), lists(['101', 'OTHER']))).toEqual([]);
    expect(warnings(own(['OTHER', NAME]), lists(['101', 'OTHER']))).toHaveLength(1);
    expect(reported(own(['OTHER', NAME]), lists(['101']))).toHaveLength(2);
    expect(reported(own(['OTHER', letters(256)]))).toEqual([`businessNature.natures[1] ${tooLong(255)}`]);
  });
});

describe('a website without a scheme', () => {
  it.each(['companyWebsite', 'webSiteOrApp'])('as %s is sent as written, with a warning', (field) => {
    const file = application({ [field]: 'www.example.com/en' });
    expect(payload(file)).toMatchObject({ [field]: 'www.example.com/en' });
    expect(warnings(file)).toEqual([`${field} has no https:// before it; it is sent as written`]);
    expect(warnings(application({ [field]: 'https://www.example.com' }))).toEqual([]);
  });
});

describe('fields that the document does not name', () => {
  const file = application({
    extra: { channel: 'web' },
    businessNature: { natureType: '0', natures: ['101'], extra: { share: [0.5, null] } },
    customerId: [person('Ada Wong', { extra: { pep: '0' } })],
  });

  it('are passed on as they are, in their place, and listed', () => {
    expect(reported(file)).toEqual([]);
    const sent = payload(file);
    expect(sent).toMatchObject({
      channel: 'web',
      businessNature: { natures: ['101'], share: [0.5, null] },
      customerId: [{ certName: 'Ada Wong', pep: '0' }],
    });
    expect(JSON.stringify(sent)).not.toContain('extra');
    expect(warnings(file)).toEqual([
      'customerId[0].extra.pep is no field of the platform’s document; it is sent as it is',
      'businessNature.extra.share is no field of the platform’s document; it is sent as it is',
      'extra.channel is no field of the platform’s document; it is sent as it is',
    ]);
  });

  it('never take the place of one that it names', () => {
    expect(reported(application({ extra: { callbackUrl: 'https://x.example/' } }))).toEqual([
      'extra names callbackUrl, a field of the platform’s document; give it in its own place',
    ]);
    expect(reported(application({ director: [person('Ben Lee', { extra: { certNo: '1' } })] }))).toEqual([
      'director[0].extra names certNo, a field of the platform’s document; give it in its own place',
    ]);
    expect(reported(application({ extra: { 'Ada Wong 1980!': 1, nested: { id: 2 ** 60 } } }))).toEqual([
      'extra has a number in nested that would not keep its digits; put it in quotes',
    ]);
    expect(warnings(application({ extra: { 'Ada Wong 1980!': 1 } })).join()).not.toContain('Ada');
  });
});

describe('codes of the appendix that the document does not include', () => {
  const fields = ['sourceFunds', 'paymentPurpose', 'customerIdentity'] as const;

  it.each(fields)('%s: any text that looks like a code', (field) => {
    expect(reported(application({ [field]: ['01', 'SALARY_A', 'a.b-c', letters(64)] }))).toEqual([]);
    expect(reported(application({ [field]: [letters(65)] }))).toEqual([`${field}[0] ${tooLong(64)}`]);
    expect(reported(application({ [field]: ['01', 'my own savings', 2] }))).toEqual([
      `${field}[1] is no code: letters and digits, with dots, dashes or underscores between them`,
      `${field}[2] must be text; put it in quotes`,
    ]);
    expect(reported(application({ [field]: '01' }))).toEqual([`${field} must be a list`]);
  });

  it('only those in the settings’ lists, if there are any', () => {
    const codeLists = {
      sourceFunds: ['01'],
      paymentPurpose: ['1001'],
      customerIdentity: ['PASSPORT'],
      natures: ['101'],
    };
    expect(reported(application(), { codeLists })).toEqual([]);
    const file = {
      ...withNature({ natures: ['999'] }),
      sourceFunds: ['02'],
      paymentPurpose: ['1'],
      customerIdentity: ['x'],
    };
    expect(reported(file, { codeLists })).toEqual([
      'sourceFunds[0] is not among sourceFunds in PLATFORM_CODE_LISTS',
      'paymentPurpose[0] is not among paymentPurpose in PLATFORM_CODE_LISTS',
      'customerIdentity[0] is not among customerIdentity in PLATFORM_CODE_LISTS',
      'businessNature.natures[0] is not among natures in PLATFORM_CODE_LISTS',
    ]);
  });
});

test('countries of the main customers must exist, and be named once', () => {
  expect(reported(application({ clientCountry: ['US', 'usa', 'DE', 'US'] }))).toEqual([
    'clientCountry[1] is no ISO 3166-1 country code of two capital letters, like HK',
    'clientCountry[3] is the same as clientCountry[0]',
  ]);
});

describe('file paths', () => {
  const places = [
    ['certificate[0]', (file: unknown) => application({ certificate: [file] })],
    ['authorization[0]', (file: unknown) => application({ authorization: [file] })],
    ['shareholder[0].certificates[0]', (file: unknown) => withPerson({ certificates: [file] })],
  ] as const;

  describe.each(places)('%s', (at, file) => {
    it.each([
      '/upload/a.pdf',
      '/sftp/2026/03/执照.PDF',
      '/u/9f/8c3e',
      'upload/2026/a.pdf',
      '/up load/a b#1.pdf',
    ])('%s is accepted', (given) => {
      expect(reported(file(given))).toEqual([]);
    });

    it.each([
      ['license.pdf', 'is a local file name'],
      ['https://files.example.com/a.pdf', 'is a URL'],
      ['sftp://files.example.com/a.pdf', 'is a URL'],
      ['file:///upload/a.pdf', 'is a URL'],
      ['www.example.com/a.pdf', 'is a URL'],
      ['C:\\scans\\a.pdf', 'is a path of a local computer'],
      ['C:/scans/a.pdf', 'is a path of a local computer'],
      ['\\\\share\\scans\\a.pdf', 'is a path of a local computer'],
      ['./scans/a.pdf', 'is a path of a local computer'],
      ['../a.pdf', 'is a path of a local computer'],
      ['~/scans/a.pdf', 'is a path of a local computer'],
      ['/upload/../etc/a.pdf', 'is not a plain path'],
      ['/upload/', 'does not match the paths of uploaded files (PLATFORM_FILE_PATHS)'],
    ])('%s %s', (given, problem) => {
      expect(reported(file(given))).toEqual([`${at} ${problem}; ${UPLOADED}`]);
    });

    it('text that is empty, or no text at all, is refused', () => {
      expect(reported(file(17))).toEqual([`${at} must be text; put it in quotes`]);
      expect(reported(file(' '))).toEqual([`${at} is empty`]);
    });
  });

  it('the path of a file on this machine is refused', () => {
    const isLocalFile = (given: string) => given === path('registration');
    expect(reported(application(), { isLocalFile })).toEqual([
      `certificate[0] is a file of this computer; ${UPLOADED}`,
    ]);
  });

  it('the form of paths is a setting', () => {
    expect(reported(application({ certificate: ['doc-7'] }), { filePaths: '^(?:doc-\\d+|/.+)$' })).toEqual(
      [],
    );
  });

  it('no path may come twice', () => {
    expect(reported(application({ certificate: [path('a'), path('b'), path('a')] }))).toEqual([
      'certificate[2] is the same as certificate[0]',
    ]);
  });
});

describe.each(['customerId', 'shareholder', 'director', 'legalPerson'])('a person of %s', (list) => {
  const of = (change: object) =>
    application({ [list]: [person('Ada Wong'), person('Ben Lee', { ...change })] });

  it.each([
    ['type', ['0', '1'], '2', 'must be one of 0 (national ID card), 1 (passport), in quotes'],
    ['issuPlace', ['CN', 'GB', 'XK'], 'UK', 'is no ISO 3166-1 country code of two capital letters, like HK'],
    ['certName', [characters(64)], characters(65), tooLong(64)],
    ['certNo', [letters(32)], letters(33), tooLong(32)],
    ['dateOfBirth', ['2000-02-29', undefined], '1999-02-29', 'is no date of the form yyyy-MM-dd'],
    ['dateOfBirth', ['2026-03-10'], '2026-03-11', 'lies in the future'],
    ['dateOfBirth', [''], '29.02.1980', 'is no date of the form yyyy-MM-dd'],
    ['certValidEndDate', ['9999-12-31', undefined], '9999-12-32', 'is no date of the form yyyy-MM-dd'],
    ['certValidEndDate', ['2030-06-30'], '2030-6-30', 'is no date of the form yyyy-MM-dd'],
    ['currentCountry', ['HK'], 'Hongkong', 'is no ISO 3166-1 country code of two capital letters, like HK'],
    ['currentAddress', [characters(255)], characters(256), tooLong(255)],
  ])('%s: %j is accepted, %j %s', (field, taken, refused, problem) => {
    const images = field === 'type' ? { certificates: [path('front'), path('back')] } : {};
    for (const value of taken) expect(reported(of({ ...images, [field]: value }))).toEqual([]);
    expect(reported(of({ ...images, [field]: refused }))).toEqual([`${list}[1].${field} ${problem}`]);
  });

  it.each(['type', 'issuPlace', 'certName', 'certNo', 'certificates', 'currentCountry', 'currentAddress'])(
    '%s is required',
    (field) => {
      expect(reported(of({ [field]: undefined }))).toEqual([`${list}[1].${field} is required`]);
    },
  );

  it('must have two images of an ID card, front and back in this order', () => {
    const images = (...certificates: string[]) => reported(of({ ...idCard(), certificates }));
    expect(images(path('id-front'), path('id-back'))).toEqual([]);
    expect(images(path('a'), path('b'))).toEqual([]);
    expect(images(path('a'))).toEqual([
      `${list}[1].certificates must be two images for an ID card, front and back; there is 1`,
    ]);
    expect(images(path('a'), path('b'), path('c'))).toEqual([
      `${list}[1].certificates must be two images for an ID card, front and back; there are 3`,
    ]);
    for (const odd of [
      [path('id-back'), path('id-front')],
      [path('id-back'), path('b')],
      [path('a'), path('id-front')],
    ]) {
      expect(images(...odd)).toEqual([]);
      expect(warnings(of({ ...idCard(), certificates: odd }))).toEqual([
        `${list}[1].certificates seem to be in the wrong order by their names: an ID card’s front goes first, then its back`,
      ]);
    }
    expect(images(path('a'), path('a'))).toEqual([
      `${list}[1].certificates[1] is the same as ${list}[1].certificates[0]`,
    ]);
  });

  it('may have one image of a passport or several', () => {
    expect(reported(of({ certificates: [path('a')] }))).toEqual([]);
    expect(reported(of({ certificates: [path('a'), path('b'), path('c')] }))).toEqual([]);
  });

  it('must be a mapping', () => {
    expect(reported(application({ [list]: [person('Ada Wong'), 'Ben Lee'] }))).toEqual([
      `${list}[1] must be a mapping of fields`,
    ]);
  });
});

describe('a file with many problems', () => {
  it('gets all problems at once, in the document’s order, each with its path', () => {
    const file = {
      ...applicationOfChina({ merNameCn: undefined, emailAddress: 'kyc@example.com', noticeMarker: 7 }),
      email: undefined,
      shareholder: [person('Ada Wong', { certNo: '', certificates: ['scan.jpg'] }), null],
      businessNature: { natureType: '2', natures: ['OTHER'] },
    };
    expect(reported(file)).toEqual([
      'email is required',
      'merNameCn is required where countryCode is CN',
      'webSiteOrApp is required where businessNature.natureType is 2',
      'shareholder[0].certNo is required',
      `shareholder[0].certificates[0] is a local file name; ${UPLOADED}`,
      'shareholder[1] is empty',
      'noticeMarker must be one of 0 (no), 1 (yes), in quotes',
      'emailAddress is no field of the platform’s document; put it under `extra` to send it as it is',
    ]);
  });

  it.each([[null], ['text'], [[application()]], [42]])('%j is refused as no application', (file) => {
    expect(reported(file)).toEqual(['the file must be a mapping of the application’s fields']);
  });

  it('is never repeated in a message', { tags: ['long'] }, () => {
    const secret = 'Zz9SecretZz9';
    const anything = fc.letrec((tie) => ({
      value: fc.oneof(
        fc.constantFrom(
          secret,
          `${secret}\n`,
          ` ${secret}`,
          `https://${secret}`,
          `${secret}.pdf`,
          7,
          true,
          null,
        ),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(
          fc.constantFrom('type', 'certNo', 'natures', 'natureType', `${secret} ${secret}`),
          tie('value'),
          {
            maxKeys: 3,
          },
        ),
      ),
    })).value;
    const field = fc.constantFrom(...Object.keys(application()), 'merOrderNo', 'callbackUrl', 'legalPerson');
    fc.assert(
      fc.property(fc.dictionary(field, anything, { maxKeys: 6 }), (change) => {
        expect(reported(application(change)).join('\n')).not.toContain(secret);
      }),
      { numRuns: 500 },
    );
  });
});
