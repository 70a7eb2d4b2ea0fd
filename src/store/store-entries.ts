/**
 * Stores the entries of one reading in ledger_entry: new ones in one statement, changed ones together with their old
 * content.
 */
import { sql, type RawBuilder } from 'kysely';
import type { BusinessDay, LedgerEntry } from '../ledger/entry.ts';
import { noteChangedDays, type Writer } from './certificates.ts';
import { arrayLiteral, type Trx, rowsOf, type ValueOrSql } from './engine/database.ts';
import { countLate } from './lateness.ts';
import { keepNotices, type ReusedNotice } from './notices.ts';

interface EntriesStored {
  readonly inserted: number;
  readonly amended: number;
  readonly returned: number;
  readonly unchanged: number;
}

export interface Batch extends Writer {
  readonly entries: readonly LedgerEntry[];
}

/**
 * Most entries of one statement. More would not be faster, and the parameters of a large window are megabytes of
 * text.
 */
const ENTRIES_A_STATEMENT = 1_000;

/** Stores entries of one merchant; the days of those that are new or changed are to be chained. No batchNo may occur twice. */
export async function storeEntries(trx: Trx, batch: Batch): Promise<EntriesStored> {
  const total = { inserted: 0, amended: 0, returned: 0, unchanged: 0 };
  const days = new Set<BusinessDay>();
  for (let from = 0; from < batch.entries.length; from += ENTRIES_A_STATEMENT) {
    const entries = batch.entries.slice(from, from + ENTRIES_A_STATEMENT);
    const stored = await storeSome(trx, { ...batch, entries });
    for (const figure of FIGURES) total[figure] += stored[figure];
    for (const day of stored.days) days.add(day);
  }
  await noteChangedDays(trx, batch.merchantNo, days);
  return total;
}

const FIGURES = ['inserted', 'amended', 'returned', 'unchanged'] as const;

interface SomeStored extends EntriesStored {
  /** The days of what was written, as it was and as it is now. */
  readonly days: readonly BusinessDay[];
}

async function storeSome(trx: Trx, batch: Batch): Promise<SomeStored> {
  const { entries } = batch;
  const fresh = await insertNew(trx, batch);
  if (fresh.length > 0) await countLate(trx, batch, fresh);
  const inserted = fresh.length;
  const days = fresh.map(({ bookedAt }) => bookedAt.slice(0, 10));
  if (inserted === entries.length) return { inserted, amended: 0, returned: 0, unchanged: 0, days };
  const { touched, amended, returned, changedDays } = await recordAmendments(trx, sentRows(entries), batch);
  const unchanged = entries.length - inserted - touched;
  return { inserted, amended, returned, unchanged, days: [...days, ...changedDays] };
}

/** Inserts entries that are not stored yet, and returns them. Known ones are skipped by the primary key, without a dead row and without a lock. */
async function insertNew(trx: Trx, { merchantNo, entries, now }: Batch): Promise<LedgerEntry[]> {
  const rows = await rowsOf(trx)<{ batch_no: string }>`
    INSERT INTO ledger_entry (merchant_no, batch_no, currency, transaction_type, credit, debit, balance, booked_at,
      booked_ms, first_seen_at)
    SELECT ${merchantNo}, sent.*, ${now}::timestamptz FROM ${sentRows(entries)}
    ON CONFLICT (merchant_no, batch_no) DO NOTHING
    RETURNING batch_no`;
  const numbers = new Set(rows.map((row) => row.batch_no));
  return entries.filter(({ batchNo }) => numbers.has(batchNo));
}

/** The entries as rows with the alias `sent`. */
export function sentRows(entries: readonly LedgerEntry[]): RawBuilder<unknown> {
  const column = (value: (entry: LedgerEntry) => string | number | null) => arrayLiteral(entries.map(value));
  return sql`unnest(
    ${column((entry) => entry.batchNo)}::text[], ${column((entry) => entry.currency)}::text[],
    ${column((entry) => entry.transactionType)}::text[], ${column((entry) => entry.credit)}::numeric[],
    ${column((entry) => entry.debit)}::numeric[], ${column((entry) => entry.balance)}::numeric[],
    ${column((entry) => entry.bookedAt)}::timestamp[], ${column((entry) => entry.bookedMs)}::bigint[]
  ) AS sent (batch_no, currency, transaction_type, credit, debit, balance, booked_at, booked_ms)`;
}

/** After so many days without a change, a number that was used for two entries may change again. */
const SETTLED_DAYS = 31;

const NUMBERS_NAMED_MAX = 3;

interface Known extends Pick<EntriesStored, 'amended' | 'returned'> {
  readonly touched: number;
  readonly written: number;
  readonly changedDays: readonly BusinessDay[];
  readonly reused: readonly ReusedNotice[];
}

/** The booked values of a row `sent`, and of a row `held`. */
const SENT = sql`(sent.currency, sent.transaction_type, sent.credit, sent.debit, sent.balance, sent.booked_at,
  sent.booked_ms)`;
const HELD = sql`(held.currency, held.transaction_type, held.credit, held.debit, held.balance, held.booked_at,
  held.booked_ms)`;

