/** An account that no longer moves: a frozen state of the platform contradicts nothing, so the account's own habit is the measure. */
import { afterEach, expect, test } from 'vitest';
import { addDays, dayWindow, daysFromTo } from '../../src/ledger/business-day.ts';
import { covers } from '../../src/ledger/window.ts';
import type { RunReport } from '../../src/run/report.ts';
import { certifiedWindows } from '../../src/store/certificates.ts';
import { acceptSilent } from '../../src/store/silent-accounts.ts';
import { entriesOfAmounts, PLAIN_ZONE, type WireEntry } from '../support/plain-platform.ts';
import { openPlainStage, type PlainStage } from '../support/plain-stage.ts';

/** A Monday. */
const FIRST = '2026-03-02';
const day = (nth: number): string => addDays(FIRST, nth);

const isWeekend = (one: string): boolean => [0, 6].includes(new Date(one).getUTCDay());

/** So many entries on each of the days, spread over working hours. */
const ledger = (days: readonly string[], perDay = 15, currency = 'USD'): WireEntry[] =>
  entriesOfAmounts(
    currency,
    days.flatMap((one) =>
      Array.from({ length: perDay }, (_, nth): [string, string, number] => {
        const at = new Date((8 * 3_600 + nth * Math.floor(40_000 / perDay) + 11) * 1_000);
        return [`${currency}${one}-${nth}`, `${one} ${at.toISOString().slice(11, 19)}`, 500 + nth];
      }),
    ),
  );
const daily = (days: number, perDay?: number, currency?: string): WireEntry[] =>
  ledger(daysFromTo(FIRST, day(days - 1)), perDay, currency);

let stage: PlainStage;
afterEach(() => stage.close());

/** The run after the day of that number. */
const night = (nth: number): Promise<RunReport> => {
  stage.setNow(`${day(nth + 1)}T01:30:00+08:00`);
  return stage.night();
};
/** Reads the first days, all honest. */
const begin = async (entries: readonly WireEntry[], days: number): Promise<void> => {
  stage = await openPlainStage(entries, `${day(days)}T01:30:00+08:00`);
  expect(await stage.run(FIRST, day(days - 1))).toMatchObject({ exitCode: 0 });
};
const published = async (currency = 'USD'): Promise<string[]> => {
  const rows = await stage
    .app()
    .database.db.selectFrom('statement')
    .select(['day', 'revision'])
    .where('currency', '=', currency)
    .orderBy('day')
    .orderBy('revision')
    .execute();
  return rows.map((row) => `${row.day} r${row.revision}`);
};
const firsts = (from: number, to: number): string[] =>
  from > to ? [] : daysFromTo(day(from), day(to)).map((one) => `${one} r1`);
const accept = () =>
  stage
    .app()
    .database.db.transaction()
    .execute((trx) => acceptSilent(trx, { merchants: null, currencies: null }, stage.now()));

test.each([
  ['after three days', 3],
  ['after three weeks', 22],
])('a busy account that is frozen %s is named, and its days are not proven', async (_, known) => {
  const all = daily(known + 6);
  await begin(all, known);
  stage.entries = all.filter(({ busiDate }) => busiDate < day(known));
  for (const nth of [known, known + 1, known + 2, known + 3]) {
    const { exitCode, reasons } = await night(nth);
    expect([exitCode, reasons[0]!.what]).toEqual([
      4,
      expect.stringContaining(
        `M-PLAIN USD ${day(known - 1)} to ${day(nth)}: the newest entry is unchanged since ${day(known - 1)}`,
      ),
    ]);
    expect(await published()).toEqual(firsts(0, known - 1));
  }
  stage.entries = all;
  expect((await night(known + 4)).exitCode).not.toBe(4);
  expect(await published()).toEqual(firsts(0, known + 4));
  expect((await night(known + 5)).reasons).toEqual([]);
});

/** The entries up to that time of the day. */
const until = (entries: readonly WireEntry[], nth: number, time: string): WireEntry[] =>
  entries.filter(({ busiDate }) => busiDate < `${day(nth)} ${time}`);
const whatOf = (nth: number): Promise<[number, string | undefined]> =>
  night(nth).then(({ exitCode, reasons }) => [exitCode, reasons[0]?.what]);
