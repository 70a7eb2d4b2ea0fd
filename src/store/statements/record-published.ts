/** Stores what was published of many days: few statements for all of them. */
import { sql, type RawBuilder } from 'kysely';
import type { BusinessDay } from '../../ledger/entry.ts';
import { arrayLiteral, type Db, type Trx, rowsOf } from '../engine/database.ts';
import { HELD_ALREADY, heldMerchants, type Lease } from '../engine/lease.ts';
import type { DB } from '../engine/schema.ts';
import { sharedWrite, writeTransaction } from '../engine/write-transaction.ts';
import { ACCOUNT_ON_DAY, type AccountOnDay } from './due-days.ts';
import { type StatementRow, type SummaryRow, sameContent } from './statements.ts';
import type { ManifestRow, StoredRow } from './stored-files.ts';
import { ofMerchants } from '../account-filter.ts';
import type { EventKey } from '../events.ts';

export interface NewRows {
  readonly statements?: readonly StatementRow[];
  readonly summaries?: readonly SummaryRow[];
  /** Those of the statements that a run has to report, in addition to first ones of closed months. First ones among them are noted as late. */
  readonly unreported?: readonly Pick<StatementRow, 'merchant_no' | 'currency' | 'day' | 'revision'>[];
  readonly stored?: readonly StoredRow[];
  /** Manifests as they should be. Stored before the objects are written, so that a run which takes over knows of them. */
  readonly manifests?: readonly ManifestRow[];
}

/** Of one merchant. The account's next published day becomes due, as its manifest names the statement before it. Returns these days, as they were before. */
export async function recordPublished(trx: Trx, merchantNo: string, rows: NewRows): Promise<AccountOnDay[]> {
  return (await kept([{ merchantNo, rows }], HELD_ALREADY).execute(trx)).rows[0]!.next;
}

/** The same in one statement, which asks for the lease itself. Throws `LeaseLost`, or `StoreUnreachable` once the retries are used up. */
export const recordUnderLease = (
  db: Db,
  lease: Lease,
  merchantNo: string,
  rows: NewRows,
): Promise<AccountOnDay[]> => record(db, lease, { merchantNo, rows });

interface ToRecord {
  readonly merchantNo: string;
  readonly rows: NewRows;
}

const record = sharedWrite<ToRecord, AccountOnDay[]>(async (db, asks, held) => {
  const { rows } = await kept(asks, held).execute(db);
  const answers = asks.map((): AccountOnDay[] | null => null);
  for (const { nth, next } of rows) answers[nth - 1] = next;
  return answers;
});

/** A row for each of `held`; of the others nothing is stored. */
interface KeptRow {
  readonly nth: number;
  readonly next: AccountOnDay[];
}

/** Events of the new statements that a run is to report, and of first ones whose month was closed without them. */
const EVENTS_KEPT = sql`
  INSERT INTO event (kind, merchant_no, subject, at, data, run_id)
  SELECT 'revision', merchant_no, currency || ' ' || day || ' r' || revision, published_at,
    jsonb_strip_nulls(jsonb_build_object(
      'currency', currency, 'day', day, 'revision', revision, 'afterClose', after_close
    )), run_id
  FROM (
    SELECT *, CASE WHEN revision = 1 THEN coalesce((
      SELECT closed.reopened_event_id IS NULL FROM month_close AS closed
      WHERE closed.merchant_no = new_statement.merchant_no
        AND closed.month = date_trunc('month', new_statement.day)::date
      ORDER BY number DESC LIMIT 1
    ), false) END AS after_close FROM new_statement
  ) AS new
  WHERE after_close OR (merchant_no, currency, day, revision) IN (SELECT * FROM new_unreported)
  ON CONFLICT DO NOTHING`;

/**
 * May be sent again if the answer to it was lost: a row that is there already, with the same content, stays. With another
 * content, the hash becomes null, which the table refuses. The merchants are named once more where account days are found
 * up, so that the planner expects few rows and goes by the key.
 */
