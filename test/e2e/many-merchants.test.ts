/**
 * Many merchants in one run: each under its own lease, none waits for another, and what happens to one is its own.
 *
 * @module-tag long
 */
import { afterEach, describe, expect, test } from 'vitest';
import { PlatformRejected, PlatformReplyInvalid, PlatformUnreachable } from '../../src/platform/errors.ts';
import { zeroFigures } from '../../src/run/report.ts';
import { executeScheduled } from '../../src/run/run.ts';
import { acquireLease, merchantLease, type Lease, releaseLeases } from '../../src/store/engine/lease.ts';
import { statusOf } from '../../src/run/status.ts';
import { FROM, MERCHANT, openStage, OTHER, scenario, type Stage, TO, ZONE } from '../support/stage.ts';

const THIRD = { merchantNo: 'SBX-M-3', token: 'made-up-token-3' };
const ALL = [MERCHANT, OTHER, THIRD];
const merchants = ALL.map((merchant) => ({ ...merchant, currencies: ['USD'] }));
const stages: Stage[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.close();
});
const open = async (): Promise<Stage> => {
  const stage = await openStage({ scenario: scenario({ merchants }) });
  stages.push(stage);
  return stage;
};
const dbOf = ({ app }: Stage) => app.database.db;
const hold = (stage: Stage, { merchantNo }: typeof MERCHANT): Promise<Lease> =>
  acquireLease(dbOf(stage), {
    ...{ name: merchantLease(merchantNo), holder: 'other:1:-', ttlMs: 60_000 },
  });
const merchantEnds = ({ app }: Stage, runId: number) =>
  app.database.db
    .selectFrom('run_merchant')
    .selectAll()
    .where('run_id', '=', runId)
    .orderBy('merchant_no')
    .execute();
const endsOf = async (stage: Stage, runId: number) =>
  (await merchantEnds(stage, runId)).map((one) => [one.merchant_no, one.exit_code]);

describe('a merchant that another process is at work on', () => {
  test('is left out and told; the others are done, and the run is as green as they are', async () => {
    const stage = await open();
    await hold(stage, OTHER);
    const report = await stage.run({ merchants: ALL });
    expect(report).toMatchObject({
      exitCode: 0,
      busy: [{ merchantNo: OTHER.merchantNo, exitCode: 0 }],
      notes: [expect.stringMatching(/^SBX-M-2 is busy: another run \(other:1:-\) holds the lease/)],
    });
    expect(report.sync.map(({ merchantNo }) => merchantNo)).toEqual([MERCHANT.merchantNo, THIRD.merchantNo]);
    expect(await endsOf(stage, report.runId)).toEqual([
      [MERCHANT.merchantNo, 0],
      [THIRD.merchantNo, 0],
    ]);
  });

  test('ends the run with 5 if it was asked for by name, and the other one that was is done', async () => {
    const stage = await open();
    await hold(stage, OTHER);
    const report = await stage.run({ merchants: [MERCHANT, OTHER], isByName: true });
    expect(report).toMatchObject({ exitCode: 5, busy: [{ merchantNo: OTHER.merchantNo, exitCode: 5 }] });
    expect(report.sync.map(({ merchantNo }) => merchantNo)).toEqual([MERCHANT.merchantNo]);
  });

  test('is done at the end of the same run if it is free by then', async () => {
    const stage = await open();
    const lease = await hold(stage, OTHER);
    let isFreed = false;
    const onProgress = (): void => {
      if (isFreed) return;
      isFreed = true;
      void releaseLeases(dbOf(stage), [lease]);
    };
    const report = await stage.run({ merchants: ALL }, { onProgress });
    expect(report).toMatchObject({ exitCode: 0, busy: [], notes: [] });
    expect(report.sync).toHaveLength(3);
  });

  test('refuses the run if no merchant is left, and nothing is written', async () => {
    const stage = await open();
    for (const merchant of ALL) await hold(stage, merchant);
    await expect(stage.run({ merchants: ALL })).rejects.toThrow(/^all 3 merchants are busy with other runs/);
    expect(await dbOf(stage).selectFrom('run').selectAll().execute()).toEqual([]);
  });
});

test('the row of a merchant has its counts without zeros, the row of a run has all', async () => {
  const stage = await open();
  const { runId } = await stage.run({ merchants: ALL });
  const [first] = await merchantEnds(stage, runId);
  const figuresOf = first!.figures as Record<string, unknown>;
  const { inserted, published, checked } = figuresOf;
  expect({ inserted, published, checked }).toEqual({
    ...{ inserted: 80, published: 4, checked: expect.arrayContaining(['zone']) },
  });
  expect(Object.values(figuresOf)).not.toContain(0);
  const { figures } = await dbOf(stage).selectFrom('run').select('figures').executeTakeFirstOrThrow();
  const counts = Object.entries(figures as object).filter(([, value]) => typeof value === 'number');
  expect(counts.map(([name]) => name).sort()).toEqual(Object.keys(zeroFigures()).sort());
});

test('two runs for different merchants both work at the same time', async () => {
  const stage = await open();
  const others: Promise<unknown>[] = [];
  const onProgress = (): void => {
    if (others.length === 0) others.push(stage.run({ merchants: [OTHER] }));
  };
  expect(await stage.run({ merchants: [MERCHANT] }, { onProgress })).toMatchObject({ exitCode: 0 });
  expect(await Promise.all(others)).toMatchObject([{ exitCode: 0 }]);
});

