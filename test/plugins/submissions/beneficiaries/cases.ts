/** The rules of docs/platform.md 2.5 and 8. Each has files that it accepts and files that it refuses. */
import type { RuleContext, StoredReference } from '../../../../src/plugins/submissions/registration-rules.ts';
import { submissionSettings } from '../../../../src/plugins/submissions/settings.ts';
import { loadSettings } from '../../../../src/settings/load.ts';
import { ENTERPRISE, INDIVIDUAL, without, type File } from './files.ts';

const SETTINGS = loadSettings({ env: {}, readFile: () => '', needs: [] });

export const NO_REFERENCE: StoredReference = { payoutMethods: null, banks: null };
const LOCAL_FILE = '/home/desk/contract.pdf';
export const CONTEXT: RuleContext = {
  walletMethods: ['WALLET_ONE', 'WALLET_TWO'],
  filePaths: SETTINGS.fileRules.filePaths,
  images: submissionSettings.of(SETTINGS).images,
  isLocalFile: (path) => path === LOCAL_FILE,
  reference: NO_REFERENCE,
  today: '2026-03-10',
};
export const LOCAL_INDIVIDUAL: File = {
  ...without(INDIVIDUAL, 'swiftCode'),
  paymentMode: 'LOCAL',
  payoutMethod: 'SEPA',
  bankCode: 'DE001',
};
export const SWIFT_ENTERPRISE: File = {
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
const PASSED_ON = 'put it under `extra` to send it as it is';
const BASE64 = 'QUJD'.repeat(30);
const PNG = `iVBORw0KGgoAAAANSUhEUg${'AAAAEAAA'.repeat(10)}==`;
const JPEG = `/9j/4AAQSkZJRgABAQEA${'YABgAAD/'.repeat(10)}`;
const IMAGE = 'give an uploaded path, base64, a data URL or an https URL (PLATFORM_IMAGES)';
const url = (characters: number) => `https://pay.example/${'n'.repeat(characters - 20)}`;

/** A rule, files it accepts, and files it refuses with their problems as `path sentence`. */
export type Case = readonly [
  rule: string,
  accepted: readonly File[],
  refused: readonly (readonly [File, ...string[]])[],
];

const NOT_TEXT = 'must be text; in YAML put digits in quotes, so that no leading zero is lost';
const LATIN = 'must be the English name, in Latin letters';
export const PROXY_TOGETHER = 'is required: the three proxy bank fields are given all together or not at all';
const PROXY_SWIFT = 'is for paymentMode SWIFT only; leave it out';
const NO_BIC = 'is no SWIFT/BIC: 8 or 11 capitals and digits, with the country in the fifth and sixth place';
const CHARACTERS = `but for an individual only letters, digits, white space and . , ! ? : ; ' " ( ) [ ] { } / * \\ - are allowed`;
const UPLOADED = 'give the path that the platform’s file upload operation returned';
const WALLET_ONLY =
  'bankCode is required with paymentMode LOCAL: only the wallet methods go without it (WALLET_ONE, WALLET_TWO)';
const BANK_IN_THREE = 'bankCode is required with paymentMode LOCAL when countryCode is CN, BR or IN';
const BRANCH = 'branchCode is required together with bankCode when countryCode is CN, BR or IN';
export const AREA = 'phoneAreaCode is required when countryCode is BR, KR, MA or IN';

export const RULES: readonly Case[] = [
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
        `colour is no field of the platform’s document; ${PASSED_ON}`,
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
        'acountNo is no field of the platform’s document; did you mean accountNo?',
      ],
      [
        { ...ENTERPRISE, '1984-02-29 Erika!': '' },
        `(unreadable name) is no field of the platform’s document; ${PASSED_ON}`,
      ],
    ],
  ],
  [
    '2.5 fields that the document does not name: under extra, as they are',
    [
      { ...ENTERPRISE, extra: { channel: 'web', limits: [{ day: 1.5, hint: null }], 'x-note': '' } },
      { ...INDIVIDUAL, extra: null },
      { ...INDIVIDUAL, extra: {} },
    ],
    [
      [{ ...ENTERPRISE, extra: ['channel'] }, 'extra must be a mapping of fields'],
      ...['accountNo', 'callbackUrl', 'merOrderNo', 'firstName', 'bizMode'].map(
        (name) =>
          [
            { ...ENTERPRISE, extra: { channel: 'web', [name]: 'x' } },
            `extra names ${name}, a field of the platform’s document; give it in its own place`,
          ] as const,
      ),
      [
        { ...ENTERPRISE, extra: { id: 12345678901234567890 } },
        'extra has a number in id that would not keep its digits; put it in quotes',
      ],
      [
        { ...ENTERPRISE, extra: { ids: [{ rate: Number.NaN }] } },
        'extra has a number in ids that would not keep its digits; put it in quotes',
      ],
      [
        { ...ENTERPRISE, extra: { extra: 1 } },
        'extra names extra, a field of the platform’s document; give it in its own place',
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
      { ...ENTERPRISE, addressCountry: 'CN', addressProvince: 'CN-GD' },
    ],
    [
      [{ ...ENTERPRISE, addressProvince: '香港' }, `addressProvince ${LATIN}, when addressCountry is not CN`],
      [
        { ...ENTERPRISE, addressCountry: 'CN', addressProvince: '广东' },
        'addressProvince must be the province or city code when addressCountry is CN',
      ],
      [
        { ...ENTERPRISE, addressCountry: 'CN', addressProvince: 'Guangdong' },
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
      { ...ENTERPRISE, relationProof: ['upload/2026/a.pdf', '/upload/my papers/a #2 (old).pdf', '/a.pdf'] },
      { ...ENTERPRISE, relationProof: ['/upload/2026-03-01T10:00/合同 1.pdf', 'u/q?.pdf'] },
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
          ['www.files.example/contract.pdf', 'is a URL'],
          [`data:application/pdf;base64,${BASE64}`, 'is a URL'],
          [BASE64, 'is a local file name'],
          ['/upload/../contract.pdf', 'is not a plain path'],
          ['/upload/', 'does not match the paths of uploaded files (PLATFORM_FILE_PATHS)'],
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
      { ...ENTERPRISE, businessLicenseImg: UPLOAD },
    ],
    [],
  ],
  [
    '2.5 images: a path of an uploaded file, base64, a data URL or an https URL',
    [
      UPLOAD,
      'upload/cert 1.png',
      PNG,
      JPEG,
      `data:image/png;base64,${PNG}`,
      'https://files.example/cert.png',
    ].flatMap((image) => [
      { ...ENTERPRISE, registerCertImg: image, incorporateCertImg: image },
      { ...ENTERPRISE, registerCountry: 'CN', businessLicenseImg: image },
      { ...INDIVIDUAL, idType: '01', frontCertImg: image, backCertImg: image },
    ]),
    [
      ...(
        [
          ['cert.jpg', 'is a local file name'],
          ['cert', 'is a local file name'],
          ['C:\\scans\\cert.jpg', 'is a path of a local computer'],
          ['./cert.jpg', 'is a path of a local computer'],
          ['http://files.example/cert.png', 'is a URL of another kind'],
          ['file:///home/desk/cert.png', 'is a URL of another kind'],
          [`data:text/html;base64,${PNG}`, 'is a URL of another kind'],
          [`${'A'.repeat(2_000)}!`, 'is no base64'],
          [LOCAL_FILE, 'is a file of this computer'],
        ] as const
      ).flatMap(([image, kind]): [File, string][] => [
        [{ ...ENTERPRISE, registerCertImg: image }, `registerCertImg ${kind}; ${IMAGE}`],
        [{ ...INDIVIDUAL, idType: '01', backCertImg: image }, `backCertImg ${kind}; ${IMAGE}`],
      ]),
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
    [
      { ...INDIVIDUAL, birthDate: '2000-02-29' },
      { ...INDIVIDUAL, birthDate: '2026-03-10' },
    ],
    [
      [{ ...INDIVIDUAL, birthDate: '29.02.2000' }, 'birthDate must be a date written YYYY-MM-DD'],
      [{ ...INDIVIDUAL, birthDate: '2026-03-11' }, 'birthDate lies in the future'],
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
