/** A person on call must see at once that a night failed, why, and what to do. */
import { sql } from 'kysely';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { ObjectStoreUnreachable } from '../../src/objects/object-store.ts';
import { finishRun, startRun } from '../../src/store/runs.ts';
import { thisHolder } from '../../src/host/process-identity.ts';
import { FROM, MERCHANT, openStage, OTHER, scenario, TO, type Stage } from '../support/stage.ts';
import { daybook, envOf, startDaybook, type Env } from './daybook.ts';

const RANGE = ['--from', FROM, '--to', TO];
const { merchantNo } = MERCHANT;
let stage: Stage;
let env: Env;
const open = async (...options: Parameters<typeof openStage>): Promise<void> => {
  stage = await openStage(...options);
  env = envOf(stage);
};
afterEach(() => stage.close());

const usd = () => stage.sandbox.entriesOf(merchantNo).filter(({ currency }) => currency === 'USD');
const daysPrinted = (text: string) => text.split('\n').filter((line) => /^SBX-M-1 +2026-/.test(line));
/** A run of the schedule, as its process leaves it in the database. */
async function scheduledRun(job: string, exitCode: number | null, notes: string[] = []): Promise<number> {
  const { db } = stage.app.database;
  const now = stage.app.now();
  const holder = thisHolder();
  const run = { command: job, slot: '2026-03-06 01:30', holder, fromDay: FROM, toDay: TO, now };
  const id = await startRun(db, run);
  if (exitCode !== null) await finishRun(db, id, { exitCode, figures: { notes }, now });
  return id;
}

describe('the text of a run', () => {
  test(
    'that is incomplete begins with the reason and what to do, and shows no figures of an earlier run',
    { tags: ['long'] },
    async () => {
      await open({ scenario: scenario({ entriesPerDay: 20 }) });
      const first = await daybook(['run', ...RANGE], env);
      expect(first.code, first.stderr).toBe(0);
      expect(daysPrinted(first.stdout)).toHaveLength(8);
      expect(first.stdout).toContain(`proven without a gap, ${merchantNo}: ${FROM} to ${TO}`);

      stage.sandbox.setHostility({ downAfterRequests: 1 });
      const { code, stdout } = await daybook(['run', ...RANGE], env);
      expect(code).toBe(4);
      const [title, reason, todo] = stdout.split('\n');
      expect(title).toMatch(/^run of 2026-03-02 to 2026-03-05, .* exit 4: incomplete$/);
      expect(reason).toMatch(/^ {2}SBX-M-1: sp2404 for merchant SBX-M-1: /);
      expect(todo).toMatch(/^ {4}-> what was certified is kept; .*`daybook doctor`/);
      expect(daysPrinted(stdout)).toEqual([]);
    },
  );

  test(
    'that needs a person names new and known breaks first, and then figures of the days it changed only',
    { tags: ['long'] },
    async () => {
      await open({ scenario: scenario({ entriesPerDay: 20 }) });
      const ofDay = (day: string) => usd().filter(({ busiDate }) => busiDate.startsWith(day));
      stage.sandbox.takeOut(merchantNo, ofDay('2026-03-03')[5]!.batchNo);
      await stage.run();
      stage.sandbox.takeOut(merchantNo, ofDay('2026-03-05')[5]!.batchNo);
      const { code, stdout } = await daybook(['run', ...RANGE], env);
      expect(code).toBe(3);
      const before = stdout.slice(0, stdout.indexOf('\nread '));
      expect(before).toContain('  1 new break: see `daybook breaks`\n    -> ask the platform');
      expect(before).toContain('  1 break known before, still open: see `daybook breaks`\n    -> ');
      expect(stdout).toContain('open after it: 1 new, 1 known before');
      expect(daysPrinted(stdout)).toEqual([expect.stringMatching(/2026-03-05 +USD .*broken +r2$/)]);
    },
  );
});

