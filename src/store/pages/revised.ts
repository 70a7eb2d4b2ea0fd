/** Lists the statements that were revised since an instant. */
import { sql, type Kysely } from 'kysely';
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

/** Newest first. Uses statement_revised_at. */
export function revisedSince(
  db: Kysely<DB>,
  { since, merchants, after, limit }: RevisedAsked,
): Promise<StatementRow[]> {
  let query = db
    .selectFrom('statement')
    .selectAll()
    .where('revision', '>', 1)
    .where('published_at', '>=', since)
    .where(ofMerchants(merchants))
    .orderBy('published_at', 'desc')
    .orderBy('merchant_no')
    .orderBy('currency')
    .orderBy('day')
    .orderBy('revision')
    .limit(limit);
  if (after !== null)
    query = query.where('published_at', '<=', after.publishedAt).where(sql<boolean>`(
      published_at < ${after.publishedAt} OR (merchant_no, currency, day, revision)
        > (${after.merchantNo}, ${after.currency}, ${after.day}::date, ${after.revision}::integer))`);
  return query.execute();
}
