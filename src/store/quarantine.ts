/** Stores what came as an entry and cannot be read as one, with its raw text, until the platform no longer sends it. */
import { createHash } from 'node:crypto';
import { sql, type RawBuilder, type Selectable } from 'kysely';
import { EVERY_ACCOUNT } from '../ledger/account-filter.ts';
import type { BusinessDay, UnreadableEntry, Window } from '../ledger/entry.ts';
import type { Quarantined, QuarantinedReader } from '../ledger/hints/evidence.ts';
import { ofMerchants } from './account-filter.ts';
import type { DayAsked } from './account-days.ts';
import { LIST_ROWS_MAX, type PersonFilter } from './amendments.ts';
import { arrayLiteral, type Db, type Trx, rowOf, rowsOf } from './engine/database.ts';
import type { QuarantinedEntry } from './engine/schema.ts';
import type { WindowToStore } from './compare-with-stored.ts';

const dayOf = (ms: RawBuilder<unknown>, zone: string): RawBuilder<unknown> =>
  sql`(to_timestamp((${ms}) / 1000.0) AT TIME ZONE ${zone})::date`;

/**
 * Where unreadable entries keep days from being proven, as `{merchant_no, begin_ms, end_ms}`: those that no one has acknowledged,
 * and all on a day of which no entry of the account was read, as its figures would be made of nothing.
 */
export const unreadableSpans = (zone: string): RawBuilder<unknown> => sql`
  SELECT q.merchant_no, lower(part) AS begin_ms, upper(part) - 1 AS end_ms
  FROM quarantined_entry q CROSS JOIN LATERAL unnest(q.span) AS part
  WHERE q.released_at IS NULL AND (q.acknowledged_at IS NULL OR EXISTS (
    SELECT FROM generate_series(
      ${dayOf(sql`lower(part)`, zone)}, ${dayOf(sql`upper(part) - 1`, zone)}, interval '1 day'
    ) AS touched
    WHERE NOT EXISTS (
      SELECT FROM account_day d
      WHERE d.merchant_no = q.merchant_no AND d.currency = coalesce(q.currency, d.currency)
        AND d.day = touched::date AND d.credit_count + d.debit_count > 0
    )
  ))`;

const fingerprintOf = (raw: string): string => createHash('sha256').update(raw).digest('hex');

type RepeatedEntry = UnreadableEntry & { readonly occurrences: number };

/**
 * Keeps the reading's unreadable entries and narrows where the others can lie. Returns how many are new, or back after
 * they were gone. Reading the same unreadable entry again in the same window writes nothing. One without batchNo may have an
 * identical one elsewhere, so only certified readings without it narrow where it can lie.
 */
export async function storeUnreadable(trx: Trx, toStore: WindowToStore): Promise<number> {
  const { merchantNo, window, reading } = toStore;
  const unreadable = new Map<string, RepeatedEntry>();
  for (const entry of reading.unreadable) {
    const fingerprint = fingerprintOf(entry.raw);
    const occurrences = (unreadable.get(fingerprint)?.occurrences ?? 0) + 1;
    unreadable.set(fingerprint, { ...entry, occurrences });
  }
  const kept = unreadable.size === 0 ? 0 : await keepUnreadable(trx, unreadable, toStore);
  if (reading.certified) {
    const here = sql`int8range(${window.beginMs}, ${window.endMs}, '[]')::int8multirange`;
    await sql`
      UPDATE quarantined_entry
      SET span = CASE WHEN span <@ ${here} THEN span ELSE span - ${here} END,
          released_at = CASE WHEN span <@ ${here} THEN ${toStore.now}::timestamptz END
      WHERE merchant_no = ${merchantNo} AND released_at IS NULL AND span && ${here}
        AND fingerprint <> ALL (${arrayLiteral([...unreadable.keys()])}::text[])`.execute(trx);
  }
  return kept;
}

