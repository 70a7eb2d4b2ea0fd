/**
 * Keeps how late entries come, as a few counts a merchant: they grow in the statement that stores a late entry, and at
 * month end. Nothing is counted in the ledger.
 */
import { sql } from 'kysely';
import type { BusinessDay, LedgerEntry } from '../ledger/entry.ts';
import {
  NOTHING_MEASURED,
  periodFrom,
  type LateCount,
  type LatenessMeasured,
  type SampledMonth,
} from '../ledger/lateness.ts';
import { ofMerchants } from './account-filter.ts';
import type { Writer } from './certificates.ts';
import { figuredCurrencies } from './account-days.ts';
import { arrayLiteral, type Db, type Trx, rowsOf } from './engine/database.ts';

const DAY_MS = 86_400_000;

/**
 * Counts those of new entries that came late: whose instant was under certificate without them. To be called before the reading's
 * own certificates are stored. An entry that may have been there unreadable says nothing, and neither does one that this run
 * itself certified the lack of: its reading fell short, or the platform's filter did.
 */
export async function countLate(
  trx: Trx,
  { merchantNo, runId, now }: Writer,
  fresh: readonly LedgerEntry[],
): Promise<void> {
  const column = (value: (entry: LedgerEntry) => string | number) => arrayLiteral(fresh.map(value));
  await sql`
    WITH came_late AS (
      SELECT fresh.booked_ms, c.read_at
      FROM unnest(
        ${column(({ batchNo }) => batchNo)}::text[], ${column(({ bookedMs }) => bookedMs)}::bigint[],
        ${column(({ bookedAt }) => bookedAt)}::timestamp[]
      ) AS fresh (batch_no, booked_ms, booked_at)
      CROSS JOIN LATERAL (
        SELECT * FROM certificate WHERE merchant_no = ${merchantNo} AND day = fresh.booked_at::date OFFSET 0
      ) AS c
      WHERE c.problem IS NULL AND fresh.booked_ms BETWEEN c.begin_ms AND c.through_ms
        AND c.run_id IS DISTINCT FROM ${runId}::bigint
        AND NOT EXISTS (
        SELECT FROM quarantined_entry q
        WHERE q.merchant_no = ${merchantNo}
          AND (q.batch_no = fresh.batch_no OR (q.batch_no IS NULL AND q.span @> fresh.booked_ms))
      )
    ), bounded AS (
      SELECT greatest(1, ceil((${now.getTime()}::bigint - booked_ms)::numeric / ${sql.lit(DAY_MS)}))::int AS days_max,
        greatest(0, floor((extract(epoch FROM read_at) * 1000 - booked_ms) / ${sql.lit(DAY_MS)}))::int AS days_min
      FROM came_late
    )
    INSERT INTO lateness_count AS known (merchant_no, month, days_min, days_max, entries)
    SELECT ${merchantNo}, date_trunc('month', ${now}::timestamptz AT TIME ZONE 'UTC')::date,
      least(days_max, days_min), days_max, count(*)
    FROM bounded GROUP BY 3, 4
    ON CONFLICT (merchant_no, month, days_min, days_max) DO UPDATE SET entries = known.entries + excluded.entries`.execute(
    trx,
  );
}

export async function latenessMeasured(
  db: Db,
  merchants: readonly string[],
  today: BusinessDay,
): Promise<ReadonlyMap<string, LatenessMeasured>> {
  const from = periodFrom(today);
  const rows = await rowsOf(db)<Row>`
    SELECT merchant_no, CASE WHEN days_max = 0 THEN month END AS month, sampled_on, days_min, days_max,
      sum(entries)::bigint AS entries
    FROM lateness_count WHERE ${ofMerchants(merchants)} AND month >= ${from}
    GROUP BY 1, 2, 3, 4, 5 ORDER BY merchant_no, 2, days_max, days_min`;
  return new Map(
    [...Map.groupBy(rows, (row) => row.merchant_no)].map(([merchantNo, own]) => [
      merchantNo,
      {
        late: own.flatMap((row): LateCount[] =>
          row.month === null ? [{ daysMin: row.days_min, daysMax: row.days_max, entries: row.entries }] : [],
        ),
        watched: own.flatMap(({ month, sampled_on: sampledOn, entries }): SampledMonth[] =>
          month === null ? [] : [{ month, sampledOn: sampledOn!, entries }],
        ),
      },
    ]),
  );
}