describe('a killed run', () => {
  test(
    'is listed as killed, status shows its range, and the next run without dates reads that range',
    { tags: ['long'] },
    async () => {
      await open({ scenario: scenario({ entriesPerDay: 20 }) });
      // It never ends by itself, so the kill always comes during the run.
      stage.sandbox.setHostility({ stallEvery: 1 });
      const { child, ended } = startDaybook(['run', ...RANGE], { ...env, PLATFORM_TIMEOUT_MS: '600000' });
      await vi.waitFor(() => expect(stage.sandbox.requestCount()).toBeGreaterThan(0), {
        interval: 5,
        timeout: 60_000,
      });
      const during = await daybook(['runs'], env);
      expect(during.stdout).toMatch(/running/);
      child.kill('SIGKILL');
      expect((await ended).code).toBeNull();
      stage.sandbox.setHostility({});

      const listed = await daybook(['runs'], env);
      expect(listed).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/1 +run +2026-03-02 to 2026-03-05 .* killed /),
      });
      const one = await daybook(['runs', '1'], env);
      expect(one.stdout).toMatch(/^run 1: run, 2026-03-02 to 2026-03-05: killed\n {2}it was killed/);
      const status = await daybook(['status'], env);
      expect(status.code).toBe(4);
      expect(status.stdout).toMatch(/^last run: run 1, run, .*, killed: it was killed/);
      expect(status.stdout).toMatch(
        /range 1: SBX-M-1 2026-03-02 to 2026-03-05, asked for .* by run 1; missing 2026-03-0/,
      );

      const again = await daybook(['run'], { ...env, DAYBOOK_RESWEEP_DAYS: '0' });
      expect(again.code, again.stdout).toBe(0);
      expect(again.stdout).toMatch(/also read, from earlier requests: SBX-M-1 2026-03-02 to 2026-03-04/);
      expect(await daybook(['status'], env)).toMatchObject({ code: 0 });
    },
  );

  test('its range can be given up; a wrong number is refused', async () => {
    await open();
    stage.sandbox.setHostility({ downAfterRequests: 1 });
    await stage.run();
    const forget = (id: string) => daybook(['runs', 'forget-range', id], env);
    expect(await forget('7')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no open range has the number 7'),
    });
    expect(await forget('1')).toMatchObject({ code: 0, stdout: 'range 1 is given up\n' });
    expect(await forget('1')).toMatchObject({ code: 2 });
    expect(await daybook(['runs', 'x'], env)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('x is no run'),
    });
    expect(await daybook(['runs', '99'], env)).toMatchObject({ code: 2 });
  });
});

describe('status', () => {
  test(
    'ends with 4 if the schedule’s last run failed, even if another job or day went well',
    { tags: ['long'] },
    async () => {
      await open({ scenario: scenario({ entriesPerDay: 20 }) });
      await stage.run();
      expect(await daybook(['status'], env)).toMatchObject({ code: 0 });
      const failed = await scheduledRun('nightly', 4, ['the object store is away']);
      await scheduledRun('reference', 0);
      await stage.run({ command: 'publish' });
      const seen = await daybook(['status'], env);
      expect(seen.code).toBe(4);
      expect(seen.stdout).toMatch(/^last run: run 4, publish, .* 0: done\n/);
      expect(seen.stdout).toContain(`failed and not repeated: run ${failed}, nightly`);
      expect(seen.stdout).toContain('4: incomplete: the object store is away');
      expect(seen.stdout).toContain('next of the schedule: resweep, 2026-03-06 13:30:00');
      await scheduledRun('resweep', 3);
      expect(await daybook(['status'], env)).toMatchObject({ code: 0 });
      await scheduledRun('nightly', null);
      expect(await daybook(['status'], env)).toMatchObject({
        code: 4,
        stdout: expect.stringContaining('killed'),
      });
      await stage.run();
      expect(await daybook(['status'], env)).toMatchObject({ code: 0 });
    },
  );

  test('shows what the last run found about the platform’s clock', async () => {
    await open({ scenario: scenario({ entriesPerDay: 20, hostility: { clockOffsetS: -600 } }) });
    await stage.run();
    const seen = await daybook(['status'], env);
    expect(seen.code).toBe(0);
    expect(seen.stdout).toContain("seen by run 1: the platform's clock is 10 min behind this machine's");
  });

  test('ends with 3 while a break is open, and with 4 if a merchant’s last good run is too old', async () => {
    await open({ scenario: scenario({ entriesPerDay: 20 }) });
    stage.sandbox.takeOut(merchantNo, usd()[10]!.batchNo);
    await stage.run();
    expect(await daybook(['status', '--max-age', '26h'], env)).toMatchObject({ code: 3 });
    const later = { ...env, DAYBOOK_NOW: '2026-03-09T09:00:00+08:00' };
    expect(await daybook(['status', '--max-age', '26h'], later)).toMatchObject({ code: 4 });
    expect(await daybook(['breaks', 'resolve', '1', '--note', 'known'], env)).toMatchObject({ code: 0 });
    expect(await daybook(['status', '--max-age', '26h'], env)).toMatchObject({ code: 0 });
  });

  test('and runs count an unreadable entry until a person closes it', async () => {
    const planted = [{ what: 'malformed', merchant: merchantNo, currency: 'USD', day: TO, nth: 19 }] as const;
    await open({ scenario: scenario({ entriesPerDay: 20, planted: [...planted] }) });
    await stage.run();
    expect(await daybook(['status'], env)).toMatchObject({ code: 3 });
    const acknowledge = ['quarantine', 'acknowledge', '1', '--note', 'told the platform'];
    expect(await daybook(acknowledge, env)).toMatchObject({ code: 0, stdout: 'entry 1 is acknowledged\n' });
    expect(await daybook(acknowledge, env)).toMatchObject({ code: 2 });
    const all = await daybook(['quarantine', '--all'], env);
    expect(all.stdout).toContain('told the platform');
    const report = await stage.run();
    expect(report.standing.quarantined).toBe(0);
    expect(report.notes.filter((note) => note.includes('quarantined'))).toEqual([]);
  });
});

