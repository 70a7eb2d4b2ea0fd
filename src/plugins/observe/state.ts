/**
 * Reads the state for a scrape: seldom, within a time limit, and each part by itself. A slow database, or a login with
 * partial rights, shows in `reads` and delays nothing.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { jobs } from '../../../jobs/all.ts';
import { healthOf, inboxHealth, overviewOf, type Health, type HealthOptions } from '../../run/health.ts';
import { statusesOf, type MerchantStatus } from '../../run/status.ts';
import type { StateSource } from '../../web/observation.ts';
import type { DB } from '../../store/engine/schema.ts';
import { readableParts, type InboxCounts } from '../../store/fleet-counts.ts';
import { observeSettings } from './settings.ts';

/** A reading is reused for this time. */
export const STATE_LASTS_MS = 15_000;
/** Prometheus gives up after 10 s by default. */
const ANSWER_MS_MAX = 8_000;

export interface State {
  readonly at: Date;
  readonly zone: string | null;
  /** Null where this login may not see it, this process has no settings for it, or it could not be read. */
  readonly ledger: Health | null;
  readonly inbox: InboxCounts | null;
  /** Each merchant; empty unless they are asked for. */
  readonly merchants: readonly MerchantStatus[];
  /** Requested parts, and whether each was read in time. */
  readonly reads: readonly { readonly part: string; readonly isRead: boolean; readonly seconds: number }[];
}

export interface StateDeps {
  /** A connection of its own, if the database has more than one, so that a scrape and a run never wait for each other. */
  readonly db: Kysely<DB>;
  /** Null where the process has no settings for the platform: it then reports the inbox alone. */
  readonly ledger: Omit<HealthOptions, 'now'> | null;
  readonly now: () => Date;
  readonly withMerchants: boolean;
  /** A clock in ms that never goes back; its zero does not matter. */
  readonly clock?: () => number;
  readonly answerMsMax?: number;
}

/** The state for these settings. Without the platform's, only that of the inbox. */
export function stateOf({ settings, db, now }: StateSource): () => Promise<State> {
  const { platform } = settings;
  return createState({
    db,
    ledger: platform === null ? null : { settings: { ...settings, platform }, jobs },
    now,
    withMerchants: observeSettings.of(settings).metricsMerchants,
  });
}

/** Makes a function that may be called at any rate: it reads at most once in `STATE_LASTS_MS`, and one reading at a time. */
export function createState(deps: StateDeps): () => Promise<State> {
  const { clock = () => performance.now(), answerMsMax = ANSWER_MS_MAX } = deps;
  let asked: Promise<State> | undefined;
  let known: { readonly state: State; readonly atMs: number } | undefined;
  const read = async (): Promise<State> => {
    try {
      const state = await readState(deps, clock);
      if (state.reads.every(({ isRead }) => isRead)) known = { state, atMs: clock() };
      return state;
    } finally {
      asked = undefined;
    }
  };
  return async () => {
    if (known !== undefined && clock() - known.atMs < STATE_LASTS_MS) return known.state;
    // While one reading hangs, no second one is begun.
    asked ??= read();
    const late = {
      ...nothingRead(deps),
      reads: [{ part: 'database', isRead: false, seconds: answerMsMax / 1_000 }],
    };
    return inTime(asked, late, answerMsMax);
  };
}

const nothingRead = ({ ledger, now }: StateDeps): State => ({
  at: now(),
  zone: ledger?.settings.platform.timeZone ?? null,
  ledger: null,
  inbox: null,
  merchants: [],
  reads: [],
});

async function readState(deps: StateDeps, clock: () => number): Promise<State> {
  const { db, ledger, withMerchants } = deps;
  const nothing = nothingRead(deps);
  const reads: State['reads'][number][] = [];
  const part = async <Result>(name: string, work: () => Promise<Result>): Promise<Result | null> => {
    const beganMs = clock();
    const result = await work().catch(() => null);
    reads.push({ part: name, isRead: result !== null, seconds: (clock() - beganMs) / 1_000 });
    return result;
  };
  const parts = await part('database', () => readableParts(db));
  const sees = parts?.ledger === true && ledger !== null;
  const options = { ...ledger!, now: nothing.at };
  const health = sees ? await part('ledger', () => healthOf(db, options)) : null;
  const merchants =
    sees && withMerchants ? await part('merchants', () => everyStatus(db, options, health)) : null;
  const inbox = parts?.inbox === true ? await part('inbox', () => inboxHealth(db)) : null;
  return { ...nothing, ledger: health, inbox, merchants: merchants ?? [], reads };
}

async function everyStatus(
  db: Kysely<DB>,
  options: HealthOptions,
  health: Health | null,
): Promise<MerchantStatus[]> {
  const { merchants } = await overviewOf(db, options);
  const { timeZone: zone } = options.settings.platform;
  const asked = { zone, now: options.now, maxAgeMs: null, newSince: health?.newSince ?? null };
  const all: MerchantStatus[] = [];
  for await (const some of statusesOf(db, merchants, asked)) all.push(...some);
  return all;
}

/** `late` if it takes longer than that. */
async function inTime<Result>(asked: Promise<Result>, late: Result, ms: number): Promise<Result> {
  const timer = new AbortController();
  const waited = sleep(ms, late, { signal: timer.signal, ref: false });
  try {
    return await Promise.race([asked, waited]);
  } finally {
    timer.abort();
    waited.catch(() => undefined);
  }
}
