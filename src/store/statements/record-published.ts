/** Stores what was published of a merchant's days, and settles account days that are published as they are. */
import { sql } from 'kysely';
import type { BusinessDay } from '../../ledger/entry.ts';
import { arrayLiteral, type Db, type Trx, rowsOf } from '../engine/database.ts';
import type { Lease } from '../engine/lease.ts';
import { writeTransaction } from '../engine/write-transaction.ts';
import type { AccountOnDay } from './due-days.ts';
import { type StatementRow, type SummaryRow, sameContent } from './statements.ts';
import type { ManifestRow, StoredRow } from './stored-files.ts';
import { ofMerchants } from '../account-filter.ts';
import type { EventKey } from '../events.ts';

export interface NewRows {
  readonly statements?: readonly StatementRow[];
  readonly summaries?: readonly SummaryRow[];
  /** Those of the statements that a run has to report, in addition to first ones of closed months. First ones among them are noted as late. */
  readonly unreported?: readonly Pick<StatementRow, 'currency' | 'day' | 'revision'>[];
  readonly stored?: readonly StoredRow[];
  /** Manifests as they should be. Stored before the objects are written, so that a run which takes over knows of them. */
  readonly manifests?: readonly ManifestRow[];
}

/** An account day that became due as its manifest names the statement before it. */
export interface RaisedDay extends AccountOnDay {
  /** After it was raised. */
  readonly version: number;
}

/** Of one merchant. The account's next published day becomes due, unless its manifest is among these. Returns these days. */
export async function recordPublished(
  trx: Trx,
  merchantNo: string,
  { statements = [], summaries = [], unreported = [], stored = [], manifests = [] }: NewRows,
): Promise<RaisedDay[]> {
  await keepExpected(trx, summaries, manifests);
  await recordStored(trx, stored);
  if (statements.length === 0) return [];
  await trx.insertInto('statement').values(statements).execute();
  await recordEvents(trx, merchantNo, statements, unreported);
  const newest = newestOf(statements);
  await setRevisions(trx, merchantNo, newest);
  return raiseNext(trx, merchantNo, newest, new Set(manifests.map(({ day }) => day)));
}

type Revision = Pick<StatementRow, 'currency' | 'day' | 'revision'>;

const nameOf = ({ currency, day, revision }: Revision): string => `${currency} ${day} r${revision}`;

function newestOf(statements: readonly Revision[]): Revision[] {
  const newest = new Map<string, Revision>();
  for (const one of statements.toSorted((a, b) => a.revision - b.revision))
    newest.set(`${one.currency} ${one.day}`, one);
  return [...newest.values()];
}

