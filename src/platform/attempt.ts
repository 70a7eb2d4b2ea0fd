/** One HTTP call and its outcome as a value: the text of the reply, or why there is none and whether to try again. */
import type { IncomingHttpHeaders } from 'node:http';
import { createRequire } from 'node:module';
import { TextDecoder } from 'node:util';
import type * as Undici from 'undici';
import type { Dispatcher, Pool } from 'undici';
import { PlatformRejected, PlatformReplyInvalid, PlatformUnreachable, type PlatformError } from './errors.ts';
import { excerptOf } from './secrets.ts';
import type { Operation } from './wire.ts';

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/**
 * `seldom`: for a reply that the contract does not know. That rarely changes by itself, so only two more tries follow.
 */
type Retryable = 'yes' | 'seldom' | 'no';

export interface Failure {
  readonly error: PlatformError;
  /** Whether the same call may succeed later. */
  readonly retry: Retryable;
  /** How long the platform asks to wait; null if it does not say. */
  readonly askedMs: number | null;
  /** Whether any reply arrived. */
  readonly answered: boolean;
  /** The reply's HTTP status, where it was not 2xx. */
  readonly status?: number;
}

interface Failed {
  readonly ok: false;
  readonly failure: Failure;
}

export type Outcome<T> = { readonly ok: true; readonly value: T } | Failed;

/** A reply with status 2xx: its text, and what it says about the platform's clock; null if nothing. */
export interface Reply {
  readonly text: string;
  readonly clock: ClockReading | null;
}

export interface OutgoingCall {
  readonly operation: Operation;
  /** `sp2404 for merchant M1`: how messages speak of it. */
  readonly subject: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** What to do about a 401 or 403. */
  readonly remedy: string;
  readonly timeoutMs: number;
  readonly redact: (text: string) => string;
  /** What a message may quote of a reply. */
  readonly excerpt: (text: string) => string;
  readonly nowMs: () => number;
  /** This machine's own clock, which the platform's is compared with. */
  readonly machineMs: () => number;
}

const failed = (error: PlatformError, retry: Retryable, askedMs: number | null = null): Failed => ({
  ok: false,
  failure: { error, retry, askedMs, answered: true },
});
const unanswered = (error: PlatformError): Outcome<never> => ({
  ok: false,
  failure: { error, retry: 'yes', askedMs: null, answered: false },
});
const invalid = (message: string): Outcome<never> => failed(new PlatformReplyInvalid(message), 'seldom');

const headerText = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;

