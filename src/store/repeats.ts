/** Stores what people ask on the pages to be read or published again, as tasks of the kinds `read` and `publish`. */
import { sql, type RawBuilder } from 'kysely';
import type { BusinessDay } from '../ledger/entry.ts';
import { storableJson, storableText } from '../ledger/text.ts';
import { ofMerchants } from './account-filter.ts';
import { recordAuditEvent } from './audit.ts';
import { type Db, lockNamed, rowOf, rowsOf, type Trx } from './engine/database.ts';
import { DATABASE_NOW, inMs } from './engine/lease.ts';

export type RepeatKind = 'read' | 'publish';

/** What is asked for: the days `from` to `to` of a merchant, both included. */
export interface RepeatAsked {
  readonly kind: RepeatKind;
  readonly merchantNo: string;
  readonly from: BusinessDay;
  readonly to: BusinessDay;
}

/** How far the work is, in windows of a reading, accounts or days. */
export interface RepeatProgress {
  readonly stage: 'sync' | 'reconcile' | 'publish';
  readonly done: number;
  readonly all: number;
}

/** What a repeat has to say of itself. */
export interface RepeatFigures {
  readonly by: string;
  readonly note: string | null;
  readonly progress?: RepeatProgress;
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

export interface RepeatRow extends RepeatAsked {
  readonly id: number;
  readonly state: 'waiting' | 'ended' | 'cancelled';
  readonly requestedAt: Date;
  /** Null until a process takes it. */
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly exitCode: number | null;
  readonly runId: number | null;
  /** Why it could not begin, or failed. */
  readonly problem: string | null;
  /** Whether the process that took it is at work on it. False where it was killed. */
  readonly isHeld: boolean;
  readonly figures: RepeatFigures;
}

/** A process that took it has this long to get the merchant's lease, or to get the next piece done. */
const TAKEN_MS = 60_000;
/** A merchant that another process is at work on is come back to after this time. */
const BUSY_AGAIN_MS = 15_000;

const IS_REPEAT = sql<boolean>`kind IN ('read', 'publish')`;
const IS_LEASED = sql<boolean>`EXISTS (SELECT FROM lease WHERE lease.name = 'merchant/' || task.merchant_no
  AND lease.holder = task.holder AND lease.expires_at > ${DATABASE_NOW})`;

const repeats = (db: Db, where: RawBuilder<boolean>, limit: number) => rowsOf(db)<RepeatRow>`
  SELECT number AS id, kind, merchant_no AS "merchantNo", from_day AS "from", to_day AS "to", state,
    requested_at AS "requestedAt", started_at AS "startedAt", finished_at AS "finishedAt", exit_code AS "exitCode",
    run_id AS "runId", problem, figures,
    state = 'waiting' AND started_at IS NOT NULL AND (coalesce(not_before > ${DATABASE_NOW}, false) OR ${IS_LEASED}) AS "isHeld"
  FROM task WHERE ${IS_REPEAT} AND ${where} ORDER BY number DESC LIMIT ${limit}`;

export const repeatById = async (db: Db, id: number): Promise<RepeatRow | undefined> =>
  (await repeats(db, sql`number = ${id}`, 1))[0];

/** The last ones, the newest first; `merchants`: of these only, null for all. */
export const lastRepeats = (db: Db, merchants: readonly string[] | null, limit: number) =>
  repeats(db, ofMerchants(merchants), limit);

/** The last one of these days of a merchant. */
export const lastRepeatOf = async (
  db: Db,
  { merchantNo, day }: { readonly merchantNo: string; readonly day: BusinessDay },
): Promise<RepeatRow | undefined> =>
  (await repeats(db, sql`merchant_no = ${merchantNo} AND ${day}::date BETWEEN from_day AND to_day`, 1))[0];

/** Most open requests of a person, and for a merchant; a person alone never fills a merchant's. */
export const OPEN_MAX = { person: 20, merchant: 40 };

interface RepeatFiling {
  readonly by: string;
  readonly note: string | null;
  readonly now: Date;
  /** Requests are joined up to so many days. */
  readonly daysMax: number;
}

/**
 * Files the request with its audit event, and returns its number. Where the same is open already, or one that waits has all its days, that
 * number; one that waits and has some of its days is made longer. Where too many are open already, files nothing and says whose.
 */
export function fileRepeat(
  db: Db,
  asked: RepeatAsked,
  { by, note, now, daysMax }: RepeatFiling,
): Promise<number | keyof typeof OPEN_MAX> {
  const { kind, merchantNo, from, to } = asked;
  const days = `${from}${from === to ? '' : `/${to}`}`;
  const auditEvent = {
    by,
    command: `${kind} again`,
    subject: `${merchantNo} ${days}`,
    note: note ?? undefined,
  };
  return db.transaction().execute(async (trx) => {
    // One at a time: open ones are counted, and joined.
    await lockNamed(trx, 'daybook repeats');
    const known = await openWith(trx, asked);
    if (known !== undefined) return known;
    const joined = await joinedWith(trx, asked, daysMax);
    const many = joined === undefined ? await whoHasMany(trx, merchantNo, by) : undefined;
    if (many !== undefined) return many;
    const id = joined ?? (await filedAnew(trx, asked, { by, note, now }));
    await recordAuditEvent(trx, auditEvent, now);
    return id;
  });
}

async function filedAnew(
  trx: Trx,
  { kind, merchantNo, from, to }: RepeatAsked,
  { by, note, now }: Omit<RepeatFiling, 'daysMax'>,
): Promise<number> {
  const { id } = await rowOf(trx)<{ id: number }>`
    INSERT INTO task (kind, number, merchant_no, from_day, to_day, state, requested_at, figures)
    VALUES (${kind}, nextval('repeat_number'), ${merchantNo}, ${from}::date, ${to}::date, 'waiting', ${now}::timestamptz,
      ${storableJson({ by, note })}::jsonb)
    RETURNING number AS id`;
  return id;
}

const openOf = ({ kind, merchantNo }: RepeatAsked) =>
  sql`${IS_REPEAT} AND state = 'waiting' AND kind = ${kind} AND merchant_no = ${merchantNo}`;

/** The same one, or one that waits and has all its days. */
async function openWith(trx: Trx, asked: RepeatAsked): Promise<number | undefined> {
  const { from, to } = asked;
  const [open] = await rowsOf(trx)<{ id: number }>`
    SELECT number AS id FROM task WHERE ${openOf(asked)} AND (from_day = ${from}::date AND to_day = ${to}::date
      OR started_at IS NULL AND from_day <= ${from}::date AND to_day >= ${to}::date) ORDER BY number LIMIT 1`;
  return open?.id;
}

/** The first one that waits and has some of its days, made longer. */
async function joinedWith(trx: Trx, asked: RepeatAsked, daysMax: number): Promise<number | undefined> {
  const { from, to } = asked;
  const [joined] = await rowsOf(trx)<{ id: number }>`
    UPDATE task SET from_day = least(from_day, ${from}::date), to_day = greatest(to_day, ${to}::date)
    WHERE ${openOf(asked)} AND started_at IS NULL AND number = (
      SELECT number FROM task WHERE ${openOf(asked)} AND started_at IS NULL AND from_day <= ${to}::date AND to_day >= ${from}::date
        AND greatest(to_day, ${to}::date) - least(from_day, ${from}::date) < ${daysMax}
        AND NOT EXISTS (SELECT FROM task AS begun WHERE begun.state = 'waiting' AND (begun.kind, begun.merchant_no) = (task.kind, task.merchant_no)
          AND begun.started_at IS NOT NULL AND begun.from_day = least(task.from_day, ${from}::date) AND begun.to_day = greatest(task.to_day, ${to}::date))
      ORDER BY number LIMIT 1 FOR UPDATE)
    RETURNING number AS id`;
  return joined?.id;
}

async function whoHasMany(
  trx: Trx,
  merchantNo: string,
  by: string,
): Promise<keyof typeof OPEN_MAX | undefined> {
  const open = await rowOf(trx)<Record<keyof typeof OPEN_MAX, number>>`
    SELECT count(*) FILTER (WHERE ${IS_BY(by)})::int AS person, count(*) FILTER (WHERE merchant_no = ${merchantNo})::int AS merchant
    FROM task WHERE ${IS_REPEAT} AND state = 'waiting'`;
  return (['person', 'merchant'] as const).find((who) => open[who] >= OPEN_MAX[who]);
}

const IS_BY = (by: string) => sql<boolean>`figures->>'by' = ${storableText(by)}`;

/** Cancels what no process has taken yet, with its audit event. False if there is none by that number. */
export const cancelRepeat = (db: Db, id: number, by: string, now: Date): Promise<boolean> =>
  db.transaction().execute(async (trx) => {
    const rows = await rowsOf(trx)<{ number: number }>`
      UPDATE task SET state = 'cancelled', finished_at = ${now}
      WHERE ${IS_REPEAT} AND number = ${id} AND state = 'waiting' AND started_at IS NULL RETURNING number`;
    if (rows.length > 0)
      await recordAuditEvent(trx, { by, command: 'work cancel', subject: String(id) }, now);
    return rows.length > 0;
  });

/** A repeat that this process took. What it reports counts only until another process takes it over. */
export interface TakenRepeat extends RepeatAsked {
  readonly id: number;
  readonly holder: string;
}

/** Whose turn it is follows from this many of the last requests. */
const TURNS_REMEMBERED = 500;

/**
 * Takes the oldest one that waits, of the person whose last one began longest ago: not begun, or begun by a process that holds the
 * merchant's lease no more. Undefined if there is none.
 */
export async function takeRepeat(
  db: Db,
  { holder, now }: { readonly holder: string; readonly now: Date },
): Promise<TakenRepeat | undefined> {
  const [taken] = await rowsOf(db)<TakenRepeat>`
    WITH served AS MATERIALIZED (
      SELECT by, max(started_at) AS at FROM (
        SELECT figures->>'by' AS by, started_at FROM task WHERE ${IS_REPEAT} ORDER BY number DESC LIMIT ${TURNS_REMEMBERED}
      ) AS last GROUP BY by
    )
    UPDATE task SET holder = ${holder}, started_at = ${now}, not_before = ${inMs(TAKEN_MS)}, problem = NULL
    WHERE ${IS_REPEAT} AND state = 'waiting' AND number = (
      SELECT number FROM task LEFT JOIN served ON served.by = figures->>'by' WHERE ${IS_REPEAT} AND state = 'waiting'
        AND coalesce(not_before <= ${DATABASE_NOW}, true) AND (started_at IS NULL OR NOT ${IS_LEASED})
      ORDER BY served.at NULLS FIRST, number LIMIT 1 FOR UPDATE OF task SKIP LOCKED)
    RETURNING number AS id, kind, merchant_no AS "merchantNo", from_day AS "from", to_day AS "to", holder`;
  return taken;
}

const ofTaken = ({ id, holder }: TakenRepeat) =>
  sql<boolean>`${IS_REPEAT} AND number = ${id} AND state = 'waiting' AND holder = ${holder}`;

export const noteProgress = (db: Db, taken: TakenRepeat, progress: RepeatProgress) => rowsOf(db)`
  UPDATE task SET figures = figures || ${storableJson({ progress })}::jsonb, not_before = ${inMs(TAKEN_MS)}
  WHERE ${ofTaken(taken)}`;

/** Puts it back: at once where the process has to stop, later where another one is at work on the merchant. */
export const putBack = (db: Db, taken: TakenRepeat, problem: string | null) => rowsOf(db)`
  UPDATE task SET started_at = NULL, holder = NULL, problem = ${problem},
    not_before = ${problem === null ? null : inMs(BUSY_AGAIN_MS)}
  WHERE ${ofTaken(taken)}`;

export const endRepeat = (
  db: Db,
  taken: TakenRepeat,
  end: {
    readonly exitCode: number;
    readonly runId: number | null;
    readonly problem: string | null;
    readonly figures: Omit<RepeatFigures, 'by' | 'note'>;
    readonly now: Date;
  },
) => rowsOf(db)`
  UPDATE task SET state = 'ended', exit_code = ${end.exitCode}, run_id = ${end.runId}::bigint, problem = ${end.problem},
    finished_at = ${end.now}, reads = ${taken.kind === 'read' && end.runId !== null},
    figures = figures || ${storableJson(end.figures)}::jsonb
  WHERE ${ofTaken(taken)}`;