export const measuredOf = (
  measured: ReadonlyMap<string, LatenessMeasured>,
  merchantNo: string,
): LatenessMeasured => measured.get(merchantNo) ?? NOTHING_MEASURED;

interface Row {
  readonly merchant_no: string;
  readonly month: BusinessDay | null;
  readonly sampled_on: BusinessDay | null;
  readonly days_min: number;
  readonly days_max: number;
  readonly entries: number;
}

/**
 * For a day `d` of the figures: whether it was read in time, which is before the next business day was over. Of an entry that
 * came before the first reading no one knows how late it came. The entries next to both midnights in UTC tell it: one of
 * them at least is of the day, in any zone.
 */
const wasReadInTime = sql`NOT EXISTS (
  SELECT FROM (VALUES (d.day), (d.day + 1)) AS midnight (day) CROSS JOIN LATERAL (
    (
      SELECT e.booked_at, e.booked_ms, e.first_seen_at FROM ledger_entry e
      WHERE e.merchant_no = d.merchant_no AND e.currency = d.currency AND e.vanished_at IS NULL
        AND e.booked_ms < (extract(epoch FROM midnight.day) * 1000)::bigint
      ORDER BY e.booked_ms DESC, e.batch_no DESC LIMIT 1
    ) UNION ALL (
      SELECT e.booked_at, e.booked_ms, e.first_seen_at FROM ledger_entry e
      WHERE e.merchant_no = d.merchant_no AND e.currency = d.currency AND e.vanished_at IS NULL
        AND e.booked_ms >= (extract(epoch FROM midnight.day) * 1000)::bigint
      ORDER BY e.booked_ms, e.batch_no LIMIT 1
    )
  ) AS near
  WHERE near.booked_at + (near.first_seen_at - to_timestamp(near.booked_ms / 1000.0)) >= near.booked_at::date + 2
)`;

const entriesOfMonth = sql`(
  WITH RECURSIVE figured (currency) AS (${figuredCurrencies(sql`made.merchant_no`)})
  SELECT coalesce(sum(of_day.entries), 0)::bigint FROM figured CROSS JOIN LATERAL (
    SELECT d.credit_count + d.debit_count AS entries FROM account_day d
    WHERE d.merchant_no = made.merchant_no AND d.currency = figured.currency
      AND d.day >= made.month AND d.day < made.month + interval '1 month' AND ${wasReadInTime} OFFSET 0
  ) AS of_day
)`;

export interface MonthsHeld {
  readonly merchantNo: string;
  readonly months: readonly BusinessDay[];
  readonly sampledOn: BusinessDay;
}

/**
 * Notes that months held. Of one that is new, the entries are counted from the figures of those days that were read in
 * time: late ones can be recognised only there. To be called in a transaction under the leases of these merchants.
 */
export async function keepSampledMonths(trx: Trx, held: readonly MonthsHeld[]): Promise<void> {
  const rows = held.flatMap(({ months, ...one }) => months.map((month) => ({ ...one, month })));
  if (rows.length === 0) return;
  const column = (value: (one: (typeof rows)[number]) => string) => arrayLiteral(rows.map(value));
  await sql`
    INSERT INTO lateness_count AS known (merchant_no, month, days_min, days_max, entries, sampled_on)
    SELECT made.merchant_no, made.month, 0, 0, coalesce(known.entries, ${entriesOfMonth}), made.sampled_on
    FROM unnest(
      ${column(({ merchantNo }) => merchantNo)}::text[], ${column(({ month }) => month)}::date[],
      ${column(({ sampledOn }) => sampledOn)}::date[]
    ) AS made (merchant_no, month, sampled_on)
    LEFT JOIN lateness_count known
      ON (known.merchant_no, known.month, known.days_min, known.days_max) = (made.merchant_no, made.month, 0, 0)
    ON CONFLICT (merchant_no, month, days_min, days_max)
      DO UPDATE SET sampled_on = excluded.sampled_on`.execute(trx);
}
