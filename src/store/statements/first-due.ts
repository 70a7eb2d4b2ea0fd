/** Reads all that publishing a merchant's night needs in one statement. */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { BusinessDay, LedgerEntry } from '../../ledger/entry.ts';
import type { DayFilter } from '../account-days.ts';
import type { DB } from '../engine/schema.ts';
import { batchOf, dueWithNear, type DueBatch, type DueRow } from './due-batch.ts';
import type { AccountOnDay } from './openings.ts';
import {
  daysAsked,
  pastOfAsked,
  pastsByDay,
  type DayAsked,
  type PastOfDay,
  type PastRow,
} from './past-of-days.ts';
import { publishedAccounts } from './statements.ts';

/** Most entries that come with the due days; those of further days are read in portions. */
const ENTRIES_MAX = 1_000;

/** What is due of a merchant, and what is known of it. */
export interface FirstDue {
  /** By account, the first day whose entries changed since its figures were made. */
  readonly changed: readonly AccountOnDay[];
  /** Null if nothing is due. */
  readonly batch: DueBatch | null;
  /** Of the due days among those asked for. */
  readonly past: ReadonlyMap<BusinessDay, PastOfDay>;
  /** Of the first of these days, as far as they are few; as `readAccount` hands them out. */
  readonly entries: readonly EntriesOfDay[];
}

/** The entries of an account's day. */
export interface EntriesOfDay {
  readonly currency: string;
  readonly day: BusinessDay;
  readonly entries: readonly LedgerEntry[];
}

/** What is due of one merchant; `asked` are the days whose past is read as well. One statement. */
export async function firstDueOf(
  db: Kysely<DB>,
  merchantNo: string,
  { fromDay = '-infinity', toDay = 'infinity' }: Pick<DayFilter, 'fromDay' | 'toDay'>,
  asked: readonly DayAsked[],
): Promise<FirstDue> {
  const { rows } = await sql<FoundRow>`
    WITH RECURSIVE ${publishedAccounts(merchantNo)},
    ${dueWithNear(sql`is_due AND merchant_no = ${merchantNo} AND day BETWEEN ${fromDay}::date AND ${toDay}::date`)},
    asked AS MATERIALIZED (SELECT * FROM (${daysAsked(asked)}) AS one WHERE day IN (SELECT day FROM due)),
    few AS MATERIALIZED (
      SELECT currency, day, begin_ms, end_ms
      FROM (SELECT *, sum(entries) OVER (ORDER BY day, currency) AS total FROM due) AS summed JOIN asked USING (day)
      WHERE total <= ${sql.lit(ENTRIES_MAX)}
    )
    SELECT
      (SELECT json_agg(json_build_object('currency', currency, 'day', day)) FROM (
         SELECT currency, min(day) AS day FROM changed_day WHERE merchant_no = ${merchantNo} GROUP BY currency
       ) AS first) AS changed,
      (SELECT json_agg(${dueRowJson} ORDER BY due_day, currency, day) FROM due_row) AS due,
      (SELECT json_agg(to_json(past)) FROM (${pastOfAsked(merchantNo)}) AS past) AS past,
      (SELECT json_agg(json_build_array(few.currency, few.day, own.entries)) FROM few CROSS JOIN LATERAL (
         SELECT json_agg(json_build_array(batch_no, transaction_type, credit::text, debit::text, balance::text,
           booked_at::text, booked_ms) ORDER BY booked_ms, batch_no) AS entries
         FROM ledger_entry
         WHERE merchant_no = ${merchantNo} AND currency = few.currency AND vanished_at IS NULL
           AND booked_ms BETWEEN few.begin_ms AND few.end_ms
       ) AS own) AS entries`.execute(db);
  const { changed, due, past, entries } = rows[0]!;
  return {
    changed: (changed ?? []).map(({ currency, day }) => ({ account: { merchantNo, currency }, day })),
    batch: batchOf(due ?? []),
    past: pastsByDay(past ?? [], asked),
    entries: (entries ?? []).map(([currency, day, cells]) => ({
      currency,
      day,
      entries: (cells ?? []).map((entry) => entryOf(currency, entry)),
    })),
  };
}

interface FoundRow {
  readonly changed: readonly { readonly currency: string; readonly day: BusinessDay }[] | null;
  readonly due: DueRow[] | null;
  readonly past: PastRow[] | null;
  readonly entries: readonly (readonly [string, BusinessDay, readonly EntryCells[] | null])[] | null;
}

type EntryCells = readonly [string, string, string | null, string | null, string, string, number];

const entryOf = (
  currency: string,
  [batchNo, transactionType, credit, debit, balance, bookedAt, bookedMs]: EntryCells,
): LedgerEntry => ({ batchNo, currency, transactionType, credit, debit, balance, bookedAt, bookedMs });

/** Amounts as text, as JSON numbers would lose digits. */
const dueRowJson: RawBuilder<unknown> = sql`to_jsonb(due_row) || jsonb_build_object(
  'opening', opening::text, 'credit_total', credit_total::text, 'debit_total', debit_total::text,
  'closing', closing::text)`;
