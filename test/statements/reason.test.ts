/** The sentences for why a row differs, and why a revision replaces another. */
import { describe, expect, test } from 'vitest';
import type { LedgerEntry, StatedFigures } from '../../src/ledger/entry.ts';
import type { RowDifference } from '../../src/statements/formats/format.ts';
import {
  countChanges,
  ENTRIES_NAMED_MAX,
  reasonOf,
  causeOf,
  causeText,
  healedBy,
  type Cause,
  type CausedRow,
} from '../../src/statements/reason.ts';
import type { PastContent } from '../../src/store/entry-history.ts';
import { figures } from '../support/stated-figures.ts';

const account = { merchantNo: 'M1', currency: 'USD' };
const day = '2026-03-30';
const publishedAt = new Date('2026-03-31T02:00:00Z');
const earlier = new Date('2026-03-31T01:00:00Z');
const later = new Date('2026-04-01T01:00:00Z');

const content = (change: Partial<PastContent & LedgerEntry> = {}): PastContent => ({
  batchNo: 'B1',
  version: 1,
  currency: 'USD',
  transactionType: 'PAY',
  credit: '1.00',
  debit: null,
  balance: '101.00',
  bookedAt: '2026-03-30 09:00:00',
  bookedMs: Date.parse('2026-03-30T09:00:00Z'),
  day,
  since: earlier,
  ...change,
});
const cells = (one: PastContent) => ({
  batch_no: one.batchNo,
  booked_at: one.bookedAt,
  currency: one.currency,
  transaction_type: one.transactionType,
  credit: one.credit ?? '',
  debit: one.debit ?? '',
  balance: one.balance,
});
const row = (before: PastContent | null, after: PastContent | null): RowDifference => ({
  batchNo: 'B1',
  before: before && cells(before),
  after: after && cells(after),
  changed: [],
});

describe('the cause of a row', () => {
  const first = content();
  const second = content({ version: 2, credit: '2.00', since: later });
  const elsewhere = content({ version: 2, bookedAt: '2026-03-31 09:00:00', day: '2026-03-31', since: later });
  const backAgain = content({ version: 3, since: new Date('2026-04-02T01:00:00Z') });
  const otherCurrency = content({ version: 2, currency: 'EUR', since: later });
  const was = { vanishedAt: null };
  test.each<[string, RowDifference, Parameters<typeof causeOf>[1], Cause, string]>([
    [
      'first seen after the earlier revision',
      row(null, content({ since: later })),
      { ...was, contents: [content({ since: later })] },
      { kind: 'late', since: later },
      'late entry, first seen 2026-04-01T01:00:00.000Z',
    ],
    [
      'seen before it, and not in it',
      row(null, first),
      { ...was, contents: [first] },
      { kind: 'returned' },
      'came back: the platform did not show it when the earlier revision was published',
    ],
    [
      'amended into this day',
      row(null, backAgain),
      { ...was, contents: [first, elsewhere, backAgain] },
      { kind: 'moved-here', currency: 'USD', day: '2026-03-31', version: 3, since: backAgain.since },
      'moved from 2026-03-31 by an amendment: version 3, seen 2026-04-02T01:00:00.000Z',
    ],
    [
      'amended out of this day',
      row(first, null),
      { ...was, contents: [first, elsewhere] },
      { kind: 'moved-away', currency: 'USD', day: '2026-03-31', version: 2, since: later },
      'moved to 2026-03-31 by an amendment: version 2, seen 2026-04-01T01:00:00.000Z',
    ],
    [
      'amended into another currency',
      row(first, null),
      { ...was, contents: [first, otherCurrency] },
      { kind: 'moved-away', currency: 'EUR', day, version: 2, since: later },
      'moved to EUR 2026-03-30 by an amendment: version 2, seen 2026-04-01T01:00:00.000Z',
    ],
    [
      'taken back',
      row(first, null),
      { vanishedAt: later, contents: [first] },
      { kind: 'vanished', since: later },
      'vanished on the platform, missing since 2026-04-01T01:00:00.000Z',
    ],
    [
      'amended, and taken back later',
      row(first, null),
      { vanishedAt: later, contents: [first, second] },
      { kind: 'vanished', since: later },
      'vanished on the platform, missing since 2026-04-01T01:00:00.000Z',
    ],
    [
      'taken back for a while',
      row(first, null),
      { ...was, contents: [first] },
      { kind: 'vanished', since: null },
      'vanished on the platform, which holds it again by now',
    ],
    [
      'amended',
      row(first, second),
      { ...was, contents: [first, second] },
      { kind: 'amended', version: 2, since: later },
      'amended by the platform: version 2, seen 2026-04-01T01:00:00.000Z',
    ],
    [
      'of an entry this database never held',
      row(first, null),
      undefined,
      { kind: 'unknown' },
      'this database does not know the cause',
    ],
    [
      'of a change before this database began',
      row(content({ credit: '9.00' }), first),
      { ...was, contents: [first] },
      { kind: 'unknown' },
      'this database does not know the cause',
    ],
  ])('%s', (_, difference, past, cause, said) => {
    expect(causeOf(difference, past, { account, day, publishedAt })).toEqual(cause);
    const caused = { ...difference, cause, heals: [] };
    expect(causeText(caused, account, (at) => at.toISOString())).toBe(said);
  });

  test('names the breaks at the place of the row, or beside it', () => {
    const at = first.bookedMs;
    const healed = [
      { id: 1, beginMs: at - 10, endMs: at, afterBatchNo: 'X', beforeBatchNo: 'Y' },
      { id: 2, beginMs: at + 1, endMs: at + 9, afterBatchNo: 'B1', beforeBatchNo: 'Y' },
      { id: 3, beginMs: at + 1, endMs: at + 9, afterBatchNo: null, beforeBatchNo: 'Y' },
    ];
    const heals = healedBy('B1', { contents: [first], vanishedAt: null }, healed);
    expect(heals).toEqual([1, 2]);
    const caused: CausedRow = { ...row(null, first), cause: { kind: 'late', since: later }, heals };
    expect(causeText(caused, account, () => 'T')).toBe('late entry, first seen T; heals break 1, 2');
  });
});

