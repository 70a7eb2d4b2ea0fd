/**
 * The state of the service: what `status`, `/metrics` and alerts report of all merchants together. What they tell of each merchant is in
 * `status.ts`; both come from the same rows and the same rules.
 */
import type { Kysely } from 'kysely';
import { addDays, dayOf } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { unmatchedCounts } from '../months/own-books.ts';
import { queueOf, type QueueGlance } from './work-queue.ts';
import type { UnmatchedCount } from '../ledger/own-books.ts';
import type { Settings } from '../settings/settings.ts';
import type { DB } from '../store/engine/schema.ts';
import { lastGoodRun, lastLedgerRun, type GoodRun } from '../store/runs.ts';
import {
  goodReadings,
  inboxCounts,
  merchantsWithOpenRanges,
  openCounts,
  proofShapes,
  type GoodReadings,
  type InboxCounts,
  type OpenCounts,
} from '../store/fleet-counts.ts';
import { backfillStatuses, type BackfillStatus, BACKFILL_COMMAND } from './backfills.ts';
import { ownMerchants, readMerchants } from './chosen-merchants.ts';
import { countDaysMissing, type Clock } from './coverage.ts';
import { lastRunsOf, type LastRuns, reasonOf } from './run-state.ts';
import { inParts } from '../store/account-filter.ts';
import { createProof } from './proven.ts';
import { nextRun, type NextRun } from './schedule/due.ts';
import { scheduledJobs, type Job, type TimedJob } from './schedule/job.ts';
import { statusOf } from './status.ts';

/** A job as far as it matters to what is due and what was missed. */
export type KnownJob = TimedJob & Pick<Job, 'isLedger'>;

export interface HealthOptions {
  readonly settings: Pick<Settings, 'platform' | 'schedule' | 'workers'>;
  readonly jobs: readonly KnownJob[];
  readonly now: Date;
}

/** The runs, the queue and the backfills: what stands above the merchants. */
export interface Overview {
  readonly merchants: readonly string[];
  readonly runs: LastRuns;
  /** The last run of the ledger that has ended: breaks that it or a later one has found are new. Null if none has. */
  readonly newSince: number | null;
  /** The most severe reason why the last run did not end well; null if there is none. */
  readonly lastReason: string | null;
  readonly nextRun: NextRun | null;
  /** Left out where no workers are used; null if its tables are missing. */
  readonly queue?: QueueGlance | null;
  /** Open ones, with the time left of each. */
  readonly backfills: readonly BackfillStatus[];
}

export async function overviewOf(db: Kysely<DB>, { settings, jobs, now }: HealthOptions): Promise<Overview> {
  const queue = queueOf(settings);
  const merchants = await readMerchants(db, settings);
  const scheduled = scheduledJobs(jobs, settings);
  const isDue = ({ name }: KnownJob): boolean => scheduled.some(({ job }) => job === name);
  const namesOf = (some: readonly KnownJob[]) => some.map(({ name }) => name);
  const runs = await lastRunsOf(db, {
    ledgerJobs: namesOf(jobs.filter(({ isLedger }) => isLedger)),
    otherJobs: namesOf(jobs.filter((job) => !job.isLedger && isDue(job))),
    merchants: () => Promise.resolve(merchants),
    now,
  });
  return {
    merchants,
    runs,
    newSince: await lastLedgerRun(db, BACKFILL_COMMAND),
    lastReason: runs.last && reasonOf(runs.last),
    nextRun: nextRun(scheduled, settings.schedule.zone, now),
    ...(queue !== null && { queue: await queue.glance(db) }),
    backfills: await backfillStatuses(db, { zone: settings.platform.timeZone, now }, { isOpen: true }),
  };
}

