/** The overview of a month as PDF, read back: figures, verdict, what is open, the close and each day's hash. */
import { describe, expect, test } from 'vitest';
import { monthOf, type AccountMonth } from '../../../src/months/month.ts';
import { type MonthOverview, monthPdf } from '../../../src/plugins/formats/month-pdf.ts';
import type { OpenDay } from '../../../src/months/open-days.ts';
import type { MonthClose } from '../../../src/months/closes.ts';
import type { StatementRow } from '../../../src/store/statements/statements.ts';
import { pagesOf, textOf } from '../../support/read-pdf.ts';
import { bytesOf } from '../../statements/days.ts';

const SHA = 'ab'.repeat(32);

const statement = (day: string, change: Partial<StatementRow> = {}): StatementRow => ({
  ...{ merchant_no: 'M-1', currency: 'USD', day, revision: 1, sha256: SHA, columns: null, supersedes: null },
  ...{ byte_count: 1, row_count: 3, run_id: 1, published_at: new Date('2026-04-01T02:00:00Z'), reason: null },
  ...{ object_key: `merchant=M-1/date=${day}/M-1_USD_${day}.r1.csv`, opening: '0.00', closing: '1000.00' },
  ...{ credit_total: '1500.50', credit_count: 2, debit_total: '500.50', debit_count: 1 },
  ...{
    verdict: 'continuous',
    break_count: 0,
    breaks_after: 0,
    restarted: false,
    unreadable_count: 0,
    ...{ over_midnight: 0, last_balance: null },
    other_closings: '',
  },
  ...change,
});

const SECOND = statement('2026-03-31', {
  ...{ opening: '1000.00', closing: '2000.00', revision: 2, sha256: 'cd'.repeat(32) },
});

const usd = (statements: readonly StatementRow[]): AccountMonth => ({
  ...{ merchantNo: 'M-1', currency: 'USD', statements, unpublished: [] },
});

const overviewOf = (change: Partial<MonthOverview> = {}): MonthOverview => ({
  ...{ merchantNo: 'M-1', month: monthOf('2026-03')!, zone: 'Asia/Shanghai', currencies: null },
  at: new Date('2026-04-02T08:00:00Z'),
  accounts: [usd([statement('2026-03-30'), SECOND])],
  ...{ explained: new Map(), unreadable: new Set(), openDays: [], closes: [], adjustments: [] },
  ...change,
});

const CLOSE: MonthClose = {
  ...{
    merchantNo: 'M-1',
    month: '2026-03',
    number: 1,
    closedAt: new Date('2026-04-02T07:00:00Z'),
    by: 'Ada',
  },
  ...{ note: 'as agreed', prepared: null, reopened: null, despite: null, openDays: 0, statements: 2 },
  ...{ objectKey: 'merchant=M-1/close=2026-03/M-1_2026-03.close1.json', sha256: 'ef'.repeat(32) },
};

const read = async (change?: Partial<MonthOverview>): Promise<string> =>
  textOf(await pagesOf(await bytesOf(monthPdf(overviewOf(change)))));

test('a month is what each account adds up to, the verdict, lines to sign, and every day with its hash', async () => {
  expect((await read()).split('\n')).toEqual([
    'Month statement',
    'March 2026',
    'Merchant | M-1',
    'Business days | 2026-03-01 to 2026-03-31 of Asia/Shanghai',
    'Accounts | USD',
    'As of | 2026-04-02 16:00:00 +08:00',
    'Accounts',
    'Account | Opening | Credits | Debits | Closing | Days',
    'USD | 0.00 | 3,001.00 | 1,001.00 | 2,000.00 | 2 published',
    '4 entries | 2 entries',
    'Verdict',
    'Proven: every day is published, and every balance carries forward.',
    'Close',
    'This month is not closed: its statements can still change without showing as an adjustment.',
    ...['Prepared by', 'Name', 'Date', 'Signature', 'Approved by', 'Name', 'Date', 'Signature'],
    'Days of USD',
    'Day | Revision | Verdict | Entries | Credits | Debits | Closing',
    '2026-03-30 | 1 | proven | 3 | 1,500.50 | 500.50 | 1,000.00',
    `SHA-256 ${SHA}`,
    '2026-03-31 | 2 | proven | 3 | 1,500.50 | 500.50 | 2,000.00',
    `SHA-256 ${'cd'.repeat(32)}`,
    'Month statement M-1 · 2026-03 · as of 2026-04-02 16:00:00 +08:00 | Page 1 of 1',
  ]);
});

