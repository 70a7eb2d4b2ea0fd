/** Stores what was published of many days: few statements for all of them, in a transaction of the caller. */
import { sql, type RawBuilder, type Transaction } from 'kysely';
import type { BusinessDay } from '../../ledger/entry.ts';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { DB } from '../engine/schema.ts';
import type { AccountOnDay } from './openings.ts';
import type { StatementRow, SummaryRow } from './statements.ts';
import type { ManifestRow, StoredRow } from './stored-files.ts';

/** Rows of new revisions, and of what goes with them. */
export interface NewRows {
  readonly statements?: readonly StatementRow[];
  readonly summaries?: readonly SummaryRow[];
  /** Those of the statements that no run has reported yet and that one should. */
  readonly untold?: readonly Pick<StatementRow, 'merchant_no' | 'currency' | 'day' | 'revision'>[];
  /** What was read back of their files. */
  readonly stored?: readonly StoredRow[];
  /** Manifests as they should be. Stored before the objects are written, so that a run which takes over knows of them. */
  readonly manifests?: readonly ManifestRow[];
}

/**
 * Stores the rows. For each statement, the account's next published day becomes due, because its manifest names the
 * statement before it. Returns these next days, as they were before this was called.
 */
export async function recordPublished(
  trx: Transaction<DB>,
  { statements = [], summaries = [], untold = [], stored = [], manifests = [] }: NewRows,
): Promise<AccountOnDay[]> {
  const { rows } = await sql<{ merchant_no: string; currency: string; day: BusinessDay }>`
    WITH new_statement AS MATERIALIZED (SELECT * FROM ${rowsOf('statement', statements)} AS new),
    kept_statement AS (INSERT INTO statement SELECT * FROM new_statement),
    kept_summary AS (INSERT INTO statement_summary SELECT * FROM ${rowsOf('statement_summary', summaries)} AS new),
    kept_untold AS (
      INSERT INTO untold_revision SELECT * FROM ${rowsOf('untold_revision', untold)} AS new ON CONFLICT DO NOTHING
    ),
    kept_stored AS (${storedKept(stored)}),
    kept_manifest AS (
      INSERT INTO statement_manifest SELECT * FROM ${rowsOf('statement_manifest', manifests)} AS new
      ON CONFLICT (merchant_no, day) DO UPDATE SET
        revision = excluded.revision, epoch = excluded.epoch, sha256 = excluded.sha256,
        byte_count = excluded.byte_count, content = excluded.content
    ),
    own AS (
      SELECT merchant_no, currency, day, max(revision) AS revision FROM new_statement
      GROUP BY merchant_no, currency, day
    ),
    next AS (
      SELECT DISTINCT own.merchant_no, own.currency, later.day FROM own CROSS JOIN LATERAL (
        SELECT day FROM statement
        WHERE merchant_no = own.merchant_no AND currency = own.currency AND day > own.day
        ORDER BY day LIMIT 1
      ) AS later
    ),
    touched AS (
      SELECT merchant_no, currency, day, max(revision) AS revision, bool_or(is_next) AS is_next
      FROM (SELECT *, false AS is_next FROM own UNION ALL SELECT *, NULL, true FROM next) AS one
      GROUP BY merchant_no, currency, day
    ),
    marked AS (
      UPDATE account_day AS marked SET
        revision = coalesce(touched.revision, marked.revision),
        publish_due = marked.publish_due OR touched.is_next
      FROM touched
      WHERE (marked.merchant_no, marked.currency, marked.day) = (touched.merchant_no, touched.currency, touched.day)
    )
    SELECT merchant_no, currency, day FROM next`.execute(trx);
  return rows.map((row) => ({
    account: { merchantNo: row.merchant_no, currency: row.currency },
    day: row.day,
  }));
}

/** Stores what was read back, and marks account days as not due any more: they are published as they are. */
export async function recordSettled(
  trx: Transaction<DB>,
  stored: readonly StoredRow[],
  settled: readonly AccountOnDay[],
): Promise<void> {
  if (stored.length === 0 && settled.length === 0) return;
  // The revision is already set, unless the statement was adopted and the figures were made after that.
  await sql`
    WITH kept_stored AS (${storedKept(stored)})
    UPDATE account_day AS settled SET publish_due = false, revision = (
      SELECT max(revision) FROM statement
      WHERE (merchant_no, currency, day) = (settled.merchant_no, settled.currency, settled.day)
    )
    FROM unnest(
      ${arrayLiteral(settled.map(({ account }) => account.merchantNo))}::text[],
      ${arrayLiteral(settled.map(({ account }) => account.currency))}::text[],
      ${arrayLiteral(settled.map(({ day }) => day))}::date[]
    ) AS one (merchant_no, currency, day)
    WHERE (settled.merchant_no, settled.currency, settled.day) = (one.merchant_no, one.currency, one.day)`.execute(
    trx,
  );
}

/** Stores what was read back. */
export async function recordStored(trx: Transaction<DB>, rows: readonly StoredRow[]): Promise<void> {
  if (rows.length > 0) await storedKept(rows).execute(trx);
}

const storedKept = (rows: readonly StoredRow[]): RawBuilder<unknown> => sql`
  INSERT INTO stored_object SELECT * FROM ${rowsOf('stored_object', rows)} AS new
  ON CONFLICT (object_key) DO UPDATE SET
    sha256 = excluded.sha256, byte_count = excluded.byte_count, etag = excluded.etag`;

/** Rows of a table as one parameter: far cheaper than one for each value. */
const rowsOf = (table: keyof DB, rows: readonly object[]): RawBuilder<unknown> =>
  sql`json_populate_recordset(NULL::${sql.table(table)}, ${JSON.stringify(rows)}::json)`;
