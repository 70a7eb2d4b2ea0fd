/**
 * A small platform over HTTP, written from the platform's document alone and sharing no code with the sandbox or the
 * client. A test changes its entries between runs, and alters any reply.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An entry as the wire has it. `busiDate` is written in the platform's zone, `atMs` is the same instant. */
export interface WireEntry {
  readonly batchNo: string;
  readonly currency: string;
  readonly busiType: string;
  readonly inAmount: number | null;
  readonly outAmount: number | null;
  readonly vailAmount: number;
  readonly busiDate: string;
  readonly atMs: number;
}

export interface WireCall {
  /** The transaction code, such as `sp2404`. */
  readonly code: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Readonly<Record<string, unknown>>;
  /** How many calls came before it. */
  readonly nth: number;
}

export interface WireReply {
  readonly status: number;
  /** Sent as JSON; text is sent as it is. */
  readonly body: unknown;
}

export interface PlainPlatform {
  readonly url: string;
  /** The entries of the merchant that a call is for. May be replaced at any time. */
  entriesOf: (call: WireCall) => readonly WireEntry[];
  /** Alters the reply of an honest platform. */
  alter: (honest: WireReply, call: WireCall) => WireReply;
  readonly calls: WireCall[];
  readonly close: () => Promise<void>;
}

/** Eight hours ahead of UTC, all year round. */
export const PLAIN_ZONE = 'Asia/Shanghai';

/** The instant of a wall-clock time in `PLAIN_ZONE`, such as `2026-03-02 10:00:00`. */
export const plainMs = (busiDate: string): number => Date.parse(`${busiDate.replace(' ', 'T')}+08:00`);

/** A chain of entries from amounts in hundredths, positive for credits; the balances follow from `opening`. */
export function entriesOfAmounts(
  currency: string,
  amounts: readonly (readonly [batchNo: string, busiDate: string, cents: number])[],
  opening = 0,
): WireEntry[] {
  let balance = opening;
  return amounts.map(([batchNo, busiDate, cents]) => {
    balance += cents;
    return {
      batchNo,
      currency,
      busiType: '01',
      inAmount: cents > 0 ? cents / 100 : null,
      outAmount: cents > 0 ? null : -cents / 100,
      vailAmount: balance / 100,
      busiDate,
      atMs: plainMs(busiDate),
    };
  });
}

function historyOf(entries: readonly WireEntry[], body: WireCall['body']): unknown {
  const { beginDate, endDate, currency, batchNo, pageNum = 1, pageSize = 100 } = body;
  const matching = entries.filter(
    (entry) =>
      (beginDate === undefined || entry.atMs >= Number(beginDate)) &&
      (endDate === undefined || entry.atMs <= Number(endDate)) &&
      (currency === undefined || entry.currency === currency) &&
      (batchNo === undefined || entry.batchNo === batchNo),
  );
  const first = (Number(pageNum) - 1) * Number(pageSize);
  const list = matching
    .slice(first, first + Number(pageSize))
    .map((entry) => Object.fromEntries(Object.entries(entry).filter(([field]) => field !== 'atMs')));
  return { pageNum: Number(pageNum), pageSize: Number(pageSize), total: matching.length, list };
}

export async function startPlainPlatform(entries: readonly WireEntry[] = []): Promise<PlainPlatform> {
  const calls: WireCall[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      const call: WireCall = {
        code: request.url!.split('/').at(-1)!,
        headers: request.headers,
        body: JSON.parse(text === '' ? '{}' : text) as WireCall['body'],
        nth: calls.length,
      };
      calls.push(call);
      const honest =
        call.code === 'sp2404'
          ? { status: 200, body: historyOf(platform.entriesOf(call), call.body) }
          : { status: 404, body: { code: '404', message: 'no such operation' } };
      const { status, body } = platform.alter(honest, call);
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const platform: PlainPlatform = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    entriesOf: () => entries,
    alter: (honest) => honest,
    calls,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return platform;
}
