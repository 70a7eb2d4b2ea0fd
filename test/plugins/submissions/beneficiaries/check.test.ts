import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkRegistration } from '../../../../src/plugins/submissions/registration-check.ts';
import {
  AREA,
  CONTEXT,
  LOCAL_INDIVIDUAL,
  NO_REFERENCE,
  PROXY_TOGETHER,
  RULES,
  SWIFT_ENTERPRISE,
} from './cases.ts';
import { ENTERPRISE, INDIVIDUAL, without } from './files.ts';

/** A list as stored two days before. */
const listed = (...codes: string[]) => ({ codes, country: 'HK', day: '2026-03-08', setAside: 0 });

const check = (file: unknown, reference = NO_REFERENCE) => checkRegistration(file, { ...CONTEXT, reference });

/** All problems of a file, as `path problem`. */
const problemsOf = (file: unknown, reference = NO_REFERENCE): string[] => {
  const checked = check(file, reference);
  if ('problems' in checked) return checked.problems.map(({ path, problem }) => `${path} ${problem}`);
  expect(checked).toHaveProperty('registration.accountNo', expect.any(String));
  return [];
};

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

describe('what the document leaves open', () => {
  const warningsOf = (file: object, reference: Partial<typeof NO_REFERENCE> = {}): string[] => {
    const found: string[] = [];
    const checked = checkRegistration(file, {
      ...CONTEXT,
      reference: { ...NO_REFERENCE, ...reference },
      onWarning: ({ path, problem }) => void found.push(`${path} ${problem}`),
    });
    expect(checked).toHaveProperty('registration');
    return found;
  };
  const image = '/upload/company/paper.jpg';

  it.each([
    ['CN', 'businessLicenseImg', []],
    ['CHN', 'businessLicenseImg', []],
    ['HKG', 'registerCertImg', []],
    ['HK', 'businessLicenseImg', ['businessLicenseImg is described for companies registered in CN']],
    ['CHN', 'incorporateCertImg', ['incorporateCertImg is described for companies registered outside CN']],
    ['SG', 'registerCertImg', ['registerCertImg is described for companies registered in HK']],
  ])('a company of %s may send %s, with the warning %j', (registerCountry, paper, reported) => {
    expect(warningsOf({ ...ENTERPRISE, registerCountry, [paper]: image })).toEqual(reported);
  });

  it('the bank of a SWIFT payee need not be in the list', () => {
    const file = { ...SWIFT_ENTERPRISE, bankCode: 'HK999' };
    expect(warningsOf(file, { banks: listed('HK004') })).toEqual([
      expect.stringContaining('bankCode is none of'),
    ]);
    expect(warningsOf(file, { banks: listed('HK999') })).toEqual([]);
  });

  it('payoutType need not be the type in the list for that method', () => {
    const file = { ...ENTERPRISE, payoutType: 'WALLET' };
    const methodTypes = new Map([[ENTERPRISE.payoutMethod as string, 'BANK']]);
    expect(warningsOf(file, { methodTypes })).toEqual([
      'payoutType is WALLET, but the platform lists the payoutMethod as BANK',
    ]);
    expect(warningsOf({ ...file, payoutType: 'BANK' }, { methodTypes })).toEqual([]);
    expect(warningsOf(file)).toEqual([]);
  });
});

it('WIRE with LOCAL is warned of where no list of the country was read, and refused by a list', () => {
  const warnings: string[] = [];
  const file = { ...ENTERPRISE, payoutMethod: 'WIRE' };
  checkRegistration(file, { ...CONTEXT, onWarning: ({ path }) => void warnings.push(path) });
  expect(warnings).toEqual(['payoutMethod']);
  expect(problemsOf(file, { payoutMethods: listed('HK_FPS'), banks: null })).toEqual([
    expect.stringContaining('payoutMethod is none of the payout methods listed for HK'),
  ]);
});

describe('stored reference data', () => {
  const reference = { payoutMethods: listed('HK_FPS', 'SEPA'), banks: listed('HK004') };

  it('decides which payoutMethod and bankCode are accepted, if it is stored', () => {
    expect(problemsOf(ENTERPRISE, reference)).toEqual([]);
    expect(problemsOf({ ...ENTERPRISE, payoutMethod: 'HK_CHATS', bankCode: 'HK999' }, reference)).toEqual([
      'payoutMethod is none of the payout methods listed for HK on 2026-03-08, 2 days ago (2 read). If it is new, run `daybook reference sync --country HK`; to send it all the same, give `--despite payout_method`',
      'bankCode is none of the banks listed for HK on 2026-03-08, 2 days ago (1 read). If it is new, run `daybook reference sync --country HK`; to send it all the same, give `--despite bank`',
    ]);
  });

  it('of which items could not be read is no proof: what it does not have is a warning', () => {
    const banks = { ...listed('HK004', 'HK005'), setAside: 3 };
    const found: string[] = [];
    const checked = checkRegistration(
      { ...ENTERPRISE, bankCode: 'HK999' },
      {
        ...CONTEXT,
        reference: { ...NO_REFERENCE, banks },
        onWarning: ({ problem }) => void found.push(problem),
      },
    );
    expect(checked).toHaveProperty('registration');
    expect(found).toEqual([
      'is none of the banks listed for HK on 2026-03-08, 2 days ago (2 read, 3 could not be read). If it is new, run `daybook reference sync --country HK`',
    ]);
  });

  it('is overruled by the list’s name, and by no other', () => {
    const overruled: string[] = [];
    const despite = (...names: ('bank' | 'payout_method')[]) =>
      checkRegistration(
        { ...ENTERPRISE, bankCode: 'HK999' },
        {
          ...CONTEXT,
          reference: { ...NO_REFERENCE, ...reference },
          despite: names,
          onDespite: (what) => void overruled.push(what),
        },
      );
    expect(despite('payout_method')).toHaveProperty('problems');
    expect(overruled).toEqual([]);
    expect(despite('payout_method', 'bank')).toHaveProperty('registration');
    expect(overruled).toEqual(['bank']);
  });

  it('has no effect if it is not stored, nor on WIRE, which is not among the LOCAL methods', () => {
    expect(problemsOf({ ...ENTERPRISE, payoutMethod: 'HK_CHATS', bankCode: 'HK999' })).toEqual([]);
    expect(problemsOf(SWIFT_ENTERPRISE, reference)).toEqual([]);
  });
});

describe('a check', () => {
  it('without wallet methods says which setting has them', () => {
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

  it.each([[null], [[ENTERPRISE]], ['text'], [7]])('of %j says that a mapping is needed', (file) => {
    expect(problemsOf(file)).toEqual(['(the file) must be a mapping of fields']);
  });

  it('gives a result for any input, and repeats none of the values', () => {
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
    let refused = 0;
    fc.assert(
      fc.property(file, (fields) => {
        const found = problemsOf(fields, { payoutMethods: listed('HK_FPS'), banks: listed('HK004') });
        expect(found.join()).not.toContain(MARK);
        if (found.length > 0 && JSON.stringify(fields).includes(MARK)) refused += 1;
      }),
      { numRuns: 500 },
    );
    expect(refused).toBeGreaterThan(250);
  });
});
