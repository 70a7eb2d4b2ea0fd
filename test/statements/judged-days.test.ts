/** A month is judged by its days from the account's first one on, and by those before that no one read. */
import { expect, test } from 'vitest';
import { dayWindow, daysFromTo } from '../../src/ledger/business-day.ts';
import { judgedDays } from '../../src/months/open-days.ts';
import { monthOf } from '../../src/months/month.ts';

const ZONE = 'Asia/Shanghai';
const MARCH = monthOf('2026-03')!;
const certified = (from: string, to: string) => ({
  beginMs: dayWindow(from, ZONE).beginMs,
  endMs: dayWindow(to, ZONE).endMs,
});

test('every day counts where nothing before the first one was read', () => {
  expect(judgedDays(MARCH, '2026-03-25', [certified('2026-03-25', '2026-03-31')], ZONE)).toEqual(
    daysFromTo('2026-03-01', '2026-03-31'),
  );
});

test('days that are proven empty before the first one do not count', () => {
  expect(judgedDays(MARCH, '2026-03-25', [certified('2026-03-01', '2026-03-31')], ZONE)).toEqual(
    daysFromTo('2026-03-25', '2026-03-31'),
  );
});

test('a day of which a part was read counts', () => {
  const { beginMs, endMs } = certified('2026-03-01', '2026-03-24');
  const proven = [
    { beginMs, endMs: dayWindow('2026-03-10', ZONE).endMs - 1 },
    { beginMs: dayWindow('2026-03-11', ZONE).beginMs, endMs },
  ];
  expect(judgedDays(MARCH, '2026-03-25', proven, ZONE)).toEqual([
    '2026-03-10',
    ...daysFromTo('2026-03-25', '2026-03-31'),
  ]);
});

test('from its first day on every day counts, read or not', () => {
  expect(judgedDays(MARCH, '2026-02-14', [certified('2026-02-01', '2026-03-31')], ZONE)).toEqual(
    daysFromTo('2026-03-01', '2026-03-31'),
  );
  expect(judgedDays(MARCH, '2026-03-30', [certified('2026-03-01', '2026-03-30')], ZONE)).toEqual([
    '2026-03-30',
    '2026-03-31',
  ]);
});