describe('a slot of the schedule', () => {
  const scheduled = { job: 'nightly', slot: '2026-03-06 01:30' };
  const request = { command: 'run', range: null, merchants: ALL, currencies: null, scheduled } as const;

  test('that a busy merchant left open is taken up for that merchant alone', async () => {
    const stage = await open();
    const lease = await hold(stage, OTHER);
    const first = await executeScheduled(request, stage.deps());
    expect(first).toMatchObject({ exitCode: 4, busy: [{ merchantNo: OTHER.merchantNo }] });
    await releaseLeases(dbOf(stage), [lease]);
    const second = await executeScheduled(request, stage.deps());
    expect(second).toMatchObject({ exitCode: 0, busy: [] });
    expect(second!.sync.map(({ merchantNo }) => merchantNo)).toEqual([OTHER.merchantNo]);
    expect(await executeScheduled(request, stage.deps())).toBeNull();
  });

  test('in which one merchant failed is taken up for that merchant alone', async () => {
    const stage = await open();
    const broken = { ...OTHER, token: 'another-made-up-one' };
    const first = await executeScheduled({ ...request, merchants: [MERCHANT, broken, THIRD] }, stage.deps());
    expect(first!.exitCode).toBe(4);
    expect(await endsOf(stage, first!.runId)).toEqual([
      [MERCHANT.merchantNo, 0],
      [OTHER.merchantNo, 4],
      [THIRD.merchantNo, 0],
    ]);
    const second = await executeScheduled(request, stage.deps());
    expect(second!.sync.map(({ merchantNo }) => merchantNo)).toEqual([OTHER.merchantNo]);
    const statuses = await statusOf(
      dbOf(stage),
      ALL.map(({ merchantNo }) => merchantNo),
      { zone: ZONE, now: stage.app.now(), maxAgeMs: 3_600_000 },
    );
    expect(statuses.map(({ tooOld }) => tooOld)).toEqual([false, false, false]);
  });
});

test('a lease that is lost in mid-work ends the work on this merchant, and on no other', async () => {
  const stage = await open();
  let isLost = false;
  const onProgress = (progress: { readonly stage: string; readonly merchantNo?: string }): void => {
    if (isLost || progress.stage !== 'sync' || progress.merchantNo !== OTHER.merchantNo) return;
    isLost = true;
    void dbOf(stage)
      .updateTable('lease')
      .set((eb) => ({ epoch: eb('epoch', '+', 1), holder: 'other:1:-' }))
      .where('name', '=', merchantLease(OTHER.merchantNo))
      .execute();
  };
  const report = await stage.run({ merchants: ALL }, { onProgress });
  expect(report.exitCode).toBe(4);
  expect(report.troubles).toMatchObject([
    { merchantNo: OTHER.merchantNo, message: expect.stringContaining('another one took over') },
  ]);
  expect(report.publish!.published.map(({ account }) => account.merchantNo)).not.toContain(OTHER.merchantNo);
  expect((await endsOf(stage, report.runId)).map(([merchantNo]) => merchantNo)).toEqual([
    MERCHANT.merchantNo,
    THIRD.merchantNo,
  ]);
});

test('one that hangs until all others are done, one refused and one that sends rubbish keep nobody waiting', async () => {
  const many = Array.from({ length: 9 }, (_, at) => ({
    merchantNo: `SBX-M-${at + 1}`,
    token: `made-up-token-${at + 1}`,
  }));
  const stage = await openStage({
    scenario: scenario({ merchants: many.map((merchant) => ({ ...merchant, currencies: ['USD'] })) }),
  });
  stages.push(stage);
  // All have days before: one that begins waits until the others are read, as the entries may be theirs.
  expect(await stage.run({ merchants: many, range: { from: FROM, to: '2026-03-04' } })).toMatchObject({
    exitCode: 0,
  });
  const [hanging, refused, rubbish, ...fine] = many.map(({ merchantNo }) => merchantNo);
  let end: () => void = () => undefined;
  const othersDone = new Promise<void>((resolve) => (end = resolve));
  const { reader } = stage.app;
  const badly: typeof reader = {
    page: async (query, signal) => {
      const { merchantNo } = query.merchant;
      if (merchantNo === hanging) await othersDone;
      if (merchantNo === hanging) throw new PlatformUnreachable('no answer', false);
      if (merchantNo === refused) throw new PlatformRejected('the token is refused', false);
      if (merchantNo === rubbish) throw new PlatformReplyInvalid('this is no list');
      return reader.page(query, signal);
    },
  };
  const report = await stage.run(
    { merchants: many, range: { from: TO, to: TO } },
    {
      reader: badly,
      merchantsAtOnce: 2,
      onProgress: (progress) => {
        if (progress.stage === 'merchants' && progress.merchantsDone === many.length - 1) end();
      },
    },
  );
  expect(report.exitCode).toBe(4);
  const ends = new Map((await endsOf(stage, report.runId)) as [string, number][]);
  expect(fine.map((merchantNo) => ends.get(merchantNo))).toEqual(fine.map(() => 0));
  expect([hanging, refused, rubbish].map((merchantNo) => ends.get(merchantNo!))).toEqual([4, 4, 4]);
  expect(new Set(report.publish!.published.map(({ account }) => account.merchantNo))).toEqual(new Set(fine));
});