/** Events of the statements that a run is to report, and of first ones whose month was closed without them. */
async function recordEvents(
  trx: Trx,
  merchantNo: string,
  statements: readonly StatementRow[],
  unreported: readonly Revision[],
): Promise<void> {
  const closed = await closedMonths(trx, merchantNo);
  const reported = new Set(unreported.map(nameOf));
  const events = statements.flatMap((row) => {
    const { currency, day, revision } = row;
    const afterClose = revision === 1 ? closed.has(day.slice(0, 7)) : undefined;
    if (afterClose !== true && !reported.has(nameOf(row))) return [];
    const data = JSON.stringify({ currency, day, revision, afterClose });
    const subject = nameOf(row);
    return {
      ...{ kind: 'revision', merchant_no: merchantNo, subject, data },
      at: row.published_at,
      run_id: row.run_id,
    };
  });
  if (events.length === 0) return;
  await trx
    .insertInto('event')
    .values(events)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** As YYYY-MM, less those that were reopened. */
async function closedMonths(trx: Trx, merchantNo: string): Promise<ReadonlySet<string>> {
  const closes = await trx
    .selectFrom('month_close')
    .select(['month', 'reopened_event_id'])
    .distinctOn('month')
    .where('merchant_no', '=', merchantNo)
    .orderBy('month')
    .orderBy('number', 'desc')
    .execute();
  return new Set(closes.flatMap((one) => (one.reopened_event_id === null ? one.month.slice(0, 7) : [])));
}

async function setRevisions(trx: Trx, merchantNo: string, newest: readonly Revision[]): Promise<void> {
  await sql`
    UPDATE account_day SET revision = one.revision, begun_revision = NULL
    FROM unnest(
      ${arrayLiteral(newest.map(({ currency }) => currency))}::text[],
      ${arrayLiteral(newest.map(({ day }) => day))}::date[],
      ${arrayLiteral(newest.map(({ revision }) => revision))}::int[]
    ) AS one (currency, day, revision)
    WHERE merchant_no = ${merchantNo} AND account_day.currency = one.currency AND account_day.day = one.day`.execute(
    trx,
  );
}

async function raiseNext(
  trx: Trx,
  merchantNo: string,
  published: readonly Revision[],
  written: ReadonlySet<BusinessDay>,
): Promise<RaisedDay[]> {
  const found = await rowsOf(trx)<{ currency: string; day: BusinessDay }>`
    SELECT DISTINCT one.currency, later.day FROM unnest(
      ${arrayLiteral(published.map(({ currency }) => currency))}::text[],
      ${arrayLiteral(published.map(({ day }) => day))}::date[]
    ) AS one (currency, day) CROSS JOIN LATERAL (
      SELECT day FROM statement
      WHERE merchant_no = ${merchantNo} AND currency = one.currency AND day > one.day
      ORDER BY day LIMIT 1
    ) AS later`;
  const next = found.filter(({ day }) => !written.has(day));
  if (next.length === 0) return [];
  const raised = await rowsOf(trx)<{ currency: string; day: BusinessDay; version: number }>`
    UPDATE account_day SET version = version + 1
    FROM unnest(
      ${arrayLiteral(next.map(({ currency }) => currency))}::text[],
      ${arrayLiteral(next.map(({ day }) => day))}::date[]
    ) AS one (currency, day)
    WHERE merchant_no = ${merchantNo} AND account_day.currency = one.currency AND account_day.day = one.day
    RETURNING account_day.currency, account_day.day, account_day.version`;
  const versions = new Map(raised.map(({ currency, day, version }) => [`${currency} ${day}`, version]));
  return next.map(({ currency, day }) => ({
    ...{ account: { merchantNo, currency }, day },
    // An adopted day has no figures yet, and so no version.
    version: versions.get(`${currency} ${day}`) ?? 0,
  }));
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

/** An account's day that is published as it was when it had this version. */
export interface SettledDay extends AccountOnDay {
  readonly version: number;
}

/** Stores what was read back, and which version of each account day is published. A day that was changed since stays due. */
export async function recordSettled(
  trx: Trx,
  stored: readonly StoredRow[],
  settled: readonly SettledDay[],
): Promise<void> {
  await recordStored(trx, stored);
  for (const [merchantNo, own] of Map.groupBy(settled, ({ account }) => account.merchantNo))
    // The revision is already set, unless the statement was adopted and the figures were made after that.
    await sql`
      UPDATE account_day AS settled SET published_version = one.version, revision = (
        SELECT max(revision) FROM statement
        WHERE merchant_no = ${merchantNo} AND currency = settled.currency AND day = settled.day
      )
      FROM unnest(
        ${arrayLiteral(own.map(({ account }) => account.currency))}::text[],
        ${arrayLiteral(own.map(({ day }) => day))}::date[],
        ${arrayLiteral(own.map(({ version }) => version))}::int[]
      ) AS one (currency, day, version)
      WHERE settled.merchant_no = ${merchantNo} AND settled.currency = one.currency AND settled.day = one.day`.execute(
      trx,
    );
}

/** What was read back of files. What they must hold stays. */
export async function recordStored(trx: Trx, rows: readonly StoredRow[]): Promise<void> {
  if (rows.length === 0) return;
  const files = rows.map(({ merchant_no, day, object_key, sha256, byte_count, etag }) => ({
    ...{ merchant_no, day, object_key, kind: 'file', sha256 },
    ...{ stored_sha256: sha256, stored_bytes: byte_count, etag },
  }));
  await trx
    .insertInto('artifact')
    .values(lastOfEach(files))
    .onConflict((conflict) =>
      conflict.columns(['merchant_no', 'day', 'object_key']).doUpdateSet((eb) => ({
        sha256: sql`CASE artifact.kind WHEN 'file' THEN excluded.sha256 ELSE artifact.sha256 END`,
        stored_sha256: eb.ref('excluded.stored_sha256'),
        stored_bytes: eb.ref('excluded.stored_bytes'),
        etag: eb.ref('excluded.etag'),
      })),
    )
    .execute();
}

/** What files must hold; a summary's revision never changes. What was read back of them stays. */
async function keepExpected(
  trx: Trx,
  summaries: readonly SummaryRow[],
  manifests: readonly ManifestRow[],
): Promise<void> {
  const nothing = { byte_count: null, published_at: null, epoch: null, place: null, signature: null };
  const rows = [
    ...summaries.map((row) => ({ ...nothing, ...row, kind: 'summary' })),
    ...manifests.map((row) => ({ ...nothing, ...row, kind: 'manifest' })),
  ];
  if (rows.length === 0) return;
  const kept = await trx
    .insertInto('artifact')
    .values(rows)
    .onConflict((conflict) =>
      conflict
        .columns(['merchant_no', 'day', 'object_key'])
        .doUpdateSet((eb) => ({
          kind: eb.ref('excluded.kind'),
          revision: eb.ref('excluded.revision'),
          sha256: eb.ref('excluded.sha256'),
          byte_count: eb.ref('excluded.byte_count'),
          published_at: eb.ref('excluded.published_at'),
          epoch: eb.ref('excluded.epoch'),
          place: eb.ref('excluded.place'),
          signature: eb.ref('excluded.signature'),
          content: eb.ref('excluded.content'),
        }))
        .where(
          sql<boolean>`'summary' NOT IN (artifact.kind, excluded.kind) OR artifact.kind = 'file' OR artifact.sha256 = excluded.sha256`,
        ),
    )
    .returning('object_key')
    .execute();
  if (kept.length !== rows.length)
    throw new Error(`another summary of that revision is stored: ${rows[0]!.object_key}`);
}

/** A statement may write a row only once. */
const lastOfEach = <Row extends Pick<StoredRow, 'merchant_no' | 'day' | 'object_key'>>(
  rows: readonly Row[],
): Row[] => [...new Map(rows.map((row) => [`${row.merchant_no} ${row.object_key}`, row])).values()];

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
