/**
 * Stores requests: days of a merchant that somebody wants read or published. A run by date, a backfill and a page ask; nights, the
 * schedule and workers do it. How much of a request is done is shown by the certificates of its days.
 */
import { sql, type Selectable } from 'kysely';
import type { BusinessDay } from '../ledger/entry.ts';
import { storableJson, storableText } from '../ledger/text.ts';
import { ofMerchants } from './account-filter.ts';
import { arrayLiteral, type Db, rowOf, rowsOf } from './engine/database.ts';
import { DATABASE_NOW, inMs } from './engine/lease.ts';
import type { Request } from './engine/schema.ts';

/** Who asked. `run`: nights go on with it. `backfill`: in slices, next to the nights. `page`: once, whatever was done before. */
export type AskedBy = 'run' | 'backfill' | 'page';
export type RequestWhat = 'read' | 'publish';

/** What is asked for: the days `from` to `to` of a merchant, both included. */
export interface RequestAsked {
  readonly what: RequestWhat;
  readonly merchantNo: string;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
}

/** How far the work is, in windows of a reading, accounts or days. */
export interface RequestProgress {
  readonly stage: 'sync' | 'reconcile' | 'publish';
  readonly done: number;
  readonly all: number;
}

/** What a request of a page has to say of itself. */
export interface RequestFigures {
  readonly by: string;
  readonly note: string | null;
  readonly progress?: RequestProgress;
  readonly reasons?: readonly { readonly what: string; readonly todo: string | null }[];
  readonly published?: readonly {
    readonly currency: string;
    readonly day: BusinessDay;
    readonly revision: number;
  }[];
  readonly publishedInAll?: number;
  readonly opened?: readonly number[];
  readonly healed?: readonly number[];
}

export interface RequestRow extends RequestAsked {
  readonly id: number;
  readonly askedBy: AskedBy;
  readonly state: 'waiting' | 'ended' | 'cancelled' | 'left-out';
  readonly requestedAt: Date;
  /** Null until a process takes it. */
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly exitCode: number | null;
  readonly runId: number | null;
  /** How often it has failed since something of it was done, why it failed last or could not begin, and when it is tried again. */
  readonly attempts: number;
  readonly problem: string | null;
  readonly tryAt: Date | null;
  /** Whether the process that took it is at work on it. False where it was killed. */
  readonly isHeld: boolean;
  readonly figures: RequestFigures;
}

/** A process that is at work on a request says so again within this time. */
export const TAKEN_MS = 60_000;

const IS_TAKEN = sql<boolean>`coalesce(taken_until > ${DATABASE_NOW}, false)`;

const requests = (db: Db) =>
  db
    .selectFrom('request')
    .select([
      'number as id',
      'asked_by as askedBy',
      'what',
      'merchant_no as merchantNo',
      'from_day as from',
      'to_day as to',
      'state',
      'requested_at as requestedAt',
      'started_at as startedAt',
      'finished_at as finishedAt',
      'exit_code as exitCode',
      'run_id as runId',
      'attempts',
      'problem',
      'not_before as tryAt',
      'figures',
      IS_TAKEN.as('isHeld'),
    ])
    .$castTo<RequestRow>();

/** Of these merchants what is open by a run or a backfill, in the order in which it was asked for. */
export const openRequests = (
  db: Db,
  askedBy: AskedBy | 'any',
  merchants: readonly string[] | null,
): Promise<RequestRow[]> =>
  requests(db)
    .where(ofMerchants(merchants))
    .$if(askedBy !== 'any', (query) => query.where('asked_by', '=', askedBy as AskedBy))
    .where('state', '=', 'waiting')
    .orderBy('number')
    .orderBy('merchant_no')
    .execute();

/** All parts of backfills, whatever became of them; of one of them if its number is given. */
export const backfillParts = (db: Db, id?: number): Promise<RequestRow[]> =>
  requests(db)
    .where('asked_by', '=', 'backfill')
    .$if(id !== undefined, (query) => query.where('number', '=', id!))
    .orderBy('number')
    .orderBy('merchant_no')
    .execute();

