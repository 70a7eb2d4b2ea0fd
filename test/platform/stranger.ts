/** A platform on a real socket that misbehaves as a test asks, and a clock that only moves during sleeps. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { SUCCESS_CODES } from '../../src/ledger/success-codes.ts';
import {
  type PlatformCall,
  type Retry,
  type TransportDeps,
  createTransport,
} from '../../src/platform/transport.ts';
import type { PlatformSettings } from '../../src/platform/access.ts';

export const TOKEN = 'tok/3f9b1c+very=secret';
export const AGENT_TOKEN = 'agent/7c2e+also=secret';
export const MERCHANT = { merchantNo: 'M0001', token: TOKEN };

export interface Received {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}
export type Act = (response: ServerResponse, received: Received, call: number) => void;

/** Handles call after call by `acts`; the last act is repeated for ever. */
export async function outOfScope(...acts: readonly Act[]) {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    // It sends a date only if a test gives it one.
    response.sendDate = false;
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('error', () => undefined);
    request.on('end', () => {
      received.push({ path: request.url ?? '', headers: request.headers, body });
      acts[Math.min(received.length, acts.length) - 1]!(response, received.at(-1)!, received.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

export const answer =
  (text: string | Buffer, status = 200, headers: Record<string, string> = {}): Act =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
export const reset: Act = (response) => void response.socket?.resetAndDestroy();
export const stall: Act = () => undefined;
/** Announces more bytes than it sends. */
export const breakOff =
  (text: string): Act =>
  (response) => {
    response.writeHead(200, { 'content-length': String(text.length) });
    response.write(text.slice(0, text.length / 2), () => response.socket?.destroy());
  };

/** A clock that moves only during sleeps. */
export function stillTime(nowMs = Date.UTC(2026, 3, 1)) {
  const slept: number[] = [];
  let now = nowMs;
  return {
    slept,
    clock: () => now,
    sleep: async (ms: number, signal?: AbortSignal) => {
      await Promise.resolve();
      signal?.throwIfAborted();
      slept.push(ms);
      now += ms;
    },
  };
}

/** Settings for a platform at `url`. */
export const settingsOf = (url: string, more: Partial<PlatformSettings> = {}): PlatformSettings => ({
  baseUrl: url,
  headers: { Authorization: 'Bearer {token}', merchantNo: '{merchantNo}' },
  agentHeaders: { Authorization: 'Agent {agentToken}', channel: '{referralChannel}' },
  agentToken: AGENT_TOKEN,
  referralChannel: 'A0001',
  signing: null,
  concurrency: 4,
  rateLimitPerS: null,
  timeoutMs: 5_000,
  retriesMax: 3,
  successCodes: SUCCESS_CODES,
  ...more,
});

/** A transport to `url` with such a clock and without jitter. It records its sleeps and its retries. */
export function transportTo(
  url: string,
  more: Partial<PlatformSettings> = {},
  deps: Partial<TransportDeps> = {},
) {
  const time = stillTime();
  const retries: Retry[] = [];
  const transport = createTransport(settingsOf(url, more), {
    ...time,
    random: () => 0,
    onRetry: (retry) => retries.push(retry),
    ...deps,
  });
  let closing: Promise<void> | null = null;
  const close = () => (closing ??= transport.close());
  onTestFinished(close);
  const post = (signal?: AbortSignal, body: object = { a: 1 }) => transport.post(callOf({ body }), signal);
  return { transport: { ...transport, close }, post, slept: time.slept, retries };
}

/** A call of the made-up merchant that returns the reply's text. */
export const callOf = (more: Partial<PlatformCall<string>> = {}): PlatformCall<string> => ({
  operation: 'sp2404',
  access: { kind: 'merchant', merchant: MERCHANT },
  repeatable: true,
  confidential: false,
  body: {},
  read: (text) => text,
  ...more,
});

/** The error that a promise rejects with. */
export const rejection = async (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    (value) => {
      throw new Error(`resolved to ${JSON.stringify(value)}`);
    },
    (error: unknown) => error as Error,
  );
