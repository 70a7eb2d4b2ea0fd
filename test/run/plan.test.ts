import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { planRun, type PlanReport } from '../../src/run/plan.ts';
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
const TABLES = [
  'ledger_entry',
  'ledger_entry_version',
  'sync_window',
  'changed_day',
  'account_day',
  'continuity_break',
  'statement',
  'run',
];

/** Plans, and shows that nothing was left behind. */
async function planned(): Promise<PlanReport> {
  const [rows, objects] = [await footprints(stage, TABLES), await objectsOf(stage)];
  const report = await plan();
  expect(await footprints(stage, TABLES)).toEqual(rows);
  expect(await objectsOf(stage)).toEqual(objects);
  return report;
}

describe('plan', () => {
  test('of a first run: its calls, every day with its closing; then the run does just that', async () => {
    const report = await planned();
    const calls = stage.sandbox.requestCount();
    const run = await stage.run();
    expect(stage.sandbox.requestCount() - calls).toBe(calls);
    expect(report).toMatchObject({ from: FROM, to: TO, breaksOpened: [], breaksHealed: [] });
    expect(report.sync).toEqual(run.sync);
    expect(report.daysChanged).toEqual(run.reconcile!.daysChanged);
    expect(report.daysChanged.map(({ newClosing }) => newClosing)).toEqual(
      (await accountDays(stage)).map(({ closing }) => closing),
    );
    expect(await storedOf(stage)).toEqual(truthOf(stage));
  });

  test('of an unchanged ledger: nothing changes', async () => {
    await stage.run();
    expect(await planned()).toMatchObject({
      daysChanged: [],
      sync: [{ report: { inserted: 0, unchanged: 480 } }],
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
    const [day, ...more] = report.daysChanged.filter((change) => change.oldClosing !== change.newClosing);
    expect(more).toEqual([]);
    expect(day).toMatchObject({
      account: { merchantNo, currency: 'USD' },
      day: '2026-03-03',
      oldClosing: before.find((row) => row.currency === 'USD' && row.day === '2026-03-03')!.closing,
    });
    expect(report.breaksOpened).toMatchObject([{ day: '2026-03-04' }]);
    const run = await stage.run();
    expect(run.reconcile!.daysChanged).toEqual(report.daysChanged);
  });

  test('holds the lease meanwhile, and lets go of it', async () => {
    const others: Promise<unknown>[] = [];
    const deps = stage.deps({
      onProgress: () => {
        if (others.length === 0) others.push(stage.run().catch((error: unknown) => error));
      },
    });
    await planRun({ range: { from: FROM, to: TO }, merchants: [MERCHANT], currencies: null }, deps);
    expect(await Promise.all(others)).toMatchObject([{ name: 'LeaseHeld' }]);
    expect(await stage.run()).toMatchObject({ exitCode: 0 });
  });

  test('under a wrong zone says what `run` would', async () => {
    stage.sandbox.setHostility({ timeZoneOffsetHours: -8 });
    await expect(plan()).rejects.toMatchObject({ name: 'TimeZoneWrong' });
  });
});
