/**
 * Takes what people decide about matches into the books' state. Call these in the transaction of the decision, and
 * `matchBooks` once it is committed: it matches what is around the entries again.
 */
import { sql, type RawBuilder } from 'kysely';
import { arrayLiteral, type Trx, rowsOf } from '../../store/engine/database.ts';

/** An entry of the ledger by its batch number, or one of own books by its row. */
export type EntryKey = { readonly batchNo: string } | { readonly bookEntryId: number };

/**
 * Puts entries into a match of a person, which is stored already, and takes them out of a rule's. Returns how many it took: fewer
 * than given where one is unknown to matching or in another match of a person; then the caller has to roll back.
 */
export async function joinByHand(
  trx: Trx,
  { matchId, merchantNo }: { readonly matchId: number; readonly merchantNo: string },
  entries: readonly EntryKey[],
): Promise<number> {
  const batchNos = entries.flatMap((entry) => ('batchNo' in entry ? [entry.batchNo] : []));
  const bookEntryIds = entries.flatMap((entry) => ('bookEntryId' in entry ? [entry.bookEntryId] : []));
  const isChosen = sql`book_match_entry.merchant_no = ${merchantNo} AND (batch_no = ANY (${arrayLiteral(batchNos)}::text[])
    OR book_entry_id = ANY (${arrayLiteral(bookEntryIds)}::bigint[]))`;
  await lockDays(trx, merchantNo, isChosen);
  // The rest of a rule's match is free again, and is matched again.
  const before = await rowsOf(trx)<{ id: number }>`
    SELECT DISTINCT book_match.id FROM book_match JOIN book_match_entry ON match_id = book_match.id
    WHERE ${isChosen} AND rule NOT IN ('by-hand', 'write-off')`;
  for (const { id } of before) await releaseMatch(trx, id);
  const joined = await rowsOf(trx)<object>`
    UPDATE book_match_entry SET match_id = ${matchId}, version = 0, named = NULL WHERE ${isChosen} AND match_id IS NULL
    RETURNING match_id`;
  await sql`UPDATE book_match SET complete_on = coalesce((SELECT max(day) FROM book_match_entry WHERE match_id = ${matchId}), complete_on)
    WHERE id = ${matchId}`.execute(trx);
  return joined.length;
}

/** Another state of the match itself, for example its approval, is taken into the figures. */
export async function touchMatch(trx: Trx, matchId: number): Promise<void> {
  const { merchantNo } = await merchantOf(trx, matchId);
  await lockDays(trx, merchantNo, sql`match_id = ${matchId}`);
  await sql`UPDATE book_match_entry SET version = 0 WHERE match_id = ${matchId}`.execute(trx);
}

/** Deletes the match. Its entries are free for the rules again. */
export async function releaseMatch(trx: Trx, matchId: number): Promise<void> {
  await touchMatch(trx, matchId);
  await sql`DELETE FROM book_match WHERE id = ${matchId}`.execute(trx);
}

const merchantOf = async (trx: Trx, matchId: number): Promise<{ readonly merchantNo: string }> => {
  const [found] = await rowsOf(trx)<{ merchantNo: string }>`
    SELECT merchant_no AS "merchantNo" FROM book_match WHERE id = ${matchId}`;
  if (found === undefined) throw new Error(`there is no match ${matchId}`);
  return found;
};

/** Marks the days of the entries as changed, in one order for all who do so. */
const lockDays = async (trx: Trx, merchantNo: string, isChosen: RawBuilder<unknown>): Promise<void> => {
  await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`daybook books ${merchantNo}`}, 0))`.execute(trx);
  await sql`UPDATE book_day SET is_changed = true WHERE merchant_no = ${merchantNo}
    AND (currency, day) IN (SELECT currency, day FROM book_match_entry WHERE ${isChosen})`.execute(trx);
};
