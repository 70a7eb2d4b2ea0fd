/** The page of a day against the day's statement: order, chart, searches, breaks and comparison. */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { showPages, textOf, type ShownPages } from './support.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../../support/stage.ts';

const of = { merchant: MERCHANT.merchantNo };

interface Row {
  readonly batchNo: string;
  readonly time: string;
  readonly balance: string;
}

let stage: Stage;
let pages: ShownPages;
const database = () => stage.app.database.db;
const words = async (path: string): Promise<string> => textOf(await pages.html(path));

/** The rows of the statement, in its order. */
async function statementRows(currency: string, day: string): Promise<Row[]> {
  const csv = await pages.html(`/download/SBX-M-1/${currency}/${day}`);
  const lines = csv.trim().split('\r\n').slice(1);
  return lines.map((line) => {
    const cells = line.split(',');
    return { batchNo: cells[0]!, time: cells[1]!.slice(11), balance: cells.at(-1)! };
  });
}

const entriesIn = (html: string): string[] =>
  html
    .slice(html.indexOf('id="rows"'), html.indexOf('id="revisions"'))
    .split('<tr')
    .filter((row) => row.includes('/entry/'));
const numbersIn = (html: string): string[] =>
  entriesIn(html).map((row) => /\/entry\/SBX-M-1\/(\w+)"/.exec(row)![1]!);
const balancesIn = (html: string): string[] =>
  entriesIn(html).map((row) => [...row.matchAll(/<td class="n">([^<]*)<\/td>/g)].at(-1)![1]!);

/** The balances of the table next to the chart, by hour. */
const tableOf = (html: string): string[] => {
  const table = /The balance as a table(.*?)<\/details>/s.exec(html)![1]!;
  return [...table.matchAll(/<td>(\d\d):\d\d<\/td>\s*<td class="n">([^<]*)<\/td>/g)].map(
    ([, hour, balance]) => `${hour!} ${balance!}`,
  );
};
const lastOfHours = (rows: readonly Row[]): string[] => [
  ...new Map(rows.map(({ time, balance }) => [time.slice(0, 2), `${time.slice(0, 2)} ${balance}`])).values(),
];
const rangeOf = (rows: readonly Row[], opening: string): [string, string] => {
  const sorted = [opening, ...rows.map(({ balance }) => balance)].sort((a, b) => Number(a) - Number(b));
  return [sorted[0]!, sorted.at(-1)!];
};

describe('a day of many entries in one second, whose numbers tell nothing', () => {
  const days = ['2026-03-03', '2026-03-04'];
  const statements = new Map<string, Row[]>();
  beforeAll(async () => {
    stage = await openStage({
      scenario: scenario({
        entriesPerDay: 60,
        merchants: [{ ...MERCHANT, currencies: ['USD'] }],
        planted: [
          { what: 'burst', ...of, currency: 'USD', day: days[0]!, nth: 10, count: 250 },
          { what: 'burst', ...of, currency: 'USD', day: days[1]!, nth: 59, count: 300 },
        ],
      }),
    });
    pages = await showPages(stage);
    await stage.run();
    for (const day of days) statements.set(day, await statementRows('USD', day));
    await sql`UPDATE ledger_entry SET batch_no = 'H' || md5(batch_no)`.execute(database());
  });
  afterAll(async () => {
    await pages.close();
    await stage.close();
  });

  test.each(days)('%s: every page has the rows of the statement, in its order', async (day) => {
    const rows = statements.get(day)!;
    const shown: string[] = [];
    for (let page = 1; page <= Math.ceil(rows.length / 100); page += 1) {
      const html = await pages.html(`/m/SBX-M-1/USD/${day}?digits=exact&page=${page}`);
      shown.push(...balancesIn(html));
      expect(textOf(html)).toContain(
        'by time, except where the balances only carry forward in another order',
      );
    }
    expect(rows.length).toBeGreaterThan(300);
    expect(shown).toEqual(rows.map(({ balance }) => balance));
  });

  test.each(days)(
    '%s: the chart has the lowest and the highest balance, and ends on the closing',
    async (day) => {
      const rows = statements.get(day)!;
      const html = await pages.html(`/m/SBX-M-1/USD/${day}?digits=exact`);
      const [, opening] = /Opening (\S+)/.exec(textOf(html))!;
      const [lowest, highest] = rangeOf(rows, opening!);
      expect(textOf(html)).toContain(
        `Between ${lowest} USD and ${highest} USD, with 0 breaks marked. Drawn from`,
      );
      expect(tableOf(html)).toEqual(lastOfHours(rows));
    },
  );

  test('a time is followed by pages too, until the day ends', async () => {
    const rows = statements.get(days[0]!)!;
    const { time } = rows[0]!;
    const shown: string[] = [];
    let path: string | undefined = `/m/SBX-M-1/USD/${days[0]!}?digits=exact&q=${time}`;
    while (path !== undefined) {
      const html: string = await pages.html(path);
      shown.push(...balancesIn(html));
      path = /href="([^"]*)#rows">Next</.exec(html)?.[1]!.replaceAll('&amp;', '&');
    }
    expect(shown).toEqual(rows.map(({ balance }) => balance));
  });

  test('a page links to those before and after it, as far as there are any', async () => {
    const linked = async (page: number): Promise<string[]> => {
      const html = await pages.html(`/m/SBX-M-1/USD/${days[0]!}?page=${page}`);
      return [...html.matchAll(/page=(\d+)#rows">(First|Previous|Next|Last)/g)].map(
        ([, to, name]) => `${name!} ${to!}`,
      );
    };
    expect(await linked(1)).toEqual(['Next 2', 'Last 4']);
    expect(await linked(3)).toEqual(['First 1', 'Previous 2', 'Next 4', 'Last 4']);
    expect(await linked(4)).toEqual(['First 1', 'Previous 3']);
  });

  test('a page behind the last one is the last one', async () => {
    const text = await words(`/m/SBX-M-1/USD/${days[0]!}?page=40`);
    expect(text).toMatch(/Entries 301 to (\d+) of \1/);
    expect(await words(`/m/SBX-M-1/USD/${days[0]!}?q=settle&page=40`)).toMatch(
      /Entries \d+ to (\d+) of \1\. /,
    );
    expect(await words(`/m/SBX-M-1/USD/${days[0]!}?q=nix&page=40`)).toContain(
      'No entry of this day matches.',
    );
  });
});

