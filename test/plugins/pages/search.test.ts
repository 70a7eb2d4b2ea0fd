/** The search over all days, against a filter over every entry that the sandbox has, and its file. */
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { compareAmounts } from '../../../src/ledger/money.ts';
import { ALL_TIME } from '../../../src/ledger/window.ts';
import {
  searchEntries,
  type EntriesAsked,
  type EntriesFound,
  type EntryPlace,
} from '../../../src/plugins/pages/search.ts';
import { textOf } from './support.ts';
import { usePagesStage } from './stage.ts';
import { rowsLookedAt } from '../../store/rows-looked-at.ts';
import { freshDatabase } from '../../support/database.ts';

const { stage, pages, words } = usePagesStage();

const merchantNo = 'SBX-M-1';
const EVERYTHING: EntriesAsked = {
  ...{ merchantNo, currency: null, window: ALL_TIME, amount: null, type: '', number: '' },
};

/** Every entry that is stored, read without the search. */
const stored = async () =>
  (
    await stage()
      .app.database.db.selectFrom('ledger_entry')
      .selectAll()
      .where('vanished_at', 'is', null)
      .orderBy('booked_ms', 'desc')
      .orderBy('currency', 'desc')
      .orderBy('batch_no', 'desc')
      .execute()
  ).map((row) => ({ ...row, amount: (row.credit ?? row.debit)! }));

/** All pages of a search. */
async function found(asked: EntriesAsked, limit: number, checkedMax: number): Promise<string[]> {
  const numbers: string[] = [];
  let after: EntryPlace | null = null;
  let pagesRead = 0;
  do {
    const part: Awaited<ReturnType<typeof searchEntries>> = await searchEntries(
      stage().app.database.db,
      asked,
      after,
      {
        limit,
        checkedMax,
      },
    );
    numbers.push(...part.entries.map(({ batchNo }) => batchNo));
    expect(part.entries.length).toBeLessThanOrEqual(limit);
    after = part.next;
    pagesRead += 1;
  } while (after !== null && pagesRead < 1_000);
  return numbers;
}

test.each([
  ['everything', {}],
  ['an exact amount', { amount: { from: '491.84', to: '491.84' } }],
  ['a range of amounts', { amount: { from: '1000', to: '5000' } }],
  ['a part of a type in small letters', { type: 'ettl' }],
  ['a currency', { currency: 'KWD' }],
  ['a part of a number', { number: '4704' }],
])('finds %s, whatever the size of a page and the bound', async (_, change: Partial<EntriesAsked>) => {
  const asked: EntriesAsked = { ...EVERYTHING, ...change };
  const expected = (await stored())
    .filter(
      (row) =>
        (asked.currency === null || row.currency === asked.currency) &&
        row.transaction_type.toLowerCase().includes(asked.type) &&
        row.batch_no.includes(asked.number) &&
        (asked.amount === null ||
          (compareAmounts(row.amount, asked.amount.from) >= 0 &&
            compareAmounts(row.amount, asked.amount.to) <= 0)),
    )
    .map((row) => row.batch_no);
  expect(expected.length).toBeGreaterThan(0);
  for (const [limit, checkedMax] of [
    [50, 50_000],
    [7, 3],
    [1_000, 10],
  ] as const)
    expect(await found(asked, limit, checkedMax)).toEqual(expected);
});

