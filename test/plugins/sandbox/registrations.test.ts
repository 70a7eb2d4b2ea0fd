import { describe, expect, test } from 'vitest';
import { TOKEN, enterprise, individual, sandbox } from './support.ts';

const LOCAL_IN = (countryCode: string) => ({
  countryCode,
  bankCode: `${countryCode}0101`,
  branchCode: '1',
  phoneAreaCode: '+1',
  payoutMethod: `${countryCode}_LOCAL`,
});
const PROXY = { proxyBankName: 'P', proxyBankAddress: 'Q', proxyBankSwiftCode: 'AAAAUS33' };

describe('sp1401 accepts what the document allows', () => {
  test.each<[string, object]>([
    ['an enterprise, LOCAL', enterprise()],
    ['an individual, SWIFT', individual()],
    [
      'the first wallet method without bankCode',
      enterprise({ payoutMethod: 'SBX_WALLET_1', bankCode: undefined }),
    ],
    ['the second one', enterprise({ payoutMethod: 'SBX_WALLET_2', bankCode: '' })],
    ['an empty payoutType', enterprise({ payoutType: '' })],
    ['all three proxy bank fields', individual(PROXY)],
    ['a bank in CN with branch', enterprise(LOCAL_IN('CN'))],
    ['a bank in BR with branch and area code', enterprise(LOCAL_IN('BR'))],
    ['SWIFT to CN with bankName in place of bankCode', individual({ countryCode: 'CN', bankName: 'B' })],
    ['three files of proof', enterprise({ relationProof: ['/u/1.pdf', '/u/2.pdf', '/u/3.pdf'] })],
    ['an ID card with its back', individual({ idType: '01', backCertImg: '/upload/back.jpg' })],
    [
      'characters for a company that a person’s address may not have',
      enterprise({ addressLine: '#5 @ <x>' }),
    ],
    ['a method of a country without catalog', enterprise({ ...LOCAL_IN('KR'), payoutMethod: 'ANY' })],
  ])('%s', async (_, registration) => {
    const { register, acted } = await sandbox();
    const { status, reply } = await register(registration);
    expect([status, reply]).toEqual([
      200,
      {
        merOrderNo: (registration as { merOrderNo: string }).merOrderNo,
        bizFlowNo: expect.any(String) as string,
        payeeId: expect.stringMatching(/^P/) as string,
        status: '01',
        respCode: 'S00000',
      },
    ]);
    expect(acted.payees()).toHaveLength(1);
  });
});

const COMMON = [
  'merOrderNo',
  'countryCode',
  'currency',
  'paymentMode',
  'payoutMethod',
  'bizMode',
  'accountNo',
  'addressCountry',
  'addressProvince',
  'addressCity',
  'addressLine',
];
const OF_A_PERSON = [
  'idType',
  'idNumber',
  'firstName',
  'lastName',
  'birthDate',
  'placeOfBirth',
  'nationality',
  'gender',
];
type Case = [path: string, string, object];
const leftOut = (fields: readonly string[], make: (change?: object) => object): Case[] =>
  fields.map((field) => [field, 'left out', make({ [field]: undefined })]);

