/**
 * The sandbox as a process, with a long past in front of its first day (`past.ts`), which it could not hold in memory.
 * Takes a `PastPlatform` on stdin, prints its address.
 */
import '../src/plugins.ts';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Pool } from 'undici';
import { dayWindow } from '../src/ledger/business-day.ts';
import { createSandbox } from '../src/plugins/sandbox/server.ts';
import { givenInput } from './input.ts';
import { pastEntries } from './past.ts';
import type { PastPlatform } from './processes.ts';
import { ZONE } from './scenario.ts';

const platform = givenInput() as PastPlatform;
const entries = pastEntries(platform);
const pastEndMs = dayWindow(platform.scenario.from, ZONE).beginMs;
const { url } = await createSandbox(platform.scenario).listen({ port: 0 });
const sandbox = new Pool(url);

interface Asked {
  readonly beginDate: number;
  readonly endDate: number;
  readonly pageNum: number;
  readonly pageSize: number;
}

interface Page {
  readonly total: number;
  readonly list: readonly object[];
}

/** The sandbox's answer, as text. */
async function askSandbox(path: string, sent: IncomingHttpHeaders, asked: Asked): Promise<[number, string]> {
  const { authorization = '', merchantno: merchantNo } = sent;
  const headers = { 'content-type': 'application/json', authorization, merchantNo };
  const { statusCode, body } = await sandbox.request({
    ...{ method: 'POST', path, headers, body: JSON.stringify(asked) },
  });
  return [statusCode, await body.text()];
}

/** A page that begins in the past: its entries, and behind them those of the sandbox. */
async function pastPage(path: string, sent: IncomingHttpHeaders, asked: Asked): Promise<string> {
  const { beginDate, endDate, pageNum, pageSize } = asked;
  const found = entries.filter(({ bookedMs }) => bookedMs >= beginDate && bookedMs <= endDate);
  const first = (pageNum - 1) * pageSize;
  const past = found.slice(first, first + pageSize).map(({ row }) => row(String(sent['merchantno'])));
  if (endDate < pastEndMs) return JSON.stringify({ pageNum, pageSize, total: found.length, list: past });
  const list: object[] = [];
  let total = Infinity;
  for (let page = 1; list.length < total; page += 1) {
    const [, text] = await askSandbox(path, sent, {
      ...asked,
      beginDate: pastEndMs,
      pageNum: page,
      pageSize: 100,
    });
    const got = JSON.parse(text) as Page;
    total = got.total;
    list.push(...got.list);
  }
  const rest = list.slice(Math.max(first - found.length, 0), Math.max(first + pageSize - found.length, 0));
  return JSON.stringify({ pageNum, pageSize, total: found.length + total, list: [...past, ...rest] });
}

const server = createServer((request, response) => {
  const answer = async (): Promise<void> => {
    const asked = JSON.parse(await text(request)) as Asked;
    const [path, { headers }] = [request.url!, request];
    const [status, page] =
      asked.beginDate >= pastEndMs
        ? await askSandbox(path, headers, asked)
        : ([200, await pastPage(path, headers, asked)] as const);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(page);
  };
  answer().catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    response.writeHead(500).end();
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
