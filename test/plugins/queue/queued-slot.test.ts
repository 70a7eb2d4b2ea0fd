/** A slot of the schedule is put on the queue once, with the merchants that are still to be done in it. */
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { MerchantJob } from '../../../src/plugins/queue/queue.ts';
import { queueSlot } from '../../../src/plugins/queue/slots.ts';
import type { Database } from '../../../src/store/engine/database.ts';
import { NOW } from '../../store/support.ts';
import { emptyTables, freshDatabase } from '../../support/database.ts';

let database: Database;
beforeAll(async () => {
  database = await freshDatabase();
});
afterEach(() => emptyTables(database.db));
afterAll(() => database.close());

const scheduled = { job: 'nightly', slot: '2026-03-10 01:30' };
const merchants = ['M1', 'M2'].map((merchantNo) => ({ merchantNo, token: 'made-up' }));

/** Puts the slot on a queue that refuses jobs of some merchants. Returns the run, and the jobs that were sent. */
async function queued(refused: readonly string[] = [], slot = scheduled) {
  const sent: MerchantJob[] = [];
  const deps = {
    ...{ db: database.db, zone: 'UTC', now: () => NOW, holder: 'here', resweepDays: 7 },
    enqueue: (_: unknown, jobs: readonly MerchantJob[]) => {
      sent.push(...jobs);
      return Promise.resolve(jobs.filter(({ merchantNo }) => refused.includes(merchantNo)));
    },
  } as unknown as Parameters<typeof queueSlot>[1];
  const asked = { command: 'run', range: null, currencies: null, merchants, scheduled: slot } as const;
  return { run: await queueSlot(asked, deps), sent };
}
const tasks = () =>
  database.db
    .selectFrom('run_merchant')
    .select(['run_id', 'merchant_no', 'exit_code'])
    .orderBy('run_id')
    .orderBy('merchant_no')
    .execute();
const waiting = (runId: number, merchantNo: string) => ({
  ...{ run_id: runId, merchant_no: merchantNo, exit_code: null },
});
const end = (exitCode: number, merchantNo: string) =>
  sql`UPDATE run_merchant SET exit_code = ${exitCode}, reads = true WHERE merchant_no = ${merchantNo}`.execute(
    database.db,
  );
const endRun = (exitCode: number) =>
  sql`UPDATE run SET exit_code = ${exitCode}, finished_at = ${NOW} WHERE exit_code IS NULL`.execute(
    database.db,
  );

test('while its run is open no other is begun, and of a slot that ended well none is', async () => {
  const first = await queued();
  expect(first).toEqual({ run: 1, sent: merchants.map(({ merchantNo }) => ({ runId: 1, merchantNo })) });
  expect(await queued()).toEqual({ run: 1, sent: [] });
  expect(await tasks()).toEqual([waiting(1, 'M1'), waiting(1, 'M2')]);
  for (const { merchantNo } of merchants) await end(0, merchantNo);
  await endRun(0);
  expect(await queued()).toEqual({ run: null, sent: [] });
  expect(await queued([], { ...scheduled, slot: '2026-03-11 01:30' })).toMatchObject({ run: 2 });
});

test('after a run that failed for some merchants, the next one is of these alone', async () => {
  await queued();
  await end(0, 'M1');
  await end(4, 'M2');
  await endRun(4);
  expect(await queued()).toEqual({ run: 2, sent: [{ runId: 2, merchantNo: 'M2' }] });
});

test('a merchant whose job of an earlier run is still on the queue joins that job', async () => {
  expect(await queued(['M2'])).toMatchObject({ run: 1 });
  expect(await tasks()).toEqual([waiting(1, 'M1'), waiting(1, 'M2')]);
});
