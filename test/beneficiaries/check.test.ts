import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bankCountryOf, checkRegistration, type StoredReference } from '../../src/beneficiaries/check.ts';
import type { RuleContext } from '../../src/beneficiaries/rules.ts';
import { settingsSchema } from '../../src/settings/schema.ts';
import { ENTERPRISE, INDIVIDUAL, without, type File } from './files.ts';

const NO_REFERENCE: StoredReference = { payoutMethods: null, banks: null };
const LOCAL_FILE = '/home/desk/contract.pdf';
const CONTEXT: RuleContext = {
  walletMethods: ['WALLET_ONE', 'WALLET_TWO'],
  filePaths: settingsSchema.shape.platform.parse({}).filePaths,
  isLocalFile: (path) => path === LOCAL_FILE,
  reference: NO_REFERENCE,
};
const check = (file: unknown, reference = NO_REFERENCE) => checkRegistration(file, { ...CONTEXT, reference });

/** `path problem` of everything wrong with a file. */
const problemsOf = (file: unknown, reference = NO_REFERENCE): string[] => {
  const checked = check(file, reference);
  return 'problems' in checked ? checked.problems.map(({ path, problem }) => `${path} ${problem}`) : [];
};

const LOCAL_INDIVIDUAL: File = {
  ...without(INDIVIDUAL, 'swiftCode'),
  paymentMode: 'LOCAL',
  payoutMethod: 'SEPA',
  bankCode: 'DE001',
};
const SWIFT_ENTERPRISE: File = {
  ...without(ENTERPRISE, 'bankCode', 'payoutType'),
  paymentMode: 'SWIFT',
  payoutMethod: 'WIRE',
  swiftCode: 'HSBCHKHH',
};
const PROXY: File = {
  proxyBankName: 'Correspondent Bank',
  proxyBankAddress: '2 Example Street, New York',
  proxyBankSwiftCode: 'CHASUS33XXX',
};
const UPLOAD = '/upload/2026/03/4711.pdf';
const url = (characters: number) => `https://pay.example/${'n'.repeat(characters - 20)}`;

type Case = readonly [
  rule: string,
  accepted: readonly File[],
  refused: readonly (readonly [File, ...string[]])[],
];

const NOT_TEXT = 'must be text; in YAML put digits in quotes, so that no leading zero is lost';
const LATIN = 'must be the English name, in Latin letters';
const PROXY_TOGETHER = 'is required: the three proxy bank fields are given all together or not at all';
const PROXY_SWIFT = 'is for paymentMode SWIFT only; leave it out';
const NO_BIC = 'is no SWIFT/BIC: 8 or 11 capitals and digits, with the country in the fifth and sixth place';
const CHARACTERS = `but for an individual only letters, digits, white space and . , ! ? : ; ' " ( ) [ ] { } / * \\ - are allowed`;
const UPLOADED = 'give the path that the platform’s file upload operation returned';
const WALLET_ONLY =
  'bankCode is required with paymentMode LOCAL: only the wallet methods go without it (WALLET_ONE, WALLET_TWO)';
const BANK_IN_THREE = 'bankCode is required with paymentMode LOCAL when countryCode is CN, BR or IN';
const BRANCH = 'branchCode is required together with bankCode when countryCode is CN, BR or IN';
const AREA = 'phoneAreaCode is required when countryCode is BR, KR, MA or IN';