function refused(call: OutgoingCall, response: FullReply, text: string): Failed {
  const { statusCode, headers } = response;
  const said = text.trim() === '' ? '' : `: ${call.excerpt(text)}`;
  if (isRetryableStatus(statusCode)) {
    const askedMs = retryAfterMs(headerText(headers['retry-after']), call.nowMs());
    // With a Retry-After, the platform says that it did not take the call.
    const isPutOff = (statusCode === 429 || statusCode === 503) && askedMs !== null;
    const message = `${call.subject}: the platform answered ${statusCode}${said}`;
    const error = new PlatformUnreachable(message, !isPutOff, call.redact(text));
    return failed(error, 'yes', askedMs);
  }
  if (statusCode === 401 || statusCode === 403) {
    const message = `${call.subject}: the platform answered ${statusCode}; ${call.remedy}${said}`;
    return failed(new PlatformRejected(message, false, call.redact(text), true), 'no');
  }
  if (statusCode >= 300 && statusCode < 400) {
    const location = call.excerpt((headerText(headers['location']) ?? 'nowhere').replace(/[?#].*$/s, ''));
    const remedy =
      'redirects are not followed; set PLATFORM_BASE_URL to the address the platform is meant to have';
    const error = new PlatformRejected(
      `${call.subject}: the platform redirects to ${location} (${statusCode}); ${remedy}`,
      // 307 and 308 ask for the same call at another address; the others may point to the result of this one.
      statusCode !== 307 && statusCode !== 308,
      call.redact(text),
    );
    return failed(error, 'no');
  }
  const message = `${call.subject}: the platform answered ${statusCode}${said}`;
  return failed(new PlatformRejected(message, false, call.redact(text)), 'no');
}

const RETRYABLE_STATUS = new Set([408, 425, 429]);

/** Whether the same call may succeed later: after a time-out, too many calls, or a fault of the server. */
const isRetryableStatus = (status: number): boolean => status >= 500 || RETRYABLE_STATUS.has(status);

/** The wait in ms that a Retry-After header asks for, in seconds or by an HTTP date; null if it cannot be read. */
function retryAfterMs(header: string | undefined, nowMs: number): number | null {
  if (header === undefined) return null;
  const text = header.trim();
  const asked = /^\d{1,9}$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return Number.isNaN(asked) ? null : Math.max(asked, 0);
}

/** Sends a call once. Every failure is in the outcome; rejects only with the reason of `signal`. */
async function attemptCall(pool: Pool, call: OutgoingCall, signal?: AbortSignal): Promise<Outcome<Reply>> {
  const exchange = new Exchange(call.machineMs);
  const late = new Error('no complete reply in time');
  const timer = setTimeout(() => exchange.abort(late), call.timeoutMs);
  const abort = () => exchange.abort(signal?.reason as Error);
  signal?.addEventListener('abort', abort, { once: true });
  try {
    signal?.throwIfAborted();
    const response = await exchange.send(pool, {
      path: call.path,
      method: 'POST',
      headers: { ...call.headers, 'content-type': 'application/json', accept: 'application/json' },
      body: call.body,
    });
    const { headers, bytes, receivedMs } = response;
    const clock = clockReadingOf(headers, { sentMs: exchange.sentMs, receivedMs });
    if (bytes === null) return invalid(`${call.subject}: the reply has more than ${REPLY_BYTES_MAX} bytes`);
    const isSuccess = response.statusCode >= 200 && response.statusCode < 300;
    if (!isSuccess) {
      const { failure } = refused(call, response, bytes.toString('utf8'));
      return { ok: false, failure: { ...failure, status: response.statusCode } };
    }
    return { ok: true, value: { text: UTF_8.decode(bytes), clock } };
  } catch (error) {
    signal?.throwIfAborted();
    const { isBegun } = exchange;
    if (exchange.givenUpFor === late) {
      const message = `${call.subject}: no complete reply within ${call.timeoutMs} ms (PLATFORM_TIMEOUT_MS)`;
      return unanswered(new PlatformUnreachable(message, isBegun));
    }
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      return invalid(`${call.subject}: the reply is not UTF-8 text`);
    const said = excerptOf(
      message.includes(code) ? message || 'no reason given' : `${code} ${message}`,
      call.redact,
    );
    return unanswered(new PlatformUnreachable(`${call.subject}: the connection failed (${said})`, isBegun));
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** Most bytes of a reply that are read; a page of 100 entries has about 20 kB. */
export const REPLY_BYTES_MAX = 4_194_304;

interface FullReply {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  /** Null if the body is longer than `REPLY_BYTES_MAX`; then the rest of it is not read. */
  readonly bytes: Buffer | null;
  /** When, by the machine's clock, the reply's head arrived. */
  readonly receivedMs: number;
}

class Exchange implements Dispatcher.DispatchHandler {
  /** Whether a byte of the request may have left. */
  isBegun = false;
  /** When, by the machine's clock, the request was written. */
  sentMs: number;
  /** What it was given up for, see `abort`. */
  givenUpFor: Error | null = null;
  readonly #machineMs: () => number;
  readonly #reply = Promise.withResolvers<FullReply>();
  #controller: Dispatcher.DispatchController | null = null;
  #head: Omit<FullReply, 'bytes'> | null = null;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(machineMs: () => number) {
    this.#machineMs = machineMs;
    this.sentMs = machineMs();
  }

  /** Rejects with the error of the connection, or with the reason given to `abort`. */
  send(dispatcher: Dispatcher, request: Dispatcher.DispatchOptions): Promise<FullReply> {
    dispatcher.dispatch(request, this);
    return this.#reply.promise;
  }

  /** Gives the exchange up, with its connection. While it waits for a connection, it fails as soon as there is one. */
  abort(reason: Error): void {
    this.givenUpFor ??= reason;
    this.#controller?.abort(this.givenUpFor);
  }

  /** There is a connection, and the request is about to be written: before that, not a byte of it has left. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.givenUpFor !== null) {
      controller.abort(this.givenUpFor);
      return;
    }
    this.#controller = controller;
    this.isBegun = true;
    this.sentMs = this.#machineMs();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
  ): void {
    // An interim answer; the reply follows.
    if (statusCode < 200) return;
    this.#head = { statusCode, headers, receivedMs: this.#machineMs() };
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes <= REPLY_BYTES_MAX) {
      this.#chunks.push(chunk);
      return;
    }
    this.#reply.resolve({ ...this.#head!, bytes: null });
    controller.abort(new Error('the reply is too long'));
  }

  onResponseEnd(): void {
    const chunks = this.#chunks;
    this.#reply.resolve({
      ...this.#head!,
      bytes: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks),
    });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#reply.reject(error);
  }
}

const KEEP_ALIVE_MS = 30_000;

export interface Connections {
  /** Sends a call once. Every failure is in the outcome; rejects only with the reason of `signal`. */
  readonly attempt: (call: OutgoingCall, signal?: AbortSignal) => Promise<Outcome<Reply>>;
  readonly close: () => Promise<void>;
}

export interface ConnectionSettings {
  /** Without a slash at the end; `/api/sp2404` is appended. */
  readonly baseUrl: string;
  /** Most calls at the same time, over all merchants. */
  readonly concurrency: number;
  /** Time limit of one call, from sending to the last byte of the reply. */
  readonly timeoutMs: number;
}

export function openConnections({ baseUrl, concurrency, timeoutMs }: ConnectionSettings): Connections {
  // Loaded by who calls the platform, and of undici's hundred files only those that a pool needs.
  const Connected = createRequire(import.meta.url)('undici/lib/dispatcher/pool.js') as typeof Undici.Pool;
  const pool = new Connected(new URL(baseUrl).origin, {
    connections: concurrency,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connect: { timeout: timeoutMs },
    // Our own time-out covers the complete call; those of undici would only add less exact ones.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return { attempt: (call, signal) => attemptCall(pool, call, signal), close: () => pool.close() };
}

/**
 * By how many ms the platform's clock is ahead of ours, at least and at most; negative if it is behind. Read from the
 * Date header of a reply, so it is as exact as a second and the duration of the call.
 */
export interface ClockReading {
  readonly aheadMinMs: number;
  readonly aheadMaxMs: number;
}

/** A Date header has full seconds, so the platform's clock may have shown up to this many ms more. */
const RESOLUTION_MS = 999;
/** `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that HTTP allows to be sent. */
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * The reading from one reply. `sentMs` and `receivedMs` are when, by our clock, the request was sent and the reply was
 * received. The platform wrote its date in between. Null if the reply has no readable date, if it comes from a cache
 * (Age), or if our own clock was set back meanwhile.
 */
export function clockReadingOf(
  headers: IncomingHttpHeaders,
  { sentMs, receivedMs }: { readonly sentMs: number; readonly receivedMs: number },
): ClockReading | null {
  const { date, age } = headers;
  if (age !== undefined || typeof date !== 'string' || !HTTP_DATE.test(date)) return null;
  const dateMs = Date.parse(date);
  if (Number.isNaN(dateMs) || receivedMs < sentMs) return null;
  return { aheadMinMs: dateMs - receivedMs, aheadMaxMs: dateMs + RESOLUTION_MS - sentMs };
}