const isProven = async (nth: number): Promise<boolean> => {
  const window = dayWindow(day(nth), PLAIN_ZONE);
  return covers(await certifiedWindows(stage.app().database.db, 'M-PLAIN', window, 'USD'), window);
};

test.each([
  ['two entries', '09:10'],
  ['four entries', '10:40'],
])('an account that is frozen after %s of a day is named at the latest a night later', async (_, time) => {
  const all = daily(16);
  await begin(all, 9);
  stage.entries = until(all, 9, time);
  await night(9);
  for (const nth of [10, 11, 12])
    expect(await whatOf(nth)).toEqual([
      4,
      expect.stringContaining(
        `M-PLAIN USD ${day(9)} to ${day(nth)}: the newest entry is unchanged since ${day(9)}`,
      ),
    ]);
  expect((await published()).slice(10)).toEqual([]);
});

const CURRENCIES = ['EUR', 'GBP', 'USD'];
const inAll = (days: number, perDay?: number): WireEntry[] =>
  CURRENCIES.flatMap((currency) => daily(days, perDay, currency));

test('a day that is cut in all accounts is told and not published, though none of them alone shows it', async () => {
  const all = inAll(14);
  await begin(all, 9);
  stage.entries = until(all, 9, '10:00');
  expect(await whatOf(9)).toEqual([
    4,
    expect.stringMatching(
      /no account of this merchant has an entry after 2026-03-11 09:29:03, which is too early/,
    ),
  ]);
  for (const currency of CURRENCIES) expect(await published(currency)).toEqual(firsts(0, 8));
  stage.entries = all;
  expect((await night(10)).exitCode).not.toBe(4);
  for (const currency of CURRENCIES) expect(await published(currency)).toEqual(firsts(0, 10));
  expect((await night(11)).reasons).toEqual([]);
});

test('an account that is cut takes those along that have no newer entry either, until they go on', async () => {
  const busy = daily(14, 60);
  const quiet = daily(14, 3, 'EUR');
  await begin([...busy, ...quiet], 9);
  stage.entries = until([...busy, ...quiet], 9, '11:58');
  expect((await whatOf(9))[0]).toBe(4);
  expect(await published('EUR')).toEqual(firsts(0, 8));
  stage.entries = [...until(busy, 9, '11:58'), ...quiet];
  expect((await whatOf(10))[0]).toBe(4);
  expect(await published('EUR')).toEqual(firsts(0, 10));
  expect(await published()).toEqual(firsts(0, 8));
});

test('a day that is cut is told the same night and not published, until the next entry of that very day', async () => {
  const all = daily(14, 60);
  await begin(all, 9);
  stage.entries = until(all, 9, '11:58');
  expect(await whatOf(9)).toEqual([
    4,
    `M-PLAIN USD ${day(9)}: the newest entry is of ${day(9)} 11:53:17; on each comparable day before, entries came until at ` +
      'least 18:55. The platform may answer from a frozen state, so this day is not proven and not published; a statement that ' +
      'was published before stays',
  ]);
  expect(await published()).toEqual(firsts(0, 8));
  stage.entries = until(all, 10, '00:00');
  stage.setNow(`${day(10)}T03:30:00+08:00`);
  expect(await stage.night()).toMatchObject({ exitCode: 0 });
  expect(await published()).toEqual(firsts(0, 9));
});

test('what is cut on a Friday stays told over the weekend', async () => {
  const all = ledger(
    daysFromTo(FIRST, day(27)).filter((one) => !isWeekend(one)),
    60,
  );
  await begin(all, 24);
  stage.entries = until(all, 25, '09:30');
  expect(await night(24)).toMatchObject({ exitCode: 0 });
  for (const nth of [25, 26, 27])
    expect(await whatOf(nth)).toEqual([4, expect.stringContaining(`the newest entry is of ${day(25)} 09:2`)]);
  expect(await published()).toEqual(firsts(0, 24));
});