test.each([1, 8, 26])(
  'an answer checks as many entries of %i currencies as of one, and the next ones all others',
  async (currencies) => {
    const no = 'SEARCHED';
    const database = await freshDatabase();
    const { db } = database;
    const perCurrency = 1_040 / currencies;
    await sql`
    INSERT INTO ledger_entry (merchant_no, batch_no, currency, transaction_type, credit, balance, booked_at, booked_ms, first_seen_at)
    SELECT ${no}, c || '-' || n, 'A' || chr(64 + c) || 'X', 'FEE', n, 0, '2026-03-01'::timestamp + make_interval(secs => n),
      1772294400000 + n * 1000, now()
    FROM generate_series(1, ${currencies}::int) AS c CROSS JOIN generate_series(1, ${perCurrency}::int) AS n`.execute(
      db,
    );
    await sql`VACUUM (ANALYZE) ledger_entry`.execute(db);
    const asked = { ...EVERYTHING, merchantNo: no, type: 'nothing' };
    let answer!: EntriesFound;
    const rows = await rowsLookedAt(db, async () => {
      answer = await searchEntries(db, asked, null, { limit: 50, checkedMax: 260 });
    });
    // Each of the 260 twice in the index and twice in the table; a few more find the currencies.
    expect(rows).toBeLessThan(4 * 260 + 20 * (currencies + 1));
    expect(rows).toBeGreaterThan(260);
    expect(answer).toMatchObject({ entries: [] });
    let answers = 1;
    for (; answer.next !== null; answers += 1)
      answer = await searchEntries(db, asked, answer.next, { limit: 50, checkedMax: 260 });
    expect(answers).toBeGreaterThanOrEqual(4);
    expect(answers).toBeLessThanOrEqual(5);
    await database.close();
  },
);

test('the page finds a merchant’s entries by amount and days, each with a link to its day', async () => {
  const html = await pages().html(
    `/entry?merchant=${merchantNo}&amount=2,160,250.00&from=2026-03-03&to=2026-03-03`,
  );
  expect(textOf(html)).toContain(
    'SBX1470407409798 3 Mar 2026, 06:05:38 USD SETTLE 2,160,250.00 8,761,955.42',
  );
  expect(html).toContain(`/m/${merchantNo}/USD/2026-03-03?q=06%3A05%3A38#rows`);
  expect(await words(`/entry?merchant=${merchantNo}&amount=2,160,250.00&from=2026-03-04`)).toContain(
    'No entry matches.',
  );
});

test('a mistake in the form is named, and nothing is searched', async () => {
  for (const [query, text] of [
    ['amount=5', 'Enter the merchant’s number, too.'],
    ['merchant=NO%20BODY%21&type=fx', 'No entry matches.'],
    [`merchant=${merchantNo}&amount=abc`, '“abc” is no amount.'],
    [`merchant=${merchantNo}&amount=9&amountTo=5`, 'is after the last one'],
    [`merchant=${merchantNo}&from=2026-13-01`, '“2026-13-01” is no day.'],
    [`merchant=${merchantNo}&from=2026-03-05&to=2026-03-04`, 'is after the last one'],
  ])
    expect(await words(`/entry?${query!}`), query).toContain(text);
});

test('all that match come as CSV, and are on record', async () => {
  const query = `merchant=${merchantNo}&currency=usd&type=fx`;
  const response = await pages().get(`/entry.csv?${query}`);
  expect(response.headers.get('content-disposition')).toBe(
    `attachment; filename="entries-${merchantNo}.csv"`,
  );
  const [head, ...lines] = (await response.text())
    .trimEnd()
    .split('\r\n')
    .map((line) => line.split(','));
  expect(head).toEqual([
    'batch_no',
    'booked_at',
    'currency',
    'transaction_type',
    'credit',
    'debit',
    'balance',
  ]);
  const expected = (await stored()).filter((row) => row.currency === 'USD' && row.transaction_type === 'FX');
  expect(lines.map(([batchNo]) => batchNo)).toEqual(expected.map((row) => row.batch_no));
  const { db } = stage().app.database;
  const deed = await db.selectFrom('audit_event').selectAll().orderBy('id', 'desc').executeTakeFirstOrThrow();
  expect([deed.by_whom, deed.command, deed.subject, deed.note]).toEqual([
    'local',
    'search',
    merchantNo,
    query,
  ]);
  expect((await pages().get('/entry.csv?amount=5')).status).toBe(400);
});
