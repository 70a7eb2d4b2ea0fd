/** Every call to the platform goes through here: bounded, fairly shared, timed, sent again where that may help. */
import { setImmediate as loopTurn, setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import { Pool } from 'undici';
import { attemptCall, type Failure, type Outcome, type OutgoingCall, type Reply } from './attempt.ts';
import type { ClockReading } from './clock-reading.ts';
import { credentialsOf, type PlatformAccess } from './access.ts';
import { discreetExcerpt } from './confidential.ts';
import { isPlatformError, saying } from './errors.ts';
import { createLine, type Caller, type TimeSource } from './line.ts';
import { backoffMs, INVALID_REPLY_RETRIES_MAX, RETRY_AFTER_MAX_MS } from './retry.ts';
import { createRedactor, excerptOf } from './secrets.ts';
import type { PlatformSettings } from './settings.ts';
import type { Operation } from './wire.ts';

const KEEP_ALIVE_MS = 30_000;

/** A call about to be sent again. */
export interface Retry {
  /** `sp2404 for merchant M1`. */
  readonly subject: string;
  /** From 1. */
  readonly retry: number;
  readonly waitMs: number;
  /** Why: a sentence without secrets. */
  readonly reason: string;
}

export interface TransportDeps extends TimeSource {
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
  /** This machine's clock, which the platform's is held against; `clock` where absent, which a test may let jump. */
  readonly machineClock?: () => number;
  readonly onRetry?: (retry: Retry) => void;
}

/** Real time and real chance. */
export const systemTransportDeps: TransportDeps = {
  clock: () => Date.now(),
  random: () => Math.random(),
  sleep: async (ms, signal) => {
    try {
      await delay(ms, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  },
};

/** How a reader tells what came, secrets and personal data left out. */
export type Excerpt = (text: string) => string;

export interface PlatformCall<T> {
  /** Transaction code, the last part of the path. */
  readonly operation: Operation;
  readonly access: PlatformAccess;
  /**
   * Whether the platform takes the same call twice for one. Where it does not, a call is sent again only where nobody
   * answered and certainly nothing was left behind; anything else ends at once, with `mayHaveArrived` on the error.
   */
  readonly repeatable: boolean;
  /** The body holds personal data, which a reply may repeat: no message quotes the reply then. */
  readonly confidential: boolean;
  /** Of the calls of one merchant that wait, the lowest is sent first; 0 where not given. */
  readonly rank?: number;
  readonly body: object;
  /**
   * Makes sense of the reply; throws a `PlatformError` that says what came where there is none. `clock`: what the reply
   * tells of the platform's clock.
   */
  readonly read: (text: string, excerpt: Excerpt, clock: ClockReading | null) => T;
}

export interface Transport {
  /**
   * Resolves to what `read` made of the reply. Rejects with a `PlatformError` when retries are used up or would not
   * help, and with the signal's reason when aborted.
   */
  readonly post: <T>(call: PlatformCall<T>, signal?: AbortSignal) => Promise<T>;
  readonly close: () => Promise<void>;
}

const callerOf = ({ access, rank = 0 }: PlatformCall<unknown>): Caller => ({
  owner: access.kind === 'agent' ? 'the agent' : `merchant ${access.merchant.merchantNo}`,
  rank,
});

/** Whether the platform asks for a longer wait than a run has patience for; null where it does not. */
const tooLongAWait = (askedMs: number | null): string | null =>
  askedMs === null || askedMs <= RETRY_AFTER_MAX_MS
    ? null
    : `; it asks to wait ${Math.ceil(askedMs / 1_000)} s (Retry-After), and a call waits ${RETRY_AFTER_MAX_MS / 1_000} s ` +
      'at most: run again after that';

const timesTried = (tries: number): string => (tries === 1 ? '' : `; tried ${tries} times`);

function readReply<T>(
  { text, clock }: Reply,
  call: PlatformCall<T>,
  { subject, excerpt }: OutgoingCall,
): Outcome<T> {
  try {
    return { ok: true, value: call.read(text, excerpt, clock) };
  } catch (error) {
    if (!isPlatformError(error)) throw error;
    const named = saying(`${subject}: ${error.message}`, error);
    return { ok: false, failure: { error: named, retry: 'seldom', askedMs: null, answered: true } };
  }
}

/** Opens a pool of kept-alive connections; `close` it in the end. */
export function createTransport(settings: PlatformSettings, deps: TransportDeps): Transport {
  const base = new URL(settings.baseUrl);
  const pool = new Pool(base.origin, {
    connections: settings.concurrency,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connect: { timeout: settings.timeoutMs },
    // The one time-out covers the whole call; undici's own would only add coarser ones.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const line = createLine(settings.concurrency, settings.rateLimitPerS, deps);
  /** Reading a reply takes as long as sending many calls: between two of them, calls that wait get on the wire. */
  const oneATurn = pLimit(1);

  const outgoingOf = (call: PlatformCall<unknown>): OutgoingCall => {
    const credentials = credentialsOf(settings, call.access);
    const { headers } = credentials;
    const redact = createRedactor(credentials);
    return {
      subject: `${call.operation} ${credentials.whose}`,
      path: `${base.pathname.replace(/\/+$/, '')}/api/${call.operation}`,
      headers,
      mend: credentials.mend,
      body: JSON.stringify(call.body),
      timeoutMs: settings.timeoutMs,
      redact,
      excerpt: call.confidential
        ? (text) => discreetExcerpt(text, call.body)
        : (text) => excerptOf(text, redact),
      nowMs: deps.clock,
      machineMs: deps.machineClock ?? deps.clock,
    };
  };

  const post = async <T>(call: PlatformCall<T>, signal?: AbortSignal): Promise<T> => {
    const outgoing = outgoingOf(call);
    const caller = callerOf(call);
    let tries = 0;
    let invalidReplies = 0;
    let mayHaveArrived = false;
    let waitMs = 0;
    /** Sets the wait before the next try; throws once there is to be none. */
    const judge = ({ error, retry, askedMs, answered }: Failure): void => {
      if (retry === 'seldom') invalidReplies += 1;
      // Held no longer than this: a later run of the same process must not wait in line for hours.
      if (askedMs !== null)
        line.holdUntil(caller.owner, deps.clock() + Math.min(askedMs, RETRY_AFTER_MAX_MS));
      mayHaveArrived ||= error.mayHaveArrived;
      const tooLong = tooLongAWait(askedMs);
      const mustEnd =
        retry === 'no' || tooLong !== null || (!call.repeatable && (mayHaveArrived || answered));
      const isOver = mustEnd || tries > settings.retriesMax || invalidReplies > INVALID_REPLY_RETRIES_MAX;
      if (isOver) throw saying(error.message + (tooLong ?? '') + timesTried(tries), error, mayHaveArrived);
      waitMs = backoffMs(tries, askedMs, deps.random);
      deps.onRetry?.({ subject: outgoing.subject, retry: tries, waitMs, reason: error.message });
    };
    signal?.throwIfAborted();
    for (;;) {
      if (tries > 0) await deps.sleep(waitMs, signal);
      tries += 1;
      const sent = await inTurn(caller, signal, () => attemptCall(pool, outgoing, signal));
      if (!sent.ok) {
        judge(sent.failure);
        continue;
      }
      const read = await oneATurn(async () => {
        await loopTurn();
        return readReply(sent.value, call, outgoing);
      });
      if (read.ok) return read.value;
      judge(read.failure);
    }
  };

  /** Holds a slot for as long as the call is on the wire, and no longer. */
  const inTurn = async (
    caller: Caller,
    signal: AbortSignal | undefined,
    send: () => Promise<Outcome<Reply>>,
  ): Promise<Outcome<Reply>> => {
    const leave = await line.enter(caller, signal);
    let answered: boolean | null = null;
    try {
      const outcome = await send();
      answered = outcome.ok || outcome.failure.answered;
      return outcome;
    } finally {
      leave(answered);
    }
  };

  return {
    post,
    close: () => pool.close(),
  };
}
