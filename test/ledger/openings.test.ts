/** Compares the opening of an unknown start with every opening that some order of a small ledger allows. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createChain } from '../../src/ledger/chain/chain.ts';
import { entryOf, fewestJumps, smallLedgers, type SmallLedger } from './all-orders.ts';

/** The openings from which the entries chain without a break in some allowed order. */
const openingsOf = (ledger: SmallLedger): number[] =>
  [...new Set(ledger.lines.map(({ before }) => before))]
    .filter((start) => fewestJumps({ ...ledger, start }) === 0)
    .sort((a, b) => a - b);

function chained({ lines, clockToleranceS }: SmallLedger, preferred: string | null) {
  const chain = createChain({
    clockToleranceS,
    start: null,
    preferred: { opening: preferred, closing: null },
  });
  const steps = [...chain.push(lines.map(entryOf)), ...chain.end()];
  const net = lines.reduce((sum, { before, after }) => sum + after - before, 0);
  const opening = Number(steps[0]!.entry.balance) - Number(steps[0]!.net);
  return {
    opening,
    fitting: [opening + net, ...chain.otherClosings().map(Number)].map((closing) => closing - net),
    breaks: steps.filter((step) => step.break !== null).length,
  };
}

/** Draws many ledgers that fit several openings. */
const openLedgers = smallLedgers
  .filter(({ lines }) => lines.length > 1)
  .map((ledger) => ({ ...ledger, start: null }));

test('the opening is one that fits, zero if zero does, and the others are told', () => {
  let several = 0;
  fc.assert(
    fc.property(openLedgers, (ledger) => {
      const fits = openingsOf(ledger);
      const { opening, fitting, breaks } = chained(ledger, '0');
      if (fits.length === 0) {
        expect(breaks).toBeGreaterThan(0);
        return;
      }
      expect(breaks).toBe(0);
      expect([...fitting].sort((a, b) => a - b)).toEqual(fits);
      if (fits.includes(0)) expect(opening).toBe(0);
      if (fits.length > 1) several += 1;
    }),
    { numRuns: 1_500 },
  );
  expect(several).toBeGreaterThan(50);
});

test('an opening that was decided stays', () => {
  fc.assert(
    fc.property(openLedgers, fc.nat(), (ledger, nth) => {
      const fits = openingsOf(ledger);
      const decided = fits[nth % Math.max(1, fits.length)];
      if (decided !== undefined) expect(chained(ledger, String(decided)).opening).toBe(decided);
    }),
    { numRuns: 700 },
  );
});
