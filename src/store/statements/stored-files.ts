/** Keeps what should lie in the object store: the current manifests, and what was last read back under each key. */
import { sql, type Kysely, type Selectable } from 'kysely';
import type { BusinessDay } from '../../ledger/entry.ts';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { DB, StatementManifest, StoredObject } from '../engine/schema.ts';
import {
  publishedAccounts,
  statementFrom,
  statementJson,
  summaryFrom,
  type StatementRow,
  type SummaryRow,
} from './statements.ts';

export type ManifestRow = Selectable<StatementManifest>;
export type StoredRow = Selectable<StoredObject>;

/** The day's manifest as it should be in the store; undefined before the first one. Uses the primary key. */
export const manifestOfDay = (
  db: Kysely<DB>,
  merchantNo: string,
  day: BusinessDay,
): Promise<ManifestRow | undefined> =>
  db
    .selectFrom('statement_manifest')
    .selectAll()
    .where('merchant_no', '=', merchantNo)
    .where('day', '=', day)
    .executeTakeFirst();

/** What was last read back under these keys, by key. Uses the primary key. */
export async function storedObjects(
  db: Kysely<DB>,
  keys: readonly string[],
): Promise<ReadonlyMap<string, StoredRow>> {
  if (keys.length === 0) return new Map();
  const rows = await db
    .selectFrom('stored_object')
    .selectAll()
    .where('object_key', '=', sql<string>`ANY (${arrayLiteral(keys)}::text[])`)
    .execute();
  return new Map(rows.map((row) => [row.object_key, row]));
}

/**
 * The first and the last published day of a merchant; with `within`, inside that range. Null if nothing was
 * published.
 */
export async function publishedSpan(
  db: Kysely<DB>,
  merchantNo: string,
  within: { readonly from: BusinessDay; readonly to: BusinessDay } | null,
): Promise<{ readonly from: BusinessDay; readonly to: BusinessDay } | null> {
  const { from, to } = await db
    .selectFrom('statement')
    .select((eb) => [
      eb.fn.min<BusinessDay | null>('day').as('from'),
      eb.fn.max<BusinessDay | null>('day').as('to'),
    ])
    .where('merchant_no', '=', merchantNo)
    .$if(within !== null, (query) => query.where('day', '>=', within!.from).where('day', '<=', within!.to))
    .executeTakeFirstOrThrow();
  return from === null || to === null ? null : { from, to };
}

/** Everything that was published of a merchant's days, all revisions. */
export interface PublishedDays {
  readonly statements: readonly StatementRow[];
  readonly summaries: readonly SummaryRow[];
  readonly manifests: readonly ManifestRow[];
  /** What was last read back of these statements and summaries, and under the other keys asked for; by key. */
  readonly stored: ReadonlyMap<string, StoredRow>;
}

/**
 * What was published of a merchant's days `fromDay` to `toDay`, by day, and what was read back of it: one statement,
 * which reads by index and nothing of other days. `keys` are further keys to tell of.
 */
export async function publishedDays(
  db: Kysely<DB>,
  merchantNo: string,
  { fromDay, toDay }: { readonly fromDay: BusinessDay; readonly toDay: BusinessDay },
  keys: readonly string[],
): Promise<PublishedDays> {
  const { rows } = await sql<{
    statements: StatementRow[] | null;
    summaries: SummaryRow[] | null;
    manifests: ManifestRow[] | null;
    stored: StoredRow[] | null;
  }>`
    WITH RECURSIVE ${publishedAccounts(merchantNo)}, own_statement AS MATERIALIZED (
      SELECT own.* FROM account CROSS JOIN LATERAL (
        SELECT * FROM statement
        WHERE merchant_no = ${merchantNo} AND currency = account.currency AND day BETWEEN ${fromDay} AND ${toDay}
        OFFSET 0
      ) AS own
    ), own_summary AS MATERIALIZED (
      SELECT * FROM statement_summary WHERE merchant_no = ${merchantNo} AND day BETWEEN ${fromDay} AND ${toDay}
    ), own_key AS (
      SELECT object_key FROM own_statement UNION ALL SELECT object_key FROM own_summary
      UNION ALL SELECT unnest(${arrayLiteral(keys)}::text[])
    )
    SELECT
      (SELECT jsonb_agg(${statementJson('s')} ORDER BY day, currency, revision) FROM own_statement s) AS statements,
      (SELECT jsonb_agg(to_jsonb(s) ORDER BY day, revision) FROM own_summary s) AS summaries,
      (SELECT jsonb_agg(to_jsonb(m) ORDER BY day) FROM statement_manifest m
       WHERE merchant_no = ${merchantNo} AND day BETWEEN ${fromDay} AND ${toDay}) AS manifests,
      (SELECT jsonb_agg(to_jsonb(own)) FROM own_key CROSS JOIN LATERAL (
         SELECT * FROM stored_object WHERE object_key = own_key.object_key OFFSET 0
       ) AS own) AS stored`.execute(db);
  const { statements, summaries, manifests, stored } = rows[0]!;
  return {
    statements: (statements ?? []).map(statementFrom),
    summaries: (summaries ?? []).map(summaryFrom),
    manifests: manifests ?? [],
    stored: new Map((stored ?? []).map((row) => [row.object_key, row])),
  };
}