const ofPages = (db: Db) => requests(db).where('asked_by', '=', 'page').orderBy('number', 'desc');

export const requestById = (db: Db, id: number): Promise<RequestRow | undefined> =>
  ofPages(db).where('number', '=', id).executeTakeFirst();

/** The last ones of pages, the newest first; `merchants`: of these only, null for all. */
export const lastRequests = (
  db: Db,
  merchants: readonly string[] | null,
  limit: number,
): Promise<RequestRow[]> => ofPages(db).where(ofMerchants(merchants)).limit(limit).execute();

/** The last one of a page for this day of a merchant. */
export const lastRequestOf = (
  db: Db,
  { merchantNo, day }: { readonly merchantNo: string; readonly day: BusinessDay },
): Promise<RequestRow | undefined> =>
  ofPages(db)
    .where('merchant_no', '=', merchantNo)
    .where('from_day', '<=', day)
    .where('to_day', '>=', day)
    .limit(1)
    .executeTakeFirst();

interface Recorded {
  readonly askedBy: 'run' | 'backfill';
  readonly merchants: readonly string[];
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly runId: number | null;
  readonly now: Date;
}

/**
 * Stores what a run or a backfill asks to be read. The merchants of a backfill get one number, those of a run one each. What is open
 * already is not changed, and keeps the run that asked first. Returns the last number.
 */
export async function recordRequests(
  db: Db,
  { askedBy, merchants, from, to, runId, now }: Recorded,
): Promise<number> {
  const isShared = askedBy === 'backfill';
  const { number } = await rowOf(db)<{ number: number }>`
    WITH first AS MATERIALIZED (SELECT nextval('request_number') AS number), asked AS MATERIALIZED (
      SELECT merchant_no, CASE WHEN ${isShared} OR nth = 1 THEN first.number ELSE nextval('request_number') END AS number
      FROM first CROSS JOIN unnest(${arrayLiteral(merchants)}::text[]) WITH ORDINALITY AS merchant (merchant_no, nth) ORDER BY nth
    ), stored AS (
      INSERT INTO request (number, merchant_no, asked_by, what, from_day, to_day, requested_at, run_id)
      SELECT number, merchant_no, ${askedBy}, 'read', ${from}::date, ${to}::date, ${now}::timestamptz, ${runId}::bigint
      FROM asked ORDER BY number ON CONFLICT DO NOTHING
    ) SELECT coalesce(max(number), (SELECT number FROM first)) AS number FROM asked`;
  return number;
}

/** Ends open requests of runs and backfills: all their days are under certificate, or a person gave them up. Returns how many were open. */
export async function closeRequests(
  db: Db,
  ids: readonly number[],
  how: {
    readonly askedBy: 'run' | 'backfill';
    readonly state: 'ended' | 'cancelled';
    readonly now: Date;
    /** Of these merchants alone; null for all. */
    readonly merchants?: readonly string[] | null;
  },
): Promise<number> {
  if (ids.length === 0) return 0;
  const { numUpdatedRows } = await db
    .updateTable('request')
    .set({
      ...{ state: how.state, finished_at: how.now, taken_until: null, holder: null },
      ...(how.state === 'ended' && { exit_code: sql<number>`coalesce(exit_code, 0)` }),
    })
    .where('asked_by', '=', how.askedBy)
    .where('state', '=', 'waiting')
    .where(ofMerchants(how.merchants ?? null))
    .where('number', 'in', [...ids])
    .executeTakeFirstOrThrow();
  return Number(numUpdatedRows);
}

/** A request that this process took. What it reports counts only until another process takes it over. */
export type TakenRequest = RequestAsked &
  Readonly<{ id: number; askedBy: AskedBy; holder: string; attempts: number }>;

/** Whose turn it is follows from this many of the last requests of pages. */
const TURNS_REMEMBERED = 500;

/**
 * Takes the request whose turn it is: of pages the oldest of the person whose last one began longest ago, then, where `backfills`, the
 * oldest backfill. Not one of a merchant that a process has taken. Undefined if there is none.
 */
