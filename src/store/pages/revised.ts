/** Lists the statements that were revised since an instant. */
import type { Kysely } from 'kysely';
import type { Chosen } from '../../ledger/account-filter.ts';
import { ofMerchants } from '../account-filter.ts';
import type { DB } from '../engine/schema.ts';
import type { StatementRow } from '../statements/statements.ts';

/** Newest first. Uses statement_revised_at. */
export const revisedSince = (
  db: Kysely<DB>,
  { since, merchants, limit }: { readonly since: Date; readonly merchants: Chosen; readonly limit: number },
): Promise<StatementRow[]> =>
  db
    .selectFrom('statement')
    .selectAll()
    .where('revision', '>', 1)
    .where('published_at', '>=', since)
    .where(ofMerchants(merchants))
    .orderBy('published_at', 'desc')
    .orderBy('merchant_no')
    .orderBy('currency')
    .orderBy('day')
    .limit(limit)
    .execute();
