/** A night that finds jobs of an earlier run on the queue joins them: it ends as they do, and no merchant is failed for it. */
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { finishWaitingRuns } from '../../../src/plugins/queue/end-run.ts';
import { enqueue, isEmpty, sendJoined } from '../../../src/plugins/queue/jobs.ts';
import { queueSlot } from '../../../src/plugins/queue/slots.ts';
import { endJoined, recordEnds } from '../../../src/store/run-merchants.ts';
import { NOW } from '../../store/support.ts';
import { merchantsOf, queueStage, type QueueStage } from './support.ts';

const HOUR_MS = 3_600_000;
let stage: QueueStage;
let now: Date;
beforeEach(async () => {
  stage = await queueStage();
  now = NOW;
});
afterEach(() => stage.close());

const db = () => stage.database.db;
const later = (hours: number): Date => (now = new Date(now.getTime() + hours * HOUR_MS));

/** Puts a slot on the queue as the schedule does. */
const put = async (merchants: readonly string[], slot: string, more: object = {}): Promise<number> => {
  const deps = {
    ...{ db: db(), zone: 'UTC', now: () => now, holder: 'here', resweepDays: 7, ...more },
    enqueue: (...[trx, jobs]: [never, never]) => enqueue(stage.queue, trx, jobs),
  } as unknown as Parameters<typeof queueSlot>[1];
  const asked = merchants.map((merchantNo) => ({ merchantNo, token: 'made-up' }));
  const scheduled = { job: 'nightly', slot };
  const run = await queueSlot(
    { command: 'run', range: null, currencies: null, merchants: asked, scheduled },
    deps,
  );
  return run!;
};
/** A worker ends the merchant's job of this run, which it took at `begunAt`. */
const end = async (runId: number, merchantNo: string, begunAt: Date): Promise<void> => {
  const figures = { inserted: 5, reasons: [] };
  const ends = [{ merchantNo, exitCode: 0, reads: true, figures }] as unknown as Parameters<
    typeof recordEnds
  >[1];
  await recordEnds(db(), ends, { runId, holder: 'worker', now });
  await endJoined(db(), { runId, merchantNo, begunAt });
  await sql`UPDATE daybook_queue.job SET state = 'completed', completed_on = now() WHERE singleton_key = ${merchantNo} AND state <= 'active'`.execute(
    db(),
  );
};
const finish = () =>
  finishWaitingRuns({
    ...{ db: db(), now: () => now, zone: 'UTC', settleDelayMs: 0, holder: 'here', alerts: undefined },
    ...{ checks: undefined, timeZoneTrusted: undefined },
  } as unknown as Parameters<typeof finishWaitingRuns>[0]);
const ends = async () =>
  (
    await sql<{ id: number; exit_code: number | null }>`SELECT id, exit_code FROM run ORDER BY id`.execute(
      db(),
    )
  ).rows.map(({ exit_code: exitCode }) => exitCode);

test('712 merchants whose jobs still wait are done in both nights once their jobs are, and count once', async () => {
  const merchants = merchantsOf(712);
  const first = await put(merchants, '2026-03-10 01:30');
  later(24);
  expect(await put(merchants, '2026-03-11 01:30')).toBe(first + 1);
  expect(await finish()).toEqual([]);
  for (const merchantNo of merchants) await end(first, merchantNo, later(0));
  expect(await finish()).toEqual([first, first + 1]);
  expect(await ends()).toEqual([0, 0]);
  const { rows } = await sql<{ inserted: number | null }>`
    SELECT (figures->>'inserted')::int AS inserted FROM run ORDER BY id`.execute(db());
  expect(rows.map(({ inserted }) => inserted ?? 0)).toEqual([5 * 712, 0]);
});

test('a job that had begun before the night reads other days: the merchant gets a job of the night after it', async () => {
  const first = await put(['M1'], '2026-03-10 01:30');
  const begunAt = later(23);
  later(1);
  const second = await put(['M1'], '2026-03-11 01:30');
  await sendJoined(stage.queue);
  await end(first, 'M1', begunAt);
  expect(await finish()).toEqual([first]);
  expect(await isEmpty(db())).toBe(false);
  await sendJoined(stage.queue);
  await end(second, 'M1', later(1));
  expect(await finish()).toEqual([second]);
  expect(await ends()).toEqual([0, 0]);
  expect(await isEmpty(db())).toBe(true);
});

test('a job that looks back less far than the run that joins it is followed by a job of that run', async () => {
  const first = await put(['M1'], '2026-03-10 01:30');
  later(12);
  const second = await put(['M1'], '2026-03-10 13:30', { lateSweepDays: 14 });
  await end(first, 'M1', later(1));
  expect(await finish()).toEqual([first]);
  await sendJoined(stage.queue);
  await end(second, 'M1', later(1));
  expect(await finish()).toEqual([second]);
});

test('a job of the earlier run that is given up leaves the merchant to a job of the later run', async () => {
  const first = await put(['M1'], '2026-03-10 01:30');
  later(24);
  const second = await put(['M1'], '2026-03-11 01:30');
  await sql`UPDATE daybook_queue.job SET state = 'failed' WHERE singleton_key = 'M1'`.execute(db());
  await sendJoined(stage.queue);
  expect(await finish()).toEqual([first]);
  await end(second, 'M1', later(1));
  expect(await finish()).toEqual([second]);
  expect(await ends()).toEqual([4, 0]);
});
