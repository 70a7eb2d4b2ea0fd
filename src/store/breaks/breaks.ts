/** Stores and lists the breaks of the balance chain. */
import { sql, type Kysely, type Selectable, type Transaction } from 'kysely';
import { EVERY_ACCOUNT, type AccountFilter } from '../../ledger/account-filter.ts';
import type { KnownBreak } from '../../ledger/chain/break-stories.ts';
import type { Account, BreakHint, BusinessDay, ContinuityBreak } from '../../ledger/entry.ts';
import { canonicalAmount, compareAmounts } from '../../ledger/money.ts';
import type { DayFilter } from '../account-days.ts';
import { ofAccounts } from '../account-filter.ts';
import type { ContinuityBreak as BreakTable, DB } from '../engine/schema.ts';

export type BreakRow = Selectable<BreakTable>;

/** A stored break, with the names that the core uses. */
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

/** Breaks to show to a person, oldest day first. Without `all`: only open ones. */
export function listBreaks(
  db: Kysely<DB>,
  filter: DayFilter & {
    readonly all?: boolean;
    readonly limit?: number | undefined;
    readonly offset?: number;
  } = EVERY_ACCOUNT,
): Promise<BreakRow[]> {
  let query = db
    .selectFrom('continuity_break')
    .selectAll()
    .where(ofAccounts(filter))
    .orderBy('day')
    .orderBy('merchant_no')
    .orderBy('id');
  if (filter.all !== true) query = query.where('status', '=', 'open');
  if (filter.fromDay !== undefined) query = query.where('day', '>=', filter.fromDay);
  if (filter.toDay !== undefined) query = query.where('day', '<=', filter.toDay);
  if (filter.limit !== undefined) query = query.limit(filter.limit);
  if (filter.offset !== undefined) query = query.offset(filter.offset);
  return query.execute();
}

/** How many of them there are in all. */
export async function countBreaks(
  db: Kysely<DB>,
  filter: AccountFilter & { readonly all?: boolean },
): Promise<number> {
  let query = db
    .selectFrom('continuity_break')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where(ofAccounts(filter));
  if (filter.all !== true) query = query.where('status', '=', 'open');
  return (await query.executeTakeFirstOrThrow()).count;
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
  /** New ones, and healed ones that are back. */
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
  trx: Transaction<DB>,
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

const updateBreak = (trx: Transaction<DB>, id: number, one: ContinuityBreak) =>
  trx.updateTable('continuity_break').set(columnsOf(one)).where('id', '=', id).execute();

/** Only a resolved break has a note. */
const bringBack = (
  trx: Transaction<DB>,
  id: number,
  one: ContinuityBreak,
  runId: number,
): Promise<BreakRow> =>
  trx
    .updateTable('continuity_break')
    .set({
      ...columnsOf(one),
      run_id: runId,
      status: sql`CASE WHEN note IS NULL THEN 'open' ELSE 'resolved' END`,
      closed_at: sql`CASE WHEN note IS NOT NULL THEN coalesce((
        SELECT audit_event.at FROM break_step AS step JOIN audit_event ON audit_event.id = step.audit_event_id
        WHERE step.break_id = ${id} AND step.kind = 'resolved' ORDER BY step.id DESC LIMIT 1
      ), closed_at) END`,
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();

const insertBreaks = (
  trx: Transaction<DB>,
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

const healBreaks = (trx: Transaction<DB>, ids: readonly number[], now: Date): Promise<BreakRow[]> =>
  trx
    .updateTable('continuity_break')
    .set({ status: 'healed', closed_at: now })
    .where('id', '=', sql<number>`ANY (${ids}::bigint[])`)
    .returningAll()
    .execute();
