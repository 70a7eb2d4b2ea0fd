/** A job on the queue whose payload cannot be read: it is put aside and named, and workers go on. */
import { afterEach, expect, test } from 'vitest';
import { sql } from 'kysely';
import { deadLetters, glanceAtQueue, lostMerchants, redrive } from '../../../src/plugins/queue/jobs.ts';
import { keepWorking } from '../../../src/plugins/queue/worker.ts';
import { merchantsOf, queueStage, type QueueStage } from './support.ts';

let stage: QueueStage;
afterEach(() => stage.close());

test.each([
  ['a run that is no number', { runId: 'abc', merchantNo: 'X1' }],
  ['a run too large for the database', { runId: '9'.repeat(40), merchantNo: 'X1' }],
  ['a run as a text', { runId: '1', merchantNo: 'X1' }],
  ['nothing', null],
  ['a text', 'X1'],
  ['a list', [1, 'X1']],
  ['no merchant', { runId: 1 }],
])('a job with %s keeps no other job from being done, and is listed', async (_what, payload) => {
  stage = await queueStage();
  const { db } = stage.database;
  const merchants = merchantsOf(6);
  await stage.send(merchants.slice(0, 3));
  await stage.send(['X1']);
  await sql`UPDATE daybook_queue.job SET data = ${JSON.stringify(payload)}::jsonb WHERE singleton_key = 'X1'`.execute(
    db,
  );
  await stage.send(merchants.slice(3));
  const done: string[] = [];
  await keepWorking(stage.queue, {
    atOnce: 2,
    work: ({ merchantNo }) => Promise.resolve(done.push(merchantNo)),
    // As a worker does: a job of no run must not keep it from the next one.
    endAbandoned: async () => void (await lostMerchants(db)),
    onEnd: () => undefined,
    onProblem: (error) => stage.problems.push(error),
    signal: new AbortController().signal,
    untilEmpty: true,
  });
  expect(done.toSorted()).toEqual(merchants);
  expect(stage.problems.map(String)).toEqual([
    expect.stringMatching(/the payload of job \S+ cannot be read/),
  ]);
  expect(await deadLetters(db, { limit: 10 })).toEqual([
    expect.objectContaining({
      merchantNo: 'X1',
      attempts: 1,
      problem: expect.stringContaining('cannot be read'),
    }),
  ]);
  expect(await glanceAtQueue(db)).toMatchObject({ givenUpCount: 1 });
  const { sent } = await db.transaction().execute((trx) => redrive(stage.queue, trx));
  expect(sent).toHaveLength(1);
});
