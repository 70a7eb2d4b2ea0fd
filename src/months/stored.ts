/**
 * Keeps closed months with the statements that each close froze, and finds what was revised since. Rows are never changed,
 * but for a signature that was missing and for the reopening.
 */
import { sql, type RawBuilder } from 'kysely';
import type { BusinessDay } from '../ledger/entry.ts';
import type { Adjustment, ClosedMonth, CloseFilter, Action, MonthClose, StoredClose } from './closes.ts';
import { figuredCurrencies } from '../store/account-days.ts';
import { ofMerchants } from '../store/account-filter.ts';
import { type Db, type Trx, rowsOf } from '../store/engine/database.ts';
import type { Json } from '../store/engine/schema.ts';

export interface FrozenStatement {
  readonly currency: string;
  readonly day: BusinessDay;
  readonly revision: number;
  readonly sha256: string;
}

export const firstDay = (month: string): BusinessDay => `${month}-01`;

export const ofMonth = (month: string | undefined): RawBuilder<boolean> =>
  month === undefined ? sql`true` : sql`month = ${firstDay(month)}::date`;

const CLOSE_COLUMNS = sql`closed.merchant_no AS "merchantNo", to_char(closed.month, 'YYYY-MM') AS month, closed.number,
  audit_event.at AS "closedAt", audit_event.by_whom AS by, audit_event.note, closed.despite, closed.open_days AS "openDays",
  (SELECT count(*)::int FROM jsonb_each(closed.frozen) AS account, jsonb_object_keys(account.value)) AS statements, closed.object_key AS "objectKey", closed.sha256, to_jsonb(prepared) AS prepared, to_jsonb(reopened) AS reopened`;

