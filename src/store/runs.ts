/** Stores runs: what ran, when, over which days, and how it ended. */
import { sql } from 'kysely';
import type { BusinessDay } from '../ledger/entry.ts';
import { storableJson } from '../ledger/text.ts';
import { arrayLiteral, type Db, rowsOf } from './engine/database.ts';
import { DATABASE_NOW } from './engine/lease.ts';
import { hasWaiting } from './run-merchants.ts';
import type { JsonObject } from './engine/schema.ts';

export interface RunRow {
  readonly id: number;
  readonly command: string;
  /** The wall-clock time at which a scheduled job was due; null for a run that a person started. */
  readonly slot: string | null;
  readonly holder: string;
  readonly fromDay: BusinessDay | null;
  readonly toDay: BusinessDay | null;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  /** Null while the run works, and if its process was killed. */
  readonly exitCode: number | null;
  readonly figures: JsonObject;
  readonly isQueued: boolean;
}

const COLUMNS = [
  'id',
  'command',
  'slot',
  'holder',
  'from_day as fromDay',
  'to_day as toDay',
  'started_at as startedAt',
  'finished_at as finishedAt',
  'exit_code as exitCode',
  'figures',
  sql<boolean>`request IS NOT NULL`.as('isQueued'),
] as const;

const runs = (db: Db) => db.selectFrom('run').select(COLUMNS).$castTo<RunRow>();

