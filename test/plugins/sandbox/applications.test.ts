import { describe, expect, test } from 'vitest';
import { application, person, sandbox } from './support.ts';

const IN_CHINA = {
  countryCode: 'CN',
  merNameCn: '无处贸易有限公司',
  director: undefined,
  legalPerson: [person({ type: '0', certificates: ['/upload/front.jpg', '/upload/back.jpg'] })],
};

describe('sp1101 accepts what the document allows', () => {
  test.each<[string, object]>([
    ['a company outside mainland China with directors', {}],
    ['a company of CN with its Chinese name and a legal person, without directors', IN_CHINA],
    ['no merOrderNo', { merOrderNo: undefined }],
    ['e-commerce with its shop', { businessNature: { natureType: '2', natures: ['1'] }, webSiteOrApp: 'x' }],
    [
      'no dates of a person',
      { shareholder: [person({ dateOfBirth: undefined, certValidEndDate: undefined })] },
    ],
    ['a processVersion', { processVersion: 'V2' }],
    ['every field at its longest', { email: `a@${'b'.repeat(253)}`, certificateNo: '1'.repeat(18) }],
  ])('%s', async (_, change) => {
    const { apply, acted } = await sandbox({ reviews: { application: 'never' } });
    const { status, reply } = await apply(application(change));
    expect([status, reply]).toEqual([
      200,
      {
        bizFlow: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
        ...('merOrderNo' in change ? {} : { merOrderNo: 'A-1' }),
        status: 'ACCEPT',
        code: 'S00001',
        message: 'ACCEPT',
      },
    ]);
    expect(acted.applications()).toHaveLength(1);
  });
});

const longer = (max: number): string => 'x'.repeat(max + 1);
const MANDATORY = [
  'email',
  'phoneAreaCode',
  'phoneNum',
  'referralChannel',
  'countryCode',
  'merNameEn',
  'payerCity',
  'realCompanyAddress',
  'addressType',
  'certificateNo',
  'certificate',
  'clientCountry',
  'businessMainActors',
  'lastYearTurnover',
  'estimatedTradingVolume',
  'sourceFunds',
  'paymentPurpose',
  'riskCountryTransaction',
  'customerIdentity',
  'customerId',
  'shareholder',
  'authorization',
  'parentRemark',
  'branchRemark',
  'noticeMarker',
  'callbackUrl',
  'businessNature',
];
const LISTS = [
  'certificate',
  'clientCountry',
  'sourceFunds',
  'paymentPurpose',
  'customerIdentity',
  'customerId',
  'shareholder',
  'director',
  'authorization',
];
const LENGTHS: readonly [string, number][] = [
  ['merOrderNo', 32],
  ['phoneAreaCode', 10],
  ['phoneNum', 32],
  ['referralChannel', 16],
  ['merNameEn', 255],
  ['merNameCn', 255],
  ['payerCity', 128],
  ['realCompanyAddress', 255],
  ['certificateNo', 18],
  ['companyWebsite', 255],
  ['webSiteOrApp', 255],
  ['processVersion', 10],
];
const of = (change: object) => ({ shareholder: [person(), person({ ...change })] });

