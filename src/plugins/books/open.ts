/** What people see of matching: entries that count as unmatched, with age and who is responsible for them, and matches. */
import { sql, type RawBuilder } from 'kysely';
import type { AccountFilter, Chosen } from '../../ledger/account-filter.ts';
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import { ofAccounts, ofMerchants } from '../../store/account-filter.ts';
import { lockNamed, rowsOf, type Db, type Trx } from '../../store/engine/database.ts';
import { DatabaseLocked } from '../../store/engine/errors.ts';
import type { ListedMatch, OpenEntry, OpenFilter, UnmatchedCount } from '../../ledger/own-books.ts';

/** Other work on the books of the merchant went on for too long. */
class BooksBusy extends ExpectedError {
  override readonly name = 'BooksBusy';
  readonly exitCode = EXIT.leaseHeld;
}

/**
 * Imports, matchings and decisions of a merchant's books wait for each other, until their transactions end; with `lockMs` no longer than
 * that, for this lock and all later ones of the transaction. Throws `BooksBusy`.
 */
export async function lockBooks(trx: Trx, merchantNo: string, lockMs?: number): Promise<void> {
  if (lockMs !== undefined)
    await sql`SELECT set_config('lock_timeout', ${String(lockMs)}, true)`.execute(trx);
  try {
    await lockNamed(trx, `daybook books ${merchantNo}`);
  } catch (error) {
    if (!(error instanceof DatabaseLocked)) throw error;
    throw new BooksBusy(
      `the books of ${merchantNo} are being imported, matched or decided on, and nothing was changed: wait until that has ended, and try again.`,
      { cause: error },
    );
  }
}

/** What an assignment's audit event (`decide.ts`) calls the entry `entry`, with its own row `own`. */
const SUBJECT = sql`entry.merchant_no || CASE WHEN entry.batch_no IS NULL
  THEN ' own ' || own.book || ' ' || own.number ELSE ' ledger ' || entry.batch_no END`;

/** Rows of book_match_entry that count as unmatched, with the match that they wait in. */
export const openRows = (accounts: AccountFilter): RawBuilder<unknown> => sql`(
  SELECT entry.* FROM book_match_entry AS entry
  WHERE entry.match_id IS NULL AND ${ofAccounts(accounts, 'entry')}
  UNION ALL
  SELECT entry.* FROM book_match AS made JOIN book_match_entry AS entry ON entry.match_id = made.id
  WHERE made.audit_event_id IS NOT NULL AND made.waits_for_approval AND ${ofAccounts(accounts, 'made')})`;

/** The side of the row `entry`. */
const SIDE = sql`CASE WHEN entry.batch_no IS NULL THEN 'book' ELSE 'ledger' END`;
/** What is known of the row `entry`, but for its amount, with what either side has of it: `ENTRY_ROWS`. */
export const ENTRY = sql`${SIDE} AS side, coalesce(entry.batch_no, own.number) AS number, own.book, entry.currency, entry.day,
  coalesce(own.reference, '') AS reference, coalesce(own.type, ledger.transaction_type, '') AS type`;
export const ENTRY_ROWS = sql`LEFT JOIN book_entry AS own ON own.id = entry.book_entry_id
  LEFT JOIN ledger_entry AS ledger ON (ledger.merchant_no, ledger.batch_no) = (entry.merchant_no, entry.batch_no)`;
const PLACE = sql`concat_ws('/', entry.day, entry.merchant_no, entry.currency, ${SIDE}, entry.batch_no, entry.book_entry_id) COLLATE "C"`;

/** A condition that holds for all rows where what it compares with is not given. */
const isGiven = (given: string | number | undefined, condition: RawBuilder<unknown>) =>
  given === undefined ? sql`true` : condition;

