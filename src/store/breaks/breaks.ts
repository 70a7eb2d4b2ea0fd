/** Stores, lists and counts the breaks of the balance chain. */
import { sql, type Selectable, type RawBuilder } from 'kysely';
import { EVERY_ACCOUNT, type AccountFilter } from '../../ledger/account-filter.ts';
import type { KnownBreak } from '../../ledger/hints/stories.ts';
import type { Account, BreakHint, BusinessDay, ContinuityBreak, Window } from '../../ledger/entry.ts';
import { canonicalAmount, compareAmounts } from '../../ledger/money.ts';
import { ofDays, type DayFilter } from '../account-days.ts';
import { ofAccounts } from '../account-filter.ts';
import { type Db, type Trx, rowsOf, arrayLiteral } from '../engine/database.ts';
import type { ContinuityBreak as BreakTable } from '../engine/schema.ts';
import { unreadableSpans } from '../quarantine.ts';

export type BreakRow = Selectable<BreakTable>;

export const knownBreak = (row: BreakRow): KnownBreak => ({
  id: row.id,
  account: { merchantNo: row.merchant_no, currency: row.currency },
  afterBatchNo: row.after_batch_no,
  beforeBatchNo: row.before_batch_no,
  expectedBalance: row.expected_balance,
  foundBalance: row.found_balance,
  missingNet: row.missing_net,
  hint: row.hint as BreakHint,
  hintBatchNo: row.hint_batch_no,
  span: { beginMs: row.begin_ms, endMs: row.end_ms },
  day: row.day,
  isHealed: row.status === 'healed',
});

interface BreakFilter extends DayFilter {
  /** Without it, only open ones. */
  readonly all?: boolean | 'but healed';
  /** Of these, only rows of `continuity_break` for which it holds. */
  readonly only?: RawBuilder<boolean>;
}

const breaksFor = (db: Db, { all = false, only = sql`true`, ...filter }: BreakFilter) =>
  db
    .selectFrom('continuity_break')
    .where(ofDays(filter))
    .where(only)
    .$if(all !== true, (query) =>
      all === false ? query.where('status', '=', sql.lit('open')) : query.where('status', '<>', 'healed'),
    );

/** Breaks to show to a person, oldest day first. */
export const listBreaks = (
  db: Db,
  {
    limit,
    offset,
    after,
    ...filter
  }: BreakFilter & {
    readonly limit?: number | undefined;
    readonly offset?: number;
    /** The number of a break: those behind it in the list. None if there is no such break. */
    readonly after?: number | undefined;
  } = EVERY_ACCOUNT,
): Promise<BreakRow[]> =>
  breaksFor(db, filter)
    .selectAll()
    .$if(after !== undefined, (query) =>
      query.where(
        sql<boolean>`(day, merchant_no, id) > (SELECT day, merchant_no, id FROM continuity_break WHERE id = ${after!})`,
      ),
    )
    .orderBy('day')
    .orderBy('merchant_no')
    .orderBy('id')
    .$if(limit !== undefined, (query) => query.limit(limit!))
    .$if(offset !== undefined, (query) => query.offset(offset!))
    .execute();