test('of a day too large to be read completely, points are drawn that are true, and it is said which', async () => {
  stage = await openStage();
  pages = await showPages(stage);
  await stage.run();
  const day = '2026-03-03';
  // 30,000 entries, two a second: a credit of 7, then a debit of 3; the later one has the smaller number.
  await sql`DELETE FROM ledger_entry WHERE currency = 'USD'`.execute(database());
  await sql`
    INSERT INTO ledger_entry (merchant_no, batch_no, currency, transaction_type, credit, debit, balance, booked_at, booked_ms,
      first_seen_at)
    SELECT 'SBX-M-1', 'Z' || lpad((99999 - nth)::text, 6, '0'), 'USD', 'COLLECT', CASE nth % 2 WHEN 0 THEN 7.00 END,
      CASE nth % 2 WHEN 1 THEN 3.00 END, 1000.00 + (nth / 2) * 4 + CASE nth % 2 WHEN 0 THEN 7 ELSE 4 END,
      ${day}::timestamp + make_interval(secs => (nth / 2) * 5),
      ${Date.parse(`${day}T00:00:00+08:00`)}::bigint + (nth / 2) * 5000, now()
    FROM generate_series(0, 29999) AS nth`.execute(database());
  await sql`
    UPDATE account_day SET opening = 1000, credit_count = 15000, debit_count = 15000, closing = 61000.00
    WHERE currency = 'USD' AND day = ${day}`.execute(database());
  const html = await pages.html(`/m/SBX-M-1/USD/${day}?digits=exact`);
  expect(textOf(html)).toContain(
    'Drawn from 125 of the day’s entries, one at the end of each stretch of time;',
  );
  expect(tableOf(html).slice(0, 2)).toEqual(['00 3880.00', '01 6760.00']);
  expect(tableOf(html).at(-1)).toBe('20 61000.00');
  expect(balancesIn(html).slice(0, 3)).toEqual(['1007.00', '1004.00', '1011.00']);
  expect(balancesIn(await pages.html(`/m/SBX-M-1/USD/${day}?digits=exact&page=300`)).at(-1)).toBe('61000.00');
  const searched = (text: string) => pages.html(`/m/SBX-M-1/USD/${day}?digits=exact&q=${text}`);
  expect(numbersIn(await searched('Z099998'))).toEqual(['Z099998']);
  expect(textOf(await searched('Z09999'))).toContain('No entry of this day');
  await pages.close();
  await stage.close();
});

