/**
 * Certificates: which business days of a merchant were read completely, and which are to be chained or compared again.
 *
 * A day is proven where its last reading was certified and no doubt of an account lies in it (view `account_doubt`).
 */
import { sql, type RawBuilder, type Selectable } from 'kysely';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { overlaps, subtractWindows } from '../ledger/window.ts';
import { arrayLiteral, type Db, rowsOf, type Trx, type ValueOrSql } from './engine/database.ts';
import type { Certificate } from './engine/schema.ts';
import { IS_SILENT } from './silent-accounts.ts';

/** A reading of a day, or of a part of it. */
export interface DayReading extends Window {
  readonly day: BusinessDay;
  /** How many records the platform says there are. */
  readonly total: number;
  readonly entries: number;
  readonly unreadable: number;
  readonly requests: number;
  /** Why it is not certified; null if it is. */
  readonly problem: string | null;
}

/** Whose rows are written, and for which run. */
export interface Writer {
  readonly merchantNo: string;
  readonly runId: number;
  readonly now: Date;
}

/** Largest value of the column. A larger total cannot be true; the problem of the failed reading has it in full. */
const TOTAL_MAX = 2_147_483_647;

/**
 * Stores what readings say of their days. A day that becomes complete, or of which more is read, is to be chained; one that no
 * longer is complete keeps its figures. Readings that say what is stored already write nothing. Where one is certified,
 * another ledger is answered no more.
 */
export async function storeDays(trx: Trx, writer: Writer, readings: readonly DayReading[]): Promise<void> {
  if (readings.length === 0) return;
  const { merchantNo } = writer;
  const known = await daysAmong(
    trx,
    merchantNo,
    readings.map(({ day }) => day),
  );
  const changed = readings.flatMap((reading) => replacing(known.get(reading.day), reading) ?? []);
  if (changed.length > 0) await upsertDays(trx, writer, changed);
  const ended = await trx
    .deleteFrom('foreign_account_day')
    .where('merchant_no', '=', merchantNo)
    .where(isAmong(certifiedAmong(readings)))
    .returning('day')
    .execute();
  await noteToChain(
    trx,
    merchantNo,
    ended.map(({ day }) => day),
  );
}

async function upsertDays(
  trx: Trx,
  { merchantNo, runId, now }: Writer,
  changed: readonly DayReading[],
): Promise<void> {
  const column = (value: (one: DayReading) => string | number | null) => arrayLiteral(changed.map(value));
  await sql`
    INSERT INTO certificate AS known (merchant_no, day, begin_ms, through_ms, total, entries, unreadable, requests, problem,
      read_at, run_id)
    SELECT ${merchantNo}, sent.*, ${now}::timestamptz, ${runId}::bigint FROM unnest(
      ${column(({ day }) => day)}::date[], ${column(({ beginMs }) => beginMs)}::bigint[],
      ${column(({ endMs }) => endMs)}::bigint[], ${column(({ total }) => Math.min(total, TOTAL_MAX))}::int[],
      ${column(({ entries }) => entries)}::int[], ${column(({ unreadable }) => unreadable)}::int[],
      ${column(({ requests }) => requests)}::int[], ${column(({ problem }) => problem)}::text[]
    ) AS sent
    ON CONFLICT (merchant_no, day) DO UPDATE SET begin_ms = excluded.begin_ms, through_ms = excluded.through_ms,
      total = excluded.total, entries = excluded.entries, unreadable = excluded.unreadable, requests = excluded.requests,
      problem = excluded.problem, read_at = excluded.read_at, run_id = excluded.run_id,
      chained = known.chained AND (excluded.problem IS NOT NULL
        OR (known.problem IS NULL AND (known.begin_ms, known.through_ms) IS NOT DISTINCT FROM (excluded.begin_ms, excluded.through_ms)))`.execute(
    trx,
  );
}

/** Whether `storeDays` would change anything. */
export async function changesDays(
  db: Db,
  merchantNo: string,
  readings: readonly DayReading[],
): Promise<boolean> {
  if (readings.length === 0) return false;
  const known = await daysAmong(
    db,
    merchantNo,
    readings.map(({ day }) => day),
  );
  if (readings.some((reading) => replacing(known.get(reading.day), reading) !== null)) return true;
  const foreign = await db
    .selectFrom('foreign_account_day')
    .select('day')
    .where('merchant_no', '=', merchantNo)
    .where(isAmong(certifiedAmong(readings)))
    .limit(1)
    .executeTakeFirst();
  return foreign !== undefined;
}

const certifiedAmong = (readings: readonly DayReading[]): BusinessDay[] =>
  readings.filter(({ problem }) => problem === null).map(({ day }) => day);

const isAmong = (days: readonly BusinessDay[]) => sql<boolean>`day = ANY (${arrayLiteral(days)}::date[])`;