function kept(asks: readonly ToRecord[], held: RawBuilder<unknown>): RawBuilder<KeptRow> {
  const all = <Row>(rowsIn: (rows: NewRows) => readonly Row[] | undefined): Row[] =>
    asks.flatMap(({ rows }) => rowsIn(rows) ?? []);
  const files = {
    summaries: all((rows) => rows.summaries),
    stored: all((rows) => rows.stored),
    manifests: all((rows) => rows.manifests),
  };
  return sql<KeptRow>`
    WITH held AS MATERIALIZED ${heldMerchants(asks, held)},
    new_statement AS MATERIALIZED (
      SELECT new.* FROM held JOIN ${recordsOf(
        'statement',
        all((rows) => rows.statements),
      )} AS new USING (merchant_no)
    ),
    kept_statement AS (
      INSERT INTO statement AS known SELECT * FROM new_statement
      ON CONFLICT (merchant_no, currency, day, revision) DO UPDATE SET sha256 = CASE
        WHEN (known.object_key, known.sha256, known.published_at, known.run_id)
          IS NOT DISTINCT FROM (excluded.object_key, excluded.sha256, excluded.published_at, excluded.run_id)
        THEN known.sha256 END
    ),
    new_unreported AS MATERIALIZED (
      SELECT new.merchant_no, new.currency, new.day, new.revision FROM held JOIN ${recordsOf(
        'statement',
        all((rows) => rows.unreported),
      )} AS new USING (merchant_no)
    ),
    kept_event AS (${EVENTS_KEPT}),
    kept_artifact AS (${artifactsKept(files, sql`held JOIN`, sql`USING (merchant_no)`)}),
    own AS (
      SELECT merchant_no, currency, day, max(revision) AS revision FROM new_statement
      GROUP BY merchant_no, currency, day
    ),
    next AS MATERIALIZED (
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
        begun_revision = CASE WHEN touched.revision IS NULL THEN marked.begun_revision END,
        publish_due = marked.publish_due OR touched.is_next
      FROM touched
      WHERE touched.merchant_no = ANY (${arrayLiteral(asks.map(({ merchantNo }) => merchantNo))}::text[])
        AND (marked.merchant_no, marked.currency, marked.day) = (touched.merchant_no, touched.currency, touched.day)
    )
    SELECT nth::int AS nth, coalesce((
      SELECT jsonb_agg(${ACCOUNT_ON_DAY}) FROM next WHERE next.merchant_no = held.merchant_no
    ), '[]') AS next FROM held`;
}

/** Should the run end before the row of this file is stored, the next one publishes it. Throws `LeaseLost` or `StoreUnreachable`. */
export async function recordBegun(
  db: Db,
  lease: Lease,
  { account: { merchantNo, currency }, day }: AccountOnDay,
  revision: number,
): Promise<void> {
  await writeTransaction(db, lease, (trx) =>
    trx
      .updateTable('account_day')
      .set({ begun_revision: revision })
      .where('merchant_no', '=', merchantNo)
      .where('currency', '=', currency)
      .where('day', '=', day)
      .execute(),
  );
}

/** An account's day that is published as it was read. */
export interface SettledDay extends AccountOnDay {
  readonly contentHash: number;
}

