import { expect, test } from 'vitest';
import { isNoFailure, type KnownRun } from '../../src/run/run-state.ts';
import { oldestMs } from '../../src/run/schedule/due.ts';

const HOUR_MS = 3_600_000;
const FRIDAY = new Date('2026-03-06T12:00:00Z');

test.each([
  ['twice on weekdays, asked on a Saturday', '0 2,14 * * 1-5', 'Asia/Shanghai', '2026-03-07T04:00:00Z', 62],
  [
    'every hour on weekdays, asked on a Friday night',
    '0 * * * 1-5',
    'Asia/Shanghai',
    '2026-03-06T15:30:00Z',
    51,
  ],
  ['after the hour that came twice', '30 1 * * *', 'Europe/Berlin', '2026-10-26T00:40:00Z', 27],
  ['every minute', '* * * * *', 'Asia/Shanghai', '2026-03-06T15:30:00Z', 2 + 1 / 60],
])('the longest time between two nights is found wherever it lies: %s', (_, when, zone, now, hours) => {
  expect(oldestMs({ nightly: when, resweep: null, zone }, new Date(now))).toBe(hours * HOUR_MS);
});

test.each([
  ['every night', '30 1 * * *', 26],
  ['on weekdays only: not missed on a Sunday', '30 1 * * 1-5', 74],
  ['once a week', '30 1 * * 1', 170],
  ['every hour', '0 * * * *', 3],
])('a night is missed two hours after the longest time between two of them: %s', (_, when, hours) => {
  expect(oldestMs({ nightly: when, resweep: null, zone: 'Asia/Shanghai' }, FRIDAY)).toBe(hours * HOUR_MS);
});

test('where the nightly job is off, the one around midday counts; with both off, one night a day', () => {
  const zone = 'Asia/Shanghai';
  expect(oldestMs({ nightly: null, resweep: '0 * * * *', zone }, FRIDAY)).toBe(3 * HOUR_MS);
  expect(oldestMs({ nightly: null, resweep: null, zone }, FRIDAY)).toBe(26 * HOUR_MS);
});

test.each<[string, Record<string, boolean>, number | null, boolean]>([
  ['was asked to stop', { interrupted: true }, 48, true],
  ['left merchants to others a moment ago', { leftToOthers: true }, 0.9, true],
  ['left merchants to others long ago', { leftToOthers: true }, 1, false],
  ['left merchants to others and did not end', { leftToOthers: true }, null, false],
  ['failed a moment ago', {}, 0, false],
])('whether a run that %s is no failure', (_, figures, hoursAgo, isNone) => {
  const finishedAt = hoursAgo === null ? null : new Date(FRIDAY.getTime() - hoursAgo * HOUR_MS);
  expect(isNoFailure({ figures, finishedAt } as KnownRun, FRIDAY)).toBe(isNone);
});
