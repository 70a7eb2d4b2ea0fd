import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dayWindow } from '../../src/ledger/business-day.ts';
import { planWindows, fullSeconds } from '../../src/sync/wide-windows.ts';

const at = (text: string) => Date.parse(text);
const NEVER = at('2030-01-01T00:00:00Z');

test('each business day is one window, in the platform’s zone', () => {
  const windows = planWindows({
    fromDay: '2026-03-01',
    toDay: '2026-03-02',
    zone: 'Asia/Shanghai',
    latestMs: NEVER,
  });
  expect(windows).toEqual([
    { beginMs: at('2026-02-28T16:00:00Z'), endMs: at('2026-03-01T15:59:59.999Z') },
    { beginMs: at('2026-03-01T16:00:00Z'), endMs: at('2026-03-02T15:59:59.999Z') },
  ]);
});

test('a day on which the clock changes is two windows', () => {
  const plan = (day: string) =>
    planWindows({ fromDay: day, toDay: day, zone: 'Europe/Berlin', latestMs: NEVER });
  expect(plan('2026-10-25')).toEqual([
    { beginMs: at('2026-10-24T22:00:00Z'), endMs: at('2026-10-25T00:59:59.999Z') },
    { beginMs: at('2026-10-25T01:00:00Z'), endMs: at('2026-10-25T22:59:59.999Z') },
  ]);
  expect(plan('2026-03-29').map(({ beginMs, endMs }) => (endMs + 1 - beginMs) / 3_600_000)).toEqual([2, 21]);
});

test('nothing younger than the settle delay is read, and no part of a second', () => {
  const plan = (latest: string) =>
    planWindows({ fromDay: '2026-03-01', toDay: '2026-03-03', zone: 'UTC', latestMs: at(latest) }).map(
      ({ endMs }) => new Date(endMs).toISOString(),
    );
  expect(plan('2026-03-02T10:00:00.700Z')).toEqual(['2026-03-01T23:59:59.999Z', '2026-03-02T09:59:59.999Z']);
  expect(plan('2026-03-02T10:00:00.999Z')).toEqual(['2026-03-01T23:59:59.999Z', '2026-03-02T10:00:00.999Z']);
  expect(plan('2026-03-02T00:00:00.500Z')).toEqual(['2026-03-01T23:59:59.999Z']);
  expect(plan('2026-02-28T12:00:00Z')).toEqual([]);
});

test('windows cover the days up to the latest instant without gap or overlap, for any zone and instant', () => {
  const zones = fc.constantFrom(
    'UTC',
    'Asia/Shanghai',
    'Europe/London',
    'America/Sao_Paulo',
    'Australia/Lord_Howe',
  );
  const first = at('2026-01-01T00:00:00Z');
  fc.assert(
    fc.property(zones, fc.integer({ min: first, max: first + 400 * 86_400_000 }), (zone, latestMs) => {
      const windows = planWindows({ fromDay: '2026-01-01', toDay: '2026-12-31', zone, latestMs });
      windows.forEach((window, index) => {
        if (index > 0) expect(window.beginMs).toBe(windows[index - 1]!.endMs + 1);
        expect(fullSeconds(window)).toEqual(window);
      });
      const { beginMs } = dayWindow('2026-01-01', zone);
      const lastMs = Math.min(latestMs, dayWindow('2026-12-31', zone).endMs);
      const readMs = Math.floor((lastMs + 1) / 1_000) * 1_000;
      if (readMs <= beginMs) expect(windows).toEqual([]);
      else expect([windows[0]?.beginMs, windows.at(-1)?.endMs]).toEqual([beginMs, readMs - 1]);
    }),
    { numRuns: 40 },
  );
});

test('the seconds at the ends of a span are read completely', () => {
  expect(fullSeconds({ beginMs: 1_700_000_000_500, endMs: 1_700_000_001_000 })).toEqual({
    beginMs: 1_700_000_000_000,
    endMs: 1_700_000_001_999,
  });
});
