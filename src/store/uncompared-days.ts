/**
 * Keeps the account days whose entries still have to be compared with those of other merchants. They are noted as their
 * figures are made and crossed off once they are compared, so a run that is killed leaves them to the next one.
 */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { BusinessDay } from '../ledger/entry.ts';
import { ofMerchants } from './account-filter.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import type { DB } from './engine/schema.ts';

export interface UncomparedDay {
  readonly merchantNo: string;
  /** Null for a day that has no new figures yet: it is noted when they are made. */
  readonly id: number | null;
  readonly currency: string;
  readonly day: BusinessDay;
}

/** The merchants' days to compare: those noted, and those whose entries changed after their figures were made. */
export async function uncomparedDays(db: Kysely<DB>, merchants: readonly string[]): Promise<UncomparedDay[]> {
  const { rows } = await sql<UncomparedDay>`
    SELECT merchant_no AS "merchantNo", id, currency, day FROM uncompared_day WHERE ${ofMerchants(merchants)}
    UNION ALL
    SELECT merchant_no, NULL, currency, day FROM changed_day WHERE ${ofMerchants(merchants)}
    ORDER BY day, currency`.execute(db);
  return rows;
}

/** Crosses off these days. A day that changed again meanwhile was noted anew and stays. */
export async function forgetUncompared(
  trx: Transaction<DB>,
  days: readonly Pick<UncomparedDay, 'merchantNo' | 'id'>[],
): Promise<void> {
  const noted = days.filter(({ id }) => id !== null);
  if (noted.length === 0) return;
  await sql`
    DELETE FROM uncompared_day noted
    USING unnest(
      ${arrayLiteral(noted.map(({ merchantNo }) => merchantNo))}::text[],
      ${arrayLiteral(noted.map(({ id }) => id))}::bigint[]
    ) AS compared (merchant_no, id)
    WHERE noted.merchant_no = compared.merchant_no AND noted.id = compared.id`.execute(trx);
}