export interface ProvenOfAll {
  /** Each merchant that has a proven day is proven on each day from here ... */
  readonly provenFrom: BusinessDay | null;
  /** ... up to here; null if no merchant has a proven day. It is the day of the merchant that is furthest behind. */
  readonly provenThrough: BusinessDay | null;
  readonly unproven: number;
  /** Days that are over and of which something is missing, of all merchants. */
  readonly daysMissing: number;
  readonly merchantsMissing: number;
}

export interface Health extends Omit<Overview, 'merchants'>, ProvenOfAll, OpenCounts, GoodReadings {
  /**
   * The last run that was meant for all merchants and the days up to yesterday and ended with 0 or 3, by the schedule
   * or by hand; null if there is none.
   */
  readonly lastGoodNight: (GoodRun & { readonly ageMs: number }) | null;
  /** What is unmatched with own books, by account; none where there are no own books. */
  readonly ownBooks: readonly UnmatchedCount[];
}

/**
 * The health of all merchants together: some twenty statements, however many merchants there are, and none that reads history. Only
 * merchants with open ranges asked for by date are checked some hundred at a time. Writes nothing.
 */
export async function healthOf(db: Kysely<DB>, options: HealthOptions): Promise<Health> {
  const { settings, jobs, now } = options;
  const { merchants, ...overview } = await overviewOf(db, options);
  const own = ownMerchants(settings);
  const zone = settings.platform.timeZone;
  const lastGood = await lastGoodRun(db, {
    jobs: jobs.filter(({ isLedger }) => isLedger).map(({ name }) => name),
    merchants: merchants.length,
    throughDay: (at) => addDays(dayOf(at.getTime(), zone), -1),
  });
  return {
    ...overview,
    ...(await provenOfAll(db, own, { zone, now })),
    ...(await openCounts(db, own, overview.newSince)),
    ...(await goodReadings(db, own)),
    ownBooks: await unmatchedCounts(db, null),
    lastGoodNight: lastGood && { ...lastGood, ageMs: now.getTime() - lastGood.at.getTime() },
  };
}

/** The inbox of pushed results; of its own, as a login may see either this or the ledgers. */
export const inboxHealth = (db: Kysely<DB>): Promise<InboxCounts> => inboxCounts(db);

/** What counts of one merchant, or of several that are proven alike. */
interface ProofCounted extends Pick<ProvenOfAll, 'provenFrom' | 'provenThrough' | 'daysMissing'> {
  readonly merchants: number;
}

async function provenOfAll(db: Kysely<DB>, own: readonly string[], clock: Clock): Promise<ProvenOfAll> {
  const counted: ProofCounted[] = [];
  const proofOf = createProof(clock);
  for (const shape of await proofShapes(db, own, clock.zone)) {
    const { unread, ...proven } = proofOf(shape.certified, shape.changed, shape.broken);
    const daysMissing = countDaysMissing([...unread, ...shape.uncertified], clock);
    counted.push({ merchants: shape.merchants, ...proven, daysMissing });
  }
  for (const some of inParts(await merchantsWithOpenRanges(db, own))) {
    for (const one of await statusOf(db, some, { ...clock, maxAgeMs: null }))
      counted.push({ merchants: 1, ...one });
  }
  return sumOfProofs(counted);
}

export function sumOfProofs(all: readonly ProofCounted[]): ProvenOfAll {
  const sum = (some: readonly ProofCounted[], figure: (one: ProofCounted) => number): number =>
    some.reduce((total, one) => total + one.merchants * figure(one), 0);
  const proven = all.filter(({ provenThrough }) => provenThrough !== null);
  const behind = all.filter(({ daysMissing }) => daysMissing > 0);
  const froms = proven.map(({ provenFrom }) => provenFrom!).sort();
  return {
    provenFrom: froms.at(-1) ?? null,
    provenThrough: proven.map(({ provenThrough }) => provenThrough!).sort()[0] ?? null,
    unproven: sum(all, () => 1) - sum(proven, () => 1),
    daysMissing: sum(behind, ({ daysMissing }) => daysMissing),
    merchantsMissing: sum(behind, () => 1),
  };
}
