/** Every call to the platform goes through here: limited, shared fairly, timed, and sent again if that may help. */
import { randomBytes } from 'node:crypto';
import { setImmediate as loopTurn } from 'node:timers/promises';
import { UNTRACED, type Trace } from '../host/trace.ts';
import {
  type Outcome,
  type OutgoingCall,
  type Reply,
  openConnections,
  type Connections,
  type ClockReading,
} from './attempt.ts';
import { createSuccessCheck } from '../ledger/success-codes.ts';
import { credentialsOf, valuesOf, whoseOf, type PlatformAccess, type PlatformSettings } from './access.ts';
import { discreetExcerpt, createRedactor, excerptOf } from './secrets.ts';
import { isPlatformError, PlatformRejected, saying, type PlatformError } from './errors.ts';
import { createRequestQueue, type Caller } from './request-queue.ts';
import type { SharedLimit, TimeSource } from './rate-limiter.ts';
import { RETRY_AFTER_MAX_MS, Tries } from './tries.ts';
import { createTryValues } from './signing.ts';
import { createWaits, UNWATCHED, type OnWaiting, type WatchedCall } from './waits.ts';
import type { Operation } from './wire.ts';
import pLimit from 'p-limit';

/** A call that is about to be sent again. */
export interface Retry {
  readonly operation: Operation;
  /** `sp2404 for merchant M1`. */
  readonly subject: string;
  /** From 1. */
  readonly retry: number;
  readonly waitMs: number;
  /** Why it failed, a sentence without secrets. */
  readonly reason: string;
}

/** A try of a call that is over. */
export interface CallMade {
  readonly operation: Operation;
  /** `2xx`, another HTTP status such as `503`, `invalid` for a 2xx reply outside the contract, or `none`: no reply. */
  readonly status: string;
  /** On the wire. */
  readonly ms: number;
}

export interface TransportDeps extends TimeSource {
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
  /** A text for a request that no other has. Left out: 32 random hexadecimal digits. */
  readonly nonce?: () => string;
  /** This machine's clock, which the platform's is compared with. Left out: `clock`, which a test may let jump. */
  readonly machineClock?: () => number;
  readonly onRetry?: (retry: Retry) => void;
  readonly onCall?: (call: CallMade) => void;
  readonly trace?: Trace;
  /** What this process shares with others that call the same platform. Left out: it is alone. */
  readonly shared?: SharedLimit;
  /**
   * True: all calls of the merchant wait for something that concerns only this merchant. A `Retry-After`, a retry in a
   * second or later, or a call unanswered for a second. False: that is over. Waiting for a slot or for the rate does
   * not count. A caller that works on a limited number of merchants at once may begin another one meanwhile.
   */
  readonly onWaiting?: OnWaiting;
}

/** The system's time and random numbers. A sleep is stopped for nearly every call, so it makes no error of its own. */
export const systemTransportDeps: TransportDeps = {
  clock: () => Date.now(),
  random: () => Math.random(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const stop = (): void => {
        clearTimeout(timer);
        reject(signal!.reason as Error);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', stop);
        resolve();
      }, ms);
      signal?.addEventListener('abort', stop, { once: true });
    }),
};

const randomNonce = (): string => randomBytes(16).toString('hex');

/** Makes a short quote of a reply for a message, without secrets and personal data. */
export type Excerpt = (text: string) => string;

export interface ReplyContext {
  readonly excerpt: Excerpt;
  readonly isSuccess: (code: string) => boolean;
  /** What the reply says about the platform's clock; null if nothing. */
  readonly clock: ClockReading | null;
}

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
   * Reads the reply. Throws a `PlatformError` that describes the reply if it is not one of this operation.
   */
  readonly read: (text: string, context: ReplyContext) => T;
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
export const createTransport = (settings: PlatformSettings, deps: TransportDeps): Transport =>
  createTransportOver(openConnections(settings), settings, deps);

