/** A sandbox on loopback, requests that it accepts, and a receiver for its notifications. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { ScenarioInput } from '../../../src/plugins/sandbox/scenario.ts';
import { createSandbox } from '../../../src/plugins/sandbox/server.ts';

export const TOKEN = 'made-up-token';
const MERCHANT = { authorization: `Bearer ${TOKEN}`, merchantno: 'M1' };

/** One merchant with one day of ledger. Reviews take no time. */
export async function sandbox(more: Partial<ScenarioInput> = {}) {
  const acted = createSandbox({
    from: '2026-03-01',
    to: '2026-03-01',
    now: '2026-03-10T00:00:00Z',
    entriesPerDay: 5,
    merchants: [{ merchantNo: 'M1', token: TOKEN, currencies: ['USD'] }],
    ...more,
    reviews: { delayMs: 0, ...more.reviews },
    pushes: { retryMs: 1, retryMsMax: 5, ...more.pushes },
  });
  onTestFinished(() => acted.close());
  const { url } = await acted.listen({ port: 0 });
  const post = async (operation: string, body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`${url}/api/${operation}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return { status: response.status, reply: (await response.json()) as Record<string, unknown> };
  };
  return {
    acted,
    url,
    post,
    apply: (body: object) => post('sp1101', body),
    register: (body: object) => post('sp1401', body, MERCHANT),
  };
}

export interface Pushed {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly payload: Record<string, unknown>;
}

/** Answers posts with `statuses` in turn, the last one for ever; 0 cuts the connection. */
export async function receiver(...statuses: readonly number[]) {
  const pushed: Pushed[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const payload = JSON.parse(body) as Pushed['payload'];
      pushed.push({ path: request.url ?? '', headers: request.headers, payload });
      const status = statuses[Math.min(pushed.length, statuses.length) - 1] ?? 200;
      if (status === 0) response.socket?.destroy();
      else response.writeHead(status, status === 302 ? { location: '/elsewhere' } : {}).end('any body');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/notify`, pushed };
}

type Change = object;

export const person = (change: Change = {}) => ({
  type: '1',
  issuPlace: 'HK',
  certName: 'Ada Made-Up',
  certNo: 'K0000001',
  certificates: ['/upload/ada/passport.jpg'],
  dateOfBirth: '1980-02-29',
  certValidEndDate: '9999-12-31',
  currentCountry: 'HK',
  currentAddress: '1 Nowhere Road',
  ...change,
});

/** An application the document accepts, of a company in Hong Kong. */
export const application = (change: Change = {}) => ({
  merOrderNo: 'A-1',
  email: 'kyc@example.test',
  phoneAreaCode: '+852',
  phoneNum: '50000000',
  referralChannel: 'A0001',
  countryCode: 'HK',
  merNameEn: 'Nowhere Trading Limited',
  payerCity: 'Hong Kong',
  realCompanyAddress: '1 Nowhere Road',
  addressType: '0',
  certificateNo: '00000001',
  certificate: ['/upload/nowhere/registration.pdf'],
  clientCountry: ['US'],
  businessMainActors: '0',
  lastYearTurnover: '5',
  estimatedTradingVolume: '0',
  sourceFunds: ['01'],
  paymentPurpose: ['1001'],
  riskCountryTransaction: '0',
  customerIdentity: ['01'],
  customerId: [person()],
  shareholder: [person()],
  director: [person()],
  authorization: ['/upload/nowhere/resolution.pdf'],
  parentRemark: '0',
  branchRemark: '1',
  noticeMarker: '0',
  callbackUrl: 'http://127.0.0.1:1/notify',
  businessNature: { natureType: '0', natures: ['101'] },
  ...change,
});

/** A local account of a company in Hong Kong. */
export const enterprise = (change: Change = {}) => ({
  merOrderNo: 'B-1',
  countryCode: 'HK',
  currency: 'HKD',
  paymentMode: 'LOCAL',
  payoutType: 'BANK',
  payoutMethod: 'HK_FPS',
  bizMode: 'B',
  accountNo: '000-000001',
  bankCode: 'HK004',
  addressCountry: 'HK',
  addressProvince: 'Hong Kong',
  addressCity: 'Hong Kong',
  addressLine: '1 Nowhere Road & Sons',
  registerCountry: 'HK',
  companyName: 'Nowhere Trading Limited',
  ...change,
});

/** A person's account abroad, paid by SWIFT. */
export const individual = (change: Change = {}) => ({
  merOrderNo: 'B-2',
  countryCode: 'DE',
  currency: 'EUR',
  paymentMode: 'SWIFT',
  payoutMethod: 'WIRE',
  bizMode: 'C',
  accountNo: 'DE00000000000000000001',
  swiftCode: 'AAAADEFF',
  addressCountry: 'DE',
  addressProvince: 'Bavaria',
  addressCity: 'Munich',
  addressLine: '1, Nowhere Road (rear) [2] {3} "x" \'y\' a/b*c\\d-e.f!g?h:i;',
  idType: '02',
  idNumber: 'C00000001',
  firstName: 'Erika',
  lastName: 'Made-Up',
  birthDate: '1984-02-29',
  placeOfBirth: 'DE',
  nationality: 'DE',
  gender: 'X',
  ...change,
});
