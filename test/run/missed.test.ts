import { expect, test } from 'vitest';
import { oldestMs } from '../../src/run/alerts/missed.ts';

const HOUR_MS = 3_600_000;
const FRIDAY = new Date('2026-03-06T12:00:00Z');

test.each([
  ['every night', '30 1 * * *', 26],
  ['on weekdays only: not missed on a Sunday', '30 1 * * 1-5', 74],
  ['once a week', '30 1 * * 1', 170],
  ['every hour', '0 * * * *', 3],
])('a night is missed two hours after the longest time between two of them: %s', (_, when, hours) => {
  expect(oldestMs(when, 'Asia/Shanghai', FRIDAY)).toBe(hours * HOUR_MS);
});
