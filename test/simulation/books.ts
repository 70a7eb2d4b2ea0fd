/** The books of a platform over HTTP that histories are played against. */
import { addDays } from '../../src/ledger/business-day.ts';
import { entriesOfAmounts, type WireEntry } from '../support/plain-platform.ts';

export const FIRST_DAY = '2026-03-02';
/** Entries of so many days are there when the first night begins. */
export const DAYS_BEFORE = 3;
const DAYS = 16;

export interface Books {
  /** How many entries each day has, over and over. */
  readonly counts: readonly number[];
  readonly salt: number;
}

/** Entries of two currencies, distinct in time, a few or more than a page on each day. */
export function booksOf({ counts, salt }: Books): WireEntry[] {
  const amounts = Array.from({ length: DAYS }, (_, day) =>
    Array.from({ length: counts[day % counts.length]! }, (_, nth) => {
      const time = new Date(Date.UTC(2026, 0, 1, 8) + nth * 300_000).toISOString().slice(11, 19);
      const cents = ((day * 131 + nth * 7_919 + salt) % 1_900) - 800;
      const batchNo = `B${day}-${nth}`;
      return [batchNo, `${addDays(FIRST_DAY, day)} ${time}`, cents === 0 ? 7 : cents] as const;
    }),
  ).flat();
  const isOf = (at: number, currency: string) => (at % 3 === 0 ? 'EUR' : 'USD') === currency;
  return ['USD', 'EUR']
    .flatMap((currency) =>
      entriesOfAmounts(
        currency,
        amounts.filter((_, at) => isOf(at, currency)),
      ),
    )
    .sort((a, b) => a.atMs - b.atMs);
}
