/**
 * Workers and schedules as processes, killed and frozen at work: the statements are those of one process undisturbed.
 *
 * @module-tag long
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { sql } from 'kysely';
import { isEmpty } from '../../src/plugins/queue/jobs.ts';
import { installQueue } from '../../src/plugins/queue/queue.ts';
import { below, seeded, type Random } from '../../src/plugins/sandbox/ledger.ts';
import { addMerchant } from '../../src/store/merchants.ts';
import { daybook, envOf, startDaybook, type Env, type Started } from '../cli/daybook.ts';
import { filesOfDatabase, filesOfStore, verifyProblems } from '../statements/store-oracle.ts';
import { bytesOf, NIGHT, openStage, scenario, type Stage } from '../support/stage.ts';

/** More by hand: DAYBOOK_TEST_KILLS=200 DAYBOOK_TEST_SEED=.... */
const KILLS = Number(process.env['DAYBOOK_TEST_KILLS'] ?? 2);
const SEED = process.env['DAYBOOK_TEST_SEED'] ?? '2404';
/** A killed worker's jobs come back when no one has heard of it for a while: one night waits for many of them together. */
const KILLS_A_NIGHT = 40;
/** Up to this long after it was seen at work, a worker is killed. */
const KILLED_WITHIN_MS = 300;
const SLOW = { latencyMs: 25 };
const KEY = { id: 'k1', key: randomBytes(32) };
/** So many that some are left for the last kill of a night. */
const MERCHANT_COUNT = KILLS > 10 ? 400 : 40;
const MERCHANTS = Array.from({ length: MERCHANT_COUNT }, (_, at) => ({
  merchantNo: `SBX-W-${String(at).padStart(4, '0')}`,
  token: `made-up-${at}`,
}));
const story = scenario({
  entriesPerDay: 20,
  merchants: MERCHANTS.map((merchant) => ({ ...merchant, currencies: ['USD'] })),
});

const stages: Stage[] = [];
const started = new Set<Started>();
async function closeAll(): Promise<void> {
  for (const { child } of started) child.kill('SIGKILL');
  started.clear();
  for (const stage of stages.splice(0)) await stage.close();
}
afterEach(closeAll);

interface Night {
  readonly stage: Stage;
  readonly env: Env;
}

async function openNight(): Promise<Night> {
  const stage = await openStage({
    scenario: story,
    platform: { merchant: null },
    settings: { secretKeys: [KEY] },
  });
  stages.push(stage);
  const { db } = stage.app.database;
  for (const merchant of MERCHANTS) {
    await addMerchant(db, { ...merchant, secretKeys: [KEY], now: new Date(NIGHT) });
  }
  const own = { platform: { ...stage.app.settings.platform, merchant: MERCHANTS[0]! } };
  const env = envOf({ ...stage, app: { ...stage.app, settings: { ...stage.app.settings, ...own } } });
  return {
    stage,
    env: {
      ...env,
      ...{ PLATFORM_MERCHANT_NO: '', PLATFORM_TOKEN: '' },
      DAYBOOK_SECRET_KEYS: `k1:${KEY.key.toString('base64')}`,
      DAYBOOK_WORKERS: 'queue',
    },
  };
}

const start = (args: readonly string[], env: Env): Started => {
  const one = startDaybook(args, env);
  started.add(one);
  void one.ended.then(() => started.delete(one));
  return one;
};

/** A job that was killed several times comes back after some minutes. */
const until = (holds: () => Promise<boolean>, timeout = 300_000): Promise<void> =>
  vi.waitFor(async () => expect(await holds()).toBe(true), { interval: 5, timeout });

const queuedRuns = ({ app }: Stage) =>
  app.database.db
    .selectFrom('run')
    .select(['id', 'command', 'slot', 'exit_code'])
    .where('request', 'is not', null)
    .orderBy('id')
    .execute();

/** Two schedules put the night on the queue, and are killed. */
async function putOnQueue(stage: Stage, env: Env): Promise<void> {
  const both = [start(['schedule'], env), start(['schedule'], env)];
  await until(async () => (await queuedRuns(stage)).length > 0);
  for (const { child } of both) child.kill('SIGKILL');
  for (const { ended } of both) await ended;
}