describe('sp1101 refuses what the document forbids, and names the field', () => {
  test.each<[path: string, string, object]>([
    ...MANDATORY.map((field): [string, string, object] => [field, 'left out', { [field]: undefined }]),
    ...LENGTHS.map(([field, max]): [string, string, object] => [
      field,
      `longer than ${max}`,
      { [field]: longer(max) },
    ]),
    ['email', 'longer than 255', { email: `a@${longer(253)}` }],
    ['email', 'empty', { email: '' }],
    ['email', 'no address', { email: 'nobody' }],
    ['countryCode', 'three letters', { countryCode: 'HKG' }],
    ['addressType', 'unknown', { addressType: '3' }],
    ['businessMainActors', 'unknown', { businessMainActors: '2' }],
    ['lastYearTurnover', 'unknown', { lastYearTurnover: '6' }],
    ['estimatedTradingVolume', 'unknown', { estimatedTradingVolume: '6' }],
    ['riskCountryTransaction', 'unknown', { riskCountryTransaction: 'yes' }],
    ['clientCountry.0', 'no country', { clientCountry: ['Germany'] }],
    ...LISTS.map((field): [string, string, object] => [field, 'an empty list', { [field]: [] }]),
    ['legalPerson', 'an empty list', { ...IN_CHINA, legalPerson: [] }],
    ['sourceFunds.0', 'an empty code', { sourceFunds: [''] }],
    ['certificate.0', 'a local file name', { certificate: ['licence.pdf'] }],
    ['certificate.0', 'a path of Windows', { certificate: ['C:\\kyc\\licence.pdf'] }],
    ['certificate.1', 'a URL', { certificate: ['/upload/a.pdf', 'https://files.example/a.pdf'] }],
    ['authorization.0', 'a URL', { authorization: ['sftp://files.example/a/b.pdf'] }],
    ['merNameCn', 'left out in CN', { ...IN_CHINA, merNameCn: undefined }],
    ['legalPerson', 'left out in CN', { ...IN_CHINA, legalPerson: undefined }],
    ['director', 'left out outside CN', { director: undefined }],
    ['webSiteOrApp', 'left out of e-commerce', { businessNature: { natureType: '2', natures: ['1'] } }],
    ['businessNature.natureType', 'unknown', { businessNature: { natureType: '3', natures: ['1'] } }],
    ['businessNature.natures', 'empty', { businessNature: { natureType: '0', natures: [] } }],
    ['callbackUrl', 'plain http', { callbackUrl: 'http://daybook.example/notify' }],
    ['callbackUrl', 'longer than 255', { callbackUrl: `https://daybook.example/${longer(255)}` }],
    ['shareholder.1.type', 'unknown', of({ type: '2' })],
    ['shareholder.1.issuPlace', 'no country', of({ issuPlace: 'Hong Kong' })],
    ['shareholder.1.certName', 'longer than 64', of({ certName: longer(64) })],
    ['shareholder.1.certNo', 'longer than 32', of({ certNo: longer(32) })],
    ['shareholder.1.certificates', 'one side of an ID card', of({ type: '0' })],
    ['shareholder.1.certificates', 'none', of({ certificates: [] })],
    ['shareholder.1.certificates.0', 'a local file', of({ certificates: ['passport.jpg'] })],
    ['shareholder.1.dateOfBirth', 'another form', of({ dateOfBirth: '29.02.1980' })],
    ['shareholder.1.dateOfBirth', 'no day', of({ dateOfBirth: '1981-02-29' })],
    ['shareholder.1.certValidEndDate', 'another form', of({ certValidEndDate: 'never' })],
    ['shareholder.1.currentCountry', 'no country', of({ currentCountry: 'Hong Kong' })],
    ['shareholder.1.currentCountry', 'left out', of({ currentCountry: undefined })],
    ['shareholder.1.currentAddress', 'longer than 255', of({ currentAddress: longer(255) })],
    ['referralChannel', 'another agent', { referralChannel: 'A0002' }],
    ['', 'a field it does not have', { certificateNumber: '1' }],
  ])('%s: %s', async (path, _, change) => {
    const { apply, acted } = await sandbox();
    const { status, reply } = await apply(application(change));
    expect(status).toBe(400);
    expect(reply['code']).toBe('E40000');
    expect(String(reply['message']).split(': ')[0]).toBe(path);
    expect(acted.applications()).toHaveLength(0);
  });
});

test('an agent with a token must send it, in sp1101 and sp2502', async () => {
  const { post } = await sandbox({ agent: { token: 'agent-token' }, reviews: { application: 'never' } });
  const lists = { metaType: 'purpose' };
  expect((await post('sp1101', application())).status).toBe(401);
  expect((await post('sp2502', lists)).status).toBe(401);
  const headers = { authorization: 'Bearer agent-token' };
  expect((await post('sp1101', application(), headers)).status).toBe(200);
  expect((await post('sp2502', lists, headers)).status).toBe(200);
});
