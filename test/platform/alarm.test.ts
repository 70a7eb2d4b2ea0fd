/** The alarm asks for no sleep of less than nothing. */
import { expect, test } from 'vitest';
import { createAlarm } from '../../src/platform/rate-limiter.ts';

test('an alarm set to an instant that has passed rings at once', async () => {
  const asked: number[] = [];
  await new Promise<void>((ring) => {
    createAlarm({ clock: () => 1_000, sleep: (ms) => Promise.resolve(void asked.push(ms)) }, ring).setTo(998);
  });
  expect(asked).toEqual([0]);
});