/** Lets so many workers do the night's jobs, kills one after the other at random, and puts a new one in its place. */
async function killAtWork(
  { stage, env }: Night,
  { workers, kills, random }: { readonly workers: number; readonly kills: number; readonly random: Random },
): Promise<number> {
  const { db } = stage.app.database;
  const worker = () => start(['worker', '--at-once', '3'], env);
  const running = Array.from({ length: workers }, worker);
  const isDone = () => isEmpty(db);
  let killed = 0;
  while (killed < kills && !(await isDone())) {
    const at = below(random, workers);
    const { child, ended, reported } = running[at]!;
    await until(async () => reported().includes('"outcome":"done"') || (await isDone()));
    await sleep(random() * KILLED_WITHIN_MS);
    child.kill('SIGKILL');
    await ended;
    killed += 1;
    running[at] = worker();
  }
  for (const { child } of running) child.kill('SIGKILL');
  for (const { ended } of running) await ended;
  return killed;
}

/** The night is over, once and completely: each merchant ended once, with the files of one process undisturbed. */
async function expectDone({ stage }: Night, run: object, files: ReadonlyMap<string, string>): Promise<void> {
  const { db } = stage.app.database;
  expect(await queuedRuns(stage)).toEqual([{ ...run, exit_code: 0 }]);
  const ends = await db
    .selectFrom('run_merchant')
    .select(['merchant_no', 'exit_code'])
    .orderBy('merchant_no')
    .execute();
  expect(ends).toEqual(MERCHANTS.map(({ merchantNo: merchant_no }) => ({ merchant_no, exit_code: 0 })));
  expect(await bytesOf(stage)).toEqual(files);
  expect(await filesOfStore(stage.app.objects)).toEqual(await filesOfDatabase(db));
  expect(await verifyProblems(stage.app.objects)).toEqual([]);
}

describe('a night that workers do', () => {
  let alone: ReadonlyMap<string, string>;
  beforeAll(async () => {
    const { stage } = await openNight();
    const merchants = MERCHANTS.map((merchant) => ({ ...merchant }));
    expect(await stage.run({ range: null, merchants })).toMatchObject({ exitCode: 0 });
    alone = await bytesOf(stage);
    await closeAll();
  }, 120_000);

  test.each([2, 4])(
    `%i at a time, killed ${KILLS} times in all at random: it ends once, with the files of one process undisturbed`,
    async (workers) => {
      const random = seeded(`${SEED} ${workers}`);
      let killed = 0;
      while (killed < KILLS) {
        const night = await openNight();
        const { stage, env } = night;
        await installQueue(stage.app.database.db);
        stage.sandbox.setHostility(SLOW);
        await putOnQueue(stage, env);
        const [run, ...more] = await queuedRuns(stage);
        expect(more).toEqual([]);
        expect(run).toMatchObject({ command: 'nightly', exit_code: null });

        const kills = Math.min(KILLS_A_NIGHT, KILLS - killed);
        const now = await killAtWork(night, { workers, kills, random });
        expect(now).toBeGreaterThan(0);
        killed += now;
        stage.sandbox.setHostility({});
        const last = await daybook(['worker', '--until-empty'], env);
        expect(last.code, last.stderr).toBe(0);
        await expectDone(night, run!, alone);
        await closeAll();
      }
    },
    400_000 + KILLS * 15_000,
  );

  test('with one that stands still past its lease: another one does its merchants, and it writes nothing more', async () => {
    const { stage, env } = await openNight();
    const { db } = stage.app.database;
    await installQueue(db);
    stage.sandbox.setHostility(SLOW);
    await putOnQueue(stage, env);
    const calls = stage.sandbox.requestCount();
    const frozen = start(['worker', '--at-once', '3'], env);
    await until(async () => Promise.resolve(stage.sandbox.requestCount() >= calls + 6));
    frozen.child.kill('SIGSTOP');
    const holder = `%:${frozen.child.pid}:%`;
    await sql`UPDATE lease SET expires_at = now() - interval '1 s' WHERE expires_at > now() AND holder LIKE ${holder}`.execute(
      db,
    );
    stage.sandbox.setHostility({});
    const other = await daybook(['worker', '--until-empty'], env);
    expect(other.code, other.stderr).toBe(0);
    expect(await queuedRuns(stage)).toMatchObject([{ exit_code: 0 }]);
    const ends = () => db.selectFrom('run_merchant').selectAll().orderBy('merchant_no').execute();
    const before = { files: await filesOfStore(stage.app.objects), ends: await ends() };

    frozen.child.kill('SIGCONT');
    await until(async () => Promise.resolve(frozen.reported().includes('"outcome":"lost"')));
    frozen.child.kill('SIGTERM');
    const { code, stderr } = await frozen.ended;
    expect(code, stderr).toBe(0);
    expect(stderr).not.toContain('"outcome":"done","exitCode":4');
    expect({ files: await filesOfStore(stage.app.objects), ends: await ends() }).toEqual(before);
    expect(await filesOfStore(stage.app.objects)).toEqual(await filesOfDatabase(db));
    expect(await verifyProblems(stage.app.objects)).toEqual([]);
  }, 240_000);
});
