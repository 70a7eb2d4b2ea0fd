import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordedJob } from '../../src/run/schedule/recorded-job.ts';
import { EXIT, Interrupted, UsageError } from '../../src/run/verdict/exit-codes.ts';
import { runById, runsOfSlot } from '../../src/store/runs.ts';
import { freshDatabase, type ServerDatabase } from '../support/database.ts';

const NOW = new Date('2026-03-06T01:00:00Z');

let database: ServerDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

const workUntil = (signal: AbortSignal) => ({
  ...{ db: database.db, now: () => NOW, holder: 'test:1:-', signal },
});

test('work is recorded under its job and slot, with its figures and notes', async () => {
  const due = { job: 'books', slot: '2026-03-06 01:30' };
  const work = workUntil(new AbortController().signal);
  const seen: number[] = [];
  const { runId, ...report } = await recordedJob(work, due, (id) => {
    seen.push(id);
    return Promise.resolve({
      exitCode: EXIT.needsPerson,
      notes: ['one'],
      figures: { merchants: 2 },
      more: 3,
    });
  });
  expect(seen).toEqual([runId]);
  expect(report).toEqual({ exitCode: 3, notes: ['one'], more: 3, elapsedMs: expect.any(Number) });
  expect(await runById(database.db, runId)).toMatchObject({
    ...{ command: 'books', slot: due.slot, holder: 'test:1:-', fromDay: null, exitCode: 3, finishedAt: NOW },
    figures: { merchants: 2, notes: ['one'] },
  });
});

test.each([
  ['failed', new AbortController().signal, new UsageError('nothing to read.'), 2, false],
  ['was stopped', AbortSignal.abort(), new Interrupted(), 4, true],
])(
  'work that %s ends its run, and what it threw is thrown',
  async (job, signal, error, exitCode, interrupted) => {
    const slot = '2026-03-06 01:30';
    await expect(recordedJob(workUntil(signal), { job, slot }, () => Promise.reject(error))).rejects.toBe(
      error,
    );
    expect(await runsOfSlot(database.db, job, slot)).toMatchObject([
      { exitCode, finishedAt: NOW, figures: { notes: [error.message], interrupted } },
    ]);
  },
);
