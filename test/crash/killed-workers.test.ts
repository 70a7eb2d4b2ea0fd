/** Workers and schedules as processes, killed and frozen at work: the statements are those of one process undisturbed. */
import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { sql } from 'kysely';
import { isEmpty } from '../../src/queue/job-table.ts';
import { installQueue } from '../../src/queue/install.ts';
import { addMerchant } from '../../src/store/merchants.ts';
import { daybook, envOf, startDaybook, type Env, type Started } from '../cli/daybook.ts';
import { filesOfDatabase, filesOfStore, verifyProblems } from '../statements/store-oracle.ts';
import { bytesOf, NIGHT, openStage, scenario, type Stage } from '../support/stage.ts';

/** More by hand: DAYBOOK_TEST_KILLS=200. */
const KILLS = Number(process.env['DAYBOOK_TEST_KILLS'] ?? 4);
const SLOW = { latencyMs: 25 };
const KEY = { id: 'k1', key: randomBytes(32) };
/** So many that no merchant's job is killed as often as it is tried. */
const MERCHANT_COUNT = Math.max(10, 2 * KILLS);
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
afterEach(async () => {
  for (const { child } of started) child.kill('SIGKILL');
  started.clear();
  for (const stage of stages.splice(0)) await stage.close();
});

async function openNight(): Promise<{ readonly stage: Stage; readonly env: Env }> {
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

describe('a night that workers do', () => {
  test(
    `with ${KILLS} of them killed at work: it ends once, with the files of one process undisturbed`,
    async () => {
      const alone = await openNight();
      const merchants = MERCHANTS.map((merchant) => ({ ...merchant }));
      expect(await alone.stage.run({ range: null, merchants })).toMatchObject({ exitCode: 0 });

      const { stage, env } = await openNight();
      const { db } = stage.app.database;
      await installQueue(db);
      stage.sandbox.setHostility(SLOW);
      await putOnQueue(stage, env);
      const [run, ...more] = await queuedRuns(stage);
      expect(more).toEqual([]);
      expect(run).toMatchObject({ command: 'nightly', exit_code: null });

      for (let kills = 0; kills < KILLS && !(await isEmpty(db)); kills += 1) {
        const calls = stage.sandbox.requestCount();
        const { child, ended } = start(['worker', '--at-once', '3'], env);
        const after = 1 + ((kills * 7) % 20);
        await until(async () => stage.sandbox.requestCount() >= calls + after || (await isEmpty(db)));
        child.kill('SIGKILL');
        await ended;
      }
      stage.sandbox.setHostility({});
      const last = await daybook(['worker', '--until-empty'], env);
      expect(last.code, last.stderr).toBe(0);

      expect(await queuedRuns(stage)).toEqual([{ ...run, exit_code: 0 }]);
      const ends = await db
        .selectFrom('run_merchant')
        .select(['merchant_no', 'exit_code'])
        .orderBy('merchant_no')
        .execute();
      expect(ends).toEqual(MERCHANTS.map(({ merchantNo: merchant_no }) => ({ merchant_no, exit_code: 0 })));
      expect(await bytesOf(stage)).toEqual(await bytesOf(alone.stage));
      expect(await filesOfStore(stage.app.objects)).toEqual(await filesOfDatabase(db));
      expect(await verifyProblems(stage.app.objects)).toEqual([]);
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
    await until(async () => Promise.resolve(frozen.told().includes('"outcome":"lost"')));
    frozen.child.kill('SIGTERM');
    const { code, stderr } = await frozen.ended;
    expect(code, stderr).toBe(0);
    expect(stderr).not.toContain('"outcome":"done","exitCode":4');
    expect({ files: await filesOfStore(stage.app.objects), ends: await ends() }).toEqual(before);
    expect(await filesOfStore(stage.app.objects)).toEqual(await filesOfDatabase(db));
    expect(await verifyProblems(stage.app.objects)).toEqual([]);
  }, 240_000);
});
