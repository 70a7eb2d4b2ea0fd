/**
 * Backfills: days of long ago, read slice by slice next to the nightly work.
 *
 * @module-tag long
 */
import { sql } from 'kysely';
import { afterEach, describe, expect, test } from 'vitest';
import {
  backfillsExitCode,
  backfillStatuses,
  beginBackfill,
  cancelBackfill,
} from '../../src/run/backfills.ts';
import { executeScheduled } from '../../src/run/run.ts';
import { createBackgroundWork, tick, type ScheduleOptions } from '../../src/run/schedule/schedule.ts';
import { doBackfill, doNextRequest, type RequestEnd } from '../../src/run/requests.ts';
import { Interrupted } from '../../src/run/verdict/exit-codes.ts';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';
import { slotEnds } from '../../src/store/runs.ts';
import { addMerchant } from '../../src/store/merchants.ts';
import {
  accountDays,
  bytesOf,
  footprints,
  MERCHANT,
  NIGHT,
  openStage,
  OTHER,
  scenario,
  storedOf,
  truthOf,
  type Stage,
} from '../support/stage.ts';

/** A hundred days, which are four slices. */
const LONG = { from: '2025-11-26', to: '2026-03-05' };
const SLICES = [
  { from: '2025-11-26', to: '2025-12-26' },
  { from: '2025-12-27', to: '2026-01-26' },
  { from: '2026-01-27', to: '2026-02-26' },
  { from: '2026-02-27', to: '2026-03-05' },
];
const KEY = { id: 'k1', key: Buffer.alloc(32, 7) };
const NUMBERS = [MERCHANT.merchantNo];
const story = scenario({
  from: LONG.from,
  entriesPerDay: 3,
  merchants: [
    { ...MERCHANT, currencies: ['USD'] },
    { ...OTHER, currencies: ['USD'] },
  ],
});

const stages: Stage[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.close();
});
async function open(): Promise<Stage> {
  const stage = await openStage({ scenario: story, settings: { secretKeys: [KEY] } });
  stages.push(stage);
  await addMerchant(stage.app.database.db, { ...OTHER, secretKeys: [KEY], now: new Date(NIGHT) });
  return stage;
}

const begin = (stage: Stage, merchants: readonly string[] = NUMBERS, days = LONG): Promise<number> =>
  beginBackfill({ ...days, merchants }, stage.deps());
const slicesOf = (stage: Stage, reader = stage.app.reader) => ({
  doNextSlice: (signal: AbortSignal) => doNextRequest(stage.app, signal, { backfills: true }, { reader }),
  doBackfill: (id: number, options: Parameters<typeof doBackfill>[2]) =>
    doBackfill(stage.app, id, options, { reader }),
});
const statuses = (stage: Stage) =>
  backfillStatuses(stage.app.database.db, { zone: 'Asia/Shanghai', now: stage.app.now() });
/** Does slices until none is to be done now. */
async function workOn(stage: Stage, slices = slicesOf(stage)): Promise<RequestEnd[]> {
  const ends: RequestEnd[] = [];
  for (;;) {
    const end = await slices.doNextSlice(new AbortController().signal);
    if (end === null) return ends;
    ends.push(end);
  }
}
const progress = async (stage: Stage) => (await statuses(stage))[0]!;
/** Without what each certificate in a manifest was asked for: one currency, or null for all. */
const filesOf = async (stage: Stage) =>
  new Map(
    [...(await bytesOf(stage))].map(([key, text]) => [
      key,
      text.replace(/("endMs": \d+,\n\s+)"currency": [^,]+,/g, '$1'),
    ]),
  );
const rowsOf = async (stage: Stage) => {
  const statements = await stage.app.database.db
    .selectFrom('statement')
    .select(['merchant_no', 'currency', 'day', 'revision', 'sha256', 'reason'])
    .orderBy('merchant_no')
    .orderBy('currency')
    .orderBy('day')
    .orderBy('revision')
    .execute();
  const days = (await accountDays(stage)).map((day) =>
    Object.fromEntries(Object.entries(day).filter(([column]) => !/run_id|reconciled/.test(column))),
  );
  return { entries: await storedOf(stage), days, statements, files: await filesOf(stage) };
};
const runs = (stage: Stage) =>
  stage.app.database.db.selectFrom('run').select(['command', 'exit_code']).orderBy('id').execute();
