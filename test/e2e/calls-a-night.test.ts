/** Limits on the calls of a night. `DAYBOOK_CALLS=1` counts nights of thirty pages as well, and prints the counts. */
import { afterEach, expect, test } from 'vitest';
import { addDays } from '../../src/ledger/business-day.ts';
import { openPlainStage, type PlainStage } from '../support/plain-stage.ts';
import { entriesOfAmounts } from '../support/plain-platform.ts';
import { shortAndLong } from '../support/short-and-long.ts';

const FIRST = '2026-03-01';
const HONEST_DAYS = 20;
const NIGHTS = 7;
let stage: PlainStage;
afterEach(() => stage.close());

/** Entries spread evenly over the day. */
const dayOf = (day: string, perDay: number) =>
  Array.from({ length: perDay }, (_, nth): [string, string, number] => {
    const time = new Date(Math.floor((nth * 86_400_000) / perDay)).toISOString().slice(11, 19);
    return [`${day}-${nth}`, `${day} ${time}`, nth % 3 === 0 ? -50 : 100];
  });

/** By how many pages a night reads; a night reads eight days and a few hours. Calls of a week, all nights together. */
const CASES: readonly [pages: number, perDay: number, callsMax: number][] = [
  [1, 11, 21],
  [3, 33, 35],
  [30, 360, 230],
];

test.each(CASES.slice(0, process.env['DAYBOOK_CALLS'] === '1' ? 3 : 2))(
  '%d pages',
  async (_, perDay, callsMax) => {
    const days = Array.from({ length: HONEST_DAYS + NIGHTS }, (__, nth) => addDays(FIRST, nth));
    const entries = entriesOfAmounts(
      'USD',
      days.flatMap((day) => dayOf(day, perDay)),
    );
    const night = (nth: number) => `${addDays(FIRST, HONEST_DAYS - 1 + nth)}T18:00:00Z`;
    stage = await openPlainStage(entries, night(0));
    expect(await stage.run(FIRST, days[HONEST_DAYS - 1]!)).toMatchObject({ exitCode: 0 });
    stage.platform.calls.splice(0);
    const counts: number[] = [];
    for (let nth = 1; nth <= NIGHTS; nth += 1) {
      stage.setNow(night(nth));
      const report = await stage.night();
      expect([report.exitCode, report.notes]).toEqual([0, []]);
      counts.push(stage.platform.calls.splice(0).length);
    }
    if (process.env['DAYBOOK_CALLS'] === '1') console.log(perDay, counts);
    expect(counts.reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(callsMax);
  },
);

const ANOTHER_ORDER = 'another order in each call';
const PAGE_TOTALS = 'totals that count the page';

/** What a merchant of one or two pages costs on four nights of a platform that answers so, and how each of them ends. */
const ODD: readonly [how: string, exitCode: number, callsMax: number, alter: (page: Page) => Page][] = [
  [ANOTHER_ORDER, 0, 12, (page) => page],
  [PAGE_TOTALS, 0, 10, (page) => ({ ...page, total: page.list.length })],
  ['totals that count pages', 4, 75, (page) => ({ ...page, total: Math.ceil(page.total / page.pageSize) })],
  ['totals that count the whole ledger', 4, 15, (page) => ({ ...page, total: 11 * 24 })],
  ['empty pages', 4, 75, (page) => ({ ...page, list: [] })],
];
interface Page {
  readonly list: readonly unknown[];
  readonly total: number;
  readonly pageSize: number;
}

for (const { options, cases } of shortAndLong(ODD, 2))
  test.each(cases)(
    '%s: exit %d, at most %d calls a night',
    options,
    async (how, exitCode, callsMax, alter) => {
      const days = Array.from({ length: HONEST_DAYS + 4 }, (__, nth) => addDays(FIRST, nth));
      const entries = entriesOfAmounts(
        'USD',
        days.flatMap((day) => dayOf(day, how === ANOTHER_ORDER ? 14 : 11)),
      );
      const night = (nth: number) => `${addDays(FIRST, HONEST_DAYS - 1 + nth)}T18:00:00Z`;
      stage = await openPlainStage(entries, night(0));
      await stage.run(FIRST, days[HONEST_DAYS - 1]!);
      const inOrder = stage.platform.entriesOf;
      if (how === ANOTHER_ORDER)
        stage.platform.entriesOf = (call) => {
          const shown = inOrder(call);
          const at = (call.nth * 37) % Math.max(1, shown.length);
          return [...shown.slice(at), ...shown.slice(0, at)];
        };
      stage.platform.alter = (honest) => ({ ...honest, body: alter(honest.body as Page) });
      const seen: [code: number, calls: number][] = [];
      for (let nth = 1; nth <= 4; nth += 1) {
        stage.platform.calls.splice(0);
        stage.setNow(night(nth));
        const report = await stage.night();
        seen.push([report.exitCode, stage.platform.calls.length]);
      }
      if (process.env['DAYBOOK_CALLS'] === '1') console.log(seen);
      // Totals that end at a full page are those of a cap, which is told once: each day is below it.
      const first = how === PAGE_TOTALS ? 4 : exitCode;
      expect(seen.map(([code]) => code)).toEqual([first, exitCode, exitCode, exitCode]);
      expect(Math.max(...seen.map(([, calls]) => calls))).toBeLessThanOrEqual(callsMax);
    },
  );