const RULES: readonly Case[] = [
  [
    '2.5 bizMode: B enterprise, C individual',
    [ENTERPRISE, INDIVIDUAL],
    [
      [{ ...ENTERPRISE, bizMode: 'E' }, 'bizMode must be B (enterprise) or C (individual)'],
      [without(INDIVIDUAL, 'bizMode'), 'bizMode is required'],
      [
        { ...without(ENTERPRISE, 'bizMode', 'accountNo'), colour: 'red' },
        'accountNo is required',
        'bizMode is required',
        "colour is no field of the platform's document",
      ],
    ],
  ],
  [
    '2.5 fields of the other kind',
    [{ ...ENTERPRISE, localCompanyName: '範例貿易有限公司' }],
    [
      [
        { ...INDIVIDUAL, companyName: 'Example' },
        'companyName belongs to an enterprise, but bizMode C is an individual',
      ],
      [{ ...ENTERPRISE, gender: 'X' }, 'gender belongs to an individual, but bizMode B is an enterprise'],
    ],
  ],
  [
    '2.5 unknown fields',
    [],
    [
      [
        { ...ENTERPRISE, acountNo: '1' },
        "acountNo is no field of the platform's document; did you mean accountNo?",
      ],
      [
        { ...ENTERPRISE, '1984-02-29 Erika!': '' },
        "(unreadable name) is no field of the platform's document",
      ],
    ],
  ],
  [
    '2.5 countryCode: ISO 3166-1 alpha-2',
    [{ ...SWIFT_ENTERPRISE, countryCode: 'GB' }],
    ['hk', 'HKG', 'XX', 'UK'].map((countryCode) => [
      { ...ENTERPRISE, countryCode },
      'countryCode is no ISO 3166-1 alpha-2 country code: two capitals, such as HK',
    ]),
  ],
  [
    '2.5 currency: ISO 4217 three letters',
    [{ ...ENTERPRISE, currency: 'CNH' }],
    ['usd', 'US', 'USDT'].map((currency) => [
      { ...ENTERPRISE, currency },
      'currency must be three capitals, an ISO 4217 code such as USD',
    ]),
  ],
  [
    '2.5 paymentMode: LOCAL or SWIFT',
    [LOCAL_INDIVIDUAL, SWIFT_ENTERPRISE],
    [[{ ...ENTERPRISE, paymentMode: 'SEPA' }, 'paymentMode must be LOCAL or SWIFT']],
  ],
  [
    '2.5 payoutType: WALLET or BANK, an empty string allowed',
    [
      { ...ENTERPRISE, payoutType: '' },
      { ...ENTERPRISE, payoutType: 'WALLET' },
      without(ENTERPRISE, 'payoutType'),
    ],
    [[{ ...ENTERPRISE, payoutType: 'CASH' }, 'payoutType must be WALLET or BANK, or left out']],
  ],
  [
    '2.5 payoutMethod: WIRE when paymentMode is SWIFT',
    [SWIFT_ENTERPRISE],
    [
      [
        { ...SWIFT_ENTERPRISE, payoutMethod: 'HK_FPS' },
        'payoutMethod must be WIRE when paymentMode is SWIFT',
      ],
    ],
  ],
  [
    '2.5 rule 1 bankCode: required with LOCAL, unless one of the two wallet methods',
    [
      { ...without(ENTERPRISE, 'bankCode'), payoutMethod: 'WALLET_ONE' },
      { ...without(LOCAL_INDIVIDUAL, 'bankCode'), payoutMethod: 'WALLET_TWO' },
    ],
    [
      [without(ENTERPRISE, 'bankCode'), WALLET_ONLY],
      [{ ...LOCAL_INDIVIDUAL, bankCode: ' ' }, WALLET_ONLY],
    ],
  ],
  [
    '2.5 rule 1 bankCode: required with LOCAL in CN, BR and IN for wallets too',
    ['CN', 'BR', 'IN'].map((countryCode) => ({
      ...ENTERPRISE,
      countryCode,
      payoutMethod: 'WALLET_ONE',
      branchCode: '001',
      phoneAreaCode: '55',
    })),
    ['CN', 'BR', 'IN'].map((countryCode) => [
      {
        ...without(ENTERPRISE, 'bankCode'),
        countryCode,
        payoutMethod: 'WALLET_ONE',
        branchCode: '001',
        phoneAreaCode: '55',
      },
      BANK_IN_THREE,
    ]),
  ],
  [
    '2.5 rule 1 bankCode: not required with SWIFT, where bankName may stand instead',
    [
      SWIFT_ENTERPRISE,
      { ...SWIFT_ENTERPRISE, bankName: 'Example Bank' },
      { ...SWIFT_ENTERPRISE, countryCode: 'CN' },
    ],
    [],
  ],
  [
    '2.5 branchCode: required together with bankCode in CN, BR and IN',
    [{ ...ENTERPRISE, countryCode: 'CN', branchCode: '001' }, without(ENTERPRISE, 'branchCode')],
    [
      ...['CN', 'BR', 'IN'].map(
        (countryCode) => [{ ...ENTERPRISE, countryCode, phoneAreaCode: '91' }, BRANCH] as const,
      ),
      [{ ...SWIFT_ENTERPRISE, countryCode: 'CN', bankCode: 'CN001' }, BRANCH],
    ],
  ],
  [
    '2.5 rule 2 proxy bank: all three or none',
    [{ ...SWIFT_ENTERPRISE, ...PROXY }, SWIFT_ENTERPRISE],
    [
      [
        { ...SWIFT_ENTERPRISE, ...without(PROXY, 'proxyBankName', 'proxyBankAddress') },
        `proxyBankName ${PROXY_TOGETHER}`,
        `proxyBankAddress ${PROXY_TOGETHER}`,
      ],
      [{ ...SWIFT_ENTERPRISE, ...PROXY, proxyBankSwiftCode: '' }, `proxyBankSwiftCode ${PROXY_TOGETHER}`],
    ],
  ],
  [
    '2.5 proxy bank: SWIFT only',
    [],
    [
      [{ ...ENTERPRISE, ...PROXY }, ...Object.keys(PROXY).map((name) => `${name} ${PROXY_SWIFT}`)],
      [{ ...LOCAL_INDIVIDUAL, proxyBankName: 'Bank' }, `proxyBankName ${PROXY_SWIFT}`],
    ],
  ],
  [
    '2.5 swiftCode: required when settlementNetwork, which is paymentMode, is SWIFT; a BIC',
    [
      { ...SWIFT_ENTERPRISE, swiftCode: 'HSBCHKHHXXX' },
      { ...ENTERPRISE, swiftCode: 'HSBCHKHH' },
    ],
    [
      [without(SWIFT_ENTERPRISE, 'swiftCode'), 'swiftCode is required when paymentMode is SWIFT'],
      [{ ...SWIFT_ENTERPRISE, swiftCode: 'HSBCHKH' }, `swiftCode ${NO_BIC}`],
      [{ ...SWIFT_ENTERPRISE, ...PROXY, proxyBankSwiftCode: 'chasus33' }, `proxyBankSwiftCode ${NO_BIC}`],
    ],
  ],
  [
    '2.5 emailNo: an e-mail address',
    [{ ...ENTERPRISE, emailNo: 'pay@example.com' }],
    [[{ ...ENTERPRISE, emailNo: 'pay at example.com' }, 'emailNo is no e-mail address']],
  ],
  [
    '2.5 phoneAreaCode: required in BR, KR, MA and IN',
    [
      { ...ENTERPRISE, countryCode: 'KR', phoneAreaCode: '82' },
      { ...SWIFT_ENTERPRISE, countryCode: 'MA', phoneAreaCode: '212' },
    ],
    [
      ...['BR', 'IN'].map((countryCode) => [{ ...ENTERPRISE, countryCode, branchCode: '1' }, AREA] as const),
      ...['KR', 'MA'].map((countryCode) => [{ ...SWIFT_ENTERPRISE, countryCode }, AREA] as const),
    ],
  ],
  [
    '2.5 addressProvince: English name outside CN, code in CN',
    [
      { ...ENTERPRISE, addressProvince: "Provence-Alpes-Côte d'Azur" },
      { ...ENTERPRISE, addressCountry: 'CN', addressProvince: '440300' },
    ],
    [
      [{ ...ENTERPRISE, addressProvince: '香港' }, `addressProvince ${LATIN}, when addressCountry is not CN`],
      [
        { ...ENTERPRISE, addressCountry: 'CN', addressProvince: '广东' },
        'addressProvince must be the province or city code when addressCountry is CN',
      ],
    ],
  ],
  [
    '2.5 addressLine: allowed characters, for individuals',
    [
      { ...INDIVIDUAL, addressLine: `7 Straße, 中山路\n! ? : ; ' " ( ) [ ] { } / * \\ -.` },
      { ...ENTERPRISE, addressLine: '7 Example & Sons #4 @ 100% + _' },
    ],
    [
      [{ ...INDIVIDUAL, addressLine: '7 Example #4 & #5' }, `addressLine has # &, ${CHARACTERS}`],
      [{ ...INDIVIDUAL, addressLine: '7 Example – 4' }, `addressLine has –, ${CHARACTERS}`],
    ],
  ],
  [
    '2.5, 8 relationProof: at most 3 paths of uploaded files',
    [
      { ...ENTERPRISE, relationProof: [] },
      { ...ENTERPRISE, relationProof: [UPLOAD, UPLOAD, UPLOAD] },
    ],
    [
      [{ ...ENTERPRISE, relationProof: Array(4).fill(UPLOAD) }, 'relationProof lists more than 3 files'],
      [{ ...ENTERPRISE, relationProof: UPLOAD }, 'relationProof must be a list of paths'],
      [{ ...ENTERPRISE, relationProof: [UPLOAD, 7] }, `relationProof[1] ${NOT_TEXT}`],
      ...(
        [
          ['contract.pdf', 'is a local file name'],
          ['./contract.pdf', 'is a path of a local computer'],
          ['~/contract.pdf', 'is a path of a local computer'],
          ['C:/scans/contract.pdf', 'is a path of a local computer'],
          ['scans\\contract.pdf', 'is a path of a local computer'],
          ['https://files.example/contract.pdf', 'is a URL'],
          ['/upload/../contract.pdf', 'is not a plain path'],
          ['/upload/', 'does not look like an uploaded file (PLATFORM_FILE_PATHS)'],
          [LOCAL_FILE, 'is a file of this computer'],
        ] as const
      ).map(
        ([path, kind]) =>
          [
            { ...ENTERPRISE, relationProof: [UPLOAD, path] },
            `relationProof[1] ${kind}; ${UPLOADED}`,
          ] as const,
      ),
    ],
  ],
  [
    '2.5, 8 callbackUrl: https, at most 255 characters',
    [{ ...ENTERPRISE, callbackUrl: url(255) }],
    [
      [{ ...ENTERPRISE, callbackUrl: url(256) }, 'callbackUrl has 256 characters, more than 255'],
      [{ ...ENTERPRISE, callbackUrl: 'http://pay.example/' }, 'callbackUrl must be an https URL'],
      [{ ...ENTERPRISE, callbackUrl: 'pay.example' }, 'callbackUrl must be an https URL'],
    ],
  ],
  [
    '2.5 images of a company’s papers: applicable by country',
    [
      { ...ENTERPRISE, registerCountry: 'CN', businessLicenseImg: UPLOAD },
      { ...ENTERPRISE, registerCertImg: UPLOAD, incorporateCertImg: UPLOAD },
      { ...ENTERPRISE, registerCountry: 'SG', incorporateCertImg: UPLOAD },
    ],
    [
      [
        { ...ENTERPRISE, businessLicenseImg: UPLOAD },
        'businessLicenseImg is for companies registered in CN only; leave it out',
      ],
      [
        { ...ENTERPRISE, registerCountry: 'SG', registerCertImg: UPLOAD },
        'registerCertImg is for companies registered in HK only; leave it out',
      ],
      [
        { ...ENTERPRISE, registerCountry: 'CN', incorporateCertImg: UPLOAD },
        'incorporateCertImg is for companies registered outside CN only; leave it out',
      ],
      [{ ...ENTERPRISE, registerCertImg: 'cert.jpg' }, `registerCertImg is a local file name; ${UPLOADED}`],
    ],
  ],
  [
    '2.5 idType: 01 or 02',
    [{ ...INDIVIDUAL, idType: '01', backCertImg: UPLOAD }],
    [
      [{ ...INDIVIDUAL, idType: 1 }, 'idType must be 01 (national ID card) or 02 (passport), in quotes'],
      [{ ...INDIVIDUAL, idType: '03' }, 'idType must be 01 (national ID card) or 02 (passport), in quotes'],
    ],
  ],
  [
    '2.5 backCertImg: required when idType is 01',
    [{ ...INDIVIDUAL, idType: '01', frontCertImg: UPLOAD, backCertImg: UPLOAD }, INDIVIDUAL],
    [[{ ...INDIVIDUAL, idType: '01' }, 'backCertImg is required when idType is 01 (national ID card)']],
  ],
  [
    '2.5 firstName, lastName: English',
    [{ ...INDIVIDUAL, firstName: "Séan-Óg O'Neill" }],
    [
      [{ ...INDIVIDUAL, firstName: '伟' }, `firstName ${LATIN}`],
      [{ ...INDIVIDUAL, lastName: 'Иванов' }, `lastName ${LATIN}`],
    ],
  ],
  [
    '2.5 birthDate: YYYY-MM-DD',
    [{ ...INDIVIDUAL, birthDate: '2000-02-29' }],
    [
      [{ ...INDIVIDUAL, birthDate: '29.02.2000' }, 'birthDate must be a date written YYYY-MM-DD'],
      [{ ...INDIVIDUAL, birthDate: '1900-02-29' }, 'birthDate is no day of the calendar'],
      [{ ...INDIVIDUAL, birthDate: '1984-13-01' }, 'birthDate is no day of the calendar'],
    ],
  ],
  [
    '2.5 gender: M, F or X',
    ['M', 'F', 'X'].map((gender) => ({ ...INDIVIDUAL, gender })),
    [[{ ...INDIVIDUAL, gender: 'female' }, 'gender must be M, F or X']],
  ],
  [
    'every field: text, of one line, without blanks around it',
    [],
    [
      [{ ...ENTERPRISE, accountNo: 4123456001 }, `accountNo ${NOT_TEXT}`],
      [{ ...ENTERPRISE, accountNo: '004 ' }, 'accountNo begins or ends with a blank; leave the blank out'],
      [
        { ...ENTERPRISE, companyName: 'Example\nTrading' },
        'companyName holds a line break or another control character; write it on one line',
      ],
      [{ ...ENTERPRISE, companyName: 'Example \ud800' }, 'companyName holds half a character; write it anew'],
    ],
  ],
];

