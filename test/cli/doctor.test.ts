import { afterAll, beforeAll, expect, test } from 'vitest';
import { emptyDatabase, type ServerDatabase } from '../support/database.ts';
import { openStage, scenario, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from './daybook.ts';

let stage: Stage;
let empty: ServerDatabase;
let env: Env;
beforeAll(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 5 }) });
  empty = await emptyDatabase();
  env = { ...envOf(stage), DATABASE_URL: empty.url };
});
afterAll(async () => {
  await empty.close();
  await stage.close();
});

test('doctor, migrate and doctor again work on a new server, as in the README', async () => {
  const before = await daybook(['doctor'], env);
  expect(before.stderr).toBe('');
  expect(before.stdout).toMatch(/^FIX {3}tables: lacks 0001_installation.*run `daybook migrate`$/m);
  expect(before.stdout).toMatch(/^ok {4}object store: /m);
  expect(before.stdout).toMatch(/^ok {4}time zone: Asia\/Shanghai, proven/m);
  expect(before.code).toBe(2);
  expect(await daybook(['migrate'], env)).toMatchObject({ code: 0 });
  expect(await daybook(['doctor'], env)).toMatchObject({
    code: 0,
    stdout: expect.not.stringContaining('FIX'),
  });
});

test('settings, doctor and schedule all refuse a cron expression that the schedule could not compute', async () => {
  const wrong = { ...env, DAYBOOK_SCHEDULE_REFERENCE: '0 3 * * Monday' };
  for (const command of ['doctor', 'schedule', 'status']) {
    const { code, stdout, stderr } = await daybook([command], wrong);
    expect({ command, code }).toEqual({ command, code: 2 });
    expect(stdout + stderr).toMatch(
      /DAYBOOK_SCHEDULE_REFERENCE is no cron expression.*'Monday' cannot be read/,
    );
  }
});