type KnownDay = Selectable<Certificate>;

async function daysAmong(
  db: Db,
  merchantNo: string,
  days: readonly BusinessDay[],
): Promise<ReadonlyMap<BusinessDay, KnownDay>> {
  const rows = await db
    .selectFrom('certificate')
    .selectAll()
    .where('merchant_no', '=', merchantNo)
    .where(isAmong(days))
    .execute();
  return new Map(rows.map((row) => [row.day, row]));
}

/**
 * What is to be stored of a day after a reading; null if nothing changes. A reading of all that was read before takes its
 * place. One of a part of it proves nothing more; where it fails, the day is not complete any more. Pure.
 */
function replacing(known: KnownDay | undefined, reading: DayReading): DayReading | null {
  if (known === undefined || known.read_at === null) return reading;
  const [beginMs, endMs] = [known.begin_ms!, known.through_ms!];
  if (reading.beginMs <= beginMs && reading.endMs >= endMs) {
    const isSame =
      reading.beginMs === beginMs &&
      reading.endMs === endMs &&
      Math.min(reading.total, TOTAL_MAX) === known.total &&
      reading.entries === known.entries &&
      reading.unreadable === known.unreadable &&
      reading.problem === known.problem;
    return isSame ? null : reading;
  }
  if (reading.problem === null || reading.problem === known.problem) return null;
  const { total, entries, unreadable, requests } = known;
  return {
    ...{ day: reading.day, beginMs, endMs, problem: reading.problem },
    ...{ total: total!, entries: entries!, unreadable: unreadable!, requests: requests! },
  };
}

/** Notes that entries of these days were stored, changed or marked as vanished. A day that was never read gets a row that says so. */
export async function noteChangedDays(
  trx: Trx,
  merchantNo: string,
  days: Iterable<BusinessDay>,
): Promise<void> {
  const changed = [...new Set(days)].sort();
  if (changed.length === 0) return;
  await sql`
    INSERT INTO certificate AS known (merchant_no, day, compared, changes)
    SELECT ${merchantNo}, day, false, 1 FROM unnest(${arrayLiteral(changed)}::date[]) AS day
    ON CONFLICT (merchant_no, day)
      DO UPDATE SET chained = false, compared = false, changes = known.changes + 1`.execute(trx);
}

export interface DayNotChained {
  readonly day: BusinessDay;
  /** Entries of it were stored, changed or marked as vanished; else only its certificate changed. */
  readonly hasOtherEntries: boolean;
}

/** What is to be chained: the merchant's days whose entries or certificate changed since figures were made of them. */
export const daysNotChained = (db: Db, merchantNo: string): Promise<DayNotChained[]> =>
  db
    .selectFrom('certificate')
    .select(['day', sql<boolean>`NOT compared`.as('hasOtherEntries')])
    .where('merchant_no', '=', merchantNo)
    .where('chained', '=', false)
    .orderBy('day')
    .execute();

/** To be called in the transaction that saves what these days were chained to, under the lease. */
export async function noteChained(trx: Trx, merchantNo: string, days: readonly BusinessDay[]): Promise<void> {
  if (days.length === 0) return;
  await trx
    .updateTable('certificate')
    .set({ chained: true })
    .where('merchant_no', '=', merchantNo)
    .where('chained', '=', false)
    .where(isAmong(days))
    .execute();
}

/** Makes these days count as changed whatever their entries are, so that they get new figures. */
export async function noteToChain(trx: Trx, merchantNo: string, days: readonly BusinessDay[]): Promise<void> {
  if (days.length === 0) return;
  await trx
    .insertInto('certificate')
    .values([...new Set(days)].map((day) => ({ merchant_no: merchantNo, day })))
    .onConflict((conflict) => conflict.columns(['merchant_no', 'day']).doUpdateSet({ chained: false }))
    .execute();
}

const DAY_MS = 86_400_000;

/** Days that a window may touch in any zone: what finds their rows along the primary key. */
const daysNear = ({ beginMs, endMs }: Window) => {
  const dayOf = (ms: number) => new Date(Math.max(0, ms)).toISOString().slice(0, 10);
  return { from: dayOf(beginMs - DAY_MS), to: dayOf(endMs + DAY_MS) };
};

const isOf = (merchants: readonly string[]) =>
  sql<boolean>`merchant_no = ANY (${arrayLiteral(merchants)}::text[])`;

const readWithin = (db: Db, merchants: readonly string[], within: Window) => {
  const { from, to } = daysNear(within);
  return db
    .selectFrom('certificate')
    .where(isOf(merchants))
    .where('day', '>=', from)
    .where('day', '<=', to)
    .where('read_at', 'is not', null)
    .where('begin_ms', '<=', within.endMs)
    .where('through_ms', '>=', within.beginMs)
    .orderBy('day');
};

