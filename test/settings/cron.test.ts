/** Times of cron expressions, compared with those of another library. */
import { CronExpressionParser } from 'cron-parser';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cronProblem, cronTimeAfter, cronTimeBefore } from '../../src/settings/cron.ts';

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** A field of numbers from `min` to `max`, one above it at times, in every form that the settings take. */
function field(min: number, max: number, names: readonly string[] = []): fc.Arbitrary<string> {
  const number = fc.integer({ min, max: max + 1 }).map(String);
  const value = names.length === 0 ? number : fc.oneof(number, fc.constantFrom(...names));
  const step = fc.integer({ min: 1, max: 30 });
  return fc.oneof(
    { arbitrary: fc.constantFrom('*', '?'), weight: 3 },
    value,
    fc.tuple(value, value).map((pair) => pair.join(',')),
    fc.tuple(value, value).map((pair) => pair.join('-')),
    fc.tuple(fc.constantFrom('*', '?'), step).map((pair) => pair.join('/')),
    fc.tuple(value, value, step).map(([from, to, each]) => `${from}-${to}/${each}`),
  );
}

const weekday = fc.integer({ min: 0, max: 7 });
const expressions = fc
  .tuple(
    field(0, 59),
    field(0, 23),
    fc.oneof({ arbitrary: field(1, 31), weight: 5 }, fc.constantFrom('L', '15,L')),
    field(1, 12, MONTHS),
    fc.oneof(
      { arbitrary: field(0, 7, WEEKDAYS), weight: 5 },
      weekday.map((day) => `${day}L`),
      fc.tuple(weekday, fc.integer({ min: 1, max: 5 })).map((pair) => pair.join('#')),
    ),
  )
  .map((fields) => fields.join(' '));
const instants = fc
  .date({ min: new Date('2020-01-01'), max: new Date('2040-01-01'), noInvalidDate: true })
  .map((at) => at.getTime());

/** The times before and after; null where the expression has none. */
function theirs(expression: string, ms: number): readonly number[] | null {
  const parsed = () => CronExpressionParser.parse(expression, { tz: 'UTC', currentDate: new Date(ms) });
  try {
    return [parsed().prev().getTime(), parsed().next().getTime()];
  } catch {
    return null;
  }
}

test('an expression has the same times as elsewhere', () => {
  let accepted = 0;
  fc.assert(
    fc.property(expressions, instants, (expression, ms) => {
      const expected = theirs(expression, ms);
      // They refuse a value that is named twice, which we take.
      if (expected === null) return;
      expect(cronProblem(expression), expression).toBe(null);
      accepted += 1;
      const times = [cronTimeBefore(expression, ms), cronTimeAfter(expression, ms)];
      expect(times, `${expression} at ${new Date(ms).toISOString()}`).toEqual(expected);
    }),
    { numRuns: 3_000 },
  );
  expect(accepted).toBeGreaterThan(1_000);
});

test('an expression that no time fits is refused, and says why', () => {
  expect(cronProblem('0 24 * * *')).toBe("its hour '24' has a number out of range");
  expect(cronProblem('0 2-24/5 * * *')).toBe("its hour '2-24/5' has a number out of range");
  expect(cronProblem('0 1 0 * *')).toBe("its day '0' has a number out of range");
  expect(cronProblem('0 1 * * mon-fry')).toBe(
    'a name is none, a range goes backwards, or no such day ever comes',
  );
  expect(cronProblem('0 1 31 2 *')).toBe('a name is none, a range goes backwards, or no such day ever comes');
  expect(cronProblem('0 1 * * fri-mon')).toBe(
    'a name is none, a range goes backwards, or no such day ever comes',
  );
  expect(cronProblem('@daily')).toBe('nicknames like @daily are not taken');
  expect(cronProblem('0 1 * *')).toBe('it has 4 fields instead of 5');
});
