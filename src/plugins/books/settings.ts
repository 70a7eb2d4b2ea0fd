/** Settings of own books: how they are matched with the ledger, and who may decide what is left. */
import { z } from 'zod';
import { CURRENCY_CODE } from '../../ledger/money.ts';
import { MATCH_RULES } from '../../ledger/own-books.ts';
import { setting, settingsGroup } from '../../settings/setting.ts';
import { someOf } from '../../settings/values/lists.ts';
import { integer, jobTimes, jsonText, yesOrNo } from '../../settings/values/scalars.ts';

/** What the type of a difference is. */
export const DIFFERENCE_TYPE = /^[\p{L}\p{N}][\p{L}\p{N} _-]{0,49}$/u;
const AMOUNT = /^\d{1,15}(?:\.\d{1,8})?$/;

/** Amounts are text in quotes, so that no digit of them is lost. */
const ofCurrencies = <Value extends z.ZodType>(of: Value, error: string) =>
  z
    .preprocess(jsonText, z.record(z.string({ error }).regex(CURRENCY_CODE, { error }), of, { error }))
    .transform((values) => new Map(Object.entries(values) as [string, z.output<Value>][]));

/** An amount, 0 or more, by currency. */
const amountsOfCurrencies = () => {
  const error = `must map currency codes to amounts in quotes, like {"USD":"10000"} (in the environment: JSON)`;
  return ofCurrencies(z.string({ error }).regex(AMOUNT, { error }), error);
};

/** The largest difference, and its type, by currency. */
const tolerances = () => {
  const error = `must map currency codes to max and type, like {"USD":{"max":"0.50","type":"fee"}} (in the environment: JSON)`;
  const max = z.string({ error }).regex(AMOUNT, { error });
  const type = z.string({ error }).regex(DIFFERENCE_TYPE, { error });
  return ofCurrencies(z.strictObject({ max, type }, { error }), error);
};

export const bookSettings = settingsGroup(
  {
    DAYBOOK_SCHEDULE_BOOKS: setting(
      jobTimes().optional(),
      'When own books are matched with the ledger. Without it: at the time of the nightly job.',
      { example: '0 6 * * *' },
    ),
    BOOKS_RULES: setting(
      someOf(MATCH_RULES).default(MATCH_RULES),
      'The rules by which own books are matched with the ledger, in this order: reference, same-time, same-day, near-day, sum, tolerance (docs/books.md).',
      { example: 'reference,same-day' },
    ),
    BOOKS_DAYS: setting(
      integer(0, 14).default(3),
      'Most days between two entries of a match that no reference makes, 0 to 14.',
      { example: '3' },
    ),
    BOOKS_SUM_ENTRIES_MAX: setting(
      integer(2, 6).default(6),
      'Most entries that are matched with one entry of the other side, 2 to 6.',
      { example: '6' },
    ),
    BOOKS_TOLERANCES: setting(
      tolerances().default(new Map()),
      'By currency: the largest difference that a match may leave, and its type. In the environment this is JSON.',
      { example: '{"USD":{"max":"0.50","type":"fee"}}' },
    ),
    BOOKS_APPROVAL_ABOVE: setting(
      amountsOfCurrencies().default(new Map()),
      'By currency: above this amount, without signs, a match by hand, a write-off, taking back what was approved, and an import wait for another person. In the environment this is JSON.',
      { example: '{"USD":"10000"}' },
    ),
    BOOKS_CLOSE_NEEDS_MATCH: setting(
      yesOrNo().default(false),
      'true: a month of a merchant with own books is closed only once all its entries are matched.',
      { example: 'true' },
    ),
    BOOKS_ALERT_DAYS: setting(
      integer(1, 366).optional(),
      'An alert is raised when an entry is unmatched for more than so many days.',
      { example: '7' },
    ),
  },
  { value: ({ scheduleBooks, ...books }) => ({ books }) },
);