describe('the day on which summer time begins, of 23 hours', () => {
  const day = '2026-03-29';
  beforeAll(async () => {
    stage = await openStage({
      scenario: scenario({
        ...{ timeZone: 'Europe/Berlin', from: day, to: day, entriesPerDay: 900 },
        now: '2026-03-30T01:30:00+02:00',
        merchants: [{ ...MERCHANT, currencies: ['USD'] }],
      }),
    });
    pages = await showPages(stage);
    await stage.run({ range: { from: day, to: day } });
  });
  afterAll(async () => {
    await pages.close();
    await stage.close();
  });

  test('the table beside the chart has the last balance of each hour', async () => {
    const table = tableOf(await pages.html(`/m/SBX-M-1/USD/${day}?digits=exact`));
    expect(table).toHaveLength(23);
    expect(table).toEqual(lastOfHours(await statementRows('USD', day)));
  });

  test('the same where there are too many entries to read them all', async () => {
    // One entry of 1.00 every 10 seconds, so that the balance tells how much of the day is over.
    await sql`DELETE FROM ledger_entry`.execute(database());
    await sql`
      INSERT INTO ledger_entry (merchant_no, batch_no, currency, transaction_type, credit, balance, booked_at, booked_ms,
        first_seen_at)
      SELECT 'SBX-M-1', 'Z' || lpad(nth::text, 6, '0'), 'USD', 'COLLECT', 1.00, nth + 1, ${day}::timestamp,
        ${Date.parse(`${day}T00:00:00+01:00`)}::bigint + nth * 10000, now()
      FROM generate_series(0, 23 * 360 - 1) AS nth`.execute(database());
    await sql`UPDATE account_day SET opening = 0, credit_count = 8280, debit_count = 0, closing = 8280`.execute(
      database(),
    );
    const table = tableOf(await pages.html(`/m/SBX-M-1/USD/${day}?digits=exact`));
    expect(table.map((row) => Number(row.slice(3)))).toEqual(
      Array.from({ length: 23 }, (_, hour) => (hour + 1) * 360),
    );
  });
});