/** Records that a run starts. Returns its id, which is stored with everything that the run writes. */
export async function startRun(
  db: Db,
  run: {
    readonly command: string;
    readonly slot?: string | null;
    readonly holder: string;
    readonly fromDay: BusinessDay | null;
    readonly toDay: BusinessDay | null;
    readonly now: Date;
    readonly isNightly?: boolean;
  },
): Promise<number> {
  const { id } = await db
    .insertInto('run')
    .values({
      command: run.command,
      slot: run.slot ?? null,
      holder: run.holder,
      from_day: run.fromDay,
      to_day: run.toDay,
      started_at: run.now,
      is_night: run.isNightly ?? null,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

export interface RunEndRow {
  readonly exitCode: number;
  readonly figures: object;
  readonly now: Date;
}

/** Records that a run ended. Characters in the figures that cannot be stored are replaced, so that they never prevent it. */
export async function finishRun(db: Db, id: number, end: RunEndRow): Promise<void> {
  await ended(db, id, end).execute();
}

/** The same, unless it has an end already or something of it waits. Of several processes that try, one gets true. */
export async function finishOpenRun(db: Db, id: number, end: RunEndRow): Promise<boolean> {
  const { numUpdatedRows } = await ended(db, id, end)
    .where('exit_code', 'is', null)
    .where(sql<boolean>`NOT ${hasWaiting(sql<number>`${id}::bigint`)}`)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}

const ended = (db: Db, id: number, { exitCode, figures, now }: RunEndRow) =>
  db
    .updateTable('run')
    .set({ exit_code: exitCode, figures: storableJson(figures), finished_at: now })
    .where('id', '=', id);

export const runById = (db: Db, id: number): Promise<RunRow | undefined> =>
  runs(db).where('id', '=', id).executeTakeFirst();

/**
 * The latest runs, newest first. `scheduled` true: only runs that the schedule started; false: only the others.
 * `nightsOnly`: without those that are known to be about a few merchants or days only.
 */
export const latestRuns = (
  db: Db,
  {
    limit,
    command,
    scheduled,
    nightlyOnly = false,
  }: {
    readonly limit: number;
    readonly command?: string | undefined;
    readonly scheduled?: boolean | undefined;
    readonly nightlyOnly?: boolean | undefined;
  },
): Promise<RunRow[]> =>
  runs(db)
    .$if(command !== undefined, (query) => query.where('command', '=', command!))
    .$if(scheduled !== undefined, (query) => query.where('slot', scheduled ? 'is not' : 'is', null))
    .$if(nightlyOnly, (query) => query.where(sql<boolean>`is_night IS DISTINCT FROM false`))
    .orderBy('started_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();

/** One way in which runs of a slot ended, and when the last of these runs did. */
export interface SlotEnd extends Pick<RunRow, 'command' | 'slot' | 'exitCode' | 'finishedAt'> {
  readonly interrupted: boolean;
  readonly awaitsPerson: boolean;
}

const isInterrupted = sql<boolean>`coalesce((figures->>'interrupted')::boolean, false)`;
const doesAwaitPerson = sql<boolean>`coalesce((figures->>'awaitsPerson')::boolean, false)`;

/**
 * The recorded ends of the jobs' slots: one row for each way in which runs of a slot ended, however many runs there
 * were, with the time of the last such end up to `now`. `interrupted`: the process was asked to stop, and therefore
 * the run ended early. `awaitsPerson`: another try would end the same.
 */
export async function slotEnds(
  db: Db,
  slots: readonly { readonly job: string; readonly slot: string }[],
  now: Date,
): Promise<SlotEnd[]> {
  if (slots.length === 0) return [];
  return db
    .selectFrom('run')
    .select(({ fn }) => [
      'command',
      'slot',
      'exit_code as exitCode',
      isInterrupted.as('interrupted'),
      doesAwaitPerson.as('awaitsPerson'),
      fn.max('finished_at').filterWhere('finished_at', '<=', now).as('finishedAt'),
    ])
    .where((run) => run.or(slots.map(({ job, slot }) => run.and({ slot, command: job }))))
    .groupBy(['command', 'slot', 'exit_code', isInterrupted, doesAwaitPerson])
    .execute();
}

/** The last run of days of the ledger that has ended, without those of this command; null if there is none. */
export async function lastLedgerRun(db: Db, without: string): Promise<number | null> {
  const [last] = await rowsOf(db)<{ id: number }>`
    SELECT id FROM run WHERE from_day IS NOT NULL AND command <> ${without} AND finished_at IS NOT NULL
    ORDER BY started_at DESC, id DESC LIMIT 1`;
  return last?.id ?? null;
}

export interface GoodRun {
  readonly id: number;
  readonly at: Date;
}

/** Good runs by hand that are checked, as they may have been about a few merchants or days only. */
const GOOD_MANUAL_RUNS_READ_MAX = 50;

/**
 * The last good run of one of these jobs, or by hand: `run` for all `merchants` (so many), up to the day that
 * `throughDay` names for when it began, or a later one. Uses run_command.
 */
export async function lastGoodRun(
  db: Db,
  {
    jobs,
    merchants,
    throughDay,
  }: {
    readonly jobs: readonly string[];
    readonly merchants: number;
    readonly throughDay: (at: Date) => BusinessDay;
  },
): Promise<GoodRun | null> {
  const good = (command: string, limit: number) =>
    db
      .selectFrom('run')
      .select(['id', 'finished_at', 'started_at', 'to_day', readWell.as('read_well')])
      .where('command', '=', command)
      .where('exit_code', 'in', [0, 3])
      .orderBy('started_at', 'desc')
      .limit(limit)
      .execute();
  const bySchedule = await Promise.all(jobs.map((job) => good(job, 1)));
  const byHand = (await good('run', GOOD_MANUAL_RUNS_READ_MAX)).filter(
    (row) => row.read_well >= merchants && row.to_day !== null && row.to_day >= throughDay(row.started_at),
  );
  const [last] = [...bySchedule.flat(), ...byHand].sort(
    (a, b) => b.finished_at!.getTime() - a.finished_at!.getTime() || b.id - a.id,
  );
  return last === undefined ? null : { id: last.id, at: last.finished_at! };
}

/** For how many merchants a run left nothing undone, from its figures. */
const readWell = sql<number>`coalesce(
  (figures->>'merchantsReadWell')::int, jsonb_array_length(coalesce(figures->'merchantsDone', '[]'))
)`;

export const runsOfSlot = (db: Db, command: string, slot: string): Promise<RunRow[]> =>
  runs(db).where('slot', '=', slot).where('command', '=', command).execute();

/** A run that read a merchant's ledger and ended well for this merchant. */
export interface GoodReading {
  readonly at: Date;
  readonly checked: readonly string[];
}

/**
 * By merchant, the last run that read its ledger and ended well for this merchant, however it ended for others.
 * Merchants without such a run are left out. One jump along run_merchant_good for each merchant.
 */
export async function lastGoodReadings(
  db: Db,
  merchants: readonly string[],
): Promise<ReadonlyMap<string, GoodReading>> {
  const rows = await rowsOf(db)<GoodReading & { merchantNo: string }>`
    SELECT last.merchant_no AS "merchantNo", last.finished_at AS at,
      coalesce(last.checked, (SELECT run.figures->'checked' FROM run WHERE run.id = last.run_id), '[]') AS checked
    FROM unnest(${arrayLiteral(merchants)}::text[]) AS asked (merchant_no) CROSS JOIN LATERAL (
      SELECT own.merchant_no, own.run_id, own.finished_at, own.figures->'checked' AS checked FROM run_merchant own
      WHERE own.merchant_no = asked.merchant_no AND own.reads AND own.exit_code IN (0, 3)
      ORDER BY own.run_id DESC LIMIT 1
    ) AS last`;
  return new Map(rows.map(({ merchantNo, ...reading }) => [merchantNo, reading]));
}

/** The last `limit` runs of each job of the schedule, newest first. Uses run_command. */
export async function latestOfEachJob(db: Db, jobs: readonly string[], limit: number): Promise<RunRow[]> {
  const perJob = await Promise.all(
    jobs.map((command) => latestRuns(db, { command, limit, scheduled: true })),
  );
  return perJob.flat().sort((a, b) => b.id - a.id);
}

const PACE_RUNS = 100;

/** What the last slices of backfills did, all together; null if that is not known yet. Pauses between these slices count. Uses run_command. */
export async function backfillPace(
  db: Db,
): Promise<{ readonly days: number; readonly tookMs: number } | null> {
  const [pace] = await rowsOf(db)<{ days: number | null; tookMs: number | null }>`
    SELECT sum(to_day - from_day + 1)::bigint AS days,
      (extract(epoch FROM max(finished_at) - min(started_at)) * 1000)::bigint AS "tookMs"
    FROM (
      SELECT * FROM run WHERE command = 'backfill' AND exit_code IN (0, 3) ORDER BY started_at DESC LIMIT ${PACE_RUNS}
    ) AS last`;
  const { days, tookMs } = pace!;
  return days === null || tookMs === null || tookMs <= 0 ? null : { days, tookMs };
}

/** The processes that hold a lease which has not run out, by the database's clock. */
export async function leaseHolders(db: Db): Promise<string[]> {
  const rows = await rowsOf(db)<{ holder: string }>`
    SELECT DISTINCT holder FROM lease WHERE expires_at > ${DATABASE_NOW}`;
  return rows.map(({ holder }) => holder);
}

/** The last run that each of these processes started. Its earlier runs cannot be at work any more. */
export async function lastRunOfHolders(db: Db, holders: readonly string[]): Promise<Map<string, number>> {
  if (holders.length === 0) return new Map();
  const rows = await db
    .selectFrom('run')
    .select((eb) => ['holder', eb.fn.max('id').as('id')] as const)
    .where('holder', 'in', [...holders])
    .groupBy('holder')
    .execute();
  return new Map(rows.map(({ holder, id }) => [holder, id]));
}

/**
 * The difference between the clocks that the last earlier run measured when it called the platform; null if none did.
 */
export async function clocksSeenBefore(
  db: Db,
  runId: number,
): Promise<{ readonly platformBehindMs: number; readonly platformAheadMs: number } | null> {
  const [seen] = await rowsOf(db)<{ platformBehindMs: number; platformAheadMs: number }>`
    SELECT coalesce((figures->>'platformBehindMs')::bigint, 0) AS "platformBehindMs",
      coalesce((figures->>'platformAheadMs')::bigint, 0) AS "platformAheadMs"
    FROM run WHERE id < ${runId} AND (figures->>'requests')::bigint > 0
    ORDER BY id DESC LIMIT 1`;
  return seen ?? null;
}
