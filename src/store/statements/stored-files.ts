/** What must lie in the object store, as rows of `artifact`: the current manifests, and what was last read back of each file. */
import { sql } from 'kysely';
import type { BusinessDay } from '../../ledger/entry.ts';
import { arrayLiteral, type Db, type Trx, rowsOf } from '../engine/database.ts';
import { ASKED_MERCHANT, sharedRead } from '../engine/shared-statement.ts';
import {
  publishedAccounts,
  rowFrom,
  statementJson,
  SUMMARY_COLUMNS,
  type StatementRow,
  type SummaryRow,
} from './statements.ts';

/** A day's manifest as it must be in the store. */
export interface ManifestRow {
  readonly merchant_no: string;
  readonly day: BusinessDay;
  readonly object_key: string;
  readonly revision: number;
  readonly epoch: number;
  readonly sha256: string;
  readonly byte_count: number;
  readonly content: string;
  /** In the merchant's chain; null where it was taken out of it. */
  readonly place: number | null;
  readonly signature: string | null;
}

/** What was last read back of a file. */
export interface StoredRow {
  readonly merchant_no: string;
  readonly day: BusinessDay;
  readonly object_key: string;
  readonly sha256: string;
  readonly byte_count: number;
  readonly etag: string | null;
}

export const MANIFEST_COLUMNS = sql`
  merchant_no, day, object_key, revision, epoch, sha256, byte_count, content, place, signature`;
export const STORED_COLUMNS = sql`
  merchant_no, day, object_key, stored_sha256 AS sha256, stored_bytes AS byte_count, etag`;

/** Uses the primary key; undefined before the first one. */
export async function manifestOfDay(
  db: Db,
  merchantNo: string,
  day: BusinessDay,
): Promise<ManifestRow | undefined> {
  const rows = await rowsOf(db)<ManifestRow>`
    SELECT ${MANIFEST_COLUMNS} FROM artifact
    WHERE merchant_no = ${merchantNo} AND day = ${day} AND kind = 'manifest'`;
  return rows[0];
}

