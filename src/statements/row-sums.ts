/** Sums up a statement's rows, credits and debits apart. Pure. */
import { addAmounts, subtractAmounts } from '../ledger/money.ts';

/** A row's amounts as its cells spell them: one of credit and debit is empty. */
export interface RowAmounts {
  readonly credit: string;
  readonly debit: string;
  readonly balance: string;
}

export interface Sums {
  readonly creditTotal: string;
  readonly creditCount: number;
  readonly debitTotal: string;
  readonly debitCount: number;
}

/** `take` returns the balance that the row starts from. */
export function createSums(): { readonly take: (row: RowAmounts) => string; readonly end: () => Sums } {
  let [creditTotal, creditCount, debitTotal, debitCount] = ['0', 0, '0', 0];
  return {
    take: ({ credit, debit, balance }) => {
      if (credit === '') {
        debitTotal = addAmounts(debitTotal, debit);
        debitCount += 1;
        return addAmounts(balance, debit);
      }
      creditTotal = addAmounts(creditTotal, credit);
      creditCount += 1;
      return subtractAmounts(balance, credit);
    },
    end: () => ({ creditTotal, creditCount, debitTotal, debitCount }),
  };
}