export function createTransportOver(
  connections: Connections,
  settings: PlatformSettings,
  deps: TransportDeps,
): Transport {
  const { shared, trace = UNTRACED } = deps;
  const queue = createRequestQueue(settings.concurrency, settings.rateLimitPerS, deps, shared);
  const read = createReading(createSuccessCheck(settings.successCodes));
  const watchOf = createWatching(deps);
  const refusals = createRefusals();
  const outgoingOf = createOutgoing(settings, deps);

  /** Holds a slot only while the call is on the wire. */
  const send = async (
    { outgoingCall, access }: Outgoing,
    caller: Caller,
    watch: WatchedCall,
    signal: AbortSignal | undefined,
  ): Promise<Tried> => {
    watch.queued();
    const leave = await queue.enter({ ...caller, onHeld: watch.held }, signal);
    const arrived = watch.onWire();
    const sentMs = performance.now();
    let answered: boolean | null = null;
    try {
      refusals.assertNone(access);
      // After all waiting, as it may have a time in it.
      const outgoing = outgoingCall();
      const outcome = await connections.attempt(outgoing, signal);
      answered = outcome.ok || outcome.failure.answered;
      // Before the slot is free, so that no call takes it in vain.
      refusals.noted(access, outcome);
      reportCall(deps, outgoing, { outcome, sentMs });
      const askedMs = outcome.ok ? null : outcome.failure.askedMs;
      // Before the slot is free for this merchant's next call, and capped: another run of the same process must not be
      // queued for hours.
      if (askedMs !== null) queue.hold(caller.owner, Math.min(askedMs, RETRY_AFTER_MAX_MS));
      return { outgoing, sent: outcome };
    } finally {
      arrived();
      leave(answered);
    }
  };

  const post = async <T>(call: PlatformCall<T>, signal?: AbortSignal): Promise<T> => {
    const outgoing = outgoingOf(call);
    const caller = callerOf(call);
    const tries = new Tries(call.repeatable, settings.retriesMax);
    signal?.throwIfAborted();
    refusals.assertNone(call.access);
    const watch = watchOf(call);
    try {
      for (;;) {
        const outcome = await trace('call', spanOf(call, tries), async (annotate) => {
          const { outgoing: tried, sent } = await send(outgoing, caller, watch, signal);
          annotate({ 'daybook.status': statusOf(sent) });
          return refusals.noted(call.access, sent.ok ? await read(sent.value, call, tried) : sent);
        });
        if (outcome.ok) return outcome.value;
        const waitMs = tries.waitAfter(outcome.failure, deps.random);
        const { message: reason } = outcome.failure.error;
        deps.onRetry?.({ ...outgoing.about, retry: tries.made, waitMs, reason });
        watch.sleeps(waitMs);
        await deps.sleep(waitMs, signal);
      }
    } finally {
      watch.end();
    }
  };

  return {
    post,
    close: async () => {
      await connections.close();
      await queue.close();
    },
  };
}

/**
 * Tokens that the platform refused: calls that wait fail with the same error, and none begins. The access is known as an
 * object. Each run takes its own (`chosenMerchants`), and so tries a token once more that was put right meanwhile.
 */
function createRefusals() {
  const refused = new WeakMap<object, PlatformError>();
  return {
    /** Throws what the platform said of the token. */
    assertNone: (access: PlatformAccess): void => {
      const error = access.kind === 'merchant' && refused.get(access.merchant);
      if (error) throw error;
    },
    noted: <T>(access: PlatformAccess, outcome: Outcome<T>): Outcome<T> => {
      const error = outcome.ok ? null : outcome.failure.error;
      if (access.kind === 'merchant' && error instanceof PlatformRejected && error.refusesToken)
        refused.set(access.merchant, error);
      return outcome;
    },
  };
}

function createWatching({ onWaiting, ...time }: TransportDeps) {
  const waits = onWaiting && createWaits(onWaiting, time);
  return ({ access }: PlatformCall<unknown>): WatchedCall =>
    (access.kind === 'merchant' && waits?.(access.merchant.merchantNo)) || UNWATCHED;
}

const reportCall = (
  { onCall }: TransportDeps,
  { operation }: OutgoingCall,
  { outcome, sentMs }: { readonly outcome: Outcome<Reply>; readonly sentMs: number },
): void => onCall?.({ operation, status: statusOf(outcome), ms: performance.now() - sentMs });