describe.each(RULES)('%s', (_, accepted, refused) => {
  for (const [index, file] of accepted.entries()) {
    it(`accepts ${index + 1}`, () => {
      expect(problemsOf(file)).toEqual([]);
    });
  }
  for (const [file, ...problems] of refused) {
    it(`refuses: ${problems.join('; ').slice(0, 100)}`, () => {
      expect(problemsOf(file)).toEqual(problems);
    });
  }
});

const REQUIRED = {
  B: ['registerCountry', 'companyName'],
  C: ['idType', 'idNumber', 'firstName', 'lastName', 'birthDate', 'placeOfBirth', 'nationality', 'gender'],
  both: [
    ...['merOrderNo', 'countryCode', 'currency', 'paymentMode', 'payoutMethod', 'accountNo'],
    ...['addressCountry', 'addressProvince', 'addressCity', 'addressLine'],
  ],
};
const OPTIONAL = {
  B: ['localCompanyName', 'businessLicenseImg', 'registerCertImg', 'incorporateCertImg'],
  C: ['frontCertImg'],
  both: ['bankName', 'emailNo', 'phoneNo', 'postCode', 'ifscCode', 'cnaps', 'taxIdNumber', 'callbackUrl'],
};

describe.each([
  ['an enterprise', ENTERPRISE, [...REQUIRED.both, ...REQUIRED.B], [...OPTIONAL.both, ...OPTIONAL.B]],
  ['an individual', LOCAL_INDIVIDUAL, [...REQUIRED.both, ...REQUIRED.C], [...OPTIONAL.both, ...OPTIONAL.C]],
])('2.5 required fields of %s', (_, file, required, optional) => {
  it.each(required)('%s', (name) => {
    for (const absent of [without(file, name), { ...file, [name]: '' }, { ...file, [name]: null }]) {
      expect(problemsOf(absent)).toEqual([`${name} is required`]);
    }
  });

  it.each(optional)('%s may be left out or empty', (name) => {
    for (const absent of [without(file, name), { ...file, [name]: '' }, { ...file, [name]: null }]) {
      expect(check(absent)).toEqual({ registration: without(absent, name) });
    }
  });
});