describe('a failure of one merchant', () => {
  const merchants = [MERCHANT, OTHER].map((one) => ({ ...one, currencies: ['USD'] }));

  test.each(['chaining', 'publishing'])(
    '%s: the other merchant is published, and the report is stored with 70',
    async (what) => {
      await open({ scenario: scenario({ entriesPerDay: 20, merchants }) });
      const { db } = stage.app.database;
      // A constraint that one merchant's rows violate. It stands for any failure of a single merchant.
      const table = what === 'chaining' ? 'account_day' : 'statement';
      await sql`ALTER TABLE ${sql.table(table)} ADD CHECK (merchant_no <> ${sql.lit(merchantNo)})`.execute(
        db,
      );
      const report = await stage.run({ merchants: [MERCHANT, OTHER] });
      expect(report.exitCode).toBe(70);
      expect(report.troubles).toMatchObject([{ merchantNo, exitCode: 70 }]);
      expect(report.notes[0]).toMatch(/^SBX-M-1: (reconcile|publish) failed: /);
      const published = report.publish!.published.map(({ account }) => account.merchantNo);
      expect(published).toEqual(Array(4).fill(OTHER.merchantNo));
      const run = await db.selectFrom('run').selectAll().executeTakeFirstOrThrow();
      expect(run).toMatchObject({ exit_code: 70, figures: { published: 4, inserted: 160 } });
    },
  );
});

test('a stage that fails for all still leaves a report of what was done, even with text that cannot be stored', async () => {
  await open({ scenario: scenario({ entriesPerDay: 20 }) });
  const failure = new Error('half a pair \uD800 and a NUL \0');
  const objects = { ...stage.app.objects, check: () => Promise.resolve() };
  const onProgress = ({ stage: at }: { readonly stage: string }): void => {
    if (at === 'reconcile') throw failure;
  };
  const ended = await stage.run({}, { objects, onProgress }).catch((error: unknown) => error);
  const run = await stage.app.database.db.selectFrom('run').selectAll().executeTakeFirstOrThrow();
  expect(run).toMatchObject({ exit_code: 70, figures: { inserted: 160 } });
  expect(JSON.stringify(run.figures)).toContain('half a pair \uFFFD and a NUL \uFFFD');
  expect(ended).toMatchObject({ exitCode: 70 });
});

test('a store that is away is recorded as the reason', async () => {
  await open();
  const { objects } = stage.app;
  const away = { ...objects, check: () => Promise.reject(new ObjectStoreUnreachable('the bucket is away')) };
  expect(await stage.run({}, { objects: away })).toMatchObject({
    exitCode: 4,
    notes: ['the bucket is away'],
  });
  expect(await daybook(['status'], env)).toMatchObject({
    code: 4,
    stdout: expect.stringContaining('the bucket is away'),
  });
});