/** Stores what was read back, and marks account days as not due any more: they are published as they are. */
export async function recordSettled(
  trx: Trx,
  stored: readonly StoredRow[],
  settled: readonly SettledDay[],
): Promise<void> {
  if (stored.length === 0 && settled.length === 0) return;
  const merchants = arrayLiteral(settled.map(({ account }) => account.merchantNo));
  // The revision is already set, unless the statement was adopted and the figures were made after that. The merchants are
  // named twice, so that the planner expects few rows and goes by the key.
  await sql`
    WITH kept_artifact AS (${artifactsKept({ stored })})
    UPDATE account_day AS settled SET publish_due = false, (revision, published_hash) = (
      SELECT revision, CASE WHEN
        (own.opening, own.credit_total, own.credit_count, own.debit_total, own.debit_count, own.closing) =
        (settled.opening, settled.credit_total, settled.credit_count, settled.debit_total, settled.debit_count, settled.closing)
        THEN one.content_hash END
      FROM statement AS own
      WHERE (own.merchant_no, own.currency, own.day) = (settled.merchant_no, settled.currency, settled.day)
      ORDER BY revision DESC LIMIT 1
    )
    FROM unnest(
      ${merchants}::text[],
      ${arrayLiteral(settled.map(({ account }) => account.currency))}::text[],
      ${arrayLiteral(settled.map(({ day }) => day))}::date[],
      ${arrayLiteral(settled.map(({ contentHash }) => contentHash))}::bigint[]
    ) AS one (merchant_no, currency, day, content_hash)
    WHERE one.merchant_no = ANY (${merchants}::text[])
      AND (settled.merchant_no, settled.currency, settled.day) = (one.merchant_no, one.currency, one.day)`.execute(
    trx,
  );
}

export async function recordStored(trx: Trx, rows: readonly StoredRow[]): Promise<void> {
  if (rows.length > 0) await artifactsKept({ stored: rows }).execute(trx);
}

/** What was read back of a file leaves alone what it must hold, and the other way round. */
const artifactsKept = (
  rows: Pick<NewRows, 'summaries' | 'manifests' | 'stored'>,
  joined = sql``,
  by = sql``,
): RawBuilder<unknown> => sql`
  INSERT INTO artifact AS known SELECT new.* FROM ${joined} ${recordsOf('artifact', artifactsOf(rows))} AS new ${by}
  ON CONFLICT (merchant_no, day, object_key) DO UPDATE SET
    kind = ${unlessFile('kind')}, revision = ${unlessFile('revision')}, byte_count = ${unlessFile('byte_count')},
    published_at = ${unlessFile('published_at')}, epoch = ${unlessFile('epoch')}, place = ${unlessFile('place')},
    signature = ${unlessFile('signature')}, content = ${unlessFile('content')},
    sha256 = CASE
      WHEN excluded.kind = 'file' AND known.kind <> 'file' THEN known.sha256
      WHEN excluded.kind <> 'summary' OR known.kind = 'file' OR (known.revision, known.sha256, known.published_at)
        = (excluded.revision, excluded.sha256, excluded.published_at)
      THEN excluded.sha256 END,
    stored_sha256 = coalesce(excluded.stored_sha256, known.stored_sha256),
    stored_bytes = coalesce(excluded.stored_bytes, known.stored_bytes),
    etag = CASE WHEN excluded.stored_sha256 IS NULL THEN known.etag ELSE excluded.etag END`;

const unlessFile = (column: string): RawBuilder<unknown> =>
  sql`CASE excluded.kind WHEN 'file' THEN ${sql.ref(`known.${column}`)} ELSE ${sql.ref(`excluded.${column}`)} END`;

/** One row for each file, as a statement may write a row only once. */
function artifactsOf({
  summaries = [],
  manifests = [],
  stored = [],
}: Pick<NewRows, 'summaries' | 'manifests' | 'stored'>): object[] {
  const rows = new Map<string, object>();
  const add = (row: Pick<StoredRow, 'merchant_no' | 'day' | 'object_key'>): void => {
    const name = `${row.merchant_no} ${row.day} ${row.object_key}`;
    rows.set(name, { ...rows.get(name), ...row });
  };
  for (const { merchant_no, day, object_key, sha256, byte_count, etag } of stored) {
    const file = { merchant_no, day, object_key, kind: 'file', sha256 };
    add({ ...file, ...{ stored_sha256: sha256, stored_bytes: byte_count, etag } });
  }
  for (const row of summaries) add({ ...row, ...{ kind: 'summary' } });
  for (const row of manifests) add({ ...row, ...{ kind: 'manifest' } });
  return [...rows.values()];
}

/** Rows of a table as one parameter: far cheaper than one for each value. */
const recordsOf = (table: keyof DB, rows: readonly object[]): RawBuilder<unknown> =>
  sql`json_populate_recordset(NULL::${sql.table(table)}, ${JSON.stringify(rows)}::json)`;