const hadContent = (merchantNo: ValueOrSql, columns: RawBuilder<unknown>): RawBuilder<boolean> => sql`
  EXISTS (
    SELECT FROM ledger_entry_version v
    WHERE v.merchant_no = ${merchantNo} AND v.batch_no = sent.batch_no
      AND (v.currency, v.transaction_type, v.credit, v.debit, v.balance, v.booked_at, v.booked_ms)
        IS NOT DISTINCT FROM ${columns}
  )`;

/**
 * Whether the number of `sent` and `held` alternates: both contents were replaced before. A correction that was taken back
 * once is none: there the stored content is new.
 */
export const alternates = (merchantNo: ValueOrSql): RawBuilder<boolean> => sql`
  held.version > 2
  AND ${hadContent(merchantNo, SENT)} AND ${hadContent(merchantNo, HELD)}`;

const isReused = ({ merchantNo, now }: Batch): RawBuilder<boolean> => sql`
  held.vanished_at IS NULL AND ${alternates(merchantNo)} AND EXISTS (
    SELECT FROM ledger_entry_version v
    WHERE v.merchant_no = ${merchantNo} AND v.batch_no = sent.batch_no
      AND v.superseded_at > ${now}::timestamptz - make_interval(days => ${sql.lit(SETTLED_DAYS)})
  )`;

const contentText = (prefix: string): RawBuilder<string> => {
  const of = (name: string) => sql.ref(`reused.${prefix}${name}`);
  return sql`concat(coalesce('credit ' || ${of('credit')}, 'debit ' || ${of('debit')}), ' ', ${of('currency')}, ' (type ',
    ${of(prefix === '' ? 'transaction_type' : 'type')}, ', balance ', ${of('balance')}, ', ', ${of('booked_at')}, ')')`;
};

/**
 * Updates entries whose content differs or that had vanished. A number that alternates between two contents keeps the
 * stored one and gets a notice, as every change would be a revision each night. Each entry is queried by the primary key in a subquery with
 * OFFSET 0, which the planner cannot turn into a join. With a join, a planner with old statistics might read the
 * complete table.
 */
async function recordAmendments(trx: Trx, sent: RawBuilder<unknown>, batch: Batch): Promise<Known> {
  const { merchantNo, runId, now } = batch;
  const rows = await rowsOf(trx)<Known>`
    WITH found AS MATERIALIZED (
      SELECT sent.*, held.place, held.version, held.vanished_at IS NOT NULL AS returns,
        held.currency AS was_currency, held.transaction_type AS was_type, held.credit AS was_credit,
        held.debit AS was_debit, held.balance AS was_balance, held.booked_at AS was_booked_at,
        held.booked_ms AS was_booked_ms, ${isReused(batch)} AS is_reused,
        ${HELD} IS DISTINCT FROM ${SENT} AS differs
      FROM ${sent} CROSS JOIN LATERAL (
        SELECT ctid AS place, * FROM ledger_entry e
        WHERE e.merchant_no = ${merchantNo} AND e.batch_no = sent.batch_no OFFSET 0
      ) AS held
    ), changed AS MATERIALIZED (
      SELECT * FROM found WHERE (differs AND NOT is_reused) OR returns
    ), reused AS (
      SELECT 'reused' AS kind, ${merchantNo}::text AS "merchantNo", was_currency AS currency, was_booked_at::date AS day,
        jsonb_build_object('count', count(*),
          'batchNos', to_jsonb((array_agg(batch_no ORDER BY batch_no))[1:${sql.lit(NUMBERS_NAMED_MAX)}]),
          'contents', (array_agg(jsonb_build_array(${contentText('was_')}, ${contentText('')}) ORDER BY batch_no))[1]
        ) AS figures
      FROM found AS reused WHERE differs AND is_reused GROUP BY was_currency, was_booked_at::date
    ), kept AS (
      INSERT INTO ledger_entry_version (merchant_no, batch_no, version, currency, transaction_type, credit, debit,
        balance, booked_at, booked_ms, superseded_at, run_id)
      SELECT ${merchantNo}, batch_no, version, was_currency, was_type, was_credit, was_debit, was_balance,
        was_booked_at, was_booked_ms, ${now}::timestamptz, ${runId}::bigint
      FROM changed WHERE differs
    ), written AS (
      UPDATE ledger_entry e
      SET currency = c.currency, transaction_type = c.transaction_type, credit = c.credit, debit = c.debit,
        balance = c.balance, booked_at = c.booked_at, booked_ms = c.booked_ms,
        version = c.version + c.differs::int, vanished_at = NULL
      FROM changed c WHERE e.merchant_no = ${merchantNo} AND e.ctid = c.place
      RETURNING 1
    )
    SELECT count(*) AS touched, count(*) FILTER (WHERE differs) AS amended, count(*) FILTER (WHERE returns) AS returned,
      (SELECT count(*) FROM written) AS written,
      (SELECT coalesce(json_agg(DISTINCT day), '[]') FROM (
        SELECT booked_at::date AS day FROM changed UNION SELECT was_booked_at::date FROM changed WHERE NOT returns
      ) AS days) AS "changedDays",
      (SELECT coalesce(jsonb_agg(reused), '[]') FROM reused) AS reused
    FROM changed`;
  const figures = rows[0]!;
  if (figures.written !== figures.touched) {
    throw new Error(`${merchantNo}: ${figures.touched} entries changed but ${figures.written} were written`);
  }
  await keepNotices(trx, figures.reused, { runId, now });
  return figures;
}
