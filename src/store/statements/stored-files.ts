/** Keeps what should lie in the object store: the current manifests, and what was last read back under each key. */
import { sql, type Kysely, type Selectable, type Transaction } from 'kysely';
import type { BusinessDay } from '../../ledger/entry.ts';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { DB, StatementManifest, StoredObject } from '../engine/schema.ts';
import type { StatementRow, SummaryRow } from './statements.ts';

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
}

/** What was published of a merchant's days `fromDay` to `toDay`, by day. */
export async function publishedDays(
  db: Kysely<DB>,
  merchantNo: string,
  fromDay: BusinessDay,
  toDay: BusinessDay,
): Promise<PublishedDays> {
  const [statements, summaries, manifests] = await Promise.all([
    db
      .selectFrom('statement')
      .selectAll()
      .where('merchant_no', '=', merchantNo)
      .where('day', '>=', fromDay)
      .where('day', '<=', toDay)
      .orderBy('day')
      .orderBy('currency')
      .orderBy('revision')
      .execute(),
    db
      .selectFrom('statement_summary')
      .selectAll()
      .where('merchant_no', '=', merchantNo)
      .where('day', '>=', fromDay)
      .where('day', '<=', toDay)
      .orderBy('day')
      .orderBy('revision')
      .execute(),
    db
      .selectFrom('statement_manifest')
      .selectAll()
      .where('merchant_no', '=', merchantNo)
      .where('day', '>=', fromDay)
      .where('day', '<=', toDay)
      .orderBy('day')
      .execute(),
  ]);
  return { statements, summaries, manifests };
}