describe('stored reference data', () => {
  const reference = { payoutMethods: ['HK_FPS', 'SEPA'], banks: ['HK004'] };

  it('decides on payoutMethod and bankCode where it is there', () => {
    expect(problemsOf(ENTERPRISE, reference)).toEqual([]);
    expect(problemsOf({ ...ENTERPRISE, payoutMethod: 'HK_CHATS', bankCode: 'HK999' }, reference)).toEqual([
      'payoutMethod is none of the payout methods the platform lists for the country; if it is new, run `daybook reference sync` first',
      'bankCode is none of the banks the platform lists for the country; if it is new, run `daybook reference sync` first',
    ]);
  });

  it('has no say where it is not there, nor on WIRE, which its LOCAL methods do not hold', () => {
    expect(problemsOf({ ...ENTERPRISE, payoutMethod: 'HK_CHATS', bankCode: 'HK999' })).toEqual([]);
    expect(problemsOf(SWIFT_ENTERPRISE, reference)).toEqual([]);
  });
});

describe('a check', () => {
  it('without wallet methods says where they are set', () => {
    const checked = checkRegistration(without(ENTERPRISE, 'bankCode'), {
      ...CONTEXT,
      walletMethods: [],
    });
    expect(checked).toEqual({
      problems: [
        {
          path: 'bankCode',
          problem:
            'is required with paymentMode LOCAL: only the wallet methods go without it (none is set in PLATFORM_WALLET_METHODS)',
        },
      ],
    });
  });

  it('gives every problem at once, in the order of the document', () => {
    expect(
      problemsOf({
        ...without(INDIVIDUAL, 'accountNo', 'swiftCode'),
        gender: '?',
        proxyBankName: 'Bank',
        countryCode: 'IN',
        idType: '01',
      }),
    ).toEqual([
      'accountNo is required',
      `proxyBankAddress ${PROXY_TOGETHER}`,
      `proxyBankSwiftCode ${PROXY_TOGETHER}`,
      'swiftCode is required when paymentMode is SWIFT',
      AREA,
      'gender must be M, F or X',
      'backCertImg is required when idType is 01 (national ID card)',
    ]);
  });

  it.each([[null], [[ENTERPRISE]], ['text'], [7]])('of %j asks for a mapping', (file) => {
    expect(problemsOf(file)).toEqual(['(the file) must be a mapping of fields']);
  });

  it('knows the country before anything else', () => {
    expect([ENTERPRISE, { countryCode: 'hk' }, null, []].map(bankCountryOf)).toEqual([
      'HK',
      null,
      null,
      null,
    ]);
  });

  it('ends with an answer on anything, and repeats none of the values', () => {
    const MARK = 'qzx7';
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom('LOCAL', 'SWIFT', 'CN', 'BR', '01', 'C', 'B', ''),
      fc.string().map((text) => `${MARK}${text}`),
    );
    const file = fc.record(
      Object.fromEntries(
        [...Object.keys(ENTERPRISE), ...Object.keys(INDIVIDUAL)].map((name) => [name, value]),
      ),
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(file, (fields) => {
        const checked = check(fields, { payoutMethods: ['HK_FPS'], banks: ['HK004'] });
        if ('problems' in checked) {
          expect(checked.problems.length).toBeGreaterThan(0);
          expect(JSON.stringify(checked.problems)).not.toContain(MARK);
        }
      }),
      { numRuns: 500 },
    );
  });
});