/** The days in a span that were certified when they were read last, joined, in order, whatever is in doubt of accounts. */
export const completeWithin = async (db: Db, merchantNo: string, within: Window): Promise<Window[]> => {
  const rows = await rowsOf(db)<Window>`${completeStretches([merchantNo], within)} ORDER BY 2`;
  return rows.map(({ beginMs, endMs }) => ({ beginMs, endMs }));
};

/** One row a stretch, however many days it has. */
const completeStretches = (merchants: readonly string[], within: Window): RawBuilder<unknown> => {
  const { from, to } = daysNear(within);
  return sql`
    SELECT merchant_no AS "merchantNo", lower(stretch) AS "beginMs", upper(stretch) - 1 AS "endMs" FROM (
      SELECT merchant_no, range_agg(int8range(begin_ms, through_ms, '[]')) AS stretches FROM certificate
      WHERE ${isOf(merchants)} AND day BETWEEN ${from} AND ${to} AND read_at IS NOT NULL AND problem IS NULL
        AND begin_ms <= ${within.endMs} AND through_ms >= ${within.beginMs}
      GROUP BY merchant_no
    ) AS own CROSS JOIN LATERAL unnest(stretches) AS stretch`;
};

/** The days that doubts of accounts lie in. */
const doubtedDays = (merchants: readonly string[], within: Window): RawBuilder<unknown> => sql`
  SELECT DISTINCT doubt.merchant_no AS "merchantNo", day.begin_ms AS "beginMs", through_ms AS "endMs", currency
  FROM account_doubt AS doubt JOIN certificate AS day ON day.merchant_no = doubt.merchant_no
    AND day.day BETWEEN (to_timestamp(doubt.begin_ms / 1000) AT TIME ZONE 'UTC')::date - 1
      AND (to_timestamp(doubt.end_ms / 1000) AT TIME ZONE 'UTC')::date + 1
    AND day.begin_ms <= doubt.end_ms AND through_ms >= doubt.begin_ms
  WHERE doubt.merchant_no = ANY (${arrayLiteral(merchants)}::text[])
    AND doubt.begin_ms <= ${within.endMs} AND doubt.end_ms >= ${within.beginMs}`;

const clipped = (day: Window, within: Window): Window => ({
  beginMs: Math.max(day.beginMs, within.beginMs),
  endMs: Math.min(day.endMs, within.endMs),
});

/**
 * The proven days inside `within`, joined, in order; of a day that was not over, what was read of it. Without a currency, only
 * days that are proven for each account.
 */
export async function certifiedWindows(
  db: Db,
  merchantNo: string,
  within: Window,
  currency: string | null = null,
): Promise<Window[]> {
  const [certified] = await certifiedOfAccounts(db, [{ merchantNo, currency }], within);
  return certified!;
}

/** The same for each merchant, in their order: one statement for all of them. */
export const certifiedOfEach = (db: Db, merchants: readonly string[], within: Window): Promise<Window[][]> =>
  certifiedOfAccounts(
    db,
    merchants.map((merchantNo) => ({ merchantNo, currency: null })),
    within,
  );

/** The same for each account, in their order. */
export async function certifiedOfAccounts(
  db: Db,
  accounts: readonly { readonly merchantNo: string; readonly currency: string | null }[],
  within: Window,
): Promise<Window[][]> {
  const merchants = [...new Set(accounts.map(({ merchantNo }) => merchantNo))];
  const rows = await rowsOf(db)<Window & { merchantNo: string; currency: string | null }>`
    SELECT *, NULL AS currency FROM (${completeStretches(merchants, within)}) AS complete
    UNION ALL (${doubtedDays(merchants, within)}) ORDER BY 1, 2`;
  const ofMerchant = Map.groupBy(rows, ({ merchantNo }) => merchantNo);
  return accounts.map(({ merchantNo, currency }) => {
    const own = ofMerchant.get(merchantNo) ?? [];
    const complete = own.filter((one) => one.currency === null && overlaps(one, within));
    // Without a currency, a doubt of any account matters.
    const doubted = own.filter((one) => one.currency !== null && (currency ?? one.currency) === one.currency);
    return subtractWindows(
      complete.map((stretch) => clipped(stretch, within)),
      doubted,
    );
  });
}

/** The first instant under certificate, as a subquery; without a row where nothing is. */
export const firstCertified = (merchantNo: ValueOrSql): RawBuilder<unknown> => sql`
  SELECT begin_ms FROM certificate
  WHERE merchant_no = ${merchantNo} AND read_at IS NOT NULL AND problem IS NULL ORDER BY day LIMIT 1`;

const CERTIFICATE_COLUMNS = ['begin_ms', 'through_ms', 'total', 'entries', 'unreadable', 'read_at'] as const;

