/** The books of the small platform for drawn cases: entries keep their numbers, balances follow the order of time. */
import fc from 'fast-check';
import { plainMs, type WireEntry } from '../support/plain-platform.ts';

export const FIRST_DAY = '2026-01-01';
const DAY_MS = 86_400_000;

export interface Line {
  readonly day: number;
  readonly second: number;
  readonly net: number;
  readonly currency: 'USD' | 'EUR';
}

export interface PlainBooks {
  /** Moves an entry to another day, or books a new one. */
  readonly change: (
    wanted: { readonly pick: number; readonly day: number } | { readonly line: Line },
  ) => void;
  /** What the platform shows, in order of time. */
  readonly entries: () => WireEntry[];
  /** Shows what was hidden. */
  readonly show: () => void;
}

export const lineCases = (days: number): fc.Arbitrary<Line> =>
  fc.record({
    day: fc.nat(days - 1),
    // Away from midnight, over which entries may trade places.
    second: fc.integer({ min: 60, max: 86_300 }),
    net: fc.constantFrom(-7, -3, 2, 5, 11),
    currency: fc.constantFrom<Line['currency']>('USD', 'USD', 'USD', 'EUR'),
  });

export function createPlainBooks(lines: readonly Line[], hidden: number | null): PlainBooks {
  const booked = lines.map((line, nth) => ({ batchNo: `B${nth}`, ...line }));
  let hiddenNo = hidden === null ? null : `B${hidden % lines.length}`;
  const stamp = (day: number, second: number): string =>
    new Date(Date.parse(FIRST_DAY) + day * DAY_MS + second * 1_000)
      .toISOString()
      .slice(0, 19)
      .replace('T', ' ');
  return {
    change: (wanted) => {
      if ('line' in wanted) booked.push({ batchNo: `B${booked.length}`, ...wanted.line });
      else {
        const at = wanted.pick % booked.length;
        booked[at] = { ...booked[at]!, day: wanted.day };
      }
    },
    entries: () => {
      const balances = new Map<string, number>();
      return [...booked]
        .sort((a, b) => a.day - b.day || a.second - b.second || (a.batchNo < b.batchNo ? -1 : 1))
        .map(({ batchNo, day, second, net, currency }) => {
          const balance = (balances.get(currency) ?? 0) + net;
          balances.set(currency, balance);
          const busiDate = stamp(day, second);
          return {
            ...{ batchNo, currency, busiType: '01', vailAmount: balance, busiDate, atMs: plainMs(busiDate) },
            inAmount: net > 0 ? net : null,
            outAmount: net > 0 ? null : -net,
          };
        })
        .filter(({ batchNo }) => batchNo !== hiddenNo);
    },
    show: () => void (hiddenNo = null),
  };
}
