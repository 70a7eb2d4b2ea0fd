/** Makes the entries of a consistent account, for tests that need a ledger and no platform. */
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { fromScaled } from '../../src/ledger/money.ts';

/** One entry: when (`YYYY-MM-DD HH:mm:ss`, UTC) and how much, in cents, a credit above zero. */
export type Line = readonly [bookedAt: string, cents: number];

/** Entries in the order of booking, numbered B0000, B0001, ...; `opening` in cents. */
export function accountEntries(opening: number, lines: readonly Line[], prefix = 'B'): LedgerEntry[] {
  let balance = opening;
  return lines.map(([bookedAt, cents], index) => {
    balance += cents;
    const amount = fromScaled(BigInt(Math.abs(cents)), 2);
    return {
      batchNo: `${prefix}${String(index).padStart(4, '0')}`,
      currency: 'USD',
      transactionType: 'PAY',
      credit: cents >= 0 ? amount : null,
      debit: cents >= 0 ? null : amount,
      balance: fromScaled(BigInt(balance), 2),
      bookedAt,
      bookedMs: Date.parse(`${bookedAt.replace(' ', 'T')}Z`),
    };
  });
}
