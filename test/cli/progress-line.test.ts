/** The remaining time, as shown in the terminal's progress line. */
import { expect, test } from 'vitest';
import { createProgressLine, leftText } from '../../src/cli/output/progress-line.ts';

test.each([
  [2_999, 50, 100, ''],
  [10_000, 0, 0, ''],
  [10_000, 4, 100, ''],
  [10_000, 100, 100, ''],
  [10_000, 50, 100, ', about 10 s left'],
  [10_000, 99, 100, ', about 5 s left'],
  [60_000, 25, 100, ', about 3 min left'],
  [3_600_000, 25, 100, ', about 3 h left'],
])('after %d ms, %d of %d done: "%s"', (elapsedMs, done, all, said) => {
  expect(leftText(elapsedMs, done, all)).toBe(said);
});

test('each stage is estimated by its own time, and without a terminal nothing is drawn', () => {
  let nowMs = 1_000;
  let drawn = '';
  const terminal = (isTTY: boolean) => ({
    isTTY,
    write: (text: string): void => {
      drawn += `${text}\n`;
    },
  });
  const line = createProgressLine(terminal(true), () => nowMs);
  line.show({ stage: 'publish', merchantNo: 'M1', daysDone: 0, days: 100 });
  nowMs += 30_000;
  line.show({ stage: 'publish', merchantNo: 'M1', daysDone: 50, days: 100 });
  expect(drawn).toMatch(/publishing day 50 of 100, about 30 s left$/m);
  line.show({ stage: 'reconcile', merchantNo: 'M1', accountsDone: 1, accounts: 2 });
  nowMs += 1_000;
  line.show({ stage: 'reconcile', merchantNo: 'M1', accountsDone: 1, accounts: 2 });
  expect(drawn).toMatch(/chaining account 1 of 2$/m);
  drawn = '';
  createProgressLine(terminal(false), () => nowMs).show({
    stage: 'publish',
    merchantNo: 'M1',
    daysDone: 1,
    days: 2,
  });
  expect(drawn).toBe('');
});
