import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { acquireLease, merchantLease, releaseLeases } from '../../src/store/engine/lease.ts';
import { thisHolder } from '../../src/host/process-identity.ts';
import { FROM, MERCHANT, openStage, scenario, storedOf, TO, truthOf, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Env } from './daybook.ts';

const RANGE = ['--from', FROM, '--to', TO];
let stage: Stage;
let env: Env;
let folder: string;
beforeAll(async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 20 }) });
  env = envOf(stage);
  folder = await mkdtemp(join(tmpdir(), 'daybook-cli-'));
});
afterAll(async () => {
  await stage.close();
  await rm(folder, { recursive: true });
});

describe('2: wrong usage or settings, and nothing was started', () => {
  test.each<[string, string[], (env: Env) => Env, RegExp]>([
    ['a day that does not exist', ['run', '--from', '2026-02-30'], (all) => all, /2026-02-30/],
    ['a day in another form', ['run', '--from', '1.3.2026'], (all) => all, /1\.3\.2026/],
    ['from after to', ['run', '--from', TO, '--to', FROM], (all) => all, /--from 2026-03-05 lies after --to/],
    ['a future day', ['run', '--to', '2026-03-07'], (all) => all, /has not begun yet/],
    ...[
      ['run', '--from', '1999-01-01', '--to', '1999-01-02'],
      ['sync', '--to', '2001-09-09'],
      ['publish', '--from', '0000-01-01'],
      ['plan', '--from', '1999-01-01', '--to', '1999-01-02'],
      ['reconcile', '--to', '1970-01-01'],
    ].map((args): [string, string[], (env: Env) => Env, RegExp] => [
      `a day before the platform's first: ${args.join(' ')}`,
      args,
      (all) => all,
      /cannot be asked for: the earliest day is 2001-09-10/,
    ]),
    [
      'a statement of a day before any',
      ['statements', 'get', '--merchant', 'M', '--currency', 'USD', '--day', '0000-01-01'],
      (all) => all,
      /--day 0000-01-01 cannot be asked for: the earliest day is 2001-09-09/,
    ],
    [
      'statements up to a day after any',
      ['statements', 'list', '--to', '9999-12-31'],
      (all) => all,
      /--to 9999-12-31 cannot be asked for: the latest day is 2286-11-/,
    ],
    ['an unknown merchant', ['run', '--merchant', 'NOBODY'], (all) => all, /NOBODY is unknown.*SBX-M-1/],
    ['an invalid currency', ['publish', '--currency', 'usd'], (all) => all, /--currency usd/],
    ['a currency to read alone', ['run', '--currency', 'USD'], (all) => all, /unknown option '--currency'/],
    ['an unknown flag', ['run', '--form', FROM], (all) => all, /unknown option '--form'/],
    ['an unknown command', ['rnu'], (all) => all, /unknown command 'rnu'/],
    ['an invalid age', ['status', '--max-age', '26'], (all) => all, /--max-age 26 is no age/],
    [
      'no platform',
      ['run'],
      ({ DAYBOOK_NOW, DATABASE_URL }) => ({ DAYBOOK_NOW: DAYBOOK_NOW!, DATABASE_URL: DATABASE_URL! }),
      /PLATFORM_BASE_URL is required[\s\S]*PLATFORM_TIME_ZONE is required/,
    ],
    [
      'a misspelled name',
      ['run'],
      (all) => ({ ...all, PLATFORM_TIMEOUT: '5' }),
      /PLATFORM_TIMEOUT is no setting; did you mean PLATFORM_TIMEOUT_MS/,
    ],
    [
      'plain http to another machine',
      ['run'],
      (all) => ({ ...all, PLATFORM_BASE_URL: 'http://platform.example' }),
      /PLATFORM_BASE_URL .*https/,
    ],
    [
      'a file that is not there',
      ['run', '--config', '/nowhere/daybook.yaml'],
      (all) => all,
      /\/nowhere\/daybook\.yaml/,
    ],
    [
      'a test alert to nobody',
      ['alerts', 'test'],
      (all) => all,
      /no alerts are set up: set DAYBOOK_ALERT_URL/,
    ],
    ['an alert to nobody', ['status', '--alert'], (all) => all, /--alert needs a target for alerts/],
    ['an invalid store', ['run'], (all) => ({ ...all, STATEMENTS_URL: 'ftp://x/y' }), /STATEMENTS_URL/],
  ])('%s', async (_, args, change, said) => {
    const { code, stdout, stderr } = await daybook(args, change(env), folder);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(said);
    expect(stderr).not.toContain(MERCHANT.token);
    expect(stage.sandbox.requestCount()).toBe(0);
    expect(await readdir(folder)).toEqual([]);
  });
});

