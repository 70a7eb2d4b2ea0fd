/** What must lie in the object store, as rows of `artifact`: the current manifests, and what was last read back of each file. */
import { sql, type Selectable } from 'kysely';
import type { BusinessDay } from '../../ledger/entry.ts';
import { arrayLiteral, type Db, type Trx } from '../engine/database.ts';
import type { Artifact } from '../engine/schema.ts';
import { currenciesOf, type StatementRow, type SummaryRow } from './statements.ts';

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

type ArtifactRow = Selectable<Artifact>;

const summaryIn = ({
  merchant_no,
  day,
  revision,
  sha256,
  object_key,
  published_at,
  content,
}: ArtifactRow): SummaryRow => ({
  ...{ merchant_no, day, revision: revision!, sha256, object_key, published_at: published_at!, content },
});

const manifestIn = (row: ArtifactRow): ManifestRow => ({
  ...{ merchant_no: row.merchant_no, day: row.day, object_key: row.object_key, revision: row.revision! },
  ...{ epoch: row.epoch!, sha256: row.sha256, byte_count: row.byte_count!, content: row.content! },
  ...{ place: row.place, signature: row.signature },
});

const storedIn = ({
  merchant_no,
  day,
  object_key,
  stored_sha256,
  stored_bytes,
  etag,
}: ArtifactRow): StoredRow[] =>
  stored_sha256 === null
    ? []
    : [{ merchant_no, day, object_key, sha256: stored_sha256, byte_count: stored_bytes!, etag }];

const artifactsOf = (db: Db, merchantNo: string) =>
  db.selectFrom('artifact').selectAll().where('merchant_no', '=', merchantNo);

export interface FilesOfDay {
  readonly summaries: readonly SummaryRow[];
  readonly manifest: ManifestRow | undefined;
  /** What was last read back of the manifest, and of its signature, whatever the merchant's folder is called. */
  readonly storedManifest: StoredRow | undefined;
  readonly storedSignature: StoredRow | undefined;
}

/** By day; summaries in order. */
export async function filesOfDays(
  db: Db,
  merchantNo: string,
  days: readonly BusinessDay[],
): Promise<ReadonlyMap<BusinessDay, FilesOfDay>> {
  const rows = await artifactsOf(db, merchantNo).where('day', 'in', days).orderBy('revision').execute();
  const filesOf = (own: readonly ArtifactRow[]): FilesOfDay => {
    const stored = own.flatMap(storedIn);
    const named = (name: string) => stored.find(({ object_key }) => object_key.endsWith(name));
    return {
      summaries: own.filter(({ kind }) => kind === 'summary').map(summaryIn),
      manifest: own.filter(({ kind }) => kind === 'manifest').map(manifestIn)[0],
      storedManifest: named('/manifest.json'),
      storedSignature: named('/manifest.json.minisig'),
    };
  };
  return new Map([...Map.groupBy(rows, ({ day }) => day)].map(([day, own]) => [day, filesOf(own)]));
}

/** Uses the primary key; undefined before the first one. */
export async function manifestOfDay(
  db: Db,
  merchantNo: string,
  day: BusinessDay,
): Promise<ManifestRow | undefined> {
  const row = await artifactsOf(db, merchantNo)
    .where('day', '=', day)
    .where('kind', '=', sql.lit('manifest'))
    .executeTakeFirst();
  return row === undefined ? undefined : manifestIn(row);
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
 * nothing is amiss.
 */
export async function knownDays(db: Db, of: DaysOfMerchant): Promise<KnownDay[]> {
  const statements = await statementsWithin(db, of);
  const artifacts = await db
    .selectFrom('artifact')
    .select(['day', 'kind', 'object_key', 'sha256', 'stored_sha256', 'stored_bytes', 'etag', 'signature'])
    .select(
      sql<boolean>`kind = 'manifest' AND (strpos(content, '"otherFormats":') > 0 OR place IS NULL)`.as(
        'isSpecial',
      ),
    )
    .where('merchant_no', '=', of.merchantNo)
    .where('day', '>=', of.fromDay)
    .where('day', '<=', of.toDay)
    .execute();
  const named = Map.groupBy(statements, ({ day }) => day);
  const kept = Map.groupBy(artifacts, ({ day }) => day);
  const fileOf = (row: { object_key: string; sha256: string }) => [row.object_key, row.sha256] as const;
  return [...new Set([...named.keys(), ...kept.keys()])].sort().map((day) => {
    const own = kept.get(day) ?? [];
    return {
      day,
      statements: (named.get(day) ?? []).map(fileOf),
      summaries: own.filter(({ kind }) => kind === 'summary').map(fileOf),
      manifest: own.filter(({ kind }) => kind === 'manifest').map(fileOf)[0] ?? null,
      signature: own.find(({ signature }) => signature !== null)?.signature ?? null,
      isSpecial: own.some(({ isSpecial }) => isSpecial),
      stored: own.flatMap((row) =>
        row.stored_sha256 === null
          ? []
          : [[row.object_key, row.stored_sha256, row.stored_bytes!, row.etag] as const],
      ),
    };
  });
}

export async function publishedDays(db: Db, of: DaysOfMerchant): Promise<PublishedDays> {
  const statements = await statementsWithin(db, of);
  const rows = await artifactsOf(db, of.merchantNo)
    .where('day', '>=', of.fromDay)
    .where('day', '<=', of.toDay)
    .orderBy('day')
    .orderBy('revision')
    .execute();
  return {
    statements,
    summaries: rows.filter(({ kind }) => kind === 'summary').map(summaryIn),
    manifests: rows.filter(({ kind }) => kind === 'manifest').map(manifestIn),
    stored: new Map(rows.flatMap(storedIn).map((row) => [row.object_key, row])),
  };
}

/** By day, currency and revision. */
async function statementsWithin(
  db: Db,
  { merchantNo, fromDay, toDay }: DaysOfMerchant,
): Promise<StatementRow[]> {
  const currencies = await currenciesOf(db, merchantNo);
  if (currencies.length === 0) return [];
  return db
    .selectFrom('statement')
    .selectAll()
    .where('merchant_no', '=', merchantNo)
    .where('currency', 'in', currencies)
    .where('day', '>=', fromDay)
    .where('day', '<=', toDay)
    .orderBy('day')
    .orderBy('currency')
    .orderBy('revision')
    .execute();
}

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
