/** A closed month of an account adds up, or says by how much it does not. */
import { expect, test } from 'vitest';
import { closedAccount, type ClosedFigures } from '../../src/verify/close-file.ts';

const DAY: ClosedFigures = {
  ...{ opening: '10.00', creditTotal: '5.00', creditCount: 2, debitTotal: '1.00', debitCount: 1 },
  ...{ closing: '14.00', verdict: 'continuous', breaks: 0, explained: [] },
};

test('days that follow from each other lack nothing', () => {
  const next: ClosedFigures = { ...DAY, opening: '14.00', closing: '18.00', verdict: 'reordered' };
  expect(closedAccount('USD', [DAY, next])).toEqual({
    ...{ currency: 'USD', opening: '10.00', creditTotal: '10.00', creditCount: 4 },
    ...{ debitTotal: '2.00', debitCount: 2, closing: '18.00', missingNet: '0.00' },
    ...{ days: 2, daysBroken: 0, breaks: 0, explained: 0 },
  });
});

test('what a broken day lacks is said, and how much of it a person explained', () => {
  const broken: ClosedFigures = {
    ...{ ...DAY, opening: '14.00', closing: '18.50', verdict: 'broken', breaks: 2, explained: [7] },
  };
  expect(closedAccount('USD', [DAY, broken])).toMatchObject({
    ...{ closing: '18.50', missingNet: '0.50', daysBroken: 1, breaks: 2, explained: 1 },
  });
});

test('without a statement there is no balance', () => {
  expect(closedAccount('USD', [])).toEqual({
    ...{ currency: 'USD', opening: null, creditTotal: '0', creditCount: 0, debitTotal: '0', debitCount: 0 },
    ...{ closing: null, missingNet: null, days: 0, daysBroken: 0, breaks: 0, explained: 0 },
  });
});
