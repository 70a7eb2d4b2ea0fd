/**
 * Matches a merchant's own books with the ledger. What is matched follows from the entries, the decisions of people and the rules
 * alone, whatever was matched before: changed entries are matched again with those around them that they may decide on.
 */
import { sql } from 'kysely';
import { type Db, type Trx, rowOf } from '../../store/engine/database.ts';
import { matchRows } from './match-rules.ts';
import { lockBooks } from './open.ts';
import { storeMatches, type Stored } from './store-matches.ts';
import type { MatchRules } from '../../ledger/own-books.ts';
import { loadRows, type Scope } from './work-rows.ts';

export interface MatchRequest {
  readonly merchantNo: string;
  readonly rules: MatchRules;
  readonly now: Date;
  /** The run that it is a part of, if it is. */
  readonly runId?: number | null;
  /** Matches every entry again. Left out: what changed, or everything where the rules changed. */
  readonly full?: boolean;
  /** As in `lockBooks`. */
  readonly lockMs?: number | undefined;
}

export interface MatchReport extends Stored {
  /** Account days whose entries changed. */
  readonly days: number;
  readonly isFull: boolean;
}

/**
 * Brings the matches and the figures up to date, in one transaction. Reads the ledger, and writes nothing of it. Where nothing
 * changed, it costs a few small statements.
 */
export const matchBooks = (db: Db, request: MatchRequest): Promise<MatchReport> =>
  db.transaction().execute((trx) => matchIn(trx, request));

/** The same as a part of a transaction. It may be called once in one. */
export async function matchIn(trx: Trx, request: MatchRequest): Promise<MatchReport> {
  const { merchantNo, rules, now, runId = null, lockMs } = request;
  await lockBooks(trx, merchantNo, lockMs);
  await sql`SELECT set_config('work_mem', '64MB', true), set_config('jit', 'off', true)`.execute(trx);
  // The first day of the earliest of the merchant's books, as its latest import says.
  const { startsOn } = await rowOf(trx)<{ startsOn: string }>`
    SELECT coalesce(min(starts_on), '-infinity')::text AS "startsOn" FROM (
      SELECT DISTINCT ON (book) starts_on FROM book_import WHERE merchant_no = ${merchantNo} ORDER BY book, id DESC
    ) AS latest`;
  const { rules: names, days: within, sumEntriesMax: most, tolerances } = rules;
  const rulesText = JSON.stringify([names, within, most, [...tolerances].toSorted(), startsOn]);
  // Everything is matched again where the rules are not those of the last matching, or there was none.
  const { isNew } = await rowOf(trx)<{ isNew: boolean }>`
    SELECT coalesce(bool_or(matched_rules <> hashtextextended(${rulesText}, 0)), true) AS "isNew" FROM book_day WHERE merchant_no = ${merchantNo}`;
  const isFull = request.full === true || isNew;
  const scope: Scope = { trx, merchantNo, rules, rulesText, now, runId, isFull, startsOn };
  if (!(await loadRows(scope)))
    return { days: 0, isFull, made: [], undone: { byHand: 0, byRule: 0 }, entries: 0 };
  await matchRows(scope);
  const { days } = await rowOf(trx)<{ days: number }>`SELECT count(*)::int AS days FROM bk_day`;
  return { days, isFull, ...(await storeMatches(scope)) };
}
