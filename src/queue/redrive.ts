/** Returns dead letters to their own queue. */
import type { Transaction } from 'kysely';
import type { DB } from '../store/engine/schema.ts';
import { executorOf } from './executor.ts';
import { deadLetters, merchantsWithJob, type DeadLetter } from './job-table.ts';
import { DEAD_LETTERS, LANES } from './lanes.ts';
import type { Queue } from './queue.ts';

/** Dead letters that are read in one call. */
const LETTERS_MAX = 10_000;

export interface Redriven {
  /** These are on their queue again, with all their attempts. */
  readonly sent: readonly DeadLetter[];
  /** These stay: another job of their merchant has to be done first. */
  readonly kept: readonly DeadLetter[];
}

/**
 * Sends dead letters back, of some merchants or of all, one for each merchant and queue: the oldest. The others stay, as
 * do those of a merchant with a job that waits or is at work. `trx` is the transaction that opens their runs again.
 */
export async function redrive(
  { boss }: Pick<Queue, 'boss'>,
  trx: Transaction<DB>,
  merchants?: readonly string[],
): Promise<Redriven> {
  const db = executorOf(trx);
  const letters = await deadLetters(trx, { limit: LETTERS_MAX, merchants });
  const ids = (await sendable(trx, letters)).map(({ id }) => id);
  if (ids.length === 0) return { sent: [], kept: letters };
  // A dead letter that could not be returned before is marked as failed; it must wait like the others to be sent.
  await boss.retry(DEAD_LETTERS, ids, { db });
  await boss.redrive(DEAD_LETTERS, { ids, limit: ids.length, db });
  const left = new Set((await deadLetters(trx, { limit: ids.length, ids })).map(({ id }) => id));
  const sent = letters.filter(({ id }) => ids.includes(id) && !left.has(id));
  return { sent, kept: letters.filter((letter) => !sent.includes(letter)) };
}

/** The oldest letter of each merchant and queue where no other job of the merchant is open. */
async function sendable(trx: Transaction<DB>, letters: readonly DeadLetter[]): Promise<DeadLetter[]> {
  const chosen: DeadLetter[] = [];
  for (const lane of LANES) {
    const own = letters.filter((letter) => letter.lane === lane);
    const merchants = [...new Set(own.map(({ merchantNo }) => merchantNo))];
    const taken = await merchantsWithJob(trx, lane, merchants);
    for (const letter of own) {
      if (taken.has(letter.merchantNo)) continue;
      taken.add(letter.merchantNo);
      chosen.push(letter);
    }
  }
  return chosen;
}
