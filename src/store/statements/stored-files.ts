/** Keeps what should lie in the object store: the current manifests, and what was last read back under each key. */
import { sql, type Kysely, type Selectable, type Transaction } from 'kysely';
import type { BusinessDay } from '../../ledger/entry.ts';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { DB, StatementManifest, StoredObject } from '../engine/schema.ts';
import {
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

export interface PublishedDays {
  readonly statements: readonly StatementRow[];
  readonly summaries: readonly SummaryRow[];
  readonly manifests: readonly ManifestRow[];
  /** What was last read back of these statements and summaries, and under the other keys asked for; by key. */
  readonly stored: ReadonlyMap<string, StoredRow>;
}

export interface DaysOfMerchant {
  readonly merchantNo: string;
  readonly fromDay: BusinessDay;
  readonly toDay: BusinessDay;
  readonly keys: readonly string[];
}

interface PublishedRow {
  readonly merchant_no: string;
  readonly statements: StatementRow[] | null;
  readonly summaries: SummaryRow[] | null;
  readonly manifests: ManifestRow[] | null;
  readonly stored: StoredRow[] | null;
}

/**
 * What was published of days of some merchants, by day, and what was read back of it; by merchant. One statement, which
 * reads by index and nothing of other days.
 */
export async function publishedDays(
  db: Kysely<DB>,
  of: readonly DaysOfMerchant[],
): Promise<Map<string, PublishedDays>> {
  const { rows } = await sql<PublishedRow>`
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
    ), own_summary AS MATERIALIZED (
      SELECT own.* FROM asked CROSS JOIN LATERAL (
        SELECT * FROM statement_summary
        WHERE merchant_no = asked.merchant_no AND day BETWEEN asked.from_day AND asked.to_day OFFSET 0
      ) AS own
    ), own_key AS MATERIALIZED (
      SELECT merchant_no, object_key FROM own_statement UNION ALL SELECT merchant_no, object_key FROM own_summary
      UNION ALL SELECT * FROM unnest(
        ${arrayLiteral(of.flatMap(({ merchantNo, keys }) => keys.map(() => merchantNo)))}::text[],
        ${arrayLiteral(of.flatMap(({ keys }) => keys))}::text[])
    )
    SELECT merchant_no,
      (SELECT jsonb_agg(${statementJson('s')} ORDER BY day, currency, revision) FROM own_statement s
       WHERE merchant_no = asked.merchant_no) AS statements,
      (SELECT jsonb_agg(to_jsonb(s) ORDER BY day, revision) FROM own_summary s
       WHERE merchant_no = asked.merchant_no) AS summaries,
      (SELECT jsonb_agg(to_jsonb(m) ORDER BY day) FROM statement_manifest m
       WHERE merchant_no = asked.merchant_no AND day BETWEEN asked.from_day AND asked.to_day) AS manifests,
      (SELECT jsonb_agg(to_jsonb(own)) FROM own_key CROSS JOIN LATERAL (
         SELECT * FROM stored_object WHERE object_key = own_key.object_key OFFSET 0
       ) AS own WHERE own_key.merchant_no = asked.merchant_no) AS stored
    FROM asked`.execute(db);
  return new Map(rows.map((row) => [row.merchant_no, publishedFrom(row)]));
}

const publishedFrom = ({ statements, summaries, manifests, stored }: PublishedRow): PublishedDays => ({
  statements: (statements ?? []).map(statementFrom),
  summaries: (summaries ?? []).map(summaryFrom),
  manifests: manifests ?? [],
  stored: new Map((stored ?? []).map((row) => [row.object_key, row])),
});

/** Rows that are read together. Each has the text of a manifest. */
const READ_TOGETHER = 200;

export interface ChainRow {
  readonly day: BusinessDay;
  readonly sha256: string;
  readonly place: number | null;
  readonly content: string;
}

/** By day. */
export async function* manifestRows(db: Kysely<DB>, merchantNo: string): AsyncGenerator<ChainRow> {
  for (let after: BusinessDay | null = null; ;) {
    let query = db
      .selectFrom('statement_manifest')
      .select(['day', 'sha256', 'place', 'content'])
      .where('merchant_no', '=', merchantNo)
      .orderBy('day')
      .limit(READ_TOGETHER);
    if (after !== null) query = query.where('day', '>', after);
    const rows: ChainRow[] = await query.execute();
    yield* rows;
    if (rows.length < READ_TOGETHER) return;
    after = rows.at(-1)!.day;
  }
}

/** Their texts stay, with the places that they name. */
export const takeOutOfChain = (trx: Transaction<DB>, merchantNo: string, days: readonly BusinessDay[]) =>
  trx
    .updateTable('statement_manifest')
    .set({ place: null })
    .where('merchant_no', '=', merchantNo)
    .where('day', '=', sql<string>`ANY (${arrayLiteral(days)}::date[])`)
    .execute();
