/** A platform in virtual time, with merchants that it treats badly, and a run over many merchants a few at a time. */
import type { Outcome, Reply, Connections } from '../../src/platform/attempt.ts';
import { PlatformRejected, PlatformReplyInvalid, PlatformUnreachable } from '../../src/platform/errors.ts';
import type { TimeSource } from '../../src/platform/rate-limiter.ts';
import { createTransportOver, type Transport } from '../../src/platform/transport.ts';
import { virtualTime } from '../support/virtual-time.ts';
import { callOf, settingsOf } from './stranger.ts';

export type Kind = 'fine' | 'hangs' | '429, wait 1 s' | '429, wait 600 s' | 'broken token' | 'rubbish';

const LATENCY_MS = 50;
const TIMEOUT_MS = 30_000;
/** What a merchant does on its own after each of its calls. */
const WORK_MS = 100;
const CALLS_EACH = 3;

const failed = (failure: {
  readonly error: PlatformUnreachable | PlatformRejected;
  readonly retry: 'yes' | 'no';
  readonly askedMs?: number;
  readonly answered?: boolean;
}): Outcome<Reply> => ({ ok: false, failure: { askedMs: null, answered: true, ...failure } });

/** Connections to a platform that treats each merchant by its kind. */
function connectionsTo(kindOf: (merchantNo: string) => Kind, { sleep }: TimeSource): Connections {
  return {
    attempt: async ({ headers }) => {
      const kind = kindOf(headers['merchantNo']!);
      await sleep(kind === 'hangs' ? TIMEOUT_MS : LATENCY_MS);
      const unreachable = new PlatformUnreachable(kind, false);
      if (kind === 'hangs') return failed({ error: unreachable, retry: 'yes', answered: false });
      if (kind === '429, wait 1 s') return failed({ error: unreachable, retry: 'yes', askedMs: 1_000 });
      if (kind === '429, wait 600 s') return failed({ error: unreachable, retry: 'yes', askedMs: 600_000 });
      if (kind === 'broken token') return failed({ error: new PlatformRejected(kind, false), retry: 'no' });
      return { ok: true, value: { text: kind, clock: null } };
    },
    close: () => Promise.resolve(),
  };
}

const readReply = (text: string): string => {
  if (text === 'rubbish') throw new PlatformReplyInvalid(text);
  return text;
};

/** Virtual time that leaves the transport a few turns of the event loop to read replies. */
const readingTime = (): TimeSource =>
  virtualTime(0, (tick) => setImmediate(() => setImmediate(() => setImmediate(tick))));

export interface VirtualRun {
  /** How each merchant is treated, in the order in which they begin. */
  readonly kinds: readonly Kind[];
  readonly atOnce: number;
  readonly concurrency: number;
  /** Whether a merchant that has nothing but waits gives its place to the next one. */
  readonly givesPlace: boolean;
}

/** When the last of the merchants that are treated well was done, and when all were, in ms. */
export async function virtualRun({ kinds, atOnce, concurrency, givesPlace }: VirtualRun) {
  const time = readingTime();
  let free = atOnce;
  let next = 0;
  let fineMs = 0;
  const begun: Promise<void>[] = [];
  const beginMore = (): void => {
    while (free > 0 && next < kinds.length) {
      free -= 1;
      begun.push(work(next));
      next += 1;
    }
  };
  const giveBack = (places: number): void => {
    free += places;
    beginMore();
  };
  const transport: Transport = createTransportOver(
    connectionsTo((merchantNo) => kinds[Number(merchantNo)]!, time),
    settingsOf('http://127.0.0.1:1', { concurrency, retriesMax: 5, timeoutMs: TIMEOUT_MS }),
    {
      ...time,
      random: () => 0.5,
      ...(givesPlace && { onWaiting: (_, isWaiting) => giveBack(isWaiting ? 1 : -1) }),
    },
  );
  const work = async (number: number): Promise<void> => {
    const merchant = { merchantNo: String(number), token: 'made-up' };
    try {
      for (let call = 0; call < CALLS_EACH; call += 1) {
        await transport.post(callOf({ access: { kind: 'merchant', merchant }, read: readReply }));
        await time.sleep(WORK_MS);
      }
      if (kinds[number] === 'fine') fineMs = time.clock();
    } catch {
      // One of those that are treated badly.
    } finally {
      giveBack(1);
    }
  };
  beginMore();
  for (const one of begun) await one;
  return { fineMs, allMs: time.clock() };
}
