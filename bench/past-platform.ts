/**
 * The sandbox as a process, with a long past in front of its first day (`past.ts`), which it could not hold in memory.
 * Takes a `PastPlatform` on stdin, prints its address.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Pool } from 'undici';
import { dayWindow } from '../src/ledger/business-day.ts';
import { createSandbox } from '../src/sandbox/server.ts';
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

/** A page of the past. */
function pastPage(merchantNo: string, { beginDate, endDate, pageNum, pageSize }: Asked): string {
  const found = entries.filter(({ bookedMs }) => bookedMs >= beginDate && bookedMs <= endDate);
  const list = found.slice((pageNum - 1) * pageSize, pageNum * pageSize).map(({ row }) => row(merchantNo));
  return JSON.stringify({ pageNum, pageSize, total: found.length, list });
}

const server = createServer((request, response) => {
  const answer = async (): Promise<void> => {
    const body = await text(request);
    const asked = JSON.parse(body) as Asked;
    const merchantNo = String(request.headers['merchantno']);
    if (asked.beginDate >= pastEndMs) {
      const { authorization = '' } = request.headers;
      const headers = { 'content-type': 'application/json', authorization, merchantNo };
      const reply = await sandbox.request({ method: 'POST', path: request.url!, headers, body });
      response.writeHead(reply.statusCode, { 'content-type': 'application/json' });
      response.end(await reply.body.text());
      return;
    }
    if (asked.endDate >= pastEndMs) throw new Error(`a window over the end of the past: ${body}`);
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(pastPage(merchantNo, asked));
  };
  answer().catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    response.writeHead(500).end();
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