async function keepUnreadable(
  trx: Trx,
  unreadable: ReadonlyMap<string, RepeatedEntry>,
  { merchantNo, window, runId, now }: WindowToStore,
): Promise<number> {
  const entries = [...unreadable.values()];
  const { kept } = await rowOf(trx)<{ kept: number }>`
    WITH sent AS (
      SELECT *, int8range(${window.beginMs}, ${window.endMs}, '[]')::int8multirange AS span FROM unnest(
        ${arrayLiteral([...unreadable.keys()])}::text[], ${arrayLiteral(entries.map((entry) => entry.batchNo))}::text[],
        ${arrayLiteral(entries.map((entry) => entry.raw))}::text[],
        ${arrayLiteral(entries.map((entry) => entry.reason))}::text[],
        ${arrayLiteral(entries.map((entry) => entry.occurrences))}::int[]
      ) AS sent (fingerprint, batch_no, raw, reason, occurrences)
    ), known AS MATERIALIZED (
      SELECT q.fingerprint, q.released_at IS NOT NULL AS returns FROM quarantined_entry q JOIN sent USING (fingerprint)
      WHERE q.merchant_no = ${merchantNo}
    ), written AS (
      INSERT INTO quarantined_entry AS q
        (merchant_no, batch_no, raw, reason, fingerprint, occurrences, span, first_seen_at, run_id)
      SELECT ${merchantNo}, batch_no, raw, reason, fingerprint, occurrences, span, ${now}::timestamptz, ${runId}::bigint
      FROM sent
      WHERE NOT EXISTS (
        SELECT FROM quarantined_entry same
        WHERE same.merchant_no = ${merchantNo} AND same.fingerprint = sent.fingerprint
          AND same.released_at IS NULL AND same.reason = sent.reason AND same.occurrences = sent.occurrences
          AND CASE WHEN sent.batch_no IS NULL THEN sent.span <@ same.span ELSE same.span <@ sent.span END
      )
      ON CONFLICT (merchant_no, fingerprint) DO UPDATE
        SET released_at = NULL, reason = excluded.reason, occurrences = excluded.occurrences,
          span = CASE WHEN q.released_at IS NOT NULL THEN excluded.span
            WHEN q.batch_no IS NULL THEN q.span + excluded.span
            WHEN q.span && excluded.span THEN q.span * excluded.span
            ELSE excluded.span END
    )
    SELECT (SELECT count(*) FROM sent) - (SELECT count(*) FROM known WHERE NOT returns) AS kept`;
  return kept;
}

/**
 * Which of these days of a merchant had entries that could not be read and are gone by now, as the platform sends them readable; with
 * their currency, as far as it could be read.
 */
export const daysReadableNow = (
  db: Db,
  merchantNo: string,
  days: readonly DayAsked[],
): Promise<{ readonly day: BusinessDay; readonly currency: string | null }[]> => rowsOf(db)`
    SELECT DISTINCT asked.day, q.currency
    FROM unnest(
      ${arrayLiteral(days.map(({ day }) => day))}::date[],
      ${arrayLiteral(days.map(({ window }) => window.beginMs))}::bigint[],
      ${arrayLiteral(days.map(({ window }) => window.endMs))}::bigint[]
    ) AS asked (day, begin_ms, end_ms)
    JOIN quarantined_entry q ON q.merchant_no = ${merchantNo} AND q.released_at IS NOT NULL
      AND q.span && int8range(asked.begin_ms, asked.end_ms, '[]')`;

export interface UnreadableWithin extends Quarantined {
  readonly raw: string;
  readonly reason: string;
  readonly acknowledgedAt: Date | null;
}

/**
 * The merchant's unreadable entries that the platform still sends and that can lie in the window, acknowledged or not,
 * oldest first, at most `limit`. Served by the merchant's part of the unique key: there are few.
 */
