/** Every call to the platform goes through here: limited, shared fairly, timed, and sent again if that may help. */
import { setImmediate as loopTurn, setTimeout as delay } from 'node:timers/promises';
import pLimit from 'p-limit';
import { Pool } from 'undici';
import { attemptCall, type Outcome, type OutgoingCall, type Reply } from './attempt.ts';
import type { ClockReading } from './clock-reading.ts';
import { credentialsOf, type PlatformAccess } from './access.ts';
import { discreetExcerpt } from './confidential.ts';
import { isPlatformError, saying } from './errors.ts';
import { createLine, type Caller, type TimeSource } from './line.ts';
import { RETRY_AFTER_MAX_MS } from './retry.ts';
import { createRedactor, excerptOf } from './secrets.ts';
import type { PlatformSettings } from './settings.ts';
import type { SharedLimit } from './shared-limit.ts';
import { createHoldTeller } from './tell-holds.ts';
import { Tries } from './tries.ts';
import type { Operation } from './wire.ts';

const KEEP_ALIVE_MS = 30_000;

/** A call that is about to be sent again. */
export interface Retry {
  /** `sp2404 for merchant M1`. */
  readonly subject: string;
  /** From 1. */
  readonly retry: number;
  readonly waitMs: number;
  /** Why it failed, a sentence without secrets. */
  readonly reason: string;
}

export interface TransportDeps extends TimeSource {
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
  /** This machine's clock, which the platform's is compared with. Left out: `clock`, which a test may let jump. */
  readonly machineClock?: () => number;
  readonly onRetry?: (retry: Retry) => void;
  /** What this process shares with others that call the same platform. Left out: it is alone. */
  readonly shared?: SharedLimit;
}

/** The system's time and random numbers. */
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

/** Makes a short quote of a reply for a message, without secrets and personal data. */
export type Excerpt = (text: string) => string;

export interface PlatformCall<T> {
  /** Transaction code, the last part of the path. */
  readonly operation: Operation;
  readonly access: PlatformAccess;
  /**
   * Whether the platform counts the same call, sent twice, as one. If not, it is sent again only when there was no
   * answer and it certainly did not reach the platform. Any other failure is final; `mayHaveArrived` on its error says
   * whether the call may have been done.
   */
  readonly repeatable: boolean;
  /** The body holds personal data, and a reply may repeat it: then no message quotes the reply. */
  readonly confidential: boolean;
  /** Of the waiting calls of one merchant, the lowest is sent first; 0 if left out. */
  readonly rank?: number;
  readonly body: object;
  /**
   * Reads the reply. Throws a `PlatformError` that says what came if it is not the reply of this operation. `clock`:
   * what the reply says about the platform's clock; null if nothing.
   */
  readonly read: (text: string, excerpt: Excerpt, clock: ClockReading | null) => T;
}

export interface Transport {
  /**
   * Resolves to what `read` returns. Rejects with a `PlatformError` if no try is left or another would not help, and
   * with the reason of `signal`.
   */
  readonly post: <T>(call: PlatformCall<T>, signal?: AbortSignal) => Promise<T>;
  readonly close: () => Promise<void>;
}

/** Opens a pool of connections that are kept alive; `close` it in the end. */
export function createTransport(settings: PlatformSettings, deps: TransportDeps): Transport {
  const pool = openPool(settings);
  const basePath = new URL(settings.baseUrl).pathname.replace(/\/+$/, '');
  const { shared } = deps;
  const line = createLine(settings.concurrency, settings.rateLimitPerS, deps, shared);
  const holdTeller = shared && createHoldTeller(shared);
  const oneReading = pLimit(1);

  /** Holds a slot of the line only while the call is on the wire. */
  const send = async (
    outgoing: OutgoingCall,
    caller: Caller,
    signal: AbortSignal | undefined,
  ): Promise<Outcome<Reply>> => {
    const leave = await line.enter(caller, signal);
    let answered: boolean | null = null;
    try {
      const outcome = await attemptCall(pool, outgoing, signal);
      answered = outcome.ok || outcome.failure.answered;
      return outcome;
    } finally {
      leave(answered);
    }
  };

  /** Reading a reply takes as long as sending many calls, so calls that wait are sent between two readings. */
  const read = <T>(reply: Reply, call: PlatformCall<T>, outgoing: OutgoingCall): Promise<Outcome<T>> =>
    oneReading(async () => {
      await loopTurn();
      return readReply(reply, call, outgoing);
    });

  const hold = (owner: string, askedMs: number): void => {
    // Never longer than this: another run of the same process must not wait in line for hours.
    const forMs = Math.min(askedMs, RETRY_AFTER_MAX_MS);
    line.holdUntil(owner, deps.clock() + forMs);
    holdTeller?.tell({ owner, forMs });
  };

  const post = async <T>(call: PlatformCall<T>, signal?: AbortSignal): Promise<T> => {
    const outgoing = outgoingCall(call, basePath, settings, deps);
    const { subject } = outgoing;
    const caller = callerOf(call);
    const tries = new Tries(call.repeatable, settings.retriesMax);
    signal?.throwIfAborted();
    for (;;) {
      const sent = await send(outgoing, caller, signal);
      const outcome = sent.ok ? await read(sent.value, call, outgoing) : sent;
      if (outcome.ok) return outcome.value;
      const { error, askedMs } = outcome.failure;
      if (askedMs !== null) hold(caller.owner, askedMs);
      const waitMs = tries.waitAfter(outcome.failure, deps.random);
      deps.onRetry?.({ subject, retry: tries.made, waitMs, reason: error.message });
      await deps.sleep(waitMs, signal);
    }
  };

  return {
    post,
    close: async () => {
      await pool.close();
      await holdTeller?.told();
    },
  };
}

function openPool({ baseUrl, concurrency, timeoutMs }: PlatformSettings): Pool {
  return new Pool(new URL(baseUrl).origin, {
    connections: concurrency,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connect: { timeout: timeoutMs },
    // Our own time-out covers the whole call; those of undici would only add less exact ones.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

const callerOf = ({ access, rank = 0 }: PlatformCall<unknown>): Caller => ({
  owner: access.kind === 'agent' ? 'the agent' : `merchant ${access.merchant.merchantNo}`,
  rank,
});

/** What is sent, and how messages speak of it. Throws `PlatformRejected` if a value does not fit into a header. */
function outgoingCall(
  call: PlatformCall<unknown>,
  basePath: string,
  settings: PlatformSettings,
  { clock, machineClock }: TransportDeps,
): OutgoingCall {
  const credentials = credentialsOf(settings, call.access);
  const redact = createRedactor(credentials);
  return {
    subject: `${call.operation} ${credentials.whose}`,
    path: `${basePath}/api/${call.operation}`,
    headers: credentials.headers,
    mend: credentials.mend,
    body: JSON.stringify(call.body),
    timeoutMs: settings.timeoutMs,
    redact,
    excerpt: call.confidential
      ? (text) => discreetExcerpt(text, call.body)
      : (text) => excerptOf(text, redact),
    nowMs: clock,
    machineMs: machineClock ?? clock,
  };
}

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