test('a day whose cut shows a night later is not proven any more, and its statement stays', async () => {
  const all = daily(14);
  await begin(all, 9);
  stage.entries = until(all, 9, '16:00');
  expect(await night(9)).toMatchObject({ exitCode: 0 });
  expect(await isProven(9)).toBe(true);
  expect(await night(10)).toMatchObject({ exitCode: 4 });
  expect([await isProven(8), await isProven(9)]).toEqual([true, false]);
  expect(await published()).toEqual(firsts(0, 9));
  stage.entries = all;
  await night(11);
  expect(await isProven(9)).toBe(true);
  expect((await published()).filter((one) => one.startsWith(day(9)))).toEqual([
    `${day(9)} r1`,
    `${day(9)} r2`,
  ]);
});

test('that a day ended early is accepted without the empty days that follow it', async () => {
  const all = daily(14, 60);
  await begin(all, 9);
  stage.entries = until(all, 9, '11:58');
  expect(await night(9)).toMatchObject({ exitCode: 4 });
  await accept();
  expect(await stage.night()).toMatchObject({ exitCode: 0 });
  expect(await published()).toEqual(firsts(0, 9));
  expect(await whatOf(10)).toEqual([4, expect.stringContaining(`unchanged since ${day(9)}, for 1 day`)]);
});

test('a run of older days ends no silence', async () => {
  const all = daily(14);
  await begin(all, 9);
  stage.entries = until(all, 9, '00:00');
  expect(await night(9)).toMatchObject({ exitCode: 4 });
  await stage.run(day(2), day(4));
  expect(await published()).toEqual(firsts(0, 8));
  expect(await isProven(9)).toBe(false);
});

test('a silent account is told in one sentence, not once more for each day that is not published', async () => {
  const all = daily(8);
  await begin(all, 3);
  stage.entries = all.filter(({ busiDate }) => busiDate < day(3));
  await night(3);
  const { reasons } = await night(4);
  expect(reasons.filter(({ what }) => what.includes('USD')).map(({ exitCode }) => exitCode)).toEqual([4]);
});

test('one currency of two is frozen: the other goes on', async () => {
  const both = [...daily(8), ...daily(8, 15, 'EUR')];
  await begin(both, 3);
  stage.entries = both.filter(({ currency, busiDate }) => currency === 'EUR' || busiDate < day(3));
  for (const nth of [3, 4]) {
    const { exitCode, reasons } = await night(nth);
    expect([exitCode, reasons[0]!.what]).toEqual([4, expect.stringContaining('M-PLAIN USD')]);
  }
  expect(await published()).toEqual(firsts(0, 2));
  expect(await published('EUR')).toEqual(firsts(0, 4));
});

test.each([
  ['closed at weekends', ledger(daysFromTo(FIRST, day(20)).filter((one) => !isWeekend(one))), 5],
  ['of few entries', ledger(daysFromTo(FIRST, day(4)), 6), 5],
  [
    'with a holiday as long as before',
    ledger(daysFromTo(FIRST, day(20)).filter((_, nth) => ![6, 7, 14, 15, 16].includes(nth))),
    12,
  ],
  ['that ended long before it was read', ledger(daysFromTo('2026-01-10', '2026-02-10')), 3],
])('an honest account %s gives no alarm', async (_, entries, known) => {
  await begin(entries, known);
  for (let nth = known; nth < known + 8; nth += 1) {
    const { exitCode, reasons } = await night(nth);
    expect([nth, exitCode, reasons]).toEqual([nth, 0, []]);
  }
});

test('a person accepts the silence: the days are published, and it stays quiet', async () => {
  const entries = daily(4);
  await begin(entries, 4);
  expect((await night(4)).exitCode).toBe(4);
  expect(await accept()).toEqual([{ merchantNo: 'M-PLAIN', currency: 'USD' }]);
  for (const nth of [5, 6, 7]) expect((await night(nth)).exitCode).toBe(0);
  expect(await published()).toEqual(firsts(0, 7));
});

test('nobody accepts it: after two weeks the account counts as ended', async () => {
  await begin(daily(4), 4);
  for (const nth of [4, 8, 17]) expect((await night(nth)).exitCode).toBe(4);
  expect((await night(18)).exitCode).toBe(0);
  expect(await published()).toEqual(firsts(0, 18));
  expect((await night(19)).reasons).toEqual([]);
});