export async function countBreaks(db: Db, filter: BreakFilter): Promise<number> {
  const { count } = await breaksFor(db, filter)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

/** Most rows of one INSERT: a statement can have 65,535 parameters. */
const INSERT_BREAKS_MAX = 1_000;

/** A break counts as the same as long as it lies between the same two entries and the same amount is missing. */
const keyOf = (after: string | null, before: string, missingNet: string): string =>
  JSON.stringify([after, before, canonicalAmount(missingNet, 0)!.amount]);
const rowKey = (row: BreakRow): string => keyOf(row.after_batch_no, row.before_batch_no, row.missing_net);
const dayKey = (day: BusinessDay, key: string): string => `${day} ${key}`;
const foundKey = (one: ContinuityBreak): string => keyOf(one.afterBatchNo, one.beforeBatchNo, one.missingNet);

export interface BreaksReplaced {
  readonly opened: BreakRow[];
  readonly healed: BreakRow[];
  /** Healed ones that are back and that a person had resolved: they are resolved again. */
  readonly resolved: BreakRow[];
}

/**
 * Makes `found` the stored breaks of `days`. New breaks are opened, and breaks that were not found again are healed.
 * A break that is found again keeps its id and state, also if its balances changed or if it was healed meanwhile: one
 * that a person resolved stays resolved.
 */
export async function replaceBreaks(
  trx: Trx,
  account: Account,
  days: readonly BusinessDay[],
  found: readonly ContinuityBreak[],
  context: { readonly runId: number; readonly now: Date },
): Promise<BreaksReplaced> {
  if (days.length === 0) return { opened: [], healed: [], resolved: [] };
  const ofDays = trx
    .selectFrom('continuity_break')
    .selectAll()
    .where('merchant_no', '=', account.merchantNo)
    .where('currency', '=', account.currency)
    .where('day', '=', sql<string>`ANY (${days}::date[])`);
  const stored = await ofDays.where('status', '<>', 'healed').execute();
  const storedByKey = new Map(stored.map((row) => [rowKey(row), row]));
  const foundKeys = new Set(found.map(foundKey));
  const fresh: ContinuityBreak[] = [];
  for (const one of found) {
    const row = storedByKey.get(foundKey(one));
    if (row === undefined) fresh.push(one);
    else if (!isSameBreak(row, one)) await updateBreak(trx, row.id, one);
  }
  const healedBefore =
    fresh.length === 0 ? [] : await ofDays.where('status', '=', 'healed').orderBy('id').execute();
  const healedByKey = new Map(healedBefore.map((row) => [dayKey(row.day, rowKey(row)), row.id]));
  const back: BreakRow[] = [];
  const unknown: ContinuityBreak[] = [];
  for (const one of fresh) {
    const id = healedByKey.get(dayKey(one.day, foundKey(one)));
    if (id === undefined) unknown.push(one);
    else back.push(await bringBack(trx, id, one, context.runId));
  }
  const opened = back.filter(({ status }) => status === 'open');
  for (let at = 0; at < unknown.length; at += INSERT_BREAKS_MAX) {
    opened.push(...(await insertBreaks(trx, account, unknown.slice(at, at + INSERT_BREAKS_MAX), context)));
  }
  const gone = stored.filter((row) => !foundKeys.has(rowKey(row))).map(({ id }) => id);
  const healed = gone.length === 0 ? [] : await healBreaks(trx, gone, context.now);
  return { opened, healed, resolved: back.filter(({ status }) => status === 'resolved') };
}

const columnsOf = (one: ContinuityBreak) => ({
  day: one.day,
  after_batch_no: one.afterBatchNo,
  before_batch_no: one.beforeBatchNo,
  expected_balance: one.expectedBalance,
  found_balance: one.foundBalance,
  missing_net: one.missingNet,
  hint: one.hint,
  hint_batch_no: one.hintBatchNo,
  begin_ms: one.span.beginMs,
  end_ms: one.span.endMs,
});

/**
 * Compares a break with its stored row, without the hint. Hints depend on more than these days; `settleHints`
 * (reconcile.ts) keeps them up to date.
 */
const isSameBreak = (row: BreakRow, one: ContinuityBreak): boolean =>
  row.day === one.day &&
  compareAmounts(row.expected_balance, one.expectedBalance) === 0 &&
  compareAmounts(row.found_balance, one.foundBalance) === 0 &&
  row.begin_ms === one.span.beginMs &&
  row.end_ms === one.span.endMs;

const updateBreak = (trx: Trx, id: number, one: ContinuityBreak) =>
  trx.updateTable('continuity_break').set(columnsOf(one)).where('id', '=', id).execute();

/** Only a resolved break has a note. */
const bringBack = (trx: Trx, id: number, one: ContinuityBreak, runId: number): Promise<BreakRow> =>
  trx
    .updateTable('continuity_break')
    .set({
      ...columnsOf(one),
      run_id: runId,
      status: sql`CASE WHEN note IS NULL THEN 'open' ELSE 'resolved' END`,
      closed_at: sql`CASE WHEN note IS NOT NULL THEN coalesce((
        SELECT at FROM audit_event WHERE subject = ${String(id)} AND command = 'breaks resolve' ORDER BY id DESC LIMIT 1
      ), closed_at) END`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();

const insertBreaks = (
  trx: Trx,
  account: Account,
  fresh: readonly ContinuityBreak[],
  context: { readonly runId: number; readonly now: Date },
): Promise<BreakRow[]> =>
  trx
    .insertInto('continuity_break')
    .values(
      fresh.map((one) => ({
        ...columnsOf(one),
        merchant_no: account.merchantNo,
        currency: account.currency,
        found_at: context.now,
        run_id: context.runId,
      })),
    )
    .returningAll()
    .execute();

const healBreaks = (trx: Trx, ids: readonly number[], now: Date): Promise<BreakRow[]> =>
  trx
    .updateTable('continuity_break')
    .set({ status: 'healed', closed_at: now })
    .where('id', '=', sql<number>`ANY (${ids}::bigint[])`)
    .returningAll()
    .execute();

/**
 * Whether an open break is new: this run or a later one found it, or a backfill that was begun before and found it since
 * then.
 */
export const isNewSince = (runId: number | null): RawBuilder<boolean> => sql<boolean>`(
  continuity_break.run_id >= ${runId}::bigint
    OR continuity_break.found_at > (SELECT started_at FROM run WHERE id = ${runId}::bigint))`;

export interface OpenBreakCount {
  readonly opened: number;
  readonly known: number;
}

/**
 * How many open breaks each merchant has that has any, of whatever day; as opened those that are new. Served by
 * continuity_break_open.
 */
export async function countOpenBreaks(
  db: Db,
  accounts: AccountFilter,
  isNew: RawBuilder<boolean>,
): Promise<ReadonlyMap<string, OpenBreakCount>> {
  const rows = await rowsOf(db)<OpenBreakCount & { merchantNo: string }>`
    SELECT merchant_no AS "merchantNo", count(*) FILTER (WHERE ${isNew}) AS opened,
      count(*) FILTER (WHERE (${isNew}) IS NOT TRUE) AS known
    FROM continuity_break
    WHERE status = 'open' AND ${ofAccounts(accounts)} GROUP BY merchant_no`;
  return new Map(rows.map(({ merchantNo, ...count }) => [merchantNo, count]));
}

/**
 * By merchant, what keeps days from being proven: open breaks, each from the entry before it to the entry after it, and entries
 * that could not be read.
 */
export async function unprovenSpans(
  db: Db,
  merchants: readonly string[],
  zone: string,
): Promise<ReadonlyMap<string, readonly Window[]>> {
  const asked = sql`${arrayLiteral(merchants)}::text[]`;
  const rows = await rowsOf(db)<Window & { readonly merchantNo: string }>`
    SELECT merchant_no AS "merchantNo", begin_ms AS "beginMs", end_ms AS "endMs" FROM (
      SELECT merchant_no, begin_ms, end_ms FROM continuity_break WHERE status = 'open' AND merchant_no = ANY (${asked})
      UNION ${unreadableSpans(zone)} AND q.merchant_no = ANY (${asked})
    ) AS open`;
  return Map.groupBy(rows, ({ merchantNo }) => merchantNo);
}

/** A span that was read again so often in a row without a change is read again weekly, at the same time of a night. */
const READINGS_UNCHANGED_MAX = 2;
const ASKED_AGAIN_AFTER_MS = 6.5 * 24 * 3_600_000;

/**
 * Open breaks whose span is short enough to be read again. Two lists, each of at most `limit`: those never read again
 * yet, newest first; and those whose last reading (or finding) is longest ago. A break may be in both.
 */
export async function breaksToHeal(
  db: Db,
  asked: {
    readonly accounts: AccountFilter;
    readonly spanMsMax: number;
    readonly limit: number;
    readonly now: Date;
  },
): Promise<{ readonly newest: readonly BreakRow[]; readonly longestWaiting: readonly BreakRow[] }> {
  const narrow = db
    .selectFrom('continuity_break')
    .selectAll()
    .where('status', '=', sql.lit('open'))
    .where(ofAccounts(asked.accounts))
    .where(sql<boolean>`end_ms - begin_ms < ${asked.spanMsMax}`)
    .where((eb) =>
      eb.or([
        eb('readings_unchanged', '<', READINGS_UNCHANGED_MAX),
        eb('healing_read_at', '<=', new Date(asked.now.getTime() - ASKED_AGAIN_AFTER_MS)),
      ]),
    )
    .limit(asked.limit);
  return {
    newest: await narrow.where('healing_read_at', 'is', null).orderBy('id', 'desc').execute(),
    longestWaiting: await narrow
      .orderBy((eb) => eb.fn.coalesce('healing_read_at', 'found_at'))
      .orderBy('id')
      .execute(),
  };
}

interface HealingRead {
  readonly merchantNo: string;
  readonly ids: readonly number[];
  /** Whether it brought, changed or took away an entry. */
  readonly hasChanged: boolean;
  readonly now: Date;
}

/** Records that the spans of the merchant's breaks were read again, so that other breaks come first next time. */
export async function markHealingRead(
  trx: Trx,
  { merchantNo, ids, hasChanged, now }: HealingRead,
): Promise<void> {
  const more = sql<number>`least(readings_unchanged + 1, ${READINGS_UNCHANGED_MAX}::int)`;
  await trx
    .updateTable('continuity_break')
    .set({ healing_read_at: now, readings_unchanged: hasChanged ? 0 : more })
    .where('merchant_no', '=', merchantNo)
    .where('id', '=', sql<number>`ANY (${ids}::bigint[])`)
    .execute();
}
