/** Which published days have to be compared with the published days next to them by asking the database. */
import { expect, test } from 'vitest';
import type { BusinessDay } from '../../src/ledger/entry.ts';
import { daysToCheck, type PublishedDay } from '../../src/statements/withheld.ts';

type Stated = PublishedDay['statement'];
const stated = (day: BusinessDay, opening: string, closing: string, restarted = false): Stated => ({
  ...{ day, opening, closing, restarted },
});
const published = (
  statement: Stated,
  background: Partial<Pick<PublishedDay, 'previous' | 'later'>> = {},
  currency = 'USD',
): PublishedDay => ({
  account: { merchantNo: 'M1', currency },
  day: statement.day,
  ...{ statement, previous: undefined, later: undefined, ...background },
});
const checked = (...days: PublishedDay[]) =>
  daysToCheck(days).map(({ account, day }) => `${account.currency} ${day}`);

const before = stated('2026-03-01', '50', '70.00');

test.each<[string, PublishedDay, boolean]>([
  ['has no published day before and after it', published(stated('2026-03-02', '9', '10')), false],
  [
    'opens on the closing before it, whatever the decimals',
    published(stated('2026-03-02', '70', '71'), { previous: before }),
    false,
  ],
  ['opens on another amount', published(stated('2026-03-02', '65', '71'), { previous: before }), true],
  [
    'opens on an amount taken from its own first entry',
    published(stated('2026-03-02', '70', '71', true), { previous: before }),
    true,
  ],
  [
    'has a published day after it',
    published(stated('2026-03-02', '70', '71'), { previous: before, later: '2026-03-05' }),
    true,
  ],
])('one that %s', (_, day, isLookedAt) => {
  expect(checked(day)).toHaveLength(isLookedAt ? 1 : 0);
});

test('days published together stand beside each other', () => {
  const first = published(stated('2026-03-02', '70', '80'), { previous: before, later: '2026-03-03' });
  // Read before the first one was published anew.
  const old = stated('2026-03-02', '70', '75');
  const second = (opening: string) => published(stated('2026-03-03', opening, '90'), { previous: old });
  expect(checked(second('80'), first)).toEqual([]);
  expect(checked(first, second('75'))).toEqual(['USD 2026-03-03']);
});

test('accounts have nothing to do with each other', () => {
  const first = published(stated('2026-03-02', '70', '80'), { later: '2026-03-03' });
  const other = published(stated('2026-03-03', '5', '6'), {}, 'EUR');
  expect(checked(first, other)).toEqual(['USD 2026-03-02']);
});
