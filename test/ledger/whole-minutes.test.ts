import { expect, test } from 'vitest';
import { createTimesSeen } from '../../src/ledger/whole-minutes.ts';

const at = (nth: number, second: string): string =>
  `2026-03-01 ${String(Math.floor(nth / 60)).padStart(2, '0')}:${String(nth % 60).padStart(2, '0')}:${second}`;
const row = (from: number, count: number, second: string): string[] =>
  Array.from({ length: count }, (_, nth) => at(from + nth, second));
function seen(...parts: readonly (readonly string[])[]) {
  const times = createTimesSeen();
  for (const part of parts) times.add(part);
  return times.fullMinutes();
}

test('the newest timestamps lost their seconds, in whatever order they came', () => {
  const cut = { count: 8, from: at(20, '00') };
  expect(seen(row(0, 20, '17'), row(20, 8, '00'))).toEqual(cut);
  expect(seen(row(20, 8, '00').toReversed(), row(0, 20, '17'))).toEqual(cut);
  expect(seen(row(0, 500, '17'), row(500, 700, '00'))).toEqual({ count: 700, from: at(500, '00') });
});

test.each([
  ['few', [row(0, 20, '17'), row(20, 7, '00')]],
  ['all there are', [row(0, 20, '00')]],
  ['such rows came before', [row(0, 10, '17'), row(10, 6, '00'), row(16, 10, '17'), row(26, 9, '00')]],
  [
    'most were so before',
    [
      ...Array.from({ length: 12 }, (_, nth) => [...row(5 * nth, 4, '00'), at(5 * nth + 4, '01')]),
      row(60, 20, '00'),
    ],
  ],
  [
    'as many before as chance may leave',
    [
      ...row(0, 6, '00').flatMap((time, nth) => (nth < 5 ? [time, at(20 + nth, '01')] : [time])),
      row(40, 19, '00'),
    ].map((part) => (typeof part === 'string' ? [part] : part)),
  ],
  [
    'at one time of each day',
    [row(0, 20, '17'), Array.from({ length: 9 }, (_, nth) => `2026-04-0${nth + 1} 10:00:00`)],
  ],
  ['followed by others', [row(0, 20, '17'), row(20, 9, '00'), row(29, 1, '17')]],
  ['of one second', [row(0, 20, '17'), ...Array.from({ length: 9 }, () => row(20, 1, '00'))]],
])('nothing is said of timestamps on whole minutes: %s', (_, parts) => {
  expect(seen(...parts)).toBeNull();
});
