/** The outbox: each alert once at each target, whoever sends it, whoever dies meanwhile, and whatever receivers do. */
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { AlertContent } from '../../../src/run/alerts.ts';
import { deliverDue, waitAfterMs, keepAlerting } from '../../../src/plugins/alerts/deliver.ts';
import {
  raise,
  raiseCondition,
  claimDeliveries,
  listAlerts,
  undelivered,
} from '../../../src/plugins/alerts/outbox.ts';
import { targetsOf, type Target } from '../../../src/plugins/alerts/targets.ts';
import { openDatabase } from '../../../src/store/engine/connection.ts';
import { freshDatabase, freshEmbedded, hasEmbedded, type ServerDatabase } from '../../support/database.ts';
import { startReceiver, type Receiver } from '../../support/receivers.ts';

const NOW = new Date('2026-03-06T00:00:00Z');
const content = (title: string): AlertContent => ({
  ...{ kind: 'new-break', title, sentences: [title], todo: 'look', merchants: ['M1'] },
  ...{ merchantCount: 1, days: [], since: null, runId: null },
});

let database: ServerDatabase;
let receivers: Receiver[];
let failed: object[];
beforeEach(async () => {
  database = await freshDatabase();
  receivers = [];
  failed = [];
});
afterEach(async () => {
  for (const receiver of receivers) await receiver.close();
  await database.close();
});

async function open(answer?: Parameters<typeof startReceiver>[0]): Promise<Receiver> {
  const receiver = await startReceiver(answer);
  receivers.push(receiver);
  return receiver;
}
const targetsAt = (...hooks: readonly Receiver[]): Target[] =>
  targetsOf({
    alerts: {
      webhooks: hooks.map(({ url }) => ({ kind: 'json', url })),
      ...{ secret: 'a secret of the receiver', mail: null, pingUrl: null },
    },
    allowInsecure: [],
    statementsUrl: 's3://statements',
  });
const deliver = (targets: readonly Target[], db = database.db) =>
  deliverDue({ db, targets, now: () => NOW, onFailed: (one) => failed.push(one), timeoutMs: 2_000 });
const put = (targets: readonly Target[], title = 'one', db = database.db) =>
  raise(db, content(title), { targets: targets.map(({ key }) => key), now: NOW });
/** As if so much time had passed. */
const passes = (ms: number) =>
  sql`UPDATE alert_delivery SET try_at = try_at - ${ms} * interval '1 ms',
    give_up_at = give_up_at - ${ms} * interval '1 ms'`.execute(database.db);
const states = async () =>
  (await listAlerts(database.db, 10)).flatMap(({ deliveries }) =>
    deliveries.map(({ state, attempts, problem }) => ({ state, attempts, problem })),
  );

test('an alert goes to each target once, and no more after that', async () => {
  const targets = targetsAt(await open(), await open());
  await put(targets);
  expect(await deliver(targets)).toBe(2);
  expect(await deliver(targets)).toBe(0);
  expect(receivers.map(({ received }) => received.length)).toEqual([1, 1]);
  const [a, b] = receivers.map((receiver) => receiver.documents()[0]!['id']);
  expect(a).toBe(b);
  expect(await states()).toEqual([
    { state: 'sent', attempts: 1, problem: null },
    { state: 'sent', attempts: 1, problem: null },
  ]);
});

test.runIf(hasEmbedded)('an embedded database does the same', { tags: ['long'] }, async () => {
  const embedded = await freshEmbedded();
  const targets = targetsAt(await open());
  await put(targets, 'one', embedded.db);
  expect(await deliver(targets, embedded.db)).toBe(1);
  expect(await deliver(targets, embedded.db)).toBe(0);
  await embedded.close();
});

test('two processes at the same time send none of a hundred twice', async () => {
  const other = await openDatabase({ databaseUrl: database.url, dataDir: '' });
  const targets = targetsAt(await open());
  for (let number = 0; number < 100; number += 1) await put(targets, `number ${number}`);
  const sent = await Promise.all([deliver(targets), deliver(targets, other.db), deliver(targets, other.db)]);
  await other.close();
  expect(sent.reduce((sum, count) => sum + count, 0)).toBe(100);
  const titles = receivers[0]!.documents().map(({ title }) => title);
  expect(titles).toHaveLength(100);
  expect(new Set(titles).size).toBe(100);
});

