/** What was found of a merchant, as sentences for a person: what it is, how much, and what to do. */
import { expect, test } from 'vitest';
import {
  reasonOfCommon,
  reasonOfDiscrepancy,
  reasonOfMoved,
  reasonOfNotRead,
  reasonsOfHeld,
} from '../../src/run/verdict/finding-reasons.ts';
import { accountEntries } from '../support/ledger-entries.ts';

const [credit, debit] = accountEntries(0, [
  ['2026-03-04 09:00:00', 1_250_000],
  ['2026-03-05 10:00:00', -900],
]);

test('an entry that moved later balances is named with its day and amount, and asked about by what became of it', () => {
  const of = { merchantNo: 'M1', moved: 1 } as const;
  expect(reasonOfMoved({ ...of, kind: 'late', entry: credit! })).toEqual({
    exitCode: 3,
    what: 'M1: late entry B0000 of 2026-03-04, a credit of 12,500.00 USD, moved 1 later balance',
    todo: 'ask the platform why the entry came late',
    merchantNo: 'M1',
  });
  expect(reasonOfMoved({ ...of, kind: 'vanished', entry: debit!, moved: 7 })).toEqual({
    exitCode: 3,
    what: 'M1: entry B0001 of 2026-03-05, a debit of 9.00 USD, vanished and moved 7 later balances',
    todo: 'ask the platform why it no longer shows it; it is kept, and left out of the chain',
    merchantNo: 'M1',
  });
  expect(reasonOfMoved({ ...of, kind: 'amended', entry: debit! })).toEqual({
    exitCode: 3,
    what: 'M1: amended entry B0001 of 2026-03-05, a debit of 9.00 USD, moved 1 later balance',
    todo: 'ask the platform why it changed a booked entry',
    merchantNo: 'M1',
  });
});

test('one change over many entries is one sentence, whether all entries have it or most', () => {
  const change = { merchantNo: 'M1', count: 40, what: 'have another transaction type' };
  const todo =
    'send this sentence to the platform: it is one change over many entries, not one of each entry';
  const day = { from: '2026-03-04', to: '2026-03-04' };
  expect(reasonOfCommon({ ...change, ...day, of: 40 })).toEqual({
    ...{ exitCode: 3, merchantNo: 'M1', todo },
    what: 'M1: 40 entries of 2026-03-04 have another transaction type',
  });
  expect(reasonOfCommon({ ...change, from: '2026-03-01', to: '2026-03-04', of: 42 }).what).toBe(
    'M1: 40 of 42 changed entries of 2026-03-01 to 2026-03-04 have another transaction type',
  );
});

test('held entries are one reason for each account, which waits for a person until all are accepted', () => {
  const [at, before] = [new Date('2026-03-06T01:30:00Z'), new Date('2026-03-05T01:30:00Z')];
  const held = {
    merchantNo: 'M1',
    currency: 'USD',
    day: '2026-03-02',
    entries: 20,
    since: at,
    acceptedAt: null,
  };
  const days = [held, { ...held, day: '2026-03-04', entries: 1, since: before, acceptedAt: at }];
  const gone = (entries: string, since: string) =>
    `${entries} gone all at the same time, since ${since}; they are held, and the published statements stay as they are`;
  expect(reasonsOfHeld([...days, { ...held, currency: 'EUR', entries: 1, acceptedAt: at }], 'UTC')).toEqual([
    {
      exitCode: 4,
      what: `M1 USD 2026-03-02 to 2026-03-04: ${gone('21 entries are', '2026-03-05 01:30:00')}`,
      todo:
        'ask the platform; if it removed them for good, `daybook amendments accept --merchant M1 --currency USD ' +
        '--from 2026-03-02 --to 2026-03-04 --note TEXT`. If they come back, the hold ends by itself',
      merchantNo: 'M1',
      awaitsPerson: true,
    },
    {
      exitCode: 4,
      what: `M1 EUR 2026-03-02: ${gone('1 entry is', '2026-03-06 01:30:00')}`,
      todo: 'accepted: the next run that does not find them marks them as vanished',
      merchantNo: 'M1',
    },
  ]);
});

test.each([
  ['no-figures', 4, 'proven without figures', 'run'],
  ['no-statement', 4, 'proven without an up-to-date statement', 'publish'],
  ['not-read', 3, 'with an adopted statement that this database has not read', 'backfill'],
  ['in-doubt', 4, 'published, and not proven any more: a later reading failed, or entries are absent', 'run'],
] as const)(
  'days that differ (%s) end with %i, and name the command that mends it',
  (what, exitCode, words, command) => {
    const one = { merchantNo: 'M1', currency: 'USD', what };
    expect(reasonOfDiscrepancy({ ...one, days: ['2026-03-02', '2026-03-05'] })).toEqual({
      exitCode,
      what: `M1 USD: 2 days ${words}: 2026-03-02 to 2026-03-05`,
      todo: `\`daybook ${command} --from 2026-03-02 --to 2026-03-05 --merchant M1\``,
      merchantNo: 'M1',
    });
  },
);

test('of a merchant without a token it is said how to give it one, or to record that it has left', () => {
  expect(reasonOfNotRead('M1')).toEqual({
    exitCode: 4,
    what: 'M1 is not read, though it is active or has a ledger here: neither the settings nor the database have its token',
    todo:
      'give it its token with `daybook merchants add --merchant-no M1 --token-stdin`; where it has left, ' +
      '`daybook merchants disable M1` puts that on record',
    merchantNo: 'M1',
    awaitsPerson: true,
  });
});
