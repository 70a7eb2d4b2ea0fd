/** Proves or reports openings that are not decided: the entries of the day fit other balances as well. */
import { dayWindow } from '../../ledger/business-day.ts';
import { ALL_TIME, covers } from '../../ledger/window.ts';
import { compareAmounts } from '../../ledger/money.ts';
import { keepNotices, type FirstNotice } from '../../store/notices.ts';
import { certifiedWindows } from '../../store/certificates.ts';
import { writeTransaction } from '../../store/engine/write-transaction.ts';
import { entriesBefore } from '../../sync/ledger-past.ts';
import type { MerchantWork } from '../active-run.ts';
import type { MerchantOutcome } from '../report.ts';
import { sql, type Kysely, type Transaction } from 'kysely';
import type { BusinessDay } from '../../ledger/entry.ts';
import type { DB } from '../../store/engine/schema.ts';

/**
 * To be called once the days are chained. Where the account may begin on zero, the platform is asked once whether it has
 * entries of that currency before; if not, the opening is decided. Every other one becomes a notice.
 */
export async function settleUndecidedOpenings(work: MerchantWork, outcome: MerchantOutcome): Promise<void> {
  const { deps, lease, merchantNo, runId } = work;
  const notices: FirstNotice[] = [];
  for (const undecided of await undecidedOpenings(deps.db, merchantNo)) {
    const { currency, day, opening, others } = undecided;
    const total = await entriesBeforeIt(work, outcome, undecided);
    if (total === undefined) continue;
    if (total === 0)
      await writeTransaction(deps.db, lease, (trx) => decideOpening(trx, merchantNo, undecided));
    else notices.push({ kind: 'first', merchantNo, currency, day, figures: { opening, others } });
  }
  if (notices.length === 0) return;
  await writeTransaction(deps.db, lease, (trx) => keepNotices(trx, notices, { runId, now: deps.now() }));
}

/** Null if that cannot be known. Undefined if it is too early, or if another run has to ask. */
async function entriesBeforeIt(
  { deps, merchant, merchantNo }: MerchantWork,
  outcome: MerchantOutcome,
  { currency, day, opening, isFirst }: UndecidedOpening,
): Promise<number | null | undefined> {
  const spans = await certifiedWindows(deps.db, merchantNo, ALL_TIME, currency);
  const own = dayWindow(day, deps.zone);
  // A day that is not over, or not proven, may get entries that decide.
  if (!covers(spans, own)) return undefined;
  const [proven] = spans;
  const mayBegin = isFirst && compareAmounts(opening, '0') === 0;
  if (!mayBegin || proven === undefined || !covers([proven], own)) return null;
  const read = outcome.sync;
  if (read === null || read.report.failure !== null) return undefined;
  const asked = { ...deps, merchant, beforeMs: proven.beginMs, currency };
  const { total, requests } = await entriesBefore(asked);
  outcome.sync = { ...read, report: { ...read.report, requests: read.report.requests + requests } };
  return total;
}

interface UndecidedOpening {
  readonly currency: string;
  readonly day: BusinessDay;
  readonly opening: string;
  /** What the day may open on as well. It has no break, so that it may close on these. */
  readonly others: readonly string[];
  readonly isFirst: boolean;
}

/** Those of the merchant that no notice reports yet. Uses account_day_restarted. */
async function undecidedOpenings(db: Kysely<DB>, merchantNo: string): Promise<UndecidedOpening[]> {
  const { rows } = await sql<Omit<UndecidedOpening, 'others'> & { others: string }>`
    SELECT currency, day, opening, other_closings AS others, NOT EXISTS (
      SELECT FROM account_day earlier
      WHERE earlier.merchant_no = own.merchant_no AND earlier.currency = own.currency AND earlier.day < own.day
    ) AS "isFirst"
    FROM account_day own
    WHERE merchant_no = ${merchantNo} AND restarted AND other_closings <> '' AND verdict <> 'broken'
      AND NOT EXISTS (
        SELECT FROM event
        WHERE event.kind = 'first' AND event.merchant_no = own.merchant_no AND event.subject = own.currency || ' ' || own.day
      )
    ORDER BY currency, day`.execute(db);
  return rows.map((row) => ({ ...row, others: row.others.split(',') }));
}

/** Marks the opening as decided, and the closings that follow from it alone. */
async function decideOpening(
  trx: Transaction<DB>,
  merchantNo: string,
  { currency, day }: UndecidedOpening,
): Promise<void> {
  await sql`
    UPDATE account_day AS own SET other_closings = '', publish_due = true
    WHERE merchant_no = ${merchantNo} AND currency = ${currency} AND day >= ${day} AND other_closings <> ''
      AND NOT EXISTS (
        SELECT FROM account_day certain
        WHERE certain.merchant_no = own.merchant_no AND certain.currency = own.currency
          AND certain.day BETWEEN ${day} AND own.day AND certain.other_closings = ''
      )`.execute(trx);
}