describe('sp1401 refuses what the document forbids, and names the field', () => {
  test.each<Case>([
    ...leftOut(COMMON, enterprise),
    ...leftOut(['registerCountry', 'companyName'], enterprise),
    ...leftOut(OF_A_PERSON, individual),
    ['bizMode', 'unknown', enterprise({ bizMode: 'X' })],
    ['paymentMode', 'unknown', enterprise({ paymentMode: 'SEPA' })],
    ['payoutType', 'unknown', enterprise({ payoutType: 'CASH' })],
    ['currency', 'no code', enterprise({ currency: 'Euro' })],
    ['countryCode', 'no code', enterprise({ countryCode: 'hk' })],
    ['payoutMethod', 'not in the catalog', enterprise({ payoutMethod: 'US_ACH' })],
    ['payoutMethod', 'other than WIRE with SWIFT', individual({ payoutMethod: 'HK_FPS' })],
    ['bankCode', 'left out of LOCAL', enterprise({ bankCode: undefined })],
    [
      'bankCode',
      'left out of a wallet in CN',
      enterprise({ ...LOCAL_IN('CN'), payoutMethod: 'SBX_WALLET_1', bankCode: undefined }),
    ],
    ['bankCode', 'left out in IN', enterprise({ ...LOCAL_IN('IN'), bankCode: '' })],
    ['bankCode', 'no bank of the country', enterprise({ bankCode: 'HK999' })],
    ['branchCode', 'left out in CN', enterprise({ ...LOCAL_IN('CN'), branchCode: undefined })],
    ['branchCode', 'left out in BR', enterprise({ ...LOCAL_IN('BR'), branchCode: undefined })],
    ['branchCode', 'left out in IN', enterprise({ ...LOCAL_IN('IN'), branchCode: undefined })],
    ['phoneAreaCode', 'left out in BR', enterprise({ ...LOCAL_IN('BR'), phoneAreaCode: undefined })],
    ['phoneAreaCode', 'left out in KR', enterprise({ ...LOCAL_IN('KR'), phoneAreaCode: '' })],
    ['phoneAreaCode', 'left out in MA', enterprise({ ...LOCAL_IN('MA'), phoneAreaCode: undefined })],
    ['phoneAreaCode', 'left out in IN', enterprise({ ...LOCAL_IN('IN'), phoneAreaCode: undefined })],
    ['swiftCode', 'left out of SWIFT', individual({ swiftCode: undefined })],
    ['proxyBankAddress', 'one of three', individual({ ...PROXY, proxyBankAddress: undefined })],
    ['proxyBankSwiftCode', 'one of three', individual({ ...PROXY, proxyBankSwiftCode: undefined })],
    ['proxyBankName', 'with LOCAL', enterprise(PROXY)],
    ['relationProof', 'four files', enterprise({ relationProof: ['/u/1', '/u/2', '/u/3', '/u/4'] })],
    ...['businessLicenseImg', 'registerCertImg', 'incorporateCertImg'].map((field): Case => [
      field,
      'a local file',
      enterprise({ [field]: 'scan.png' }),
    ]),
    ...['frontCertImg', 'backCertImg'].map((field): Case => [
      field,
      'a URL without https',
      individual({ [field]: 'http://files.example/a/b.png' }),
    ]),
    ['payoutMethod', 'left out, no catalog', enterprise({ ...LOCAL_IN('KR'), payoutMethod: undefined })],
    ['relationProof.0', 'a local file', enterprise({ relationProof: ['contract.pdf'] })],
    ['callbackUrl', 'plain http', enterprise({ callbackUrl: 'http://daybook.example/n' })],
    ['callbackUrl', 'longer than 255', enterprise({ callbackUrl: `https://d.example/${'x'.repeat(255)}` })],
    ['addressLine', 'a character not for persons', individual({ addressLine: '1 Nowhere & Sons' })],
    ['idType', 'unknown', individual({ idType: '1' })],
    ['gender', 'unknown', individual({ gender: 'f' })],
    ['birthDate', 'no day', individual({ birthDate: '2026-02-30' })],
    ['backCertImg', 'left out of an ID card', individual({ idType: '01' })],
    ['', 'a person’s field of a company', enterprise({ firstName: 'Erika' })],
    ['', 'a company’s field of a person', individual({ companyName: 'Nowhere' })],
  ])('%s: %s', async (path, _, registration) => {
    const { register, acted } = await sandbox();
    const { status, reply } = await register(registration);
    expect([status, reply['code']]).toEqual([400, 'E40000']);
    expect(String(reply['message']).split(': ')[0]).toBe(path);
    expect(acted.payees()).toHaveLength(0);
  });
});

test('a registration needs a merchant’s token', async () => {
  const { post } = await sandbox();
  expect((await post('sp1401', enterprise())).status).toBe(401);
  for (const authorization of ['Bearer wrong', TOKEN, `Basic ${TOKEN}`]) {
    expect((await post('sp1401', enterprise(), { authorization, merchantno: 'M1' })).status).toBe(401);
  }
});