export async function unreadableWithin(
  db: Db,
  merchantNo: string,
  window: Window,
  { read, limit }: { readonly read: QuarantinedReader; readonly limit: number },
): Promise<UnreadableWithin[]> {
  const rows = await rowsOf(db)<Omit<UnreadableWithin, 'kind' | 'currency' | 'nets'>>`
    SELECT id, batch_no AS "batchNo", raw, reason, acknowledged_at AS "acknowledgedAt", coalesce((
      SELECT json_agg(json_build_object('beginMs', lower(part), 'endMs', upper(part) - 1)) FROM unnest(span) AS part
    ), '[]') AS spans
    FROM quarantined_entry
    WHERE merchant_no = ${merchantNo} AND released_at IS NULL
      AND span && int8range(${window.beginMs}, ${window.endMs}, '[]')
    ORDER BY id LIMIT ${limit}`;
  return rows.map((row) => ({ kind: 'quarantined', ...row, ...read(row.raw) }));
}

export type QuarantineRow = Selectable<Omit<QuarantinedEntry, 'span' | 'currency'>>;

export const quarantineRows = (db: Db) =>
  db
    .selectFrom('quarantined_entry')
    .select([
      'id',
      'merchant_no',
      'batch_no',
      'raw',
      'reason',
      'occurrences',
      'fingerprint',
      'begin_ms',
      'end_ms',
      'first_seen_at',
      'run_id',
      'released_at',
      'acknowledged_at',
      'note',
    ]);

export interface QuarantineFilter extends Omit<PersonFilter, 'currencies'> {
  /** Also those that are acknowledged, or that the platform no longer sends. */
  readonly all?: boolean;
  /** Only those that can lie in it. */
  readonly window?: Window | undefined;
  /** How many of the first ones are left out. */
  readonly offset?: number;
}

/** Rejected entries with their raw text, newest first. Without `all`: only those that need attention. */
export function listQuarantine(db: Db, filter: QuarantineFilter = EVERY_ACCOUNT): Promise<QuarantineRow[]> {
  const { window } = filter;
  let query = quarantineRows(db)
    .where(ofMerchants(filter.merchants))
    .orderBy('id', 'desc')
    .limit(filter.limit ?? LIST_ROWS_MAX)
    .offset(filter.offset ?? 0);
  if (window !== undefined)
    query = query.where(sql<boolean>`span && int8range(${window.beginMs}, ${window.endMs}, '[]')`);
  if (filter.all !== true)
    query = query.where('released_at', 'is', null).where('acknowledged_at', 'is', null);
  if (filter.runId !== undefined) query = query.where('run_id', '=', filter.runId);
  return query.execute();
}

/** How many unreadable entries, which the platform still sends and no one has acknowledged, each merchant has that has any. */
export async function unreadableByMerchant(
  db: Db,
  merchants: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await rowsOf(db)<{ merchantNo: string; count: number }>`
    SELECT merchant_no AS "merchantNo", count(*) AS count FROM quarantined_entry
    WHERE ${ofMerchants(merchants)} AND released_at IS NULL AND acknowledged_at IS NULL GROUP BY merchant_no`;
  return new Map(rows.map(({ merchantNo, count }) => [merchantNo, count]));
}

/** Of these merchants, those with unreadable entries that the platform still sends, acknowledged or not. */
export async function merchantsWithUnreadable(
  db: Db,
  merchants: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await rowsOf(db)<{ merchantNo: string }>`
    SELECT DISTINCT merchant_no AS "merchantNo" FROM quarantined_entry
    WHERE ${ofMerchants(merchants)} AND released_at IS NULL`;
  return new Set(rows.map(({ merchantNo }) => merchantNo));
}

/**
 * Marks an unreadable entry as acknowledged, with a person's note. Its text is kept as it came. False where no open
 * one has that id.
 */
export async function acknowledgeUnreadable(db: Db, id: number, note: string, now: Date): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('quarantined_entry')
    .set({ acknowledged_at: now, note })
    .where('id', '=', id)
    .where('released_at', 'is', null)
    .where('acknowledged_at', 'is', null)
    .executeTakeFirstOrThrow();
  return numUpdatedRows === 1n;
}
