/** What an account holds, and what keeps its days from being proven: for a list of accounts, whatever the day. */
import { sql, type RawBuilder } from 'kysely';
import type { Account, BusinessDay, Window } from '../ledger/entry.ts';
import { ALL_TIME } from '../ledger/window.ts';
import { certifiedOfAccounts } from './certificates.ts';
import { OF_ASKED, UNREADABLE_SPANS } from './day-facts.ts';
import { arrayLiteral, type Db, rowsOf } from './engine/database.ts';

export interface AccountBalance {
  readonly account: Account;
  /** The last day with figures, and what the account closed on; null if there is none. */
  readonly last: { readonly day: BusinessDay; readonly closing: string } | null;
  readonly openBreaks: number;
  /** What the open breaks leave unexplained, credits less debits; `0` without one. */
  readonly unexplained: string;
  /** Where open breaks and unreadable entries lie that no one has acknowledged. */
  readonly open: readonly Window[];
  /** What is proven to be read completely, in order. */
  readonly certified: readonly Window[];
  /** Days whose entries have changed since their figures were made. */
  readonly changed: readonly BusinessDay[];
}

type BalanceRow = Pick<AccountBalance, 'openBreaks' | 'unexplained' | 'changed'> & {
  readonly nth: number;
  readonly day: BusinessDay | null;
  readonly closing: string | null;
  readonly breaks: readonly Window[];
  readonly unreadable: readonly Window[];
};

const WINDOWS = (begin: RawBuilder<unknown>, end: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`coalesce(json_agg(json_build_object('beginMs', ${begin}, 'endMs', ${end})), '[]')`;

/** In the order of the accounts: one statement, each part of it along an index. */
export async function accountBalances(db: Db, accounts: readonly Account[]): Promise<AccountBalance[]> {
  if (accounts.length === 0) return [];
  const rows = await rowsOf(db)<BalanceRow>`
    WITH asked AS (
      SELECT *, ${ALL_TIME.beginMs}::bigint AS begin_ms, ${ALL_TIME.endMs}::bigint AS end_ms FROM unnest(
        ${arrayLiteral(accounts.map(({ merchantNo }) => merchantNo))}::text[],
        ${arrayLiteral(accounts.map(({ currency }) => currency))}::text[]
      ) WITH ORDINALITY AS asked (merchant_no, currency, nth)
    )
    SELECT asked.nth::int AS nth, last.day, last.closing, found.count::int AS "openBreaks", found.net AS unexplained,
      found.spans AS breaks, unreadable.spans AS unreadable, changed.days AS changed
    FROM asked
    LEFT JOIN LATERAL (
      SELECT d.day, d.closing FROM account_day d WHERE ${OF_ASKED} ORDER BY d.day DESC LIMIT 1
    ) AS last ON true
    CROSS JOIN LATERAL (
      SELECT count(*), coalesce(sum(d.missing_net), 0) AS net, ${WINDOWS(sql`d.begin_ms`, sql`d.end_ms`)} AS spans
      FROM continuity_break d WHERE ${OF_ASKED} AND d.status = 'open'
    ) AS found
    CROSS JOIN LATERAL (
      SELECT ${WINDOWS(sql`lower(part)`, sql`upper(part) - 1`)} AS spans
      FROM (${UNREADABLE_SPANS}) AS lying CROSS JOIN LATERAL unnest(lying.spans) AS part WHERE lying.is_open
    ) AS unreadable
    CROSS JOIN LATERAL (
      SELECT coalesce(json_agg(d.day ORDER BY d.day), '[]') AS days FROM changed_day d WHERE ${OF_ASKED}
    ) AS changed
    ORDER BY asked.nth`;
  const certified = await certifiedOfAccounts(db, accounts, ALL_TIME);
  return rows.map(({ nth, day, closing, breaks, unreadable, ...row }) => ({
    ...row,
    certified: certified[nth - 1]!,
    account: accounts[nth - 1]!,
    last: day === null ? null : { day, closing: closing! },
    open: [...breaks, ...unreadable],
  }));
}