const rangesOf = (stage: Stage) =>
  stage.app.database.db
    .selectFrom('request')
    .select(['from_day', 'to_day', 'finished_at'])
    .where('asked_by', '=', 'run')
    .execute();
const done = (slice: { readonly from: string; readonly to: string }, merchantNo = MERCHANT.merchantNo) => ({
  ...{ merchantNo, days: slice, outcome: expect.stringMatching(/^(slice|done)$/) as string, exitCode: 0 },
});

/** Reads as usual, until the first call for a window that begins at or after `day`: that one `does`. */
const from = (stage: Stage, day: string, does: (signal?: AbortSignal) => Promise<never>): LedgerReader => {
  const fromMs = Date.parse(`${day}T00:00:00+08:00`);
  return {
    page: (query, signal) =>
      query.window.beginMs < fromMs ? stage.app.reader.page(query, signal) : does(signal),
  };
};

describe('a backfill', () => {
  test('of a hundred days has the rows and files of one run over them', async () => {
    const whole = await open();
    // A run of one currency is not cut into slices.
    expect(await whole.run({ range: LONG, currencies: ['USD'] })).toMatchObject({ exitCode: 0 });
    const stage = await open();
    const id = await begin(stage);
    expect(await runs(stage)).toEqual([]);
    expect(await workOn(stage)).toMatchObject(SLICES.map((slice) => ({ id, ...done(slice) })));
    expect(await rowsOf(stage)).toEqual(await rowsOf(whole));
    expect(await storedOf(stage)).toEqual(truthOf(stage));
    expect(await runs(stage)).toEqual(SLICES.map(() => ({ command: 'backfill', exit_code: 0 })));
    expect(await progress(stage)).toMatchObject({
      exitCode: 0,
      daysDone: 100,
      daysLeft: 0,
      leftMs: 0,
      merchantsLeft: 0,
    });
    // Nothing is left, and nothing is done again.
    const before = await footprints(stage, ['request', 'ledger_entry', 'statement']);
    expect(await workOn(stage)).toEqual([]);
    expect(await footprints(stage, ['request', 'ledger_entry', 'statement'])).toEqual(before);
  }, 120_000);

  test('killed at work on a slice begins again with this slice', async () => {
    const whole = await open();
    await whole.run({ range: LONG });
    const stage = await open();
    await begin(stage);
    const stop = new AbortController();
    let isHanging = (): void => undefined;
    const hanging = new Promise<void>((resolve) => (isHanging = resolve));
    const killed = workOn(
      stage,
      slicesOf(
        stage,
        from(stage, '2026-01-10', (signal) => {
          isHanging();
          return new Promise((_, reject) => {
            signal?.addEventListener('abort', () => reject(signal.reason as Error));
            stop.signal.addEventListener('abort', () => reject(new Error('the test is over')));
          });
        }),
      ),
    ).catch(() => undefined);
    await hanging;
    // What the process held runs out.
    const { db } = stage.app.database;
    await db
      .updateTable('lease')
      .set({ expires_at: new Date(0) })
      .execute();
    await db
      .updateTable('request')
      .set({ taken_until: new Date(0) })
      .execute();
    expect(await progress(stage)).toMatchObject({ daysDone: 31, daysLeft: 69 });
    expect(await workOn(stage)).toMatchObject(SLICES.slice(1).map((slice) => done(slice)));
    stop.abort();
    await killed;
    expect(await rowsOf(stage)).toEqual(await rowsOf(whole));
  }, 120_000);

  test('told to stop leaves the slice at work, and the rest, to be done', async () => {
    const stage = await open();
    await begin(stage);
    const stop = new AbortController();
    const slices = slicesOf(
      stage,
      from(stage, '2026-01-10', (signal) => {
        stop.abort(new Interrupted());
        return Promise.reject(signal!.reason as Error);
      }),
    );
    await slices.doNextSlice(stop.signal);
    expect(await slices.doNextSlice(stop.signal)).toMatchObject({ outcome: 'given-back' });
    expect(await progress(stage)).toMatchObject({ daysDone: 31, daysLeft: 69, failing: 0 });
    expect(await workOn(stage)).toHaveLength(3);
  });

  test('of one merchant that fails goes on for the others, and is tried again after a growing pause', async () => {
    const stage = await open();
    await begin(stage, [MERCHANT.merchantNo, OTHER.merchantNo]);
    const failing: LedgerReader = {
      page: (query, signal) =>
        query.merchant.merchantNo === MERCHANT.merchantNo
          ? Promise.reject(new Error('made up'))
          : stage.app.reader.page(query, signal),
    };
    const ends = await workOn(stage, slicesOf(stage, failing));
    expect(ends).toMatchObject([
      { merchantNo: MERCHANT.merchantNo, outcome: 'failed', problem: expect.stringContaining('made up') },
      ...SLICES.map((slice) => done(slice, OTHER.merchantNo)),
    ]);
    const failed = async () => (await progress(stage)).failures[0];
    expect(await failed()).toMatchObject({ attempts: 1, tryAt: new Date('2026-03-06T01:31:00+08:00') });
    expect(await progress(stage)).toMatchObject({
      failing: 1,
      merchantsLeft: 1,
      daysDone: 100,
      daysLeft: 100,
    });
    expect(await workOn(stage)).toEqual([]);
    stage.setNow('2026-03-06T01:31:00+08:00');
    expect(await workOn(stage, slicesOf(stage, failing))).toHaveLength(1);
    expect(await failed()).toMatchObject({ attempts: 2, tryAt: new Date('2026-03-06T01:33:00+08:00') });
    stage.setNow('2026-03-06T01:33:00+08:00');
    expect(await workOn(stage)).toMatchObject(SLICES.map((slice) => done(slice)));
    expect(await progress(stage)).toMatchObject({ exitCode: 0, daysLeft: 0 });
  });

  test('comes back to a merchant that another process is at work on', async () => {
    const stage = await open();
    await begin(stage);
    const { db } = stage.app.database;
    await db
      .insertInto('lease')
      .values({
        name: `merchant/${MERCHANT.merchantNo}`,
        epoch: 1,
        holder: 'elsewhere:1:1',
        acquired_at: new Date(),
        expires_at: new Date('2100-01-01'),
      })
      .execute();
    expect(await workOn(stage)).toMatchObject([{ outcome: 'busy' }]);
    await db.updateTable('lease').set({ expires_at: null }).execute();
    expect(await workOn(stage)).toEqual([]);
    stage.setNow('2026-03-06T01:31:00+08:00');
    expect(await workOn(stage)).toHaveLength(4);
  });

  test('of a merchant that is not read any more leaves it out', async () => {
    const stage = await open();
    await begin(stage, [OTHER.merchantNo, 'GONE']);
    expect((await workOn(stage))[0]).toMatchObject({ merchantNo: 'GONE', outcome: 'left-out' });
    expect(await progress(stage)).toMatchObject({
      merchants: 2,
      merchantsLeft: 0,
      daysDone: 100,
      daysLeft: 0,
    });
  });

  test('does not count a slice as done while a proven day of it has no statement', async () => {
    const stage = await open();
    await begin(stage, NUMBERS, SLICES[0]);
    const { db } = stage.app.database;
    // The row of one statement is lost on its way, and nothing says so.
    await sql`CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
      IF TG_TABLE_NAME = ''statement'' THEN RETURN NULL; END IF; NEW.published_version := 0; RETURN NEW; END'`.execute(
      db,
    );
    await sql`CREATE TRIGGER lose BEFORE INSERT ON statement FOR EACH ROW WHEN (NEW.day = '2025-12-01') EXECUTE FUNCTION lose()`.execute(
      db,
    );
    await sql`CREATE TRIGGER lose BEFORE UPDATE ON account_day FOR EACH ROW WHEN (NEW.day = '2025-12-01') EXECUTE FUNCTION lose()`.execute(
      db,
    );
    const [end] = await workOn(stage);
    expect(end).toMatchObject({ outcome: 'failed' });
    expect(end!.problem).toContain('USD: 1 day proven without an up-to-date statement: 2025-12-01');
  });

  test('worked on by two processes does each slice once', async () => {
    const stage = await open();
    await begin(stage, [MERCHANT.merchantNo, OTHER.merchantNo]);
    const [one, other] = await Promise.all([workOn(stage), workOn(stage)]);
    stage.setNow('2026-03-06T01:31:00+08:00');
    const ends = [...one, ...other, ...(await workOn(stage))].filter(({ days }) => days !== null);
    expect(ends.map((end) => `${end.merchantNo} ${end.days!.from}`).sort()).toEqual(
      [MERCHANT, OTHER].flatMap(({ merchantNo }) => SLICES.map((slice) => `${merchantNo} ${slice.from}`)),
    );
    expect(await storedOf(stage)).toEqual(truthOf(stage));
  });

  test('worked on side by side in one process does each slice once, and tells them', async () => {
    const stage = await open();
    const backfillId = await begin(stage, [MERCHANT.merchantNo, OTHER.merchantNo]);
    const ends: RequestEnd[] = [];
    await slicesOf(stage).doBackfill(backfillId, {
      ...{ atOnce: 8, signal: new AbortController().signal },
      onSlice: (end) => Promise.resolve(void ends.push(end)),
    });
    expect(ends.map(({ exitCode }) => exitCode)).toEqual(Array.from({ length: 8 }, () => 0));
    expect(await progress(stage)).toMatchObject({ exitCode: 0, daysLeft: 0 });
  });

  test('cancelled does no further slice, and keeps what was read', async () => {
    const stage = await open();
    const id = await begin(stage);
    await slicesOf(stage).doNextSlice(new AbortController().signal);
    const { db } = stage.app.database;
    const cancel = () => db.transaction().execute((trx) => cancelBackfill(trx, id, stage.app.now()));
    expect(await cancel()).toBe(true);
    expect(await cancel()).toBe(false);
    expect(await workOn(stage)).toEqual([]);
    expect(await progress(stage)).toMatchObject({ isCancelled: true, daysDone: 31, daysLeft: 0 });
    expect((await storedOf(stage)).length).toBeGreaterThan(0);
  });

  test('cannot be asked for twice, nor for a day that is not over', async () => {
    const stage = await open();
    await begin(stage);
    await expect(begin(stage)).rejects.toThrow(/backfill 1 has these days of SBX-M-1 already/);
    await expect(begin(stage, NUMBERS, { ...LONG, to: '2026-03-06' })).rejects.toThrow(/not over yet/);
  });

  test('tells days done, days left, and the time left by the pace of its slices', async () => {
    const stage = await open();
    await begin(stage);
    expect(await progress(stage)).toMatchObject({ daysDone: 0, daysLeft: 100, leftMs: null });
    const slices = slicesOf(stage, {
      page: (query, signal) => {
        // The first slice takes 31 minutes.
        stage.setNow('2026-03-06T02:01:00+08:00');
        return stage.app.reader.page(query, signal);
      },
    });
    await slices.doNextSlice(new AbortController().signal);
    expect(await progress(stage)).toMatchObject({ daysDone: 31, daysLeft: 69, leftMs: 69 * 60_000 });
  });
});

