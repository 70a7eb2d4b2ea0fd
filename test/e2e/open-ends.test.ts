/** The end of a run depends on all that it changed or left open, whatever days were asked for. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';
import { HEALING_READS_MAX } from '../../src/run/stages/reconcile-stage.ts';
import { resolveBreak } from '../../src/store/breaks/break-cases.ts';
import { Interrupted } from '../../src/run/verdict/exit-codes.ts';
import { MERCHANT, openStage, scenario, type Stage } from '../support/stage.ts';

const { merchantNo } = MERCHANT;
let stage: Stage;
beforeEach(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 60 }) });
});
afterEach(() => stage.close());

const account = (currency = 'USD') =>
  stage.sandbox.entriesOf(merchantNo).filter((entry) => entry.currency === currency);
const ofDay = (day: string) => account().filter(({ busiDate }) => busiDate.startsWith(day));
const oneDay = (day: string) => ({ range: { from: day, to: day } });
const onlyBreak = async () => (await breaks()).map(({ id }) => id)[0]!;
const breaks = () => stage.app.database.db.selectFrom('continuity_break').selectAll().orderBy('id').execute();

describe('a break outside the days asked for', () => {
  test('that this run opens makes it need a person', async () => {
    stage.sandbox.takeOut(merchantNo, ofDay('2026-03-03').at(-1)!.batchNo);
    await stage.run(oneDay('2026-03-04'));
    const report = await stage.run(oneDay('2026-03-03'));
    expect(await breaks()).toMatchObject([{ day: '2026-03-04', status: 'open' }]);
    expect(report).toMatchObject({
      exitCode: 3,
      standing: { newBreaks: 1, knownBreaks: 0 },
      notes: [
        '1 new break: see `daybook breaks`',
        expect.stringMatching(
          /^1 published day was revised: \S+ USD 2026-03-04 from r1 to r2 \(opening moved/,
        ),
        expect.stringMatching(
          /same entries and figures: \S+ KWD 2026-03-04 .*opening taken up from the day before/,
        ),
      ],
    });
  });

  test(
    'that an earlier run opened keeps all later runs from being green until a person resolves it',
    { tags: ['long'] },
    async () => {
      stage.sandbox.takeOut(merchantNo, ofDay('2026-03-02')[30]!.batchNo);
      await stage.run();
      const known = {
        exitCode: 3,
        standing: { newBreaks: 0, knownBreaks: 1 },
        notes: ['1 break known before, still open: see `daybook breaks`'],
      };
      expect(await stage.run(oneDay('2026-03-05'))).toMatchObject(known);
      expect(await stage.run({ range: null }, { resweepDays: 0 })).toMatchObject(known);
      expect(await stage.run({ command: 'publish', ...oneDay('2026-03-05') })).toMatchObject(known);
      await resolveBreak(stage.app.database.db, await onlyBreak(), 'cleared up', stage.app.now());
      expect(await stage.run(oneDay('2026-03-05'))).toMatchObject({ exitCode: 0, notes: [] });
    },
  );

  test('is new or known before, and notes and figures show which', async () => {
    stage.sandbox.takeOut(merchantNo, ofDay('2026-03-02')[30]!.batchNo);
    await stage.run();
    stage.sandbox.takeOut(merchantNo, ofDay('2026-03-05')[30]!.batchNo);
    const report = await stage.run(oneDay('2026-03-05'));
    expect(report.notes).toEqual([
      expect.stringMatching(/^1 break of \S+ USD 2026-03-05: Vanished entry \S+ explains it/),
      '1 new break: see `daybook breaks`',
      '1 break known before, still open: see `daybook breaks`',
      '1 entry no longer shown by the platform: see `daybook amendments`',
      expect.stringMatching(/^1 published day was revised: \S+ USD 2026-03-05 from r1 to r2 /),
    ]);
    const run = await stage.app.database.db
      .selectFrom('run')
      .select('figures')
      .where('id', '=', report.runId)
      .executeTakeFirstOrThrow();
    expect(run.figures).toMatchObject({ breaksNew: 1, breaksKnown: 1, quarantinedOpen: 0 });
  });
});

test('an unreadable entry outside the days asked for counts too', async () => {
  await stage.close();
  const planted = [
    { what: 'malformed', merchant: merchantNo, currency: 'USD', day: '2026-03-02', nth: 4 },
  ] as const;
  stage = await openStage({ scenario: scenario({ entriesPerDay: 60, planted: [...planted] }) });
  const first = await stage.run();
  expect(first.notes).toContain('1 unreadable entry in quarantine: see `daybook quarantine`');
  await resolveBreak(stage.app.database.db, await onlyBreak(), 'the unreadable one', stage.app.now());
  expect(await stage.run(oneDay('2026-03-05'))).toMatchObject({
    exitCode: 3,
    notes: ['1 unreadable entry in quarantine: see `daybook quarantine`'],
  });
});

describe('healing', () => {
  test('a span that cannot be certified when read again makes the run incomplete, even if the break healed', async () => {
    const [, gone] = ofDay('2026-03-03').slice(20);
    stage.sandbox.takeOut(merchantNo, gone!.batchNo);
    const { sync, ...report } = await stage.run(
      {},
      {
        onProgress: ({ stage: at }) => {
          if (at !== 'reconcile') return;
          stage.sandbox.putBack(merchantNo, gone!.batchNo);
          stage.sandbox.setHostility({ wrongTotalsEvery: 1 });
        },
      },
    );
    const [read] = report.healingReads;
    expect(report.standing).toMatchObject({ newBreaks: 0, knownBreaks: 0 });
    expect(sync[0]!.report.uncertified).toMatchObject([{ window: read!.window }]);
    expect(report.exitCode).toBe(4);
    expect(report.notes[0]).toMatch(/^SBX-M-1: .*could not be certified/);
  });

  test('a span that is certified when read again no longer counts as uncertified', async () => {
    const [, gone] = ofDay('2026-03-03').slice(20);
    stage.sandbox.takeOut(merchantNo, gone!.batchNo);
    await stage.run();
    stage.sandbox.setHostility({ wrongTotalsEvery: 1 });
    const report = await stage.run(oneDay('2026-03-03'), {
      onProgress: ({ stage: at }) => {
        if (at === 'reconcile') stage.sandbox.setHostility({});
      },
    });
    expect(report.exitCode).toBe(4);
    expect(report.healingReads).toHaveLength(1);
    const spans = report.sync[0]!.report.uncertified.map(({ window }) => window);
    for (const { window } of report.healingReads) {
      expect(spans.filter((span) => span.beginMs <= window.endMs && span.endMs >= window.beginMs)).toEqual(
        [],
      );
    }
  });
});

test('a run that is stopped while it reads a span again leaves the turn of each break to the next run', async () => {
  for (const nth of [20, 40]) stage.sandbox.takeOut(merchantNo, ofDay('2026-03-03')[nth]!.batchNo);
  const stop = new AbortController();
  let isChaining = false;
  const reader: LedgerReader = {
    page: (query, signal) => {
      if (isChaining) stop.abort(new Interrupted());
      return stage.app.reader.page(query, signal);
    },
  };
  const onProgress = ({ stage: at }: { readonly stage: string }) => (isChaining ||= at === 'reconcile');
  expect(await stage.run({}, { reader, signal: stop.signal, onProgress })).toMatchObject({ exitCode: 4 });
  expect((await breaks()).map(({ healing_read_at: read }) => read)).toEqual([null, null]);
});

describe('more breaks than one run reads again', () => {
  test(
    'each break gets its turn, and a new one does not wait for the old ones',
    { tags: ['long'] },
    async () => {
      await stage.close();
      stage = await openStage({ scenario: scenario({ entriesPerDay: 400 }) });
      const shown = ofDay('2026-03-02');
      const gone = shown.filter((_, at) => at % 4 === 2).slice(0, HEALING_READS_MAX + 20);
      for (const { batchNo } of gone) stage.sandbox.takeOut(merchantNo, batchNo);
      const first = await stage.run();
      expect(first.standing.newBreaks).toBeGreaterThan(HEALING_READS_MAX);
      expect(first.healingReads).toHaveLength(HEALING_READS_MAX);

      const late = ofDay('2026-03-05')[200]!;
      stage.sandbox.takeOut(merchantNo, late.batchNo);
      const second = await stage.run(oneDay('2026-03-05'));
      const readsLate = second.healingReads.some(
        ({ window }) => window.beginMs <= late.bookedMs && window.endMs >= late.bookedMs,
      );
      expect(readsLate).toBe(true);
      // Spans that the first run did not read come first now.
      const all = (await breaks()).filter(({ day }) => day === '2026-03-02');
      expect(all.filter(({ healing_read_at: read }) => read === null)).toEqual([]);
    },
  );
});