const action = (id: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`LEFT JOIN LATERAL (SELECT by_whom AS by, at, note FROM audit_event WHERE id = ${id})`;

const FROM_CLOSED = sql`FROM month_close AS closed JOIN audit_event AS audit_event ON audit_event.id = closed.audit_event_id
  ${action(sql`closed.prepared_event_id`)} AS prepared ON true ${action(sql`closed.reopened_event_id`)} AS reopened ON true`;

/** JSON has no instants. */
const readAction = (given: Action | null): Action | null => given && { ...given, at: new Date(given.at) };

const readClose = <Close extends MonthClose>(row: Close): Close => ({
  ...row,
  prepared: readAction(row.prepared),
  reopened: readAction(row.reopened),
});

export const listCloses = async (db: Db, { merchants, month }: CloseFilter): Promise<MonthClose[]> => {
  const rows = await rowsOf(db)<MonthClose>`
    SELECT ${CLOSE_COLUMNS} ${FROM_CLOSED}
    WHERE ${ofMerchants(merchants, 'closed')} AND ${ofMonth(month)}
    ORDER BY closed.merchant_no, closed.month, closed.number`;
  return rows.map(readClose);
};

export const closesOfMonth = (db: Db, merchantNo: string, month: string): Promise<StoredClose[]> =>
  closesOf(db, merchantNo, { from: month, to: month });

/** The same of all its months from one to another. */
export const closesOf = async (
  db: Db,
  merchantNo: string,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<StoredClose[]> => {
  const rows = await rowsOf(db)<StoredClose>`
    SELECT ${CLOSE_COLUMNS}, closed.content, closed.signature ${FROM_CLOSED}
    WHERE closed.merchant_no = ${merchantNo} AND closed.month BETWEEN ${firstDay(from)}::date AND ${firstDay(to)}::date
    ORDER BY closed.month, closed.number`;
  return rows.map(readClose);
};

type CloseToStore = Omit<StoredClose, 'closedAt' | 'by' | 'note' | 'statements' | 'prepared' | 'reopened'> & {
  readonly auditEventId: number;
  readonly preparedEventId: number | null;
};

/** Throws a unique violation (23505) if somebody else stored a close of that number meanwhile. */
export async function storeClose(
  trx: Trx,
  close: CloseToStore,
  statements: readonly FrozenStatement[],
): Promise<void> {
  const { merchantNo, month, number } = close;
  const frozen: Record<string, Record<BusinessDay, number>> = {};
  for (const { currency, day, revision } of statements) (frozen[currency] ??= {})[day] = revision;
  await trx
    .insertInto('month_close')
    .values({
      merchant_no: merchantNo,
      month: firstDay(month),
      number,
      audit_event_id: close.auditEventId,
      prepared_event_id: close.preparedEventId,
      despite: close.despite,
      open_days: close.openDays,
      object_key: close.objectKey,
      sha256: close.sha256,
      content: close.content,
      signature: close.signature,
      frozen: sql<Json>`${JSON.stringify(frozen)}::jsonb`,
    })
    .execute();
}

/** Keeps the signature of a close that has none yet, made before there was a key. */
export async function storeCloseSignature(
  db: Db,
  { merchantNo, month, number }: Pick<StoredClose, 'merchantNo' | 'month' | 'number'>,
  signature: string,
): Promise<void> {
  await sql`
    UPDATE month_close SET signature = ${signature}
    WHERE (merchant_no, month, number) = (${merchantNo}, ${firstDay(month)}::date, ${number})
      AND signature IS NULL`.execute(db);
}

/** Fails one of two who close the month again and reopen it at the same time: both change the close before. */
export async function claimClose(
  trx: Trx,
  { merchantNo, month, number }: Pick<StoredClose, 'merchantNo' | 'month' | 'number'>,
): Promise<void> {
  await sql`
    UPDATE month_close SET signature = signature
    WHERE (merchant_no, month, number) = (${merchantNo}, ${firstDay(month)}::date, ${number})`.execute(trx);
}

/** Keeps who reopened the month after this close, which has to be its last one. Throws if somebody else did it meanwhile. */
export async function storeReopening(
  trx: Trx,
  { merchantNo, month, number }: Pick<StoredClose, 'merchantNo' | 'month' | 'number'>,
  auditEventId: number,
): Promise<void> {
  await sql`
    UPDATE month_close SET reopened_event_id = ${auditEventId}
    WHERE (merchant_no, month, number) = (${merchantNo}, ${firstDay(month)}::date, ${number})`.execute(trx);
}

const LAST_CLOSES = (filter: CloseFilter): RawBuilder<unknown> => sql`
  SELECT * FROM (
    SELECT DISTINCT ON (merchant_no, month) merchant_no, month, number, open_days, frozen, reopened_event_id
    FROM month_close WHERE ${ofMerchants(filter.merchants)} AND ${ofMonth(filter.month)}
    ORDER BY merchant_no, month, number DESC
  ) AS last WHERE ${filter.withReopened ?? false} OR reopened_event_id IS NULL`;

const IN_MONTH = sql`one.merchant_no = closed.merchant_no AND one.day >= closed.month
  AND one.day < (closed.month + interval '1 month')::date`;

const currentInMonth = (only: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  SELECT DISTINCT ON (currency, day) one.* FROM statement AS one WHERE ${IN_MONTH} AND ${only}
  ORDER BY currency, day, revision DESC`;

/** The accounts of the merchants of `closed`; made only where a query asks for it. */
const ACCOUNTS = sql`known AS MATERIALIZED (
  SELECT merchant_no, currency FROM (SELECT DISTINCT merchant_no FROM closed) AS one CROSS JOIN LATERAL (
    WITH RECURSIVE figured (currency) AS (${figuredCurrencies(sql`one.merchant_no`)})
    SELECT currency FROM figured WHERE currency IS NOT NULL
  ) AS own
)`;

/** First statements of days before the first one that a close froze of an account: it began earlier than was known. */
const OF_EARLIER_DAYS = sql`
  SELECT one.* FROM known CROSS JOIN LATERAL (
    SELECT min(own.day)::date AS day FROM jsonb_object_keys(closed.frozen -> known.currency) AS own (day)
  ) AS first CROSS JOIN LATERAL (
    SELECT one.* FROM statement AS one
    WHERE ${IN_MONTH} AND one.currency = known.currency AND one.day < coalesce(first.day, 'infinity')
      AND one.revision = 1
  ) AS one
  WHERE known.merchant_no = closed.merchant_no AND closed.open_days = 0 AND NOT EXISTS (
    SELECT FROM statement AS next
    WHERE (next.merchant_no, next.currency, next.day, next.revision) = (one.merchant_no, one.currency, one.day, 2)
  )`;

const adjustments = (
  filter: CloseFilter,
  current: RawBuilder<unknown>,
): RawBuilder<Adjustment> => sql<Adjustment>`
  WITH closed AS MATERIALIZED (${LAST_CLOSES(filter)}), ${ACCOUNTS}
  SELECT closed.merchant_no AS "merchantNo", to_char(closed.month, 'YYYY-MM') AS month, closed.number, adjusted.*
  FROM closed CROSS JOIN LATERAL (${adjustedOf(current)}) AS adjusted
  ORDER BY closed.merchant_no, closed.month, adjusted.day, adjusted.currency`;

const FROZEN_REVISION = sql`(closed.frozen -> current.currency ->> to_char(current.day, 'YYYY-MM-DD'))::integer`;

/** Those of the statements `current` that `closed` did not freeze. */
const adjustedOf = (current: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  SELECT current.currency, current.day, ${FROZEN_REVISION} AS "frozenRevision", current.revision, current.sha256,
    current.reason, current.published_at AS "publishedAt"
  FROM (${current}) AS current WHERE ${FROZEN_REVISION} IS DISTINCT FROM current.revision`;

/** Reads every statement of these months, so name a merchant, or a month. */
export async function adjustmentsOf(db: Db, filter: CloseFilter): Promise<Adjustment[]> {
  const { rows } = await adjustments(filter, currentInMonth(sql`true`)).execute(db);
  return rows;
}

/** Those of the months that are closed, in one statement. Name a merchant and a month, as for `adjustmentsOf`. */
export async function closedMonths(db: Db, filter: CloseFilter): Promise<ClosedMonth[]> {
  const rows = await rowsOf(db)<Omit<Adjustment, 'day'> & { readonly day: BusinessDay | null }>`
    WITH closed AS MATERIALIZED (${LAST_CLOSES(filter)})
    SELECT closed.merchant_no AS "merchantNo", to_char(closed.month, 'YYYY-MM') AS month, closed.number, adjusted.*
    FROM closed LEFT JOIN LATERAL (${adjustedOf(currentInMonth(sql`true`))}) AS adjusted ON true
    ORDER BY closed.merchant_no, closed.month, adjusted.day, adjusted.currency`;
  return [...Map.groupBy(rows, ({ merchantNo, month }) => `${month} ${merchantNo}`).values()].map((own) => {
    const { merchantNo, month, number } = own[0]!;
    const adjusted = own.filter((row): row is Adjustment => row.day !== null);
    return { merchantNo, month, number, adjustments: adjusted };
  });
}

/** Cheap whatever lies in them: checks revised statements, every one of months closed with days open, and those before an account's first frozen day. */
export async function adjustmentsOfEach(
  db: Db,
  merchants: readonly string[],
): Promise<ReadonlyMap<string, readonly Adjustment[]>> {
  const revised = currentInMonth(sql`one.revision > 1`);
  const first = sql`SELECT * FROM (${currentInMonth(sql`closed.open_days > 0`)}) AS entire WHERE entire.revision = 1`;
  const { rows } = await adjustments(
    { merchants },
    sql`SELECT * FROM (${revised}) AS revised UNION ALL SELECT * FROM (${first}) AS first
      UNION ALL ${OF_EARLIER_DAYS}`,
  ).execute(db);
  return Map.groupBy(rows, ({ merchantNo }) => merchantNo);
}

/** Notes the days that a close could not freeze, as their first statement was published after it. */
export async function noteLateOf(
  trx: Trx,
  { merchantNo, month, number }: Pick<StoredClose, 'merchantNo' | 'month' | 'number'>,
): Promise<void> {
  const from = firstDay(month);
  await sql`
    INSERT INTO event (kind, merchant_no, subject, at, data, run_id, reported_at)
    SELECT 'revision', merchant_no, currency || ' ' || day || ' r1', published_at,
      jsonb_build_object('currency', currency, 'day', day, 'revision', 1, 'afterClose', true), run_id, published_at
    FROM statement AS first
    WHERE merchant_no = ${merchantNo} AND day >= ${from}::date AND day < (${from}::date + interval '1 month')::date
      AND revision = 1 AND NOT EXISTS (
        SELECT FROM month_close AS closed
        WHERE (closed.merchant_no, closed.month, closed.number) = (${merchantNo}, ${from}::date, ${number}::integer)
          AND closed.frozen -> first.currency -> to_char(first.day, 'YYYY-MM-DD') IS NOT NULL
      )
    ON CONFLICT DO NOTHING`.execute(trx);
}