/** The certificate of a day, as it is published and shown. */
export type CertificateRow = {
  readonly [Column in (typeof CERTIFICATE_COLUMNS)[number]]: NonNullable<Selectable<Certificate>[Column]>;
};

/** The certificates of the days that a window touches, in order. */
export const certificatesOf = (db: Db, merchantNo: string, window: Window): Promise<CertificateRow[]> =>
  readWithin(db, [merchantNo], window)
    .where('problem', 'is', null)
    .select(CERTIFICATE_COLUMNS)
    .$narrowType<CertificateRow>()
    .execute();

export interface SeenWindow extends Window {
  readonly total: number;
  readonly isDoubtful: boolean;
}

/** What was read before in this span, in order. */
export const seenWindows = (db: Db, merchantNo: string, within: Window): Promise<SeenWindow[]> =>
  readWithin(db, [merchantNo], within)
    .select((eb) => [
      eb.ref('begin_ms').$notNull().as('beginMs'),
      eb.ref('through_ms').$notNull().as('endMs'),
      eb.ref('total').$notNull().as('total'),
      sql<boolean>`problem IS NOT NULL OR unreadable > 0`.as('isDoubtful'),
    ])
    .execute();

interface UncertifiedWindow extends Window {
  readonly problem: string;
}

/** By merchant, the days inside `within` that are not proven though they were read, and of accounts what is in doubt, with the reason. */
export async function uncertifiedOfEach(
  db: Db,
  merchants: readonly string[],
  within: Window,
): Promise<ReadonlyMap<string, readonly UncertifiedWindow[]>> {
  const about = sql`merchant_no = ANY (${arrayLiteral(merchants)}::text[])`;
  const overlap = sql`begin_ms <= ${within.endMs} AND end_ms >= ${within.beginMs}`;
  const { rows } = await sql<
    Window & { merchantNo: string; problem: string | null; absent: number; isHeld: boolean }
  >`
    SELECT merchant_no AS "merchantNo", greatest(begin_ms, ${within.beginMs}) AS "beginMs",
      least(end_ms, ${within.endMs}) AS "endMs", problem, absent, "isHeld"
    FROM (
      SELECT merchant_no, begin_ms, through_ms AS end_ms, problem, 0 AS absent, false AS "isHeld" FROM certificate
      WHERE ${about} AND problem IS NOT NULL
      UNION ALL
      SELECT merchant_no, begin_ms, end_ms, NULL, count(*), bool_and(held_since IS NOT NULL)
      FROM absent_entry WHERE ${about} GROUP BY 1, 2, 3
      UNION ALL
      SELECT merchant_no, begin_ms, end_ms, currency || ' has no entry since ' || newest_day || ', for longer than ever before',
        0, false
      FROM silent_account WHERE ${about} AND ${IS_SILENT}
      UNION ALL
      SELECT merchant_no, begin_ms, end_ms, 'another ledger was answered for ' || currency, 0, false
      FROM foreign_account_day WHERE ${about}
    ) AS open
    WHERE ${overlap} ORDER BY 2, 3, problem IS NULL`.execute(db);
  const described = rows.map(({ merchantNo, beginMs, endMs, problem, absent, isHeld }) => {
    const missing =
      `${absent} stored ${absent === 1 ? 'entry was' : 'entries were'} missing when it was read last, and ` +
      (isHeld
        ? 'they are held: `daybook amendments` shows them'
        : 'a later run has to miss them too before they count as vanished');
    return [merchantNo, { beginMs, endMs, problem: problem ?? missing }] as const;
  });
  const groups = Map.groupBy(described, ([merchantNo]) => merchantNo);
  return new Map([...groups].map(([merchantNo, some]) => [merchantNo, some.map(([, one]) => one)]));
}

/** Whether entries came on these days that could not be read. */
export async function hasUnreadable(db: Db, merchantNo: string, window: Window): Promise<boolean> {
  const found = await readWithin(db, [merchantNo], window)
    .where('unreadable', '>', 0)
    .select('day')
    .limit(1)
    .executeTakeFirst();
  return found !== undefined;
}

/** Takes the days of an account off the proven ones, as another ledger was answered for it, until a reading is certified again. */
export async function noteForeignDays(
  trx: Trx,
  { merchantNo, runId }: Writer,
  currency: string,
  days: readonly (Window & { readonly day: BusinessDay })[],
): Promise<void> {
  if (days.length === 0) return;
  await trx
    .insertInto('foreign_account_day')
    .values(
      days.map(({ day, beginMs, endMs }) => ({
        ...{ merchant_no: merchantNo, currency, day, begin_ms: beginMs, end_ms: endMs, run_id: runId },
      })),
    )
    .onConflict((conflict) => conflict.columns(['merchant_no', 'currency', 'day']).doNothing())
    .execute();
}
