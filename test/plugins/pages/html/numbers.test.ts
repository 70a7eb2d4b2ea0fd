/** Numbers on pages, as readers write them and as an axis shows them. */
import { describe, expect, test } from 'vitest';
import { readAmount } from '../../../../src/plugins/pages/html/format.ts';
import { axisLabels } from '../../../../src/plugins/pages/html/chart.ts';

describe('an amount is read as the reader’s language writes it', () => {
  test.each([
    ['de', '4.071.980,00', '4071980.00'],
    ['de', '491,84', '491.84'],
    ['de', '49184.00', '49184.00'],
    ['de', '1.234', '1234'],
    ['fr', '4 071 980,00', '4071980.00'],
    ['de-CH', '4’071’980.00', '4071980.00'],
    ['hi', '40,71,980.00', '4071980.00'],
    ['en-GB', '4,071,980.00', '4071980.00'],
    ['en-GB', '-306.15', '-306.15'],
    ['sv', '−306,15', '-306.15'],
    ['ar', '‎-306.15', '-306.15'],
    ['en-GB', '491,84', null],
    ['en-GB', '1,2,3', null],
    ['en-GB', 'SETTLE', null],
    ['en-GB', '', null],
  ])('%s: %s is %s', (locale, text, amount) => {
    expect(readAmount(text, { format: { locale }, isExact: false })).toBe(amount);
  });

  test('a page of exact digits is read exactly', () => {
    expect(readAmount('1.234', { format: { locale: 'de' }, isExact: true })).toBe('1.234');
    expect(readAmount('491,84', { format: { locale: 'de' }, isExact: true })).toBe('491.84');
  });
});

describe('no two ticks of an axis look alike', () => {
  test.each([
    [
      [1_242_510_000, 1_242_512_000, 1_242_514_000],
      ['1.24251bn', '1.242512bn', '1.242514bn'],
    ],
    [
      [0, 500_000, 1_000_000, 1_500_000],
      ['0', '500K', '1M', '1.5M'],
    ],
    [
      [-0.2, 0, 0.2],
      ['-0.2', '0', '0.2'],
    ],
    [
      [9.98, 10, 10.02],
      ['9.98', '10', '10.02'],
    ],
    [[5], ['5']],
    [[0], ['0']],
    [[], []],
  ])('%j', (ticks, labels) => {
    expect(axisLabels(ticks, 'en-GB').map((label) => label.toUpperCase())).toEqual(
      labels.map((label) => label.toUpperCase()),
    );
  });
});
