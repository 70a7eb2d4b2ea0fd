/** A bare client of the sandbox: no retries, no checks, replies as they come. */
import { createSandbox, type Sandbox } from '../../../src/plugins/sandbox/server.ts';
import type { ScenarioInput } from '../../../src/plugins/sandbox/scenario.ts';

export const MERCHANT = { merchantNo: 'SBX-M-1', token: 'made-up-token-1' };
export const OTHER = { merchantNo: 'SBX-M-2', token: 'made-up-token-2' };
const DAY = '2026-03-02';
export const DAY_BEGIN_MS = Date.parse(`${DAY}T00:00:00+08:00`);
export const WHOLE_DAY = { beginDate: DAY_BEGIN_MS, endDate: DAY_BEGIN_MS + 86_400_000 - 1 };

export const scenario = (change: Partial<ScenarioInput> = {}): ScenarioInput => ({
  seed: 7,
  timeZone: 'Asia/Shanghai',
  from: DAY,
  to: '2026-03-03',
  entriesPerDay: 125,
  now: '2026-03-06T01:30:00+08:00',
  merchants: [
    { ...MERCHANT, currencies: ['USD', 'KWD'] },
    { ...OTHER, currencies: ['USD'] },
  ],
  ...change,
});

export interface WirePage {
  readonly pageNum: number;
  readonly pageSize: number;
  readonly total: number;
  readonly list: readonly {
    readonly batchNo: string;
    readonly currency: string;
    readonly busiType: string;
    readonly inAmount: number | null;
    readonly outAmount: number | null;
    readonly busiDate: string;
  }[];
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface Client {
  readonly sandbox: Sandbox;
  readonly url: string;
  readonly post: (body: unknown, change?: { path?: string; headers?: object }) => Promise<Reply>;
  /** The reply as a page. Fails if it is none. */
  readonly page: (body: object) => Promise<WirePage>;
  /** Batch numbers of all pages of a query, page by page. */
  readonly batchNos: (query: object, pageSize?: number) => Promise<string[][]>;
}

export async function openClient(change: Partial<ScenarioInput> = {}): Promise<Client> {
  const sandbox = createSandbox(scenario(change));
  const { url } = await sandbox.listen({ port: 0 });
  const post: Client['post'] = async (body, { path = '/api/sp2404', headers = {} } = {}) => {
    const response = await fetch(url + path, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${MERCHANT.token}`,
        merchantNo: MERCHANT.merchantNo,
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const page: Client['page'] = async (body) => {
    const { status, text } = await post(body);
    if (status !== 200) throw new Error(`${status}: ${text}`);
    return JSON.parse(text) as WirePage;
  };
  return {
    sandbox,
    url,
    post,
    page,
    batchNos: async (query, pageSize = 100) => {
      const first = await page({ ...query, pageNum: 1, pageSize });
      const pages = [first.list.map(({ batchNo }) => batchNo)];
      for (let pageNum = 2; (pageNum - 1) * pageSize < first.total; pageNum += 1) {
        const { list } = await page({ ...query, pageNum, pageSize });
        pages.push(list.map(({ batchNo }) => batchNo));
      }
      return pages;
    },
  };
}