/** Entries that count as unmatched, the oldest first. */
export const openEntries = (db: Db, today: BusinessDay, filter: OpenFilter): Promise<OpenEntry[]> => {
  const { side, from, to, olderThan, limit, after } = filter;
  return rowsOf(db)<OpenEntry>`
    SELECT entry.merchant_no AS "merchantNo", ${ENTRY}, entry.amount, ${today}::date - entry.day AS "ageDays",
      last.assigned_to AS owner, last.due_on AS "dueOn", entry.match_id AS "matchId", entry.rule AS "matchRule", ${PLACE} AS place
    FROM ${openRows(filter)} AS entry ${ENTRY_ROWS} LEFT JOIN LATERAL (
      SELECT assigned_to, due_on FROM audit_event WHERE subject = ${SUBJECT} AND command = 'books assign' ORDER BY id DESC LIMIT 1
    ) AS last ON true
    WHERE ${isGiven(side, sql`${SIDE} = ${side}`)} AND ${isGiven(from, sql`entry.day >= ${from}::date`)}
      AND ${isGiven(to, sql`entry.day <= ${to}::date`)} AND ${isGiven(after, sql`${PLACE} > ${after}`)}
      AND ${isGiven(olderThan, sql`entry.day < ${today}::date - ${olderThan}::int`)}
    ORDER BY place LIMIT ${limit ?? null}::bigint`;
};

/** Of each account with own books, how much is unmatched. */
export const openCounts = (db: Db, merchants: Chosen, to?: BusinessDay): Promise<UnmatchedCount[]> => {
  const isUpTo = isGiven(to, sql`day <= ${to}::date`);
  return rowsOf(db)<UnmatchedCount>`
    WITH account AS (
      SELECT merchant_no, currency, bool_or(is_changed) AS is_changed FROM book_day WHERE ${ofMerchants(merchants)} AND ${isUpTo} GROUP BY 1, 2
    ), open AS (
      SELECT merchant_no, currency, count(batch_no)::int AS ledger, count(book_entry_id)::int AS book, min(day) AS oldest,
        count(DISTINCT match_id) FILTER (WHERE rule <> 'apart')::int AS waiting
      FROM ${openRows({ merchants, currencies: null })} AS entry WHERE ${isUpTo} GROUP BY 1, 2
    )
    SELECT account.merchant_no AS "merchantNo", account.currency, coalesce(ledger, 0) AS ledger, coalesce(book, 0) AS book, oldest,
      coalesce(waiting, 0) + (SELECT count(*)::int FROM book_match AS made WHERE undo_event_id IS NOT NULL AND audit_event_id IS NOT NULL
        AND (made.merchant_no, made.currency) = (account.merchant_no, account.currency)) AS waiting, is_changed AS "isChanged"
    FROM account LEFT JOIN open ON (open.merchant_no, open.currency) = (account.merchant_no, account.currency)
    ORDER BY 1, 2`;
};

/** What is known of the match `made`, with its audit event. */
export const MATCH = sql`made.id, made.merchant_no AS "merchantNo", made.currency, made.rule, made.difference,
  made.difference_type AS "differenceType", made.waits_for_approval AS "waitsForApproval",
  made.approved_event_id IS NOT NULL AS "isApproved", coalesce(made.undo_event_id, made.audit_event_id) AS "decidedIn",
  (SELECT by_whom FROM audit_event WHERE id = made.undo_event_id) AS "undoBy",
  (SELECT note FROM audit_event WHERE id = made.undo_event_id) AS "undoNote", by_whom AS by, note`;

/** Whether a match, or taking it back, waits for a second person. */
const WAITS = sql`(waits_for_approval AND rule <> 'apart' OR undo_event_id IS NOT NULL)`;

/** The newest matches of the account, those first that wait for approval or that people made. */
export function listMatches(db: Db, account: Account, limit: number): Promise<ListedMatch[]> {
  const made = sql`SELECT * FROM book_match WHERE (merchant_no, currency) = (${account.merchantNo}, ${account.currency})`;
  return rowsOf(db)<ListedMatch>`
    SELECT ${MATCH}, (
        SELECT json_agg(json_build_object('side', ${SIDE}, 'number',
          coalesce(entry.batch_no, own.number), 'book', own.book, 'day', entry.day, 'amount', entry.amount::text) ORDER BY entry.day)
        FROM book_match_entry AS entry LEFT JOIN book_entry AS own ON own.id = entry.book_entry_id WHERE entry.match_id = made.id
      ) AS entries
    FROM (
      (${made} AND audit_event_id IS NOT NULL ORDER BY ${WAITS} DESC, id DESC LIMIT ${limit})
      UNION (${made} ORDER BY complete_on DESC, id DESC LIMIT ${limit})
    ) AS made LEFT JOIN audit_event ON audit_event.id = made.audit_event_id
    ORDER BY ${WAITS} DESC, made.audit_event_id IS NULL, made.id DESC LIMIT ${limit}`;
}