export async function takeRequest(
  db: Db,
  {
    holder,
    now,
    backfills,
    id,
  }: {
    readonly holder: string;
    readonly now: Date;
    readonly backfills: boolean;
    /** Only this backfill. */
    readonly id?: number | undefined;
  },
): Promise<TakenRequest | undefined> {
  const isAsked =
    id !== undefined
      ? sql`asked_by = 'backfill' AND number = ${id}`
      : sql`asked_by IN ('page', ${backfills ? 'backfill' : 'page'})`;
  const [taken] = await rowsOf(db)<TakenRequest>`
    WITH served AS MATERIALIZED (
      SELECT by, max(started_at) AS at FROM (
        SELECT figures->>'by' AS by, started_at FROM request WHERE asked_by = 'page' ORDER BY number DESC LIMIT ${TURNS_REMEMBERED}
      ) AS last GROUP BY by
    )
    UPDATE request SET holder = ${holder}, started_at = ${now}, taken_until = ${inMs(TAKEN_MS)}
    WHERE (number, merchant_no) = (
      SELECT number, merchant_no FROM request AS next LEFT JOIN served ON served.by = figures->>'by'
      WHERE ${isAsked} AND state = 'waiting' AND coalesce(not_before <= ${now}, true) AND NOT ${IS_TAKEN}
        AND NOT EXISTS (SELECT FROM request AS other WHERE other.merchant_no = next.merchant_no AND other.state = 'waiting'
          AND other.taken_until > ${DATABASE_NOW})
      ORDER BY asked_by = 'backfill', served.at NULLS FIRST, number, merchant_no LIMIT 1 FOR UPDATE OF next SKIP LOCKED)
    RETURNING number AS id, asked_by AS "askedBy", what, merchant_no AS "merchantNo", from_day AS "from", to_day AS "to", holder,
      attempts`;
  return taken;
}

const ofTaken = ({ id, merchantNo, holder }: TakenRequest) =>
  sql<boolean>`number = ${id} AND merchant_no = ${merchantNo} AND state = 'waiting' AND holder = ${holder}`;

/** Says that the process is still at work on it, and how far it is; null: nothing new. */
export const keepTaken = (db: Db, taken: TakenRequest, progress: RequestProgress | null) => rowsOf(db)`
  UPDATE request SET taken_until = ${inMs(TAKEN_MS)},
    figures = figures || ${storableJson(progress === null ? {} : { progress })}::jsonb
  WHERE ${ofTaken(taken)}`;

/** Puts it back, to be taken from `tryAt` on. Without a problem, or where only the merchant was busy, nothing has failed. */
export const putBack = (
  db: Db,
  taken: TakenRequest,
  {
    attempts,
    problem,
    tryAt,
    hasBegun,
  }: Pick<Selectable<Request>, 'attempts' | 'problem'> & {
    readonly tryAt: Date | null;
    readonly hasBegun: boolean;
  },
) => rowsOf(db)`
  UPDATE request SET holder = NULL, taken_until = NULL, attempts = ${attempts}, not_before = ${tryAt}::timestamptz,
    problem = ${problem === null ? null : storableText(problem)}, started_at = CASE WHEN ${hasBegun} THEN started_at END
  WHERE ${ofTaken(taken)}`;

interface RequestEnd {
  readonly state: 'ended' | 'left-out';
  readonly exitCode: number | null;
  readonly runId: number | null;
  readonly problem: string | null;
  readonly figures: Omit<RequestFigures, 'by' | 'note'>;
  readonly now: Date;
}

export const endRequest = (db: Db, taken: TakenRequest, end: RequestEnd) => rowsOf(db)`
  UPDATE request SET state = ${end.state}, exit_code = ${end.exitCode}::int, run_id = coalesce(run_id, ${end.runId}::bigint),
    problem = ${end.problem === null ? null : storableText(end.problem)}, finished_at = ${end.now}, holder = NULL, taken_until = NULL,
    attempts = 0, figures = figures || ${storableJson(end.figures)}::jsonb
  WHERE ${ofTaken(taken)}`;
