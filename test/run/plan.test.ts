import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { planRun, type PlanReport } from '../../src/run/plan.ts';
import type { RunReport } from '../../src/run/report.ts';
import {
  accountDays,
  footprints,
  FROM,
  MERCHANT,
  objectsOf,
  openStage,
  storedOf,
  TO,
  truthOf,
  type Stage,
} from '../support/stage.ts';

const { merchantNo } = MERCHANT;
let stage: Stage;
beforeEach(async () => {
  stage = await openStage();
});
afterEach(() => stage.close());

const plan = (): Promise<PlanReport> =>
  planRun({ range: { from: FROM, to: TO }, merchants: [MERCHANT], currencies: null }, stage.deps());
const revisions = ({ daysChanged }: PlanReport): string[] =>
  daysChanged.map(({ account, day, revision }) => `${account.currency} ${day} r${revision.after}`);
const published = ({ publish }: RunReport): string[] =>
  publish!.published.map(({ account, day, revision }) => `${account.currency} ${day} r${revision}`);
const TABLES = [
  'ledger_entry',
  'ledger_entry_version',
  'certificate',
  'account_day',
  'continuity_break',
  'statement',
  'run',
];

/** Makes a plan, and expects that it leaves nothing behind. */
async function planned(): Promise<PlanReport> {
  const [rows, objects] = [await footprints(stage, TABLES), await objectsOf(stage)];
  const report = await plan();
  expect(await footprints(stage, TABLES)).toEqual(rows);
  expect(await objectsOf(stage)).toEqual(objects);
  return report;
}

describe('plan', () => {
  test('of a first run: its calls, and every day with its closing; the run then does exactly that', async () => {
    const report = await planned();
    const calls = stage.sandbox.requestCount();
    const run = await stage.run();
    expect(stage.sandbox.requestCount() - calls).toBe(calls);
    expect(report).toMatchObject({ from: FROM, to: TO, breaksOpened: [], breaksHealed: [] });
    expect(report.sync).toEqual(run.sync);
    expect(report.daysChanged).toEqual(
      run.reconcile!.daysChanged.map((change) => ({
        ...change,
        revision: { before: null, after: 1 },
        withheld: null,
      })),
    );
    expect(report.daysChanged.map(({ newClosing }) => newClosing)).toEqual(
      (await accountDays(stage)).map(({ closing }) => closing),
    );
    expect(await storedOf(stage)).toEqual(truthOf(stage));
  });

  test('of an unchanged ledger: nothing changes', async () => {
    await stage.run();
    expect(await planned()).toMatchObject({
      daysChanged: [],
      sync: [{ report: { inserted: 0, unchanged: 160 } }],
    });
  });

  test('of a late entry: the old closing and the new one, and the breaks that open', async () => {
    const last = stage.sandbox
      .entriesOf(merchantNo)
      .findLast(({ currency, busiDate }) => currency === 'USD' && busiDate.startsWith('2026-03-03'))!;
    await stage.run();
    const before = await accountDays(stage);
    stage.sandbox.takeOut(merchantNo, last.batchNo);
    const report = await planned();
    const was = before.find((row) => row.currency === 'USD' && row.day === '2026-03-03')!;
    const isCredit = last.inAmount !== null;
    expect(report.daysChanged).toMatchObject([
      {
        account: { merchantNo, currency: 'USD' },
        day: '2026-03-03',
        oldClosing: was.closing,
        before: {
          creditCount: was.credit_count,
          debitCount: was.debit_count,
          closing: was.closing,
          verdict: 'continuous',
          breakCount: 0,
        },
        after: {
          creditCount: was.credit_count - (isCredit ? 1 : 0),
          debitCount: was.debit_count - (isCredit ? 0 : 1),
          verdict: 'broken',
          breakCount: 1,
        },
        revision: { before: 1, after: 2 },
        withheld: null,
      },
      {
        account: { merchantNo, currency: 'USD' },
        day: '2026-03-04',
        before: { verdict: 'continuous', breakCount: 0 },
        after: { verdict: 'broken', breakCount: 1 },
        revision: { before: 1, after: 2 },
      },
    ]);
    expect(report.breaksOpened).toMatchObject([{ day: '2026-03-04' }]);
    const run = await stage.run();
    expect(published(run)).toEqual(revisions(report));
    const after = new Map((await accountDays(stage)).map((row) => [`${row.currency} ${row.day}`, row]));
    for (const { account, day, after: then } of report.daysChanged) {
      const row = after.get(`${account.currency} ${day}`)!;
      expect([then.opening, then.closing, then.verdict, then.breakCount]).toEqual([
        row.opening,
        row.closing,
        row.verdict,
        row.break_count,
      ]);
    }
  });

  test('of a day with changed rows and unchanged figures: the new revision', async () => {
    const [entry] = stage.sandbox.entriesOf(merchantNo);
    await stage.run();
    stage.sandbox.amend(merchantNo, entry!.batchNo, { busiType: 'CORRECTED' });
    const report = await planned();
    expect(report.daysChanged).toMatchObject([
      {
        account: { merchantNo, currency: entry!.currency },
        revision: { before: 1, after: 2 },
        withheld: null,
      },
    ]);
    const [day] = report.daysChanged;
    expect(day!.after).toEqual(day!.before);
    expect(published(await stage.run())).toEqual(revisions(report));
    expect((await planned()).daysChanged).toEqual([]);
  });

  test('holds the lease meanwhile, and releases it', async () => {
    let other: Promise<unknown> | undefined;
    const { reader } = stage.app;
    const deps = stage.deps({
      reader: {
        page: async (query, signal) => {
          other ??= stage.run().catch((error: unknown) => error);
          await other;
          return reader.page(query, signal);
        },
      },
    });
    await planRun({ range: { from: FROM, to: TO }, merchants: [MERCHANT], currencies: null }, deps);
    expect(await other).toMatchObject({ name: 'LeaseHeld' });
    expect(await stage.run()).toMatchObject({ exitCode: 0 });
  });

  test('with a wrong zone says the same as `run`', async () => {
    stage.sandbox.setHostility({ timeZoneOffsetHours: -8 });
    await expect(plan()).rejects.toMatchObject({ name: 'TimeZoneWrong' });
  });
});
