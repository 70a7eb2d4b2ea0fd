/** Remembers which day's current statement has a batchNo: a number is in one statement of its merchant, and never in two days'. */

/** Most numbers of one merchant that are remembered, in some hundred megabytes. Beyond them, only earlier ones are recognized. */
const NUMBERS_MAX = 4_000_000;

/** Takes a number, and returns another day that has it too; null if none has. */
export type NumbersSeen = (merchantNo: string, batchNo: string, day: string) => string | null;

export function createNumbersSeen(max = NUMBERS_MAX): NumbersSeen {
  const byMerchant = new Map<string, Map<string, string>>();
  return (merchantNo, batchNo, day) => {
    const days = byMerchant.get(merchantNo) ?? new Map<string, string>();
    byMerchant.set(merchantNo, days);
    const other = days.get(batchNo);
    if (other === undefined && days.size < max) days.set(batchNo, day);
    return other === undefined || other === day ? null : other;
  };
}