/** Reading a reply takes as long as sending many calls, so calls that wait are sent between two readings. */
function createReading(isSuccess: ReplyContext['isSuccess']) {
  const oneReading = pLimit(1);
  return <T>(reply: Reply, call: PlatformCall<T>, outgoing: OutgoingCall): Promise<Outcome<T>> =>
    oneReading(async () => {
      await loopTurn();
      return readReply(reply, call, { ...outgoing, isSuccess });
    });
}

const spanOf = ({ operation }: PlatformCall<unknown>, { made }: Tries) => ({
  'daybook.operation': operation,
  'daybook.try': made + 1,
});

const statusOf = (outcome: Outcome<Reply>): string =>
  outcome.ok ? '2xx' : String(outcome.failure.status ?? (outcome.failure.answered ? 'invalid' : 'none'));

const callerOf = ({ access, rank = 0 }: PlatformCall<unknown>): Caller => ({
  owner: access.kind === 'agent' ? 'the agent' : `merchant ${access.merchant.merchantNo}`,
  rank,
});

/** A try, and what came of it. */
interface Tried {
  readonly outgoing: OutgoingCall;
  readonly sent: Outcome<Reply>;
}

/** A call, and how each of its tries is sent. */
interface Outgoing {
  readonly about: Pick<Retry, 'operation' | 'subject'>;
  readonly access: PlatformAccess;
  readonly outgoingCall: () => OutgoingCall;
}

/**
 * What is sent, and how messages speak of it. Where headers say something of a single try, each is made anew, and no
 * message repeats the signature of any. Throws `PlatformRejected` if a value does not fit into a header.
 */
function createOutgoing(settings: PlatformSettings, deps: TransportDeps) {
  const basePath = new URL(settings.baseUrl).pathname.replace(/\/+$/, '');
  const { clock, machineClock = clock, nonce = randomNonce } = deps;
  const tryValuesOf = (headers: PlatformSettings['headers']) =>
    createTryValues(headers, settings.signing, { nowMs: machineClock, nonce });
  const valuesBy = { merchant: tryValuesOf(settings.headers), agent: tryValuesOf(settings.agentHeaders) };

  return ({ operation, access, body: sent, confidential }: PlatformCall<unknown>): Outgoing => {
    const path = `${basePath}/api/${operation}`;
    const body = JSON.stringify(sent);
    const subject = `${operation} ${whoseOf(access)}`;
    const about = { operation, subject };
    const ofTry = valuesBy[access.kind];
    const secrets = new Set<string>();
    const outgoingCall = (): OutgoingCall => {
      const values = ofTry?.(valuesOf(settings, access), { path, body });
      const { headers, remedy, known, ...own } = credentialsOf(settings, access, values);
      for (const secret of own.secrets) secrets.add(secret);
      // Seldom needed, and as dear as the rest.
      let redactor: OutgoingCall['redact'] | null = null;
      const redact = (text: string): string =>
        (redactor ??= createRedactor({ headers, secrets: [...secrets], known }))(text);
      return {
        ...{ operation, subject, path, headers, remedy, body, redact },
        timeoutMs: settings.timeoutMs,
        excerpt: confidential ? (text) => discreetExcerpt(text, sent) : (text) => excerptOf(text, redact),
        nowMs: clock,
        machineMs: machineClock,
      };
    };
    if (ofTry !== null) return { about, access, outgoingCall };
    const always = outgoingCall();
    return { about, access, outgoingCall: () => always };
  };
}

function readReply<T>(
  { text, clock }: Reply,
  call: PlatformCall<T>,
  { subject, excerpt, isSuccess }: OutgoingCall & Pick<ReplyContext, 'isSuccess'>,
): Outcome<T> {
  try {
    return { ok: true, value: call.read(text, { excerpt, isSuccess, clock }) };
  } catch (error) {
    if (!isPlatformError(error)) throw error;
    const named = saying(`${subject}: ${error.message}`, error);
    const retry = error instanceof PlatformRejected ? 'no' : 'seldom';
    return { ok: false, failure: { error: named, retry, askedMs: null, answered: true } };
  }
}