test('a process that dies between sending and noting: it is sent again, under the same number', async () => {
  const targets = targetsAt(await open());
  await put(targets);
  // The first one takes it, sends it, and dies.
  const [claimed] = await claimDeliveries(database.db, [targets[0]!.key], { limit: 1, claimMs: 60_000 });
  const { alertOf } = await import('../../../src/plugins/alerts/outbox.ts');
  await targets[0]!.send(alertOf(claimed!), { timeoutMs: 2_000, now: () => NOW });
  expect(await deliver(targets)).toBe(0);
  await passes(60_000);
  expect(await deliver(targets)).toBe(1);
  const [first, second] = receivers[0]!.received;
  expect(second!.headers['daybook-alert-id']).toBe(first!.headers['daybook-alert-id']);
  expect(second!.text).toBe(first!.text);
  expect(await states()).toEqual([{ state: 'sent', attempts: 2, problem: null }]);
});

describe('a receiver in trouble', () => {
  test('that throws has failed as any other, keeps none from the rest, and is given up', async () => {
    const [good] = targetsAt(await open());
    const bad: Target = {
      key: 'mail',
      name: 'a mailbox',
      send: () => Promise.reject(new Error('malformed')),
    };
    await put([bad, good!]);
    expect(await deliver([bad, good!])).toBe(1);
    expect(failed).toEqual([
      { alert: expect.any(String), target: 'a mailbox', problem: 'the connection failed' },
    ]);
    await passes(86_400_000);
    await deliver([bad, good!]);
    expect((await states()).map(({ state }) => state).sort()).toEqual(['given-up', 'sent']);
  });

  test('that took it for some addresses is asked for the others alone', async () => {
    const asked: unknown[] = [];
    const target: Target = {
      ...{ key: 'mail', name: 'a mailbox' },
      send: (_, { took }) => {
        asked.push(took);
        return Promise.resolve(
          asked.length > 1
            ? { ok: true }
            : { ok: false, problem: 'one of two', askedMs: null, took: ['abc'] },
        );
      },
    };
    await put([target]);
    await deliver([target]);
    await passes(60_000);
    expect(await deliver([target])).toBe(1);
    expect(asked).toEqual([[], ['abc']]);
  });

  test('that answers 500 is tried again later and later, and given up after a day, which is told', async () => {
    const targets = targetsAt(await open((response) => response.writeHead(500).end()));
    await put(targets);
    await deliver(targets);
    expect(await deliver(targets)).toBe(0);
    expect(receivers[0]!.received).toHaveLength(1);
    expect(failed).toEqual([
      { alert: expect.any(String), target: 'DAYBOOK_ALERT_URL 1 (json)', problem: 'it answered 500' },
    ]);
    expect(await undelivered(database.db)).toEqual({ failing: 1, givenUp: 0 });
    for (let hour = 0; hour < 25; hour += 1) {
      await passes(3_600_000);
      await deliver(targets);
    }
    expect(await undelivered(database.db)).toEqual({ failing: 0, givenUp: 1 });
    const { state, attempts } = (await states())[0]!;
    expect(state).toBe('given-up');
    expect(attempts).toBeGreaterThan(20);
    expect(receivers[0]!.received).toHaveLength(attempts);
  });

  test('that comes back gets what it missed', async () => {
    const targets = targetsAt(
      await open((response, count) => response.writeHead(count < 3 ? 503 : 204).end()),
    );
    await put(targets);
    await deliver(targets);
    await passes(30_000);
    await deliver(targets);
    await passes(30_000);
    expect(await deliver(targets)).toBe(0);
    await passes(30_000);
    expect(await deliver(targets)).toBe(1);
    expect(await states()).toEqual([{ state: 'sent', attempts: 3, problem: null }]);
  });

  test('that answers 429 is left alone for as long as it asks', async () => {
    const targets = targetsAt(
      await open((response, count) =>
        count === 1 ? response.writeHead(429, { 'retry-after': '600' }).end() : response.writeHead(204).end(),
      ),
    );
    await put(targets);
    await deliver(targets);
    await passes(590_000);
    expect(await deliver(targets)).toBe(0);
    await passes(10_000);
    expect(await deliver(targets)).toBe(1);
  });

  test('that hangs holds up no other, and no longer than one try', { tags: ['long'] }, async () => {
    const [hanging, fine] = [await open(() => undefined), await open()];
    const targets = targetsAt(hanging, fine);
    for (const title of ['one', 'two', 'three']) await put(targets, title);
    const began = performance.now();
    expect(await deliver(targets)).toBe(3);
    expect(performance.now() - began).toBeLessThan(4_000);
    expect(fine.received).toHaveLength(3);
    expect(failed).toHaveLength(3);
    expect(failed[0]).toMatchObject({ problem: 'no answer within 2 s' });
  });

  test('that never settles, as one whose name is not resolved, is left when the command has no more time', async () => {
    const stuck: Target = { key: 'json stuck', name: 'stuck', send: () => new Promise(() => undefined) };
    await put([stuck]);
    const end = new AbortController();
    const done = deliverDue({
      ...{ db: database.db, targets: [stuck], now: () => NOW, onFailed: (one) => failed.push(one) },
      signal: end.signal,
    });
    await vi.waitFor(async () => expect(await states()).toMatchObject([{ state: 'waiting', attempts: 1 }]));
    end.abort();
    expect(await done).toBe(0);
    expect(await states()).toEqual([
      { state: 'waiting', attempts: 1, problem: 'no answer before the command ended' },
    ]);
  });

  test('whose address no process has any more is given up as well', async () => {
    await put(targetsAt(await open()));
    await passes(24 * 3_600_000);
    await deliver(targetsAt(await open()));
    expect(await states()).toEqual([
      { state: 'given-up', attempts: 0, problem: 'no process that knows this target tried it' },
    ]);
  });

  test('is waited for longer each time, up to an hour', () => {
    expect([1, 2, 3, 8, 30].map((attempts) => waitAfterMs(attempts, null))).toEqual([
      30_000, 60_000, 120_000, 3_600_000, 3_600_000,
    ]);
    expect(waitAfterMs(1, 90_000)).toBe(90_000);
  });
});

