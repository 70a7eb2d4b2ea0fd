/** Finds out which revised days somebody had downloaded. The record of downloads is long, so this is bounded in time. */
import { sql, type Kysely, type Transaction } from 'kysely';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { DB } from '../engine/schema.ts';
import { sameContent } from '../statements/statements.ts';
import { unreportedRevisions, type RevisedEvent } from './events.ts';

/** How often somebody downloaded an account day before it was revised. */
export interface Downloaded {
  readonly merchantNo: string;
  readonly currency: string;
  readonly day: string;
  readonly times: number;
  readonly lastAt: Date;
}

/** The part of a download's subject that audit_entry_download has. */
const BEGINNING = sql`left(download.subject, 200) COLLATE "C"`;

/** The queried revised days, and those of them that were downloaded before. */
export interface RevisedDownloads {
  readonly asked: readonly RevisedEvent[];
  readonly downloads: readonly Downloaded[];
}

/** Time for finding out who downloaded what was revised. */
const DOWNLOADS_MS_MAX = 5_000;

/**
 * The downloads of the revised days that are reported next. Call it outside of the transaction that reports them. Throws what
 * the database throws, also if it takes too long.
 */
export async function unreportedDownloads(db: Kysely<DB>): Promise<RevisedDownloads> {
  const asked = await unreportedRevisions(db);
  if (asked.length === 0) return { asked, downloads: [] };
  const downloads = await db.transaction().execute(async (trx) => {
    await sql`SET LOCAL statement_timeout = ${sql.lit(DOWNLOADS_MS_MAX)}`.execute(trx);
    return downloadsOf(trx, asked);
  });
  return { asked, downloads };
}

/**
 * Which of the days somebody had downloaded, by itself or with its month, in a revision that is out of date now. The
 * record of downloads names the file, or the month with the merchants and currencies that were chosen. Both are found by
 * audit_entry_download, by the beginning of the subject: the subjects of a month are the texts from the month on that a
 * space or nothing follows.
 */
async function downloadsOf(trx: Transaction<DB>, revised: readonly RevisedEvent[]): Promise<Downloaded[]> {
  const column = (value: (one: RevisedEvent) => string | number) => arrayLiteral(revised.map(value));
  const { rows } = await sql<Downloaded>`
    WITH outdated AS MATERIALIZED (
      SELECT own.merchant_no, own.currency, own.day, to_char(own.day, 'YYYY-MM') AS month, old.object_key,
        old.published_at AS since, newest.published_at AS until
      FROM unnest(
        ${column(({ merchantNo }) => merchantNo)}::text[], ${column(({ currency }) => currency)}::text[],
        ${column(({ day }) => day)}::date[], ${column(({ revision }) => revision)}::integer[]
      ) AS own (merchant_no, currency, day, revision)
      JOIN statement AS newest USING (merchant_no, currency, day, revision)
      JOIN statement AS old ON (old.merchant_no, old.currency, old.day) = (own.merchant_no, own.currency, own.day)
        AND old.revision < own.revision AND NOT (${sameContent('old', 'newest')})
    ), by_month AS MATERIALIZED (
      SELECT asked.month, download.id, download.at, (string_to_array(download.subject, ' '))[2:] AS words
      FROM (SELECT month, min(since) AS since FROM outdated GROUP BY month) AS asked
      JOIN audit_event AS download ON download.command = 'statements get' AND download.at >= asked.since
        AND ${BEGINNING} >= asked.month AND ${BEGINNING} < asked.month || '!'
    ), found AS (
      SELECT merchant_no, currency, day, download.id, download.at
      FROM outdated JOIN audit_event AS download ON download.command = 'statements get'
        AND ${BEGINNING} = left(outdated.object_key, 200) AND download.subject = outdated.object_key
      UNION
      SELECT merchant_no, currency, day, download.id, download.at
      FROM outdated JOIN by_month AS download USING (month)
      WHERE download.at >= since AND download.at <= until
        AND (merchant_no = ANY (words)
          OR NOT EXISTS (SELECT FROM unnest(words) AS word WHERE word !~ '^[A-Z]{3}$'))
        AND (currency = ANY (words)
          OR NOT EXISTS (SELECT FROM unnest(words) AS word WHERE word ~ '^[A-Z]{3}$'))
    )
    SELECT merchant_no AS "merchantNo", currency, day::text, count(*) AS times, max(at) AS "lastAt"
    FROM found
    GROUP BY merchant_no, currency, day
    ORDER BY merchant_no, found.day, currency`.execute(trx);
  return rows;
}
