/** Oddities of a ledger without a break are reported by one run. An honest ledger has none of them. */
import { afterEach, describe, expect, test } from 'vitest';
import { addDays, dayWindow } from '../../src/ledger/business-day.ts';
import { PlatformRejected, PlatformUnreachable } from '../../src/platform/errors.ts';
import type { LedgerPageQuery, LedgerReader } from '../../src/platform/ledger-reader.ts';
import { INSTANT_MS_MIN } from '../../src/platform/wire.ts';
import type { RunReport } from '../../src/run/report.ts';
import { statusOf } from '../../src/run/status.ts';
import {
  DAYS,
  FROM,
  MERCHANT,
  openStage,
  OTHER,
  scenario,
  TO,
  ZONE,
  type Stage,
  type StageOptions,
  publishedIn,
} from '../support/stage.ts';

const stages: Stage[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.close();
});
const open = async (options: StageOptions = {}): Promise<Stage> => {
  const stage = await openStage(options);
  stages.push(stage);
  return stage;
};

const noticeRows = async ({ app }: Stage) => {
  const rows = await app.database.db
    .selectFrom('event')
    .select(['kind', 'merchant_no', 'data'])
    .where('kind', 'not in', ['change', 'revision'])
    .execute();
  return rows.map(({ kind, merchant_no, data }) => {
    const { currency = '', day } = data as { currency?: string; day: string };
    return { kind, merchant_no, currency, day };
  });
};
/** The notices as `status` shows them. */
async function noticed({ app }: Stage) {
  const asked = { zone: ZONE, now: app.now(), maxAgeMs: null };
  const [status] = await statusOf(app.database.db, [MERCHANT.merchantNo], asked);
  return status!.notices;
}
/** The stage's reader, but with some queries or replies changed. */
const readerBy = (
  { app }: Stage,
  answer: (query: LedgerPageQuery, ask: LedgerReader['page']) => ReturnType<LedgerReader['page']>,
): LedgerReader => ({ page: (query, signal) => answer(query, (other) => app.reader.page(other, signal)) });
const isWide = ({ window }: LedgerPageQuery): boolean => window.beginMs === INSTANT_MS_MIN;

describe('an account whose first opening is not 0', () => {
  /** Hides the account's first entry. */
  const hideFirst = (stage: Stage, currency = 'USD'): void => {
    const first = stage.sandbox.entriesOf(MERCHANT.merchantNo).find((entry) => entry.currency === currency);
    stage.sandbox.takeOut(MERCHANT.merchantNo, first!.batchNo);
  };
  const sentence = (currency: string, day: string) =>
    new RegExp(
      `^SBX-M-1 ${currency} ${day} is the account's first day and opens on \\d{1,3}(,\\d{3})*\\.\\d+ ${currency}, and the platform has no`,
    );

  test('with nothing before it is reported by one run, for two calls', async () => {
    const stage = await open();
    hideFirst(stage);
    const report = await stage.run();
    expect(report).toMatchObject({ exitCode: 3, notes: [expect.stringMatching(sentence('USD', FROM))] });
    const read = report.sync[0]!.report.requests;
    const again = await stage.run();
    expect(again).toMatchObject({ exitCode: 0, notes: [] });
    expect(again.sync[0]!.report.requests).toBe(read - 2);
    expect(await noticed(stage)).toMatchObject([
      { kind: 'first', currency: 'USD', day: FROM, runId: report.runId },
    ]);
  });

  test('is reported by the next run if the first was killed before its report', async () => {
    const stage = await open();
    hideFirst(stage);
    await stage.run();
    // The state after a run that found it and was killed before its end.
    await stage.app.database.db.updateTable('event').set({ reported_at: null }).execute();
    expect((await stage.run()).notes).toEqual([expect.stringMatching(sentence('USD', FROM))]);
    expect(await stage.run()).toMatchObject({ exitCode: 0 });
  });

  test('that opens later than the others is reported without a call, as all days before are known', async () => {
    // Both days of a run fit a page, so that a filtered page is a complete window.
    const stage = await open({ scenario: scenario({ entriesPerDay: 20 }) });
    hideFirst(stage);
    const begin = dayWindow('2026-03-04', ZONE).beginMs;
    let wideCalls = 0;
    const reader = readerBy(stage, async (query, ask) => {
      if (isWide(query)) wideCalls += 1;
      const page = await ask(query);
      const entries = page.entries.filter(
        ({ currency, bookedMs }) => currency === 'USD' || bookedMs >= begin,
      );
      return { ...page, entries, total: entries.length };
    });
    const read = (from: string, to: string) => stage.run({ range: { from, to } }, { reader });
    expect((await read(FROM, '2026-03-03')).notes).toEqual([expect.stringMatching(sentence('USD', FROM))]);
    expect((await read('2026-03-04', TO)).notes).toEqual([
      expect.stringMatching(sentence('KWD', '2026-03-04')),
    ]);
    expect(wideCalls).toBe(2);
  });

  test('in the middle of its history is not reported until the days before are read', async () => {
    const stage = await open();
    hideFirst(stage);
    const middle = { range: { from: '2026-03-04', to: TO } };
    const requests = ({ sync }: RunReport) => sync[0]!.report.requests;
    const asking = await stage.run(middle);
    expect(asking).toMatchObject({ exitCode: 0 });
    expect(requests(await stage.run(middle))).toBe(requests(asking) - 1);
    const report = await stage.run({ range: { from: FROM, to: '2026-03-03' } });
    expect(report.notes[0]).toEqual(expect.stringMatching(sentence('USD', FROM)));
  });

  test('is no failure if the platform refuses so wide a window, which is not asked for again', async () => {
    const stage = await open();
    hideFirst(stage);
    let asked = 0;
    const refusing = (error: Error) =>
      readerBy(stage, (query, ask) => {
        if (!isWide(query)) return ask(query);
        asked += 1;
        return Promise.reject(error);
      });
    const away = new PlatformUnreachable('no answer');
    expect(await stage.run({}, { reader: refusing(away) })).toMatchObject({ exitCode: 0 });
    expect(await stage.run({}, { reader: refusing(away) })).toMatchObject({ exitCode: 0 });
    expect(asked).toBe(2);
    const refused = new PlatformRejected('at most 31 days');
    expect(await stage.run({}, { reader: refusing(refused) })).toMatchObject({ exitCode: 0 });
    expect(await stage.run({}, { reader: refusing(refused) })).toMatchObject({ exitCode: 0 });
    expect(asked).toBe(3);
  });

  test('is not looked for if the check is switched off', async () => {
    const stage = await open();
    hideFirst(stage);
    expect(await stage.run({}, { checks: ['empty', 'shared'] })).toMatchObject({ exitCode: 0 });
    expect(await noticeRows(stage)).toEqual([]);
  });
});

