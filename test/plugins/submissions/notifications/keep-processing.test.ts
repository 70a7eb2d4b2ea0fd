import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createInbox, type ProcessReport } from '../../../../src/plugins/submissions/notifications.ts';
import { keepProcessing, type KeepProcessingDeps } from '../../../../src/plugins/submissions/serve.ts';
import { openDatabase } from '../../../../src/store/engine/connection.ts';
import { startCuttingProxy } from '../../../support/cutting-proxy.ts';
import { emptyTables, freshDatabase } from '../../../support/database.ts';
import { accepted, onboardingResult, type Subject } from './subjects.ts';
import { KEYS, NOW } from './support.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
beforeAll(async () => (database = await freshDatabase()));
afterAll(() => database.close());
beforeEach(() => emptyTables(database.db));

const NEVER_MS = 3_600_000;

/** Its reports, as a queue to wait on. */
function listening(change: Partial<KeepProcessingDeps> = {}) {
  const reported: (ProcessReport | 'fault')[] = [];
  let more = Promise.withResolvers<undefined>();
  const tell = (what: ProcessReport | 'fault'): void => {
    reported.push(what);
    more.resolve(undefined);
  };
  const controller = new AbortController();
  const kept = keepProcessing({
    db: database.db,
    secretKeys: KEYS,
    now: () => NOW,
    signal: controller.signal,
    everyMs: NEVER_MS,
    onReport: tell,
    onFault: () => tell('fault'),
    ...change,
  });
  return {
    ...kept,
    next: async () => {
      if (reported.length === 0) await more.promise;
      more = Promise.withResolvers();
      return reported.shift()!;
    },
    stop: async () => {
      controller.abort();
      await kept.ended;
      return reported;
    },
  };
}

const arrives = (one: Subject, secretKeys = KEYS) =>
  createInbox({ db: database.db, secretKeys, now: () => NOW }).keep({
    kind: 'onboarding',
    secret: one.secret,
    body: JSON.stringify(onboardingResult(one)),
  });

it('processes what an earlier process left, and then whenever it is woken, without waiting for its pause', async () => {
  const [one, two] = [await accepted(database.db, 'A1'), await accepted(database.db, 'A2')];
  await arrives(one);
  const processing = listening();
  expect(await processing.next()).toEqual({ outcomes: { applied: 1 }, left: [] });
  await arrives(two);
  processing.wake();
  expect(await processing.next()).toEqual({ outcomes: { applied: 1 }, left: [] });
  expect(await processing.stop()).toEqual([]);
});

it('reports what it must leave once, not with every pass', async () => {
  const [one, two] = [await accepted(database.db, 'A1'), await accepted(database.db, 'A2')];
  await arrives(one, [{ id: 'k9', key: Buffer.alloc(32, 9) }]);
  const processing = listening({ everyMs: 1 });
  expect(await processing.next()).toMatchObject({ outcomes: {}, left: [{ number: 1 }] });
  await arrives(two);
  expect(await processing.next()).toEqual({ outcomes: { applied: 1 }, left: [] });
  expect(await processing.stop()).toEqual([]);
});

it('continues by itself after the database was away', async () => {
  const one = await accepted(database.db, 'A1');
  await arrives(one);
  const proxy = await startCuttingProxy(database.url);
  const cut = await openDatabase({ databaseUrl: proxy.url, dataDir: '' });
  proxy.cuts.push({ message: 'update "notification"', when: 'before' });
  const processing = listening({ db: cut.db, everyMs: 1 });
  expect(await processing.next()).toBe('fault');
  expect(await processing.next()).toMatchObject({ outcomes: { applied: 1 } });
  await processing.stop();
  await cut.close();
  await proxy.close();
});