describe('the end of a run is its exit code', () => {
  test('0, 3, 4 and 5, one after the other, on one ledger', async () => {
    const first = await daybook(['run', ...RANGE], env);
    expect(first).toMatchObject({ code: 0 });
    expect(await storedOf(stage)).toEqual(truthOf(stage));

    const [entry] = stage.sandbox.entriesOf(MERCHANT.merchantNo);
    stage.sandbox.amend(MERCHANT.merchantNo, entry!.batchNo, { busiType: 'CORRECTED' });
    const amended = await daybook(['run', ...RANGE], env);
    expect(amended).toMatchObject({ code: 3, stdout: expect.stringContaining('1 amended') });

    stage.sandbox.setHostility({ downAfterRequests: 1 });
    const down = await daybook(['run', ...RANGE], env);
    expect(down).toMatchObject({ code: 4, stdout: expect.stringContaining('sp2404 for merchant SBX-M-1') });
    stage.sandbox.setHostility({});

    stage.sandbox.setHostility({ wrongTotalsEvery: 1 });
    const planned = await daybook(['plan', ...RANGE], env);
    expect(planned).toMatchObject({ code: 4, stdout: expect.stringContaining('cannot be read') });
    stage.sandbox.setHostility({});

    const { db } = stage.app.database;
    const holder = thisHolder();
    const lease = await acquireLease(db, { name: merchantLease(MERCHANT.merchantNo), holder, ttlMs: 60_000 });
    const held = await daybook(['run', ...RANGE], env);
    expect(held).toMatchObject({
      code: 5,
      stdout: '',
      stderr: expect.stringContaining(`another run (${holder})`),
    });
    expect(stage.sandbox.requestCount()).toBe(0);
    await releaseLeases(db, [lease]);

    stage.sandbox.setHostility({ timeZoneOffsetHours: -8 });
    const wrongZone = await daybook(['run', ...RANGE], env);
    // What is stored was proven in the zone of the settings: it is the platform that changed.
    expect(wrongZone).toMatchObject({ code: 4, stdout: expect.stringContaining('changed the time zone') });
    for (const { stdout, stderr } of [first, amended, down, held, wrongZone]) {
      expect(stdout + stderr).not.toContain(MERCHANT.token);
    }
  });

  test('4 if the database is away, without showing its password', async () => {
    const away = { ...env, DATABASE_URL: 'postgres://daybook:top-secret@127.0.0.1:1/daybook' };
    const { code, stdout, stderr } = await daybook(['run'], away);
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toMatch(/127\.0\.0\.1:1\/daybook cannot be reached.*DATABASE_URL/);
    expect(stderr).not.toContain('top-secret');
  });

  test('0 if a migration has nothing to do', async () => {
    expect(await daybook(['migrate'], env)).toEqual({
      code: 0,
      stdout: 'the database is at this version\n',
      stderr: '',
    });
  });

  test('0 for help and version, on stdout', { tags: ['long'] }, async () => {
    const [help, version] = await Promise.all([daybook(['--help'], {}), daybook(['--version'], {})]);
    expect(help).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Exit codes: 0 complete'),
      stderr: '',
    });
    expect(version).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });
});

test('2: every command says that the database is newer than the program', async () => {
  const { db } = stage.app.database;
  const name = '9999_of_a_later_version';
  await sql`INSERT INTO kysely_migration (name, timestamp) VALUES (${name}, '2030-01-01')`.execute(db);
  const { oldest_program: before } = await db
    .selectFrom('installation')
    .select('oldest_program')
    .executeTakeFirstOrThrow();
  await db.updateTable('installation').set({ oldest_program: '9999' }).execute();
  try {
    for (const args of [
      ['migrate'],
      ['run'],
      ['status'],
      ['breaks', 'list'],
      ['prune', '--before', '2025-01-01'],
    ]) {
      const { code, stderr } = await daybook(args, env);
      expect([code, stderr], args.join(' ')).toEqual([
        2,
        expect.stringMatching(/the database is newer than this program \(9999 > 00\d\d\)/),
      ]);
    }
    const examined = await daybook(['doctor'], env);
    expect(examined.stdout).toContain('the database is newer than this program');
  } finally {
    await db.updateTable('installation').set({ oldest_program: before }).execute();
    await sql`DELETE FROM kysely_migration WHERE name = ${name}`.execute(db);
  }
});

test('0: a newer database that says that this program may run with it is worked with', async () => {
  const { db } = stage.app.database;
  const name = '9998_adds_a_column';
  await sql`INSERT INTO kysely_migration (name, timestamp) VALUES (${name}, '2030-01-01')`.execute(db);
  try {
    expect(await daybook(['migrate'], env)).toEqual({
      code: 0,
      stdout: `nothing to apply: the database has ${name} of a later version, and this one may run with it\n`,
      stderr: '',
    });
    for (const args of [['status'], ['breaks', 'list'], ['prune', '--before', '2025-01-01']])
      expect(await daybook(args, env), args.join(' ')).toMatchObject({ stderr: '' });
    expect((await daybook(['doctor'], env)).stdout).not.toContain('newer than this program');
  } finally {
    await sql`DELETE FROM kysely_migration WHERE name = ${name}`.execute(db);
  }
});