describe('a busy day without entries', () => {
  const EMPTY = '2026-03-04';
  const busy = scenario({
    from: '2026-01-28',
    entriesPerDay: 15,
    merchants: [{ ...MERCHANT, currencies: ['EUR', 'USD'] }],
  });
  /** A reader that shows nothing of that day, in all accounts or in one. */
  const hiding = (stage: Stage, currency: string | null, day = EMPTY): LedgerReader => {
    const { beginMs, endMs } = dayWindow(day, ZONE);
    return readerBy(stage, async (query, ask) => {
      const page = await ask(query);
      const entries = page.entries.filter(
        (entry) =>
          entry.bookedMs < beginMs ||
          entry.bookedMs > endMs ||
          (currency !== null && entry.currency !== currency),
      );
      return { ...page, entries, total: page.total - page.entries.length + entries.length };
    });
  };
  const readWeeks = async (): Promise<Stage> => {
    const stage = await open({ scenario: busy });
    const range = { from: '2026-01-28', to: '2026-03-03' };
    expect(await stage.run({ range })).toMatchObject({ exitCode: 0, notes: [] });
    return stage;
  };
  const night = (stage: Stage, reader: LedgerReader) =>
    stage.run({ range: { from: EMPTY, to: EMPTY } }, { reader, checks: ['empty'] });

  const silent = (currency: string): unknown =>
    expect.stringMatching(
      `^SBX-M-1 ${currency} 2026-03-03 to ${EMPTY}: the newest entry is unchanged since 2026-03-03`,
    );

  test('is reported once, for the merchant, and is not proven; when it has entries, the notice is gone', async () => {
    const stage = await readWeeks();
    stage.setNow(`${addDays(EMPTY, 1)}T01:30:00+08:00`);
    const report = await night(stage, hiding(stage, null));
    const what =
      `SBX-M-1 ${EMPTY} has no entries, and the same weekday had 30 in each of the last 4 weeks: it was a holiday, or ` +
      'its entries are missing';
    expect(report).toMatchObject({ exitCode: 4, publish: { published: [] } });
    expect(report.notes).toEqual(expect.arrayContaining([silent('EUR'), silent('USD'), what]));
    const again = await night(stage, hiding(stage, null));
    expect([again.exitCode, again.notes.includes(what)]).toEqual([4, false]);
    expect(await noticed(stage)).toMatchObject([{ kind: 'empty', currency: null, day: EMPTY }]);
    const filled = await night(stage, stage.app.reader);
    expect(filled.exitCode).not.toBe(4);
    expect(publishedIn(filled)).toEqual([`EUR ${EMPTY} r1`, `USD ${EMPTY} r1`]);
    expect(await noticed(stage)).toEqual([]);
  });

  test('of one account is reported for that account, and nothing for a day that is not completely read', async () => {
    const stage = await readWeeks();
    stage.setNow(`${EMPTY}T23:00:00+08:00`);
    expect(await night(stage, hiding(stage, 'USD'))).toMatchObject({ exitCode: 0 });
    stage.setNow(`${addDays(EMPTY, 1)}T01:30:00+08:00`);
    const { notes } = await night(stage, hiding(stage, 'USD'));
    expect(notes).toEqual(
      expect.arrayContaining([silent('USD'), expect.stringMatching(`^SBX-M-1 USD ${EMPTY} has no entries`)]),
    );
    expect(notes).not.toContainEqual(silent('EUR'));
    expect(await noticeRows(stage)).toHaveLength(1);
  });
});

