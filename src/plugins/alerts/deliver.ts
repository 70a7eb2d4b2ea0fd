/** Sends what is due in the outbox, which several processes may do at the same time; and directly, where the database is unavailable. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { claimDeliveries, giveUpOld, noteFailed, noteSent, type Claimed, alertOf } from './outbox.ts';
import { isLostOrRolledBack, retry } from '../../store/engine/retry.ts';
import type { DB } from '../../store/engine/schema.ts';
import { causeOf, unlessCut } from './smtp.ts';
import type { Target, Sending, Sent } from './targets.ts';
import { randomUUID } from 'node:crypto';
import { rm, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AlertContent } from '../../run/alerts.ts';
import type { Alert } from './alert.ts';

const TRY_MS_MAX = 5_000;
/** A command that ends waits this long for receivers, mail included. What is left is sent by a later process. */
export const AT_END_MS_MAX = 5_000;
export const TRY_AT_END_MS_MAX = 4_000;
const AT_ONCE = 16;
/** A process that took an alert and died is not waited for longer than this. It is more than a try and its note take. */
const CLAIM_MS = 60_000;
const FIRST_WAIT_MS = 30_000;
const WAIT_MS_MAX = 3_600_000;

interface DeliverDeps {
  readonly db: Kysely<DB>;
  readonly targets: readonly Target[];
  readonly now: () => Date;
  readonly onFailed: (failed: Readonly<{ alert: string; target: string; problem: string }>) => void;
  /** Ends tries that are under way as well. */
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

/** The wait after this failed try; as long as the target asks, if that is longer. */
export const waitAfterMs = (attempts: number, askedMs: number | null): number =>
  Math.max(Math.min(FIRST_WAIT_MS * 2 ** Math.min(attempts - 1, 20), WAIT_MS_MAX), askedMs ?? 0);

/**
 * Sends everything that is due, and returns how many targets took something. What fails is tried again later. A
 * process that dies between sending and noting leaves the alert to be sent again, under the same number. Throws what
 * the database throws.
 */
export async function deliverDue(deps: DeliverDeps): Promise<number> {
  const { db, targets, signal } = deps;
  if (targets.length === 0) return 0;
  const byKey = new Map(targets.map((target) => [target.key, target]));
  let sent = 0;
  try {
    while (signal?.aborted !== true) {
      const claimed = await claimDeliveries(db, [...byKey.keys()], { limit: AT_ONCE, claimMs: CLAIM_MS });
      // If one result cannot be stored, the others need the database as well.
      const ends = await Promise.allSettled(claimed.map((one) => deliver(deps, byKey.get(one.target)!, one)));
      sent += ends.filter((end) => end.status === 'fulfilled' && end.value).length;
      const failed = ends.find((end) => end.status === 'rejected');
      if (failed !== undefined) throw failed.reason;
      if (claimed.length < AT_ONCE) break;
    }
  } finally {
    await giveUpOld(db);
  }
  return sent;
}

/** A target that throws has failed as any other. What it threw may name its address. */
function tried({ send }: Target, alert: Alert, sending: Sending): Promise<Sent> {
  const sent = send(alert, sending).catch((error: unknown): Sent => ({
    ok: false,
    problem: causeOf(error),
    askedMs: null,
  }));
  return unlessCut(sent, sending.cut);
}

async function deliver(
  { db, now, onFailed, signal: cut, timeoutMs = TRY_MS_MAX }: DeliverDeps,
  target: Target,
  claimed: Claimed,
): Promise<boolean> {
  const sent = await tried(target, alertOf(claimed), { timeoutMs, now, cut, took: claimed.took ?? [] });
  if (sent.ok) {
    // Without this note it is sent again.
    await retry(() => noteSent(db, claimed), { isPassing: isLostOrRolledBack });
    return true;
  }
  const { problem, askedMs, took = null } = sent;
  await noteFailed(db, claimed, { problem, delayMs: waitAfterMs(claimed.attempts, askedMs), took });
  onFailed({ alert: claimed.id, target: target.name, problem });
  return false;
}

const SEND_EVERY_MS = 10_000;
const WATCHDOG_EVERY_MS = 30_000;

interface Alerting {
  readonly deliver: () => Promise<unknown>;
  readonly runWatchdog: () => Promise<unknown>;
  readonly onFault: (error: unknown) => void;
  readonly signal: AbortSignal;
  readonly sendEveryMs?: number;
  readonly watchdogEveryMs?: number;
}

/** Goes on until the signal aborts, and sends once more then. Never rejects. */
export async function keepAlerting({
  deliver,
  runWatchdog,
  onFault,
  signal,
  sendEveryMs = SEND_EVERY_MS,
  watchdogEveryMs = WATCHDOG_EVERY_MS,
}: Alerting): Promise<void> {
  let checkedMs = -Infinity;
  while (!signal.aborted) {
    try {
      if (performance.now() - checkedMs >= watchdogEveryMs) {
        checkedMs = performance.now();
        await runWatchdog();
      }
      await deliver();
    } catch (error) {
      onFault(error);
    }
    await sleep(sendEveryMs, undefined, { signal }).catch(() => undefined);
  }
  await deliver().catch(onFault);
}

interface Background extends Pick<Alerting, 'onFault' | 'watchdogEveryMs'> {
  /** Is cut off at the signal. */
  readonly deliver: (cut: AbortSignal) => Promise<unknown>;
  /** Is asked to stop by the signal. */
  readonly runWatchdog: (stop: AbortSignal) => Promise<unknown>;
}

/**
 * Does `work`, and delivers meanwhile. What is being sent when it ends, and the last delivery after that, are bounded
 * together, as the process is stopping.
 */
export async function whileDelivering<Result>(
  { deliver, runWatchdog, ...options }: Background,
  work: () => Promise<Result>,
): Promise<Result> {
  const stop = new AbortController();
  const cut = new AbortController();
  const kept = keepAlerting({
    ...options,
    deliver: () => deliver(cut.signal),
    runWatchdog: () => runWatchdog(stop.signal),
    signal: stop.signal,
  });
  try {
    return await work();
  } finally {
    stop.abort();
    const timer = setTimeout(() => cut.abort(), AT_END_MS_MAX);
    await kept;
    clearTimeout(timer);
  }
}

interface DirectSending extends Pick<Sending, 'now' | 'cut'> {
  readonly timeoutMs?: number;
}

type DirectResult = Readonly<{ target: string; problem: string | null }>;

/** Sends to each target once, side by side, in bounded time. */
export async function sendDirect(
  targets: readonly Target[],
  content: AlertContent,
  { timeoutMs = TRY_MS_MAX, ...sending }: DirectSending,
): Promise<DirectResult[]> {
  const alert = { ...content, id: randomUUID(), raisedAt: sending.now() };
  return Promise.all(
    targets.map(async (target) => {
      const sent = await tried(target, alert, { timeoutMs, ...sending });
      return { target: target.name, problem: sent.ok ? null : sent.problem };
    }),
  );
}

const REPEAT_AFTER_MS = 24 * 3_600_000;
const FILE = 'alert-told.txt';

/**
 * Sends as `sendDirect` does, unless a target took such an alert within the last day. The data folder records that, as a
 * supervisor may restart a failing process again and again. Where that folder is not writable, every start sends. Takes no
 * longer than the end of a command may.
 */
export async function sendDirectOnceADay(
  targets: readonly Target[],
  content: AlertContent,
  { dataDir, now: clock }: Readonly<{ dataDir: string; now: () => Date }>,
): Promise<DirectResult[]> {
  const now = clock();
  const sentAt = await rememberedTime(dataDir, FILE);
  const agoMs = sentAt === null ? -1 : now.getTime() - sentAt.getTime();
  if (agoMs >= 0 && agoMs < REPEAT_AFTER_MS) return [];
  const cut = AbortSignal.timeout(AT_END_MS_MAX);
  const sending = { now: clock, timeoutMs: TRY_AT_END_MS_MAX, cut };
  const results = await sendDirect(targets, content, sending);
  if (results.some(({ problem }) => problem === null)) {
    const known = [...(await directlySent(dataDir)).keys()];
    const conditions = new Set([...known, ...(content.condition === undefined ? [] : [content.condition])]);
    await rememberTime(dataDir, FILE, now, [...conditions]).catch(() => undefined);
  }
  return results;
}

/** The lasting trouble that was reported so, and when. */
export async function directlySent(dataDir: string): Promise<ReadonlyMap<string, Date>> {
  const at = await rememberedTime(dataDir, FILE);
  const [, ...conditions] = (await readFile(join(dataDir, FILE), 'utf8').catch(() => '')).split('\n');
  return new Map(at === null ? [] : conditions.filter((name) => name !== '').map((name) => [name, at]));
}

export const forgetDirectlySent = (dataDir: string): Promise<void> =>
  rm(join(dataDir, FILE), { force: true });

const LAST_GOOD_FILE = 'last-good-night.txt';

export const lastSuccess = (dataDir: string): Promise<Date | null> => rememberedTime(dataDir, LAST_GOOD_FILE);

export const recordLastSuccess = (dataDir: string, at: Date): Promise<void> =>
  rememberTime(dataDir, LAST_GOOD_FILE, at);

async function rememberedTime(dataDir: string, file: string): Promise<Date | null> {
  const text = await readFile(join(dataDir, file), 'utf8').catch(() => '');
  const at = Date.parse(text.split('\n')[0]!);
  return Number.isNaN(at) ? null : new Date(at);
}

async function rememberTime(
  dataDir: string,
  file: string,
  at: Date,
  conditions: readonly string[] = [],
): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await writeFile(join(dataDir, file), [at.toISOString(), ...conditions].join('\n'));
}