/** A day whose published statement changed after the day was proven. */
export interface RevisedDay {
  readonly merchantNo: string;
  readonly currency: string;
  readonly day: BusinessDay;
  /** The revision before the change; null if the day had been read before and had no entries. */
  readonly oldRevision: number | null;
  readonly revision: number;
  readonly oldRows: number;
  readonly rows: number;
  /** The file and its amounts did not change: only the verdict, the breaks after the day, or the source of the opening. */
  readonly readsTheSame: boolean;
  /** What changed, as the manifest says it; null for a day's first statement. */
  readonly reason: string | null;
  readonly runId: number | null;
  /** A backfill published it, which does not report revisions itself. */
  readonly isOfBackfill?: boolean;
  /** The last close of its month, which it adjusts; null or left out where the month is not closed. */
  readonly closeNumber?: number | null;
  /** It was open when its month was closed, and had no statement then; so it was to be expected. */
  readonly wasOpenAtClose?: boolean;
}

/**
 * All changes of the merchants that are not reported yet, by merchant, day and currency. Each day comes once: from
 * before its first such revision to its last.
 */
export const unreportedRevisions = (db: Db, merchants: readonly string[]) => rowsOf(db)<RevisedDay>`
    WITH unreported AS (
      SELECT merchant_no, data ->> 'currency' AS currency, (data ->> 'day')::date AS day,
        min((data -> 'revision')::int) AS first, max((data -> 'revision')::int) AS last
      FROM event WHERE kind = 'revision' AND reported_at IS NULL AND ${ofMerchants(merchants)}
      GROUP BY 1, 2, 3
    )
    SELECT unreported.merchant_no AS "merchantNo", unreported.currency, unreported.day, first_one.supersedes AS "oldRevision",
      unreported.last AS revision, coalesce(old.row_count, 0) AS "oldRows", last_one.row_count AS rows, last_one.reason,
      last_one.run_id AS "runId",
      EXISTS (SELECT FROM run WHERE id = last_one.run_id AND command = 'backfill') AS "isOfBackfill", closed.number AS "closeNumber",
      first_one.supersedes IS NULL AND coalesce(closed.content::jsonb -> 'openDays' @> jsonb_build_array(
        jsonb_build_object('currency', unreported.currency, 'day', unreported.day::text)
      ), false) AS "wasOpenAtClose", coalesce(${sameContent('old', 'last_one')}, false) AS "readsTheSame"
    FROM unreported
    JOIN statement AS first_one
      ON (first_one.merchant_no, first_one.currency, first_one.day, first_one.revision)
        = (unreported.merchant_no, unreported.currency, unreported.day, unreported.first)
    JOIN statement AS last_one
      ON (last_one.merchant_no, last_one.currency, last_one.day, last_one.revision)
        = (unreported.merchant_no, unreported.currency, unreported.day, unreported.last)
    LEFT JOIN statement AS old
      ON (old.merchant_no, old.currency, old.day, old.revision)
        = (unreported.merchant_no, unreported.currency, unreported.day, first_one.supersedes)
    LEFT JOIN LATERAL (
      SELECT number, content, reopened_event_id FROM month_close
      WHERE merchant_no = unreported.merchant_no AND month = date_trunc('month', unreported.day)::date
      ORDER BY number DESC LIMIT 1
    ) AS closed ON closed.reopened_event_id IS NULL
    ORDER BY 1, 3, 2`;

/** The events of a revised day: of each revision from the first that it had not reported. */
export const revisionEvents = ({
  merchantNo,
  currency,
  day,
  oldRevision,
  revision,
}: Pick<RevisedDay, 'merchantNo' | 'currency' | 'day' | 'oldRevision' | 'revision'>): EventKey[] =>
  Array.from({ length: revision - (oldRevision ?? 0) }, (_, at) => ({
    ...{ kind: 'revision', merchantNo },
    subject: `${currency} ${day} r${revision - at}`,
  }));