test(
  'a day of more breaks than are listed says so, and every one is among the entries',
  { tags: ['long'] },
  async () => {
    stage = await openStage({
      scenario: scenario({
        entriesPerDay: 300,
        merchants: [{ ...MERCHANT, currencies: ['USD'] }],
        planted: Array.from({ length: 70 }, (_, nth) => ({
          ...{ what: 'missing' as const, ...of, currency: 'USD', day: '2026-03-03' },
          nth: 4 * nth + 2,
        })),
      }),
    });
    pages = await showPages(stage);
    await stage.run();
    let breakRows = 0;
    for (let page = 1; page <= 3; page += 1) {
      const html = await pages.html(`/m/SBX-M-1/USD/2026-03-03?page=${page}`);
      breakRows += html.match(/<tr class="break/g)?.length ?? 0;
      expect(textOf(html)).toContain('with the first 50 of 70 breaks marked.');
      expect(textOf(html)).toContain('Breaks The first 50 of 70.');
    }
    expect(breakRows).toBe(70);
    await pages.close();
    await stage.close();
  },
);

describe('days that are read, and not reconciled', () => {
  beforeAll(async () => {
    stage = await openStage({
      scenario: scenario({
        ...{ timeZone: 'Europe/Berlin', from: '2026-03-27', to: '2026-03-30', entriesPerDay: 250 },
        now: '2026-03-31T01:30:00+02:00',
        merchants: [{ ...MERCHANT, currencies: ['USD'] }],
        planted: Array.from({ length: 30 }, (_, nth) => ({
          ...{ what: 'late' as const, ...of, currency: 'USD', day: '2026-03-28' },
          ...{ nth: 3 * nth, appears: '2026-03-31T12:00:00+02:00' },
        })),
      }),
    });
    pages = await showPages(stage);
    await stage.run({ range: { from: '2026-03-27', to: '2026-03-29' } });
    stage.setNow('2026-04-01T01:30:00+02:00');
    await stage.run({ command: 'sync', range: { from: '2026-03-27', to: '2026-03-30' } });
  });
  afterAll(async () => {
    await pages.close();
    await stage.close();
  });

  test('a day without figures shows the entries that are stored', async () => {
    const text = await words('/m/SBX-M-1/USD/2026-03-30');
    expect(text).toContain('read completely, but its figures are not calculated yet');
    expect(text).toContain('Entries 1 to 100 of 250');
    expect(text).not.toMatch(/not read completely|No entry of this day/);
  });

  test('a day with late entries shows all of them, though its figures are of fewer', async () => {
    const shown = new Set<string>();
    for (let page = 1; page <= 3; page += 1)
      for (const number of numbersIn(await pages.html(`/m/SBX-M-1/USD/2026-03-28?page=${page}`)))
        shown.add(number);
    expect(shown.size).toBe(250);
    expect(await words('/m/SBX-M-1/USD/2026-03-28?page=3')).toContain('Entries 201 to 250 of 250');
  });

  test('a time that the clock skips is the first one after the skip', async () => {
    const skipped = numbersIn(await pages.html('/m/SBX-M-1/USD/2026-03-29?q=02:30'));
    expect(skipped).toEqual(numbersIn(await pages.html('/m/SBX-M-1/USD/2026-03-29?q=03:00')));
    expect(skipped).toHaveLength(100);
  });
});

describe('what a person looks for', () => {
  const malformed = { what: 'malformed', ...of, currency: 'KWD', day: '2026-03-05', nth: 2 } as const;
  beforeAll(async () => {
    stage = await openStage({
      scenario: scenario({
        entriesPerDay: 60,
        planted: [
          malformed,
          { what: 'missing', ...of, currency: 'USD', day: '2026-03-03', nth: 20 },
          {
            ...{ what: 'amended', ...of, currency: 'USD', day: '2026-03-04', nth: 7 },
            ...{ at: '2026-03-06T12:00:00+08:00', busiType: 'CHARGEBACK' },
          },
        ],
      }),
    });
    pages = await showPages(stage);
    await stage.run();
  });
  afterAll(async () => {
    await pages.close();
    await stage.close();
  });

  test.each(['en-GB', 'de', 'de-CH', 'fr', 'pl', 'hi', 'ar'])(
    'is found as the page writes it (%s), whatever is written so in another language',
    async (locale) => {
      const headers = { 'accept-language': locale };
      const path = '/m/SBX-M-1/USD/2026-03-02';
      const rows = entriesIn(await pages.html(path, headers));
      for (const row of rows.slice(5, 9)) {
        const [, number] = /\/entry\/SBX-M-1\/(\w+)"/.exec(row)!;
        const written = [...row.matchAll(/<td class="n">([^<]+)<\/td>/g)].map(([, text]) => textOf(text!));
        expect(written).toHaveLength(2);
        for (const amount of written)
          expect(
            numbersIn(await pages.html(`${path}?q=${encodeURIComponent(amount)}`, headers)),
            amount,
          ).toContain(number);
      }
    },
  );

  test('is found under a number that only an unreadable entry has', async () => {
    const { batch_no: number } = await database()
      .selectFrom('quarantined_entry')
      .select('batch_no')
      .executeTakeFirstOrThrow();
    for (const path of [`/entry?number=${number!}`, `/entry/SBX-M-1/${number!}`]) {
      const text = await words(path);
      expect(text).toContain(`The platform sent an entry ${number!} that could not be read.`);
      expect(text).toMatch(
        /Unreadable entries with that number \d+ , of SBX-M-1: \S+.*first seen 6 Mar 2026/,
      );
      expect(text).not.toContain('is stored. Enter the full number');
    }
    expect((await pages.get(`/entry/SBX-M-2/${number!}`)).status).toBe(404);
  });

  test('a note on a break is no change of figures; a changed type shows in the comparison', async () => {
    stage.setNow('2026-03-06T09:00:00+08:00');
    const { id } = await database().selectFrom('continuity_break').select('id').executeTakeFirstOrThrow();
    await pages.post(`/breaks/${id}`, { form_token: 'made-up-form-token', step: 'resolved', note: 'seen' });
    const text = await words('/m/SBX-M-1/USD/2026-03-03');
    expect(text).toContain(
      'Since the statement was published, an entry or a note on a break changed; the figures did not.',
    );
    expect(text).not.toContain('The figures have changed since');
    stage.setNow('2026-03-07T01:30:00+08:00');
    await stage.run();
    expect(await words('/m/SBX-M-1/USD/2026-03-03')).not.toContain(
      'Since the statement was published, an entry',
    );
    const compared = await pages.html('/m/SBX-M-1/USD/2026-03-04?revision=2&against=1');
    expect(compared).toMatch(/<td><del>\w+<\/del> <ins>CHARGEBACK<\/ins><\/td>/);
  });
});
