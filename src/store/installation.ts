/** What there is once in a database: its identity, and whether the platform's timestamps are the times it filters by. */
import { sql } from 'kysely';
import { type Db, rowOf } from './engine/database.ts';
import type { Lease } from './engine/lease.ts';
import { writeTransaction } from './engine/write-transaction.ts';

/** Which database this is, and which of its copies: the one whose run took the last turn at the store. */
export interface Identity {
  /** A UUID that was made together with the tables, or by the last adoption of a store. A copy of the database has the same. */
  readonly id: string;
  /** What the mark in the store may name: the turn that was taken last, and one that is being taken. */
  readonly turns: readonly string[];
}

export async function databaseIdentity(db: Db): Promise<Identity> {
  const { id, turn, next } = await rowOf(db)<{ id: string; turn: string | null; next: string | null }>`
    SELECT id, store_turn AS turn, store_turn_next AS next FROM installation`;
  return { id, turns: [turn, next].filter((one) => one !== null) };
}

/** Begins a new turn, or joins the one that another process is taking. Returns what the mark is to name. */
export const beginTurn = (db: Db): Promise<{ readonly id: string; readonly turn: string }> =>
  rowOf(db)`
    UPDATE installation SET store_turn_next = coalesce(store_turn_next, gen_random_uuid())
    RETURNING id, store_turn_next AS turn`;

/** The mark names this turn now. */
export async function endTurn(db: Db, turn: string): Promise<void> {
  await sql`UPDATE installation SET store_turn = ${turn}, store_turn_next = NULL WHERE store_turn_next = ${turn}`.execute(
    db,
  );
}

/** Gives the database another identity, so that every copy of it is refused at the store. Returns it. */
export async function renewIdentity(db: Db): Promise<Identity> {
  const { id, turn } = await rowOf(db)<{ id: string; turn: string }>`
    UPDATE installation SET id = gen_random_uuid(), store_turn = gen_random_uuid(), store_turn_next = NULL
    RETURNING id, store_turn AS turn`;
  return { id, turns: [turn] };
}

/** Whether an entry was ever seen whose timestamp differs, within the clock tolerance, from the time the platform filters by. */
export async function isClockOff(db: Db): Promise<boolean> {
  const { off } = await rowOf(db)<{ off: boolean }>`SELECT clock_off_at IS NOT NULL AS off FROM installation`;
  return off;
}

/** Records for good that such an entry was seen; `seen` describes it. Throws `LeaseLost` or `StoreUnreachable`. */
export function storeClockOff(db: Db, lease: Lease, seen: string, now: Date): Promise<void> {
  return writeTransaction(db, lease, async (trx) => {
    await sql`
      UPDATE installation SET clock_off_at = ${now}, clock_off = ${seen} WHERE clock_off_at IS NULL`.execute(
      trx,
    );
  });
}