describe('what is not as it should be is said', () => {
  const broken = statement('2026-03-31', {
    ...{ opening: '1000.00', closing: '2306.15', verdict: 'broken', break_count: 2 },
  });
  const accounts = [usd([statement('2026-03-30'), broken])];

  test('days that are open, and why', async () => {
    const text = await read({
      accounts,
      openDays: [
        {
          ...{ currency: 'USD', day: '2026-03-31', cause: 'broken' },
          why: 'its balance chain is broken: break 7',
        },
      ],
    });
    expect(text).toContain('2 published\n4 entries | 2 entries | 1 broken\n1 open');
    expect(text).toContain('Not complete: 1 account day (1 account) still open, listed below.');
    expect(text).toContain(
      'USD: balance difference of 306.15 USD: the closing is 306.15 USD higher than opening plus credits minus debits.',
    );
    expect(text).toContain('USD | 2026-03-31 | its balance chain is broken: break 7');
    expect(text).toContain('broken: 2 breaks | 3 | 1,500.50 | 500.50 | 2,306.15');
  });

  test('open days in a row with one reason as one line, and others with the reason of the first', async () => {
    const open = (day: string, cause: OpenDay['cause'], why: string) => ({
      currency: 'USD',
      day,
      cause,
      why,
    });
    const days = ['2026-03-05', '2026-03-06', '2026-03-07', '2026-03-09'];
    const text = await read({
      openDays: [
        ...days.map((day) => open(day, 'uncertified', 'not all of the day is under certificate')),
        ...['2026-03-10', '2026-03-11'].map((day) =>
          open(day, 'broken', 'its balance chain is broken: break 7'),
        ),
        open('2026-03-12', 'broken', 'its balance chain is broken: break 8'),
        ...['2026-03-30', '2026-03-31'].map((day) => open(day, 'not-over', `${day} is not over`)),
      ],
    });
    expect(text).toContain(
      [
        'Account | Days | Why they are open',
        'USD | 2026-03-05 to 2026-03-07 | not all of the day is under certificate',
        '2026-03-09',
        'USD | 2026-03-10 to 2026-03-11 | its balance chain is broken: break 7',
        'USD | 2026-03-12 | its balance chain is broken: break 8',
        'USD | 2026-03-30 to 2026-03-31 | 2026-03-30 is not over (the first of these days)',
      ].join('\n'),
    );
  });

  test('days of which entries could not be read: never as proven, open or not', async () => {
    const unreadable = new Set(['USD 2026-03-30', 'USD 2026-03-31']);
    const text = (await read({ unreadable })).replaceAll('\n', ' ');
    expect(text).toContain(
      'Complete: every day is published, and a person has acknowledged each entry that could not be read. Entries that may be of 2 account days ' +
        'could not be read, and the figures do not include them: USD 2026-03-30 to 2026-03-31.',
    );
    expect(text).toContain('2026-03-30 | 1 | not all readable | 3');
    expect(text.toLowerCase()).not.toContain('proven');
    const openDays = [
      { ...{ currency: 'USD', day: '2026-03-31', cause: 'unreadable' as const }, why: 'an entry came' },
    ];
    const open = await read({ unreadable, openDays });
    expect(open.replaceAll('\n', ' ')).toContain(
      'listed below. Entries that may be of 2 account days could not be read, and the figures do not include them: USD 2026-03-30 to 2026-03-31.',
    );
    expect(open.toLowerCase()).not.toContain('proven');
  });

  test('broken days of which a break is not explained, whether or not they are open', async () => {
    const text = await read({ accounts, explained: new Map([['USD 2026-03-31', 1]]) });
    expect(text.replaceAll('\n', ' ')).toContain(
      'Complete, with 1 broken day: a person has not explained every break: USD 2026-03-31.',
    );
    expect(text).not.toContain('a person has explained each');
  });

  test('broken days that a person has explained, and openings that are derived', async () => {
    const explained = new Map([['USD 2026-03-31', 2]]);
    const text = await read({ accounts, explained });
    expect(text).toContain('Complete, with 1 broken day: a person has explained each of their breaks.');
    expect(text.replaceAll('\n', ' ')).toContain(
      '2026-03-31 | 1 | broken: 2 breaks, explained | 3 | 1,500.50 | 500.50 | 2,306.15 SHA-256',
    );
    const derived = await read({ accounts: [usd([statement('2026-03-30', { restarted: true })])] });
    expect(derived.replaceAll('\n', ' ')).toContain(
      'For 1 statement the opening is derived from the first entry, because no earlier entry of the account is known, or the time since the last one was not read completely: USD 2026-03-30.',
    );
  });

  test('the days of a second account, and its breaks', async () => {
    const eur = (change: Partial<StatementRow>): AccountMonth => ({
      ...usd([statement('2026-03-31', { currency: 'EUR', sha256: '23'.repeat(32), ...change })]),
      currency: 'EUR',
    });
    const text = await read({ accounts: [usd([SECOND]), eur({ verdict: 'broken', break_count: 1 })] });
    expect(text).toContain('Complete, with 1 broken day');
    expect(text).toContain(`Days of EUR\n`);
    expect(text).toContain(`SHA-256 ${'23'.repeat(32)}`);
  });

  test('accounts that were not asked for', async () => {
    expect(await read({ currencies: ['USD'] })).toContain(
      'Accounts | USD, as asked for; there may be others',
    );
  });
});

