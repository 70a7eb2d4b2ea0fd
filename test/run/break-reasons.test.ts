import { expect, test } from 'vitest';
import { breakTexts } from '../../src/cli/output/run-text.ts';
import { reasonsOfCauses } from '../../src/run/verdict/finding-reasons.ts';
import type { BreakRow } from '../../src/store/breaks/breaks.ts';

const AT_MS = Date.UTC(2026, 2, 2, 9);

const row = (id: number, change: Partial<BreakRow>): BreakRow => ({
  id,
  merchant_no: 'M1',
  currency: 'USD',
  day: '2026-03-02',
  after_batch_no: `B${id}`,
  before_batch_no: `B${id + 1}`,
  expected_balance: '100.00',
  found_balance: '112.34',
  missing_net: '12.34',
  hint: 'unexplained',
  hint_batch_no: null,
  begin_ms: AT_MS,
  end_ms: AT_MS + 59_999,
  status: 'open',
  found_at: new Date(AT_MS),
  closed_at: null,
  healing_read_at: null,
  readings_unchanged: 0,
  note: null,
  run_id: 1,
  ...change,
});
const rows = (count: number, change: (id: number) => Partial<BreakRow>, from = 1): BreakRow[] =>
  Array.from({ length: count }, (_, at) => row(from + at, change(from + at)));

test('a day of breaks below the minor unit is one reason, whatever else was found', () => {
  const noisy = rows(41, () => ({ hint: 'below-minor-unit', missing_net: '0.00000000003' }));
  const pair = rows(2, () => ({ hint: 'balance-off', hint_batch_no: 'B52' }), 51);
  expect(reasonsOfCauses([...noisy, row(60, {}), ...pair])).toEqual([
    {
      exitCode: 3,
      what:
        '41 breaks of M1 USD 2026-03-02: Each of them is below one minor unit: amounts or balances carry the noise of a ' +
        'floating-point number',
      todo: 'send this sentence to the platform',
    },
    {
      exitCode: 3,
      what:
        '2 breaks of M1 USD 2026-03-02: The balance of B52 is wrong by 12.34 USD and every other figure fits, or the amounts of B52 ' +
        'and of the entry after it are wrong',
      todo: 'send this sentence to the platform',
    },
  ]);
});

test('breaks of unknown cause are only counted', () => {
  const alone = ['unexplained', 'equals-neighbour', 'twice-neighbour', 'amount-off'];
  expect(reasonsOfCauses(alone.map((hint, at) => row(at, { hint, hint_batch_no: 'B1' })))).toEqual([]);
});

test('of many causes the first are described, and the rest is counted', () => {
  const noisy = rows(9, (id) => ({ hint: 'below-minor-unit', day: `2026-03-0${id}` }));
  expect(reasonsOfCauses(noisy).map(({ what }) => what.slice(0, 38))).toEqual([
    '1 break of M1 USD 2026-03-01: It is be',
    '1 break of M1 USD 2026-03-02: It is be',
    '1 break of M1 USD 2026-03-03: It is be',
    '1 break of M1 USD 2026-03-04: It is be',
    '1 break of M1 USD 2026-03-05: It is be',
    'breaks of 4 more causes: see `daybook ',
  ]);
});

test('breaks of one cause are listed together and explained once, and a single break by itself', () => {
  const noisy = rows(6, () => ({ hint: 'below-minor-unit', missing_net: '0.00000000003' }));
  const [cause, alone, ...more] = breakTexts([...noisy, row(60, {})], 'UTC');
  expect(more).toEqual([]);
  expect(cause!.split('\n')).toEqual([
    ...[1, 2, 3, 4].flatMap((id) => [
      `break ${id}: M1 USD 2026-03-02, between 2026-03-02 09:00:00 and 2026-03-02 09:00:59`,
      `  After B${id} the balance is 100.00 USD, but B${id + 1} starts from 112.34 USD: a net credit of 0.00000000003 USD is unexplained between these two entries.`,
    ]),
    'and 2 more breaks of the same cause',
    '  Each of them is below one minor unit: amounts or balances carry the noise of a floating-point number.',
  ]);
  expect(alone!.split('\n').at(-1)).toBe(
    '  Most likely one or more entries are missing between the two, or carry another time. Otherwise the amount of B61 is wrong ' +
      'by 12.34 USD, or every balance from B61 on is.',
  );
});

test('a pair of opposite breaks is one story, from whichever break it is found', () => {
  const pair = [
    row(1, {
      hint: 'offset-by-later-break',
      hint_batch_no: 'B8',
      before_batch_no: 'B2',
      missing_net: '-5.00',
    }),
    row(7, {
      hint: 'offsets-earlier-break',
      hint_batch_no: 'B2',
      before_batch_no: 'B8',
      missing_net: '5.00',
    }),
  ];
  const sentence = (other: string) =>
    `One break cancels ${other} exactly: two entries are missing, such as a payment and its refund, or a hold that was placed and released, or every balance from B2 up to B8 ` +
    'is wrong by 5.00 USD';
  expect(reasonsOfCauses(pair).map(({ what }) => what)).toEqual([
    `2 breaks of M1 USD 2026-03-02: ${sentence('the other')}`,
  ]);
  expect(reasonsOfCauses(pair.slice(1)).map(({ what }) => what)).toEqual([
    `1 break of M1 USD 2026-03-02: ${sentence('an earlier break')}`,
  ]);
});

test('an entry in the wrong currency is described by as many of its breaks as are known', () => {
  const ofB5 = (id: number, change: Partial<BreakRow>) =>
    row(id, { hint: 'in-another-currency', hint_batch_no: 'B5', ...change });
  const gap = ofB5(1, { currency: 'EUR', after_batch_no: 'E1', before_batch_no: 'E2' });
  const into = ofB5(4, {});
  const out = ofB5(5, {});
  const sentence = (...breaks: BreakRow[]) =>
    reasonsOfCauses(breaks).map(({ what }) => what.split(': ').slice(1).join(': '));
  expect(sentence(gap, into, out)).toEqual([
    'The currency of B5 is wrong: it stands in USD, and fits exactly in EUR between E1 and E2',
  ]);
  expect(sentence(gap)).toEqual([
    'The currency of B5 is wrong: it is the first in its account, and fits exactly in EUR between E1 and E2',
  ]);
  const unknown = [
    'The currency of B5 is wrong: in another currency of the merchant it fits exactly, and here it does not',
  ];
  expect(sentence(into, out)).toEqual(unknown);
  expect(sentence(gap, { ...gap, id: 2, currency: 'GBP' })).toEqual(unknown);
});
