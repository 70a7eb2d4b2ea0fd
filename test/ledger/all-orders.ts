/** Small ledgers, and the fewest breaks of all their orders. Every order is tried, without using the chain's code. */
import fc from 'fast-check';
import { createChain, type Chain } from '../../src/ledger/chain/chain.ts';
import type { ChainStep } from '../../src/ledger/chain/chain-link.ts';
import type { LedgerEntry } from '../../src/ledger/entry.ts';

export const MIDNIGHT_MS = Date.UTC(2026, 2, 1);
/** These have 40,320 orders. */
const ENTRIES_MAX = 8;

/** An entry: its second, and the balances before and after it. */
export interface Line {
  readonly second: number;
  readonly before: number;
  readonly after: number;
}

export interface SmallLedger {
  readonly lines: readonly Line[];
  readonly start: number | null;
  readonly clockToleranceS: number;
}

/**
 * Entries of a history in which some clocks are slow and some entries are missing, or entries without any history.
 * There are so few different balances that they repeat, or so many that they do not.
 */
export const smallLedgers: fc.Arbitrary<SmallLedger> = fc
  .record({
    balanceMax: fc.constantFrom(2, 4, 1_000_000),
    secondMax: fc.constantFrom(0, 2, 4, 8, 60),
    clockToleranceS: fc.integer({ min: 0, max: 3 }),
    kind: fc.constantFrom('any', 'history', 'late', 'late and missing'),
    begins: fc.constantFrom('unknown', 'known', 'elsewhere'),
    draws: fc.array(
      fc.record({ second: fc.nat(), before: fc.nat(), after: fc.nat(), late: fc.nat(), missing: fc.nat() }),
      { minLength: 1, maxLength: ENTRIES_MAX },
    ),
    opening: fc.nat(),
  })
  .map(({ balanceMax, secondMax, clockToleranceS, kind, begins, draws, opening }) => {
    const within = (draw: number): number => draw % (balanceMax + 1);
    const seconds = draws.map(({ second }) => second % (secondMax + 1)).sort((a, b) => a - b);
    let balance = within(opening);
    const lines = draws.flatMap((draw, index) => {
      const before = kind === 'any' ? within(draw.before) : balance;
      balance = within(draw.after);
      const late = kind.startsWith('late') && draw.late % 2 === 0 ? draw.late % (clockToleranceS + 1) : 0;
      if (kind === 'late and missing' && draw.missing % 5 === 0) return [];
      return [{ second: seconds[index]! + late, before, after: balance }];
    });
    const start = begins === 'unknown' ? null : begins === 'known' ? within(opening) : within(opening + 1);
    return { lines: lines.toSorted((a, b) => a.second - b.second), start, clockToleranceS };
  });

export const entryOf = ({ second, before, after }: Line, index: number): LedgerEntry => ({
  batchNo: `B${String(index).padStart(7, '0')}`,
  currency: 'JPY',
  transactionType: 'PAY',
  credit: after >= before ? String(after - before) : null,
  debit: after >= before ? null : String(before - after),
  balance: String(after),
  bookedAt: new Date(MIDNIGHT_MS + second * 1_000).toISOString().slice(0, 19).replace('T', ' '),
  bookedMs: MIDNIGHT_MS + second * 1_000,
});

export const chainOf = (start: number | null, clockToleranceS: number): Chain =>
  createChain({
    clockToleranceS,
    start:
      start === null ? null : { balance: String(start), batchNo: 'OPENING', bookedMs: MIDNIGHT_MS - 60_000 },
  });

export function stepsOf({ lines, start, clockToleranceS }: SmallLedger, piece = 1_000): ChainStep[] {
  const chain = chainOf(start, clockToleranceS);
  const entries = lines.map(entryOf);
  const steps: ChainStep[] = [];
  for (let at = 0; at < entries.length; at += piece) steps.push(...chain.push(entries.slice(at, at + piece)));
  return [...steps, ...chain.end()];
}

export const breakCount = (steps: readonly ChainStep[]): number =>
  steps.filter((step) => step.break !== null).length;

/**
 * The fewest breaks of all orders in which no entry comes before another one that is older by more than the
 * tolerance.
 */
export function fewestJumps({ lines, start, clockToleranceS }: SmallLedger): number {
  const known = new Map<string, number>();
  const fewest = (taken: number, at: number | null): number => {
    if (taken === (1 << lines.length) - 1) return 0;
    const key = `${taken} ${at}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const left = lines.flatMap((line, index) => ((taken & (1 << index)) === 0 ? [{ line, index }] : []));
    const oldest = Math.min(...left.map(({ line }) => line.second));
    const jumps = left
      .filter(({ line }) => line.second - oldest <= clockToleranceS)
      .map(
        ({ line, index }) =>
          (at !== null && at !== line.before ? 1 : 0) + fewest(taken | (1 << index), line.after),
      );
    known.set(key, Math.min(...jumps));
    return known.get(key)!;
  };
  return fewest(0, start);
}

/** Whether every entry comes once, in an allowed order, with a break exactly where a balance does not follow. */
export function isHonest(
  { lines, start, clockToleranceS }: SmallLedger,
  steps: readonly ChainStep[],
): boolean {
  const batchNos = new Set(steps.map(({ entry }) => entry.batchNo));
  if (steps.length !== lines.length || batchNos.size !== lines.length) return false;
  let reached = start === null ? null : BigInt(start);
  let latestMs = Number.NEGATIVE_INFINITY;
  for (const step of steps) {
    const { bookedMs } = step.entry;
    if ((step.break !== null) !== (reached !== null && reached !== step.before)) return false;
    if (latestMs - bookedMs > clockToleranceS * 1_000) return false;
    if (step.moved !== bookedMs < latestMs) return false;
    latestMs = Math.max(latestMs, bookedMs);
    reached = step.after;
  }
  return true;
}