test('a closed month names its close, and what was adjusted since', async () => {
  const text = await read({
    closes: [CLOSE, { ...CLOSE, number: 2, despite: 'case 4711', openDays: 3, sha256: '01'.repeat(32) }],
    adjustments: [
      {
        ...{
          merchantNo: 'M-1',
          month: '2026-03',
          number: 2,
          currency: 'USD',
          day: '2026-03-31',
          frozenRevision: 1,
        },
        ...{ revision: 2, sha256: SECOND.sha256, reason: '1 late entry (B9)' },
        publishedAt: new Date('2026-04-02T07:30:00Z'),
      },
    ],
  });
  for (const line of [
    'Close | number 2, which froze 2 statements',
    'Closed | 2026-04-02 15:00:00 +08:00 by Ada',
    'Note | as agreed',
    'Despite open days | 3 account days then open: case 4711',
    'Adjustments since | 1, listed below',
    'File of the close | M-1_2026-03.close1.json',
    `Its SHA-256 | ${'01'.repeat(32)}`,
    `1 | 2026-04-02 15:00:00 +08:00 | Ada | ${'ef'.repeat(32)}\n`,
    'Adjustments since close 2',
    'USD | 2026-03-31 | 1, now 2 | 2026-04-02 15:30:00 +08:00 | 1 late entry (B9)\n' +
      `SHA-256 ${SECOND.sha256}`,
  ])
    expect(text).toContain(line);
  expect(text).not.toContain('not closed');
});

test('the same overview gives the same bytes', async () => {
  const [once, again] = [await bytesOf(monthPdf(overviewOf())), await bytesOf(monthPdf(overviewOf()))];
  expect(once.equals(again)).toBe(true);
});