describe('a long run', () => {
  test('is done in slices, and its report tells of all its days', async () => {
    const whole = await open();
    const one = await whole.run({ range: LONG, currencies: ['USD'] });
    const stage = await open();
    const report = await stage.run({ range: LONG });
    expect(report).toMatchObject({ exitCode: 0, ...LONG, sync: [LONG], reconcile: { accounts: 1 } });
    expect(report.publish!.published).toEqual(one.publish!.published);
    expect(report.reconcile!.daysChanged).toEqual(one.reconcile!.daysChanged);
    expect(report.sync[0]!.report.inserted).toBe(one.sync[0]!.report.inserted);
    expect(await rowsOf(stage)).toEqual(await rowsOf(whole));
    expect(await progress(stage)).toMatchObject({
      isRun: true,
      daysDone: 100,
      daysLeft: 0,
      endedAt: stage.app.now(),
    });
    expect(await runs(stage)).toEqual([{ command: 'run', exit_code: 0 }]);
    expect(await rangesOf(stage)).toEqual([]);
  });

  test('reads the span of a break that a slice found again with two later slices, and then weekly', async () => {
    const stage = await open();
    const entries = stage.sandbox.entriesOf(MERCHANT.merchantNo);
    const gone = entries.find(({ busiDate }) => busiDate.startsWith('2025-12-10'))!;
    stage.sandbox.takeOut(MERCHANT.merchantNo, gone.batchNo);
    const { healingReads, exitCode } = await stage.run({ range: LONG });
    expect(exitCode).toBe(3);
    expect(SLICES.length).toBeGreaterThan(2);
    expect(healingReads).toHaveLength(2);
    for (const { window } of healingReads)
      expect(window.beginMs <= gone.bookedMs && window.endMs >= gone.bookedMs).toBe(true);
  });

  test('that ends early is a backfill that goes on where it ended, and the run keeps its own end', async () => {
    const stage = await open();
    const broken = from(stage, '2026-01-10', () => Promise.reject(new Error('made up')));
    const report = await stage.run({ range: LONG }, { reader: broken });
    expect(report.exitCode).toBe(70);
    expect(await progress(stage)).toMatchObject({ isRun: true, daysDone: 31, daysLeft: 69 });
    expect(backfillsExitCode([await progress(stage)])).toBe(4);
    expect((await stage.run({ range: null }, { resweepDays: 1 })).sync).toMatchObject([
      { from: '2026-03-04' },
    ]);
    // The night has read the last two days.
    const left = [SLICES[1]!, SLICES[2]!, { from: '2026-02-27', to: '2026-03-03' }];
    expect(await workOn(stage)).toMatchObject(left.map((slice) => done(slice)));
    expect((await runs(stage))[0]).toEqual({ command: 'run', exit_code: 70 });
    expect(backfillsExitCode([await progress(stage)])).toBe(0);
  });

  test('asked for again takes the place of what the first one left; a day that is not over stays a requested one', async () => {
    const stage = await open();
    const broken: LedgerReader = { page: () => Promise.reject(new Error('made up')) };
    const days = { from: LONG.from, to: '2026-03-06' };
    await stage.run({ range: days }, { reader: broken });
    await stage.run({ range: days });
    expect(await statuses(stage)).toMatchObject([{ daysDone: 100, daysLeft: 0, merchantsLeft: 0 }]);
    expect(await rangesOf(stage)).toEqual([
      { from_day: '2026-03-06', to_day: '2026-03-06', finished_at: null },
    ]);
  });
});

