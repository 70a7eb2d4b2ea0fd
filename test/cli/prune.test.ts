/** `prune`: counts first, deletes with --yes, is recorded, and refuses what is too young. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freshDatabase, type ServerDatabase } from '../support/database.ts';
import { daybook, type Env } from './daybook.ts';

const OLD = new Date('2025-06-01T00:00:00Z');
let database: ServerDatabase;
let folder: string;
let env: Env;
beforeAll(async () => {
  database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), 'daybook-prune-'));
  env = { DATABASE_URL: database.url, DAYBOOK_DATA_DIR: folder, DAYBOOK_NOW: '2026-04-01T00:00:00Z' };
  const range = {
    ...{ asked_by: 'run', what: 'read', state: 'ended', exit_code: 0 },
    from_day: '2025-01-01',
    to_day: '2025-01-02',
    requested_at: OLD,
    finished_at: OLD,
  };
  await database.db
    .insertInto('request')
    .values([
      { ...range, number: 1, merchant_no: 'M1' },
      { ...range, number: 2, merchant_no: 'M2' },
    ])
    .execute();
});
afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true, force: true });
});

const rowsOf = (stdout: string) =>
  (JSON.parse(stdout) as { rows: { table: string; rows: number }[] }).rows.filter(({ rows }) => rows > 0);
const left = async () => (await database.db.selectFrom('request').select('number').execute()).length;

it('counts without --yes, deletes with it, and a second time finds nothing', async () => {
  const asked = ['prune', '--before', '2026-01-01'];
  const counted = await daybook([...asked, '--json'], env);
  expect(counted).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(counted.stdout)).toMatchObject({ before: '2026-01-01', deleted: false });
  expect(rowsOf(counted.stdout)).toMatchObject([{ table: 'request', rows: 2 }]);
  expect((await daybook(asked, env)).stdout).toBe(
    'rows  table    what\n' +
      '   2  request  requests for days that are done or given up\n\n' +
      '2 rows may go, and nothing was deleted: `daybook prune --before 2026-01-01 --yes` deletes them\n',
  );
  expect(await left()).toBe(2);

  const gone = await daybook([...asked, '--yes', '--by', 'Ada'], env);
  expect(gone.code, gone.stderr).toBe(0);
  expect(gone.stdout).toContain('2 rows deleted, all of which ended before 2026-01-01');
  expect(await left()).toBe(0);
  expect((await daybook(asked, env)).stdout).toBe('nothing that ended before 2026-01-01 may go\n');
  const auditEvents = await database.db
    .selectFrom('audit_event')
    .select(['by_whom', 'command', 'subject'])
    .execute();
  expect(auditEvents).toEqual([{ by_whom: 'Ada', command: 'prune', subject: '2026-01-01' }]);
}, 60_000);

it.each([
  [
    '2026-01-02',
    '--before 2026-01-02 is too young: the last 90 days stay, so ask for 2026-01-01 or an earlier day.',
  ],
  ['2026-02-30', '2026-02-30'],
  ['yesterday', 'yesterday'],
])(
  'refuses --before %s',
  async (day, words) => {
    const refused = await daybook(['prune', '--before', day, '--yes'], env);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain(words);
  },
  60_000,
);

it('takes no rehearsed time that lies ahead for the present', async () => {
  const today = new Date().toISOString().slice(0, 10);
  const ahead = { ...env, DAYBOOK_NOW: '2099-01-01T00:00:00Z' };
  const refused = await daybook(['prune', '--before', today, '--yes'], ahead);
  expect(refused).toMatchObject({ code: 2, stdout: '' });
  expect(refused.stderr).toContain(`--before ${today} is too young`);
}, 60_000);