describe('entries of another merchant', () => {
  const both = scenario({
    entriesPerDay: 60,
    merchants: [MERCHANT, OTHER].map((one) => ({ ...one, currencies: ['USD'] })),
  });
  const swapped = (stage: Stage, isSwapped: (query: LedgerPageQuery) => boolean = () => true) =>
    readerBy(stage, (query, ask) =>
      ask(
        query.merchant.merchantNo === MERCHANT.merchantNo && isSwapped(query)
          ? { ...query, merchant: OTHER }
          : query,
      ),
    );
  const ofTwo = { merchants: [MERCHANT, OTHER] };

  test('are reported first by the run that stored them, with both merchants; nothing of either is published', async () => {
    const stage = await open({ scenario: both });
    const held = ['SBX-M-1', 'SBX-M-2'].map((merchantNo): unknown =>
      expect.stringMatching(
        new RegExp(`^${merchantNo} USD ${FROM} is not published: 60 entries of it are stored under`),
      ),
    );
    const report = await stage.run(ofTwo, { reader: swapped(stage) });
    expect(report).toMatchObject({
      exitCode: 4,
      publish: { published: [] },
      notes: [
        expect.stringMatching(
          /^240 entries are stored under two merchants, SBX-M-1 and SBX-M-2: \w+, \w+, \w+ and 237 more, of USD 2026/,
        ),
        ...held,
      ],
    });
    expect(await stage.run(ofTwo, { reader: swapped(stage) })).toMatchObject({ exitCode: 4, notes: held });
    expect(await noticeRows(stage)).toHaveLength(DAYS.length);
  });

  test('are reported if one merchant was read in an earlier run, and again if there are more', async () => {
    const stage = await open({ scenario: both });
    await stage.run({ merchants: [OTHER] });
    const first = { merchants: [MERCHANT], range: { from: FROM, to: FROM } };
    const reader = swapped(stage);
    expect((await stage.run(first, { reader })).notes[0]).toMatch(
      /^60 entries .*published already: SBX-M-2 USD 2026-03-02$/,
    );
    expect((await stage.run({ merchants: [MERCHANT] }, { reader })).notes[0]).toMatch(/^180 entries/);
  });

  test('are reported by the next run if the one that chained them did not compare them any more', async () => {
    const stage = await open({ scenario: both });
    const reader = swapped(stage);
    await stage.run({ ...ofTwo, command: 'sync' }, { reader, checks: [] });
    await stage.run({ ...ofTwo, command: 'reconcile' }, { reader });
    expect(await noticeRows(stage)).toEqual([]);
    expect((await stage.run(ofTwo, { reader })).notes[0]).toMatch(/^240 entries/);
    expect(
      await stage.app.database.db
        .selectFrom('certificate')
        .selectAll()
        .where('compared', '=', false)
        .execute(),
    ).toEqual([]);
  });

  test('are named and not published where queries by number are answered by the merchant’s own ledger', async () => {
    const stage = await open({ scenario: both });
    await stage.run({ merchants: [OTHER] });
    const reader = swapped(stage, ({ batchNo }) => batchNo === undefined);
    const report = await stage.run({ merchants: [MERCHANT] }, { reader });
    expect(report.exitCode).not.toBe(0);
    expect(report.notes[0]).toContain('the platform answered one of them by entries of the other');
    expect(report.notes[1]).toMatch(
      /^SBX-M-1 USD 2026-03-02 is not published: 60 entries .* SBX-M-2 as well/,
    );
    expect(publishedIn(report)).toEqual([]);
  });
});
