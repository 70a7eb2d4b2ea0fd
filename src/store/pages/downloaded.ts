/** Tells which statements were revised since a person downloaded them. */
import { sql, type Kysely } from 'kysely';
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { DB } from '../engine/schema.ts';

/** The command under which downloads are kept in the audit, from a terminal or a page. */
export const DOWNLOAD_COMMAND = 'statements get';

/** A month's download as the audit names it. */
export const monthSubject = (month: string, merchantNo: string): string => `${month} ${merchantNo}`;

export interface RevisedDay extends Account {
  readonly day: BusinessDay;
}

/**
 * The accounts' days from `from` to `to` whose current revision was published after the person downloaded an earlier
 * one, alone or with its month. Uses the key of `statement`, and audit_entry_subject.
 */
export async function revisedSinceDownload(
  db: Kysely<DB>,
  accounts: readonly Account[],
  { from, to, by }: { readonly from: BusinessDay; readonly to: BusinessDay; readonly by: string },
): Promise<RevisedDay[]> {
  if (accounts.length === 0) return [];
  const { rows } = await sql<RevisedDay>`
    SELECT asked.merchant_no AS "merchantNo", asked.currency, revised.day
    FROM unnest(
      ${arrayLiteral(accounts.map(({ merchantNo }) => merchantNo))}::text[],
      ${arrayLiteral(accounts.map(({ currency }) => currency))}::text[]
    ) AS asked (merchant_no, currency)
    CROSS JOIN LATERAL (
      SELECT s.day, max(s.published_at) AS published_at, array_agg(s.object_key) AS keys FROM statement s
      WHERE s.merchant_no = asked.merchant_no AND s.currency = asked.currency AND s.day BETWEEN ${from} AND ${to}
      GROUP BY s.day HAVING max(s.revision) > 1
    ) AS revised
    CROSS JOIN LATERAL (SELECT to_char(revised.day, 'YYYY-MM') AS name) AS month
    CROSS JOIN LATERAL (
      SELECT max(own.at) AS at FROM unnest(revised.keys || ARRAY[
        month.name, month.name || ' ' || asked.merchant_no, month.name || ' ' || asked.currency,
        month.name || ' ' || asked.merchant_no || ' ' || asked.currency
      ]) AS named (subject) CROSS JOIN LATERAL (
        SELECT e.at FROM audit_entry e
        WHERE e.subject = named.subject AND e.by_whom = ${by} AND e.command = ${DOWNLOAD_COMMAND}
        ORDER BY e.at DESC LIMIT 1
      ) AS own
    ) AS last
    WHERE last.at < revised.published_at`.execute(db);
  return rows;
}