const late: Cause = { kind: 'late', since: later };
const vanished: Cause = { kind: 'vanished', since: later };
const amended: Cause = { kind: 'amended', version: 2, since: later };
const place = { day: '2026-03-31', currency: 'USD', version: 2, since: later };
const changesOf = (...causes: readonly Cause[]) => {
  const counter = countChanges(account);
  counter.take(
    causes.map((cause, at) => ({ ...row(content(), null), batchNo: `B${at + 1}`, cause, heals: [] })),
  );
  return counter.changes;
};

describe('the reason for a revision', () => {
  test.each<[string, Partial<StatedFigures>, Partial<StatedFigures>, readonly Cause[] | null, string]>([
    ['one entry more', {}, { creditCount: 3 }, [late], '1 late entry (B1)'],
    ['more entries', {}, { creditCount: 4 }, [late, late], '2 late entries (B1, B2)'],
    [
      'more than are named',
      {},
      {},
      Array.from({ length: ENTRIES_NAMED_MAX + 2 }, () => late),
      '7 late entries (B1, B2, B3, B4, B5 and 2 more)',
    ],
    ['a moved opening', {}, { opening: '110.00', closing: '115.00' }, [], 'opening moved by 10.00'],
    ['an opening moved down', { opening: '110.00' }, {}, [], 'opening moved by -10.00'],
    ['an amendment', {}, { creditTotal: '11.00' }, [amended], '1 entry amended (B1)'],
    ['one gone', {}, { creditCount: 1 }, [vanished], '1 entry no longer held by the platform (B1)'],
    [
      'one gone and one come',
      {},
      { creditTotal: '9.00' },
      [vanished, late],
      '1 late entry (B2), 1 entry no longer held by the platform (B1)',
    ],
    ['one that came back', {}, { creditCount: 3 }, [{ kind: 'returned' }], '1 entry that came back (B1)'],
    [
      'moved between days',
      {},
      {},
      [
        { kind: 'moved-here', ...place },
        { kind: 'moved-away', ...place, currency: 'EUR' },
      ],
      '1 entry moved here (B1 from 2026-03-31), 1 entry moved away (B2 to EUR 2026-03-31)',
    ],
    ['what nobody knows', {}, { creditCount: 1 }, [{ kind: 'unknown' }], '1 entry fewer (B1)'],
    [
      'a healed break',
      { verdict: 'broken', breakCount: 1 },
      { creditCount: 3 },
      [late],
      '1 late entry (B1), 1 break healed',
    ],
    ['new breaks', {}, { verdict: 'broken', breakCount: 2 }, [], '2 breaks found'],
    [
      'a break that the next day shows',
      {},
      { verdict: 'broken', breakCount: 1, breaksAfter: 1 },
      [],
      '1 break found between it and the next entry',
    ],
    ['another verdict', {}, { verdict: 'reordered' }, [], 'continuous became reordered'],
    ['only a moved closing', {}, { closing: '104.00' }, [], 'closing moved by -1.00'],
    ['nothing but the order', {}, {}, [], 'the same entries in another order'],
    [
      'an earlier file that cannot be read',
      {},
      { creditCount: 4 },
      null,
      '2 entries more, the file of the revision before could not be read, so entries are not named',
    ],
  ])('%s', (_, before, after, causes, reason) => {
    const changes = causes === null ? null : changesOf(...causes);
    expect(reasonOf(figures(before), figures(after), changes)).toBe(reason);
  });
});
