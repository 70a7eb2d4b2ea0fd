import { describe, expect, test } from 'vitest';
import { latenessText, extendedLookbackText } from '../../src/run/status-text.ts';
import type { Lateness } from '../../src/ledger/lateness.ts';

const days = (atMost: number) => ({ atLeast: 0, atMost });

describe('how late entries come', () => {
  const nothing: Lateness = {
    ...{
      since: '2025-02-01',
      watchedEntries: 0,
      lateEntries: 0,
      median: null,
      p99: null,
      worst: null,
      final: null,
    },
  };
  const final = { afterDays: 1, watchedEntries: 3_600, laterEntries: 0 };
  test.each<[string, Partial<Lateness>, string | null]>([
    ['nothing measured', {}, null],
    [
      'few watched',
      { watchedEntries: 420 },
      '0 late entries (420 entries observed). Not yet known when a day can be treated as final.',
    ],
    [
      'enough watched, none late',
      { watchedEntries: 3_600, final },
      '0 late entries (3,600 entries observed). A day has 99.9 % of its entries after 1 day.',
    ],
    [
      'some late',
      {
        watchedEntries: 9_000,
        lateEntries: 12,
        median: days(1),
        p99: days(9),
        worst: days(9),
        final: { ...final, afterDays: 9 },
      },
      '12 late entries (9,000 entries observed): half came within 1 day, 99 % within 9 days, the latest within 9 days. ' +
        'A day has 99.9 % of its entries after 9 days.',
    ],
  ])('%s', (_, measured, text) => {
    expect(latenessText({ ...nothing, ...measured })).toBe(text);
  });
});

describe('extended lookback', () => {
  const lookback = (merchantNo: string, asked: number, most = 31) => ({
    merchantNo,
    widerSweep: { days: Math.min(asked, most), asked, lateness: days(asked + 1) },
  });
  test.each([
    ['none', [{ merchantNo: 'M1' }], null],
    [
      'one, and one that a setting cuts',
      [lookback('M1', 14), { merchantNo: 'M2' }, lookback('M3', 45)],
      'lookback extended, as entries come late: M1 14 days (99 % of its late entries came within 15 days); ' +
        'M3 31 days (99 % of its late entries came within 46 days; DAYBOOK_RESWEEP_DAYS_MAX keeps it from 45 days)',
    ],
  ])('%s', (_, sync, text) => {
    expect(extendedLookbackText(sync)).toBe(text);
  });

  test('of many merchants, ten are named', () => {
    const text = extendedLookbackText(Array.from({ length: 13 }, (__, n) => lookback(`M${n}`, 9)))!;
    expect(text.match(/M\d+ 9 days/g)).toHaveLength(10);
    expect(text).toMatch(/; and 3 more$/);
  });
});
