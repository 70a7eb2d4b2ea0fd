/**
 * Backfills that workers do.
 *
 * @module-tag long
 */
import { afterEach, expect, test } from 'vitest';
import { doSlices, enqueueBackfills } from '../../../src/plugins/queue/backfills.ts';
import { enqueue } from '../../../src/plugins/queue/jobs.ts';
import { installQueue, openQueue, type Queue } from '../../../src/plugins/queue/queue.ts';
import { keepWorking } from '../../../src/plugins/queue/worker.ts';
import type { LedgerReader } from '../../../src/platform/ledger-reader.ts';
import { backfillStatuses, beginBackfill } from '../../../src/run/backfill/backfills.ts';
import { SliceWorker } from '../../../src/run/backfill/slice-worker.ts';
import { addMerchant } from '../../../src/store/merchants.ts';
import { MERCHANT, NIGHT, openStage, OTHER, scenario, ZONE, type Stage } from '../../support/stage.ts';

/** A hundred days, which are four slices. */
const LONG = { from: '2025-11-26', to: '2026-03-05' };
const KEY = { id: 'k1', key: Buffer.alloc(32, 7) };
const NUMBERS = [MERCHANT.merchantNo];
const job = { runId: 1, merchantNo: MERCHANT.merchantNo };
const merchants = [MERCHANT, OTHER].map((merchant) => ({ ...merchant, currencies: ['USD'] }));

let stage: Stage;
let queue: Queue;
afterEach(async () => {
  await queue.close();
  await stage.close();
});
async function open(): Promise<void> {
  const story = scenario({ from: LONG.from, entriesPerDay: 3, merchants });
  stage = await openStage({ scenario: story, settings: { secretKeys: [KEY] } });
  const { db } = stage.app.database;
  await addMerchant(db, { ...OTHER, secretKeys: [KEY], now: new Date(NIGHT) });
  await installQueue(db);
  queue = await openQueue(db, { supervises: false, onProblem: () => undefined });
}
const begin = (numbers = NUMBERS, days = LONG): Promise<number> =>
  beginBackfill({ ...days, merchants: numbers }, stage.deps());
const slicesOf = (signal: AbortSignal, reader = stage.app.reader) => ({
  ...{ worker: new SliceWorker(stage.app, { reader }), db: queue.db, now: stage.app.now, signal },
});

test('workers get one job for each merchant, however often they ask, and do all its slices', async () => {
  await open();
  await begin([MERCHANT.merchantNo, OTHER.merchantNo]);
  await begin(NUMBERS, { from: LONG.from, to: '2025-12-01' });
  expect(await enqueueBackfills(queue, { now: stage.app.now, zone: ZONE })).toBe(2);
  expect(await enqueueBackfills(queue, { now: stage.app.now, zone: ZONE })).toBe(0);
  const { signal } = new AbortController();
  const slices = slicesOf(signal);
  await keepWorking(queue, {
    atOnce: 4,
    work: (taken, stopped) => doSlices(taken, { ...slices, signal: stopped }),
    endAbandoned: () => Promise.resolve(),
    onEnd: ({ error }) => expect(error).toBeUndefined(),
    onProblem: (error) => expect(error).toBeUndefined(),
    signal,
    untilEmpty: true,
  });
  expect(await backfillStatuses(queue.db)).toMatchObject([{ daysDone: 0 }, { daysDone: 200, daysLeft: 0 }]);
  // The merchant's other backfill follows.
  expect(await enqueueBackfills(queue, { now: stage.app.now, zone: ZONE })).toBe(1);
});

test('workers end a job between two slices where one of the night waits', async () => {
  await open();
  const { db } = queue;
  await begin();
  await db.transaction().execute((trx) => enqueue(queue, trx, 'night', [{ runId: 2, merchantNo: 'N1' }]));
  const { signal } = new AbortController();
  expect(await doSlices(job, slicesOf(signal))).toBe(0);
  expect(await backfillStatuses(db)).toMatchObject([{ daysDone: 31 }]);
  const failing: LedgerReader = { page: () => Promise.reject(new Error('made up')) };
  expect(await doSlices(job, slicesOf(signal, failing))).toBe(4);
  // It is not put on the queue before its pause is over.
  expect(await enqueueBackfills(queue, { now: stage.app.now, zone: ZONE })).toBe(0);
});
