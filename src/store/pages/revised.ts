/** Lists the statements that were revised since an instant, and the first ones that came late. */
import { sql, type Kysely, type RawBuilder } from 'kysely';
import type { Chosen } from '../../ledger/account-filter.ts';
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import { ofMerchants } from '../account-filter.ts';
import type { DB } from '../engine/schema.ts';
import type { StatementRow } from '../statements/statements.ts';

/** The place of a revision in the list. */
export interface RevisedAt extends Account {
  readonly publishedAt: Date;
  readonly day: BusinessDay;
  readonly revision: number;
}

export interface RevisedAsked {
  readonly since: Date;
  readonly merchants: Chosen;
  /** Only those behind this one; null from the newest on. */
  readonly after: RevisedAt | null;
  readonly limit: number;
}

/** A statement that changed what was known of its day. */
export interface RevisedRow extends StatementRow {
  /** Of a first statement, what the day was before: its month was closed without it, or it was proven empty. Null of others. */
  readonly late: 'closed' | 'empty' | null;
}

/** Newest first. Uses statement_revised_at and event_late. */
export async function revisedSince(
  db: Kysely<DB>,
  { since, merchants, after, limit }: RevisedAsked,
): Promise<RevisedRow[]> {
  const place = sql`published_at DESC, merchant_no, currency, day, revision`;
  const behind =
    after === null
      ? sql`true`
      : sql`published_at <= ${after.publishedAt} AND (published_at < ${after.publishedAt}
          OR (merchant_no, currency, day, revision)
            > (${after.merchantNo}, ${after.currency}, ${after.day}::date, ${after.revision}::integer))`;
  const firstOf = (of: RawBuilder<unknown>): RawBuilder<unknown> => sql`(
    SELECT * FROM (${of}) AS one WHERE published_at >= ${since} AND ${ofMerchants(merchants)} AND ${behind}
    ORDER BY ${place} LIMIT ${limit})`;
  const revised = sql`
    SELECT merchant_no, currency, day, revision, published_at, NULL::boolean AS after_close FROM statement WHERE revision > 1`;
  const late = sql`
    SELECT merchant_no, (data ->> 'currency') COLLATE "C" AS currency, (data ->> 'day')::date AS day, 1 AS revision,
      at AS published_at, (data -> 'afterClose')::boolean AS after_close
    FROM event WHERE kind = 'revision' AND subject LIKE '% r1'`;
  const { rows } = await sql<RevisedRow>`
    WITH found AS MATERIALIZED (
      SELECT * FROM (${firstOf(revised)} UNION ALL ${firstOf(late)}) AS one ORDER BY ${place} LIMIT ${limit}
    )
    SELECT known.*, CASE found.after_close WHEN true THEN 'closed' WHEN false THEN 'empty' END AS late
    FROM found JOIN statement AS known USING (merchant_no, currency, day, revision)
    ORDER BY known.published_at DESC, merchant_no, currency, day, revision`.execute(db);
  return rows;
}