describe('the night beside a backfill', () => {
  const NIGHTLY = { job: 'nightly', when: '30 1 * * *' };
  const reported: string[] = [];
  function scheduler(stage: Stage, change: Partial<ScheduleOptions> = {}): ScheduleOptions {
    const slices = slicesOf(stage);
    reported.length = 0;
    return {
      jobs: [NIGHTLY],
      zone: stage.app.settings.schedule.zone,
      now: stage.app.now,
      signal: new AbortController().signal,
      slotEnds: (slots, now) => slotEnds(stage.app.database.db, slots, now),
      runJob: async (due) => {
        const request = { command: 'run', range: null, merchants: [MERCHANT], currencies: null } as const;
        const report = await executeScheduled({ ...request, scheduled: due }, stage.deps({ resweepDays: 1 }));
        reported.push(`night ${report!.sync[0]!.from} to ${report!.sync[0]!.to}: ${report!.exitCode}`);
      },
      background: async (signal) => {
        const end = await slices.doNextSlice(signal);
        if (end !== null) reported.push(`${end.days!.from}: ${end.exitCode}`);
        return end !== null;
      },
      onFault: (error) => {
        throw error;
      },
      ...change,
    };
  }

  test('goes first when it is due between two slices, reads its own days only, and the backfill goes on', async () => {
    const stage = await open();
    stage.setNow('2026-03-05T12:00:00+08:00');
    await begin(stage, NUMBERS, { from: LONG.from, to: '2026-03-04' });
    const options = scheduler(stage);
    await tick(options);
    const background = createBackgroundWork({
      ...options,
      background: async (signal) => {
        const isMore = await options.background!(signal);
        if (reported.length === 3) stage.setNow(NIGHT);
        return isMore;
      },
    });
    background.goOn();
    await expect.poll(() => reported).toHaveLength(3);
    await background.giveWay();
    await tick(options);
    background.goOn();
    await expect.poll(() => reported, { timeout: 20_000 }).toHaveLength(6);
    await background.stop();
    expect(reported).toEqual([
      'night 2026-03-03 to 2026-03-04: 0',
      '2025-11-26: 0',
      '2025-12-27: 0',
      'night 2026-03-04 to 2026-03-05: 0',
      '2026-01-27: 0',
      '2026-02-27: 0',
    ]);
  });

  test('stops the slice at work when it comes due, and that slice is done afterwards', async () => {
    const stage = await open();
    stage.setNow('2026-03-05T12:00:00+08:00');
    await begin(stage, NUMBERS, { from: LONG.from, to: '2026-03-04' });
    let isHanging = (): void => undefined;
    const hanging = new Promise<void>((resolve) => (isHanging = resolve));
    const hung = slicesOf(
      stage,
      from(stage, LONG.from, (signal) => {
        isHanging();
        return new Promise((_, reject) =>
          signal!.addEventListener('abort', () => reject(signal!.reason as Error)),
        );
      }),
    );
    const options = scheduler(stage);
    await tick(options);
    const background = createBackgroundWork({
      ...options,
      background: async (signal) => (await hung.doNextSlice(signal)) !== null,
    });
    background.goOn();
    await hanging;
    await background.giveWay();
    stage.setNow(NIGHT);
    await background.giveWay();
    await tick(options);
    expect(reported).toEqual(['night 2026-03-03 to 2026-03-04: 0', 'night 2026-03-04 to 2026-03-05: 0']);
    expect(await workOn(stage)).toHaveLength(4);
    expect(await storedOf(stage)).toEqual(truthOf(stage));
  });

  test('leaves alone what a backfill has begun and what a merchant that only it has read lacks', async () => {
    const stage = await open();
    await begin(stage);
    const night = () => stage.run({ range: null }, { resweepDays: 1 });
    await slicesOf(stage).doNextSlice(new AbortController().signal);
    const own = { from: '2026-03-04', to: '2026-03-05', backlogDays: [] };
    expect((await night()).sync).toMatchObject([own]);
    const broken = slicesOf(
      stage,
      from(stage, '2026-01-10', () => Promise.reject(new Error('made up'))),
    );
    expect(await broken.doNextSlice(new AbortController().signal)).toMatchObject({ outcome: 'failed' });
    expect((await night()).sync).toMatchObject([own]);
    stage.setNow('2026-03-06T01:45:00+08:00');
    const slices = slicesOf(stage);
    await slices.doNextSlice(new AbortController().signal);
    await slices.doNextSlice(new AbortController().signal);
    // A week is left: short enough to be taken for days that downtime left unread.
    expect((await night()).sync).toMatchObject([own]);
    expect(await workOn(stage)).toHaveLength(1);
    expect((await rangesOf(stage)).filter(({ finished_at: at }) => at === null)).toEqual([]);
  });
});