describe('trouble that lasts', () => {
  const at = (hours: number): Date => new Date(NOW.getTime() + hours * 3_600_000);
  const note = (hours: number, count: number, grade = 1, db = database.db) =>
    raiseCondition(db, { name: 'night', grade, count }, content(`${count}`), {
      ...{ targets: ['json x'], now: at(hours) },
    });

  test('is told when it begins, when it gets worse, and once a day', async () => {
    expect(await note(0, 3)).toBe(true);
    expect(await note(1, 3)).toBe(false);
    expect(await note(2, 5)).toBe(false);
    expect(await note(3, 6)).toBe(true);
    expect(await note(26, 2)).toBe(false);
    expect(await note(27, 2)).toBe(true);
    expect(await note(28, 2, 2)).toBe(true);
    const alerts = await listAlerts(database.db, 10);
    expect(
      alerts.map(({ content: reported }) => {
        const { title, since } = reported as { title: string; since: string };
        return [title, since];
      }),
    ).toEqual([
      ['still: 2', '2026-03-06T00:00:00.000Z'],
      ['still: 2', '2026-03-06T00:00:00.000Z'],
      ['still: 6', '2026-03-06T00:00:00.000Z'],
      ['3', '2026-03-06T00:00:00.000Z'],
    ]);
  });

  test('is told by one of the processes that see it at the same time', async () => {
    const other = await openDatabase({ databaseUrl: database.url, dataDir: '' });
    const dbs = [database.db, other.db, database.db, other.db, database.db];
    const reported = await Promise.all(dbs.map((db) => note(0, 1, 1, db)));
    await other.close();
    expect(reported.filter(Boolean)).toHaveLength(1);
  });
});

test('a process that lives sends what is due and looks, goes on when that fails, and sends once more at its end', async () => {
  const stop = new AbortController();
  const done: string[] = [];
  await keepAlerting({
    deliver: () => {
      done.push('sent');
      if (done.length >= 6) stop.abort();
      return done.length === 2 ? Promise.reject(new Error('away')) : Promise.resolve();
    },
    runWatchdog: () => Promise.resolve(done.push('checked')),
    onFault: (error) => done.push((error as Error).message),
    signal: stop.signal,
    sendEveryMs: 1,
    watchdogEveryMs: 0,
  });
  expect(done).toEqual(['checked', 'sent', 'away', 'checked', 'sent', 'checked', 'sent', 'sent']);
});