/** With `within`, inside that range. Null if nothing was published. */
export async function publishedSpan(
  db: Db,
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

export interface PublishedDays {
  readonly statements: readonly StatementRow[];
  readonly summaries: readonly SummaryRow[];
  readonly manifests: readonly ManifestRow[];
  /** What was last read back of the days' files, by key. */
  readonly stored: ReadonlyMap<string, StoredRow>;
}

export interface DaysOfMerchant {
  readonly merchantNo: string;
  readonly fromDay: BusinessDay;
  readonly toDay: BusinessDay;
}

interface PublishedRow {
  readonly merchant_no: string;
  readonly statements: StatementRow[] | null;
  readonly summaries: SummaryRow[] | null;
  readonly manifests: ManifestRow[] | null;
  readonly stored: StoredRow[] | null;
}

export interface KnownDay {
  readonly day: BusinessDay;
  readonly statements: readonly (readonly [key: string, sha256: string])[];
  readonly summaries: readonly (readonly [key: string, sha256: string])[];
  readonly manifest: readonly [key: string, sha256: string] | null;
  readonly signature: string | null;
  /** The manifest lists files in other formats, or is to be made anew. */
  readonly isSpecial: boolean;
  /** What was last read back of the day's files. */
  readonly stored: readonly (readonly [key: string, sha256: string, bytes: number, etag: string | null])[];
}

/**
 * Of each published day, the names and checksums of its files: a tenth of what `publishedDays` reads, and all that is needed where
 * nothing is amiss. Reads by index and nothing of other days.
 */
export const knownDays = sharedRead<DaysOfMerchant, KnownDay>(
  {
    from_day: ['date', ({ fromDay }) => fromDay],
    to_day: ['date', ({ toDay }) => toDay],
  },
  sql`
    WITH RECURSIVE ${publishedAccounts(ASKED_MERCHANT)}, named AS MATERIALIZED (
      SELECT own.day, 'statement' AS kind, json_build_array(own.object_key, own.sha256) AS file, NULL::json AS stored,
        NULL AS signature, false AS is_special
      FROM account CROSS JOIN LATERAL (
        SELECT day, object_key, sha256 FROM statement
        WHERE merchant_no = asked.merchant_no AND currency = account.currency
          AND day BETWEEN asked.from_day AND asked.to_day
        OFFSET 0
      ) AS own
      UNION ALL
      SELECT day, kind, json_build_array(object_key, sha256),
        CASE WHEN stored_sha256 IS NOT NULL THEN json_build_array(object_key, stored_sha256, stored_bytes, etag) END,
        signature, kind = 'manifest'
          AND (strpos(content, '"otherFormats":') > 0 OR place IS NULL)
      FROM artifact
      WHERE artifact.merchant_no = asked.merchant_no AND artifact.day BETWEEN asked.from_day AND asked.to_day
    )
    SELECT day, coalesce(json_agg(file) FILTER (WHERE kind = 'statement'), '[]') AS statements,
      coalesce(json_agg(file) FILTER (WHERE kind = 'summary'), '[]') AS summaries,
      json_agg(file) FILTER (WHERE kind = 'manifest') -> 0 AS manifest, max(signature) AS signature,
      bool_or(is_special) AS "isSpecial", coalesce(json_agg(stored) FILTER (WHERE stored IS NOT NULL), '[]') AS stored
    FROM named GROUP BY day ORDER BY day`,
);

/** By merchant. One statement, which reads by index and nothing of other days. */
export async function publishedDays(
  db: Db,
  of: readonly DaysOfMerchant[],
): Promise<Map<string, PublishedDays>> {
  const rows = await rowsOf(db)<PublishedRow>`
    WITH RECURSIVE asked AS MATERIALIZED (
      SELECT * FROM unnest(
        ${arrayLiteral(of.map(({ merchantNo }) => merchantNo))}::text[],
        ${arrayLiteral(of.map(({ fromDay }) => fromDay))}::date[],
        ${arrayLiteral(of.map(({ toDay }) => toDay))}::date[]
      ) AS asked (merchant_no, from_day, to_day)
    ), account (merchant_no, currency) AS (
      SELECT asked.merchant_no, first.currency FROM asked CROSS JOIN LATERAL (
        SELECT currency FROM statement WHERE merchant_no = asked.merchant_no ORDER BY currency LIMIT 1
      ) AS first
      UNION ALL
      SELECT account.merchant_no, next.currency FROM account CROSS JOIN LATERAL (
        SELECT currency FROM statement WHERE merchant_no = account.merchant_no AND currency > account.currency
        ORDER BY currency LIMIT 1
      ) AS next
    ), own_statement AS MATERIALIZED (
      SELECT own.* FROM account JOIN asked USING (merchant_no) CROSS JOIN LATERAL (
        SELECT * FROM statement
        WHERE merchant_no = account.merchant_no AND currency = account.currency
          AND day BETWEEN asked.from_day AND asked.to_day
        OFFSET 0
      ) AS own
    )
    SELECT merchant_no,
      (SELECT jsonb_agg(${statementJson('s')} ORDER BY day, currency, revision) FROM own_statement s
       WHERE merchant_no = asked.merchant_no) AS statements,
      (SELECT jsonb_agg(to_jsonb(s) ORDER BY day, revision) FROM (
         SELECT ${SUMMARY_COLUMNS} FROM artifact WHERE ${OF_ASKED} AND kind = 'summary' OFFSET 0
       ) AS s) AS summaries,
      (SELECT jsonb_agg(to_jsonb(m) ORDER BY day) FROM (
         SELECT ${MANIFEST_COLUMNS} FROM artifact WHERE ${OF_ASKED} AND kind = 'manifest' OFFSET 0
       ) AS m) AS manifests,
      (SELECT jsonb_agg(to_jsonb(o)) FROM (
         SELECT ${STORED_COLUMNS} FROM artifact WHERE ${OF_ASKED} AND stored_sha256 IS NOT NULL OFFSET 0
       ) AS o) AS stored
    FROM asked`;
  return new Map(rows.map((row) => [row.merchant_no, publishedFrom(row)]));
}

const OF_ASKED = sql`
  artifact.merchant_no = asked.merchant_no AND artifact.day BETWEEN asked.from_day AND asked.to_day`;

const publishedFrom = ({ statements, summaries, manifests, stored }: PublishedRow): PublishedDays => ({
  statements: (statements ?? []).map(rowFrom),
  summaries: (summaries ?? []).map(rowFrom),
  manifests: manifests ?? [],
  stored: new Map((stored ?? []).map((row) => [row.object_key, row])),
});

/** Rows that are read together. Each has the text of a manifest. */
const READ_TOGETHER = 200;

interface ChainRow {
  readonly day: BusinessDay;
  readonly sha256: string;
  readonly place: number | null;
  readonly content: string;
}

/** By day. */
export async function* manifestRows(db: Db, merchantNo: string): AsyncGenerator<ChainRow> {
  for (let after: BusinessDay | null = null; ;) {
    const { rows }: { readonly rows: ChainRow[] } = await sql<ChainRow>`
      SELECT day, sha256, place, content FROM artifact
      WHERE merchant_no = ${merchantNo} AND kind = 'manifest' AND day > ${after ?? '-infinity'}::date
      ORDER BY day LIMIT ${READ_TOGETHER}`.execute(db);
    yield* rows;
    if (rows.length < READ_TOGETHER) return;
    after = rows.at(-1)!.day;
  }
}

/** Their texts stay, with the places that they name. */
export const takeOutOfChain = (trx: Trx, merchantNo: string, days: readonly BusinessDay[]) =>
  trx
    .updateTable('artifact')
    .set({ place: null })
    .where('kind', '=', 'manifest')
    .where('merchant_no', '=', merchantNo)
    .where('day', '=', sql<string>`ANY (${arrayLiteral(days)}::date[])`)
    .execute();
