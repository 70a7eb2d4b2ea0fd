import { appendFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sql } from 'kysely';
import { afterEach, describe, expect, test } from 'vitest';
import { openObjectStore } from '../../src/objects/open.ts';
import { examine, examinedExitCode, finding, type Finding, type Patient } from '../../src/run/doctor.ts';
import type { AlertSettings } from '../../src/plugins/alerts/settings.ts';
import type { Settings } from '../../src/settings/settings.ts';
import { openDatabase } from '../../src/store/engine/connection.ts';
import { DatabaseUnreachable } from '../../src/store/engine/errors.ts';
import { emptyDatabase } from '../support/database.ts';
import { FROM, MERCHANT, openStage, scenario, storedOf, ZONE, type Stage } from '../support/stage.ts';

let stage: Stage;
afterEach(() => stage.close());

const signal = new AbortController().signal;
const JOBS = [
  { job: 'nightly', when: '30 1 * * *' },
  { job: 'reference', when: '0 3 * * 1' },
];
function examined(change: Partial<Patient> = {}, settings: Partial<Settings> = {}) {
  const { app } = stage;
  const changed = { ...app.settings, ...settings };
  return examine(
    {
      settings: changed,
      jobs: JOBS,
      openDatabase: () => openDatabase(changed),
      openObjects: () => Promise.resolve(app.objects),
      reader: app.reader,
      now: app.now,
      ...change,
    },
    signal,
  );
}
/** `what` of each finding, with an exclamation mark if it is a problem. */
const reported = (findings: readonly Finding[]) => findings.map(({ what, ok }) => (ok ? what : `${what}!`));
const ALL = [
  'schedule',
  'signing key',
  'alerts',
  'database',
  'tables',
  'secret keys',
  'merchants',
  'figures',
  'published files',
  'object store',
  'platform, merchant SBX-M-1',
];

describe('doctor', () => {
  test('names the key that signs, and its public half', async () => {
    stage = await openStage();
    const signingKey = { name: '0807', text: 'RWpublic', check: () => null, sign: () => '' };
    const findings = await examined({}, { signingKey });
    expect(findings[1]).toMatchObject({
      what: 'signing key',
      ok: true,
      detail: '0807 signs manifests; its public key is RWpublic',
    });
  });

  test('names the receivers of alerts without their addresses', async () => {
    stage = await openStage();
    const alerts: AlertSettings = {
      webhooks: [{ kind: 'json', url: 'https://alerts.example/secret-path' }],
      secret: 'made-up-secret',
      mail: null,
      pingUrl: 'https://ping.example/secret-path',
    };
    expect((await examined({}, { alerts }))[2]).toEqual({
      what: 'alerts',
      ok: true,
      detail: 'DAYBOOK_ALERT_URL (1), DAYBOOK_PING_URL set; `daybook alerts test` sends a test alert',
      exitCode: 0,
    });
  });

  test('finds no problem, proves the zone, and writes nothing', async () => {
    stage = await openStage();
    const findings = await examined();
    expect(findings).toEqual([
      {
        what: 'schedule',
        ok: true,
        detail: 'next nightly 2026-03-07 01:30, reference 2026-03-09 03:00 (Asia/Shanghai)',
        exitCode: 0,
      },
      {
        what: 'signing key',
        ok: true,
        detail: expect.stringMatching(/^none, so manifests are not signed/) as string,
        exitCode: 0,
      },
      {
        what: 'alerts',
        ok: true,
        detail: 'no alert is sent when a night fails; set DAYBOOK_ALERT_URL or DAYBOOK_ALERT_MAIL_TO',
        exitCode: 0,
      },
      { what: 'database', ok: true, detail: 'PostgreSQL', exitCode: 0 },
      { what: 'tables', ok: true, detail: 'at this version', exitCode: 0 },
      { what: 'secret keys', ok: true, detail: 'none needed yet', exitCode: 0 },
      { what: 'merchants', ok: true, detail: 'SBX-M-1', exitCode: 0 },
      {
        what: 'figures',
        ok: true,
        detail: 'those of business days from 2026-02-26 on are the sums of their entries',
        exitCode: 0,
      },
      { what: 'published files', ok: true, detail: 'none of business days from 2026-02-26 on', exitCode: 0 },
      { what: 'object store', ok: true, detail: stage.app.settings.statementsUrl, exitCode: 0 },
      {
        what: 'platform, merchant SBX-M-1',
        ok: true,
        detail: stage.app.settings.platform.baseUrl,
        exitCode: 0,
      },
      { what: 'time zone', ok: true, detail: `${ZONE}, proven by an entry of SBX-M-1`, exitCode: 0 },
    ]);
    expect(examinedExitCode(findings)).toBe(0);
    expect(await storedOf(stage)).toEqual([]);
  });

  test.each([
    [-600, /^MEND platform clock: the platform's clock is 10 min behind this machine's.*set the clock/, 4],
    [-200, /^ok platform clock: the platform's clock is 3 min behind this machine's$/, 0],
    [600, /^ok platform clock: the platform's clock is 10 min ahead of this machine's$/, 0],
  ])('reports a platform’s clock that is off by %d s', async (clockOffsetS, said, exitCode) => {
    stage = await openStage({ scenario: scenario({ entriesPerDay: 20, hostility: { clockOffsetS } }) });
    const findings = await examined();
    const clock = findings.find(({ what }) => what === 'platform clock')!;
    expect(`${clock.ok ? 'ok' : 'MEND'} ${clock.what}: ${clock.detail}`).toMatch(said);
    expect(examinedExitCode(findings)).toBe(exitCode);
  });

  test('says that a ledger without entries proves nothing', async () => {
    stage = await openStage({ scenario: scenario({ entriesPerDay: 0 }) });
    const findings = await examined();
    expect(findings.at(-1)).toMatchObject({ ok: true, detail: expect.stringContaining('not proven') });
  });

  test('names the zone that fits', async () => {
    stage = await openStage({ scenario: scenario({ hostility: { timeZoneOffsetHours: -8 } }) });
    const findings = await examined();
    expect(findings.at(-1)).toMatchObject({
      what: 'time zone',
      ok: false,
      detail: expect.stringMatching(/PLATFORM_TIME_ZONE is Asia\/Shanghai.* UTC/),
    });
    expect(examinedExitCode(findings)).toBe(2);
  });

  test('reports a refused token with what to do and without the token, and continues with the other checks', async () => {
    stage = await openStage();
    const wrong = { ...MERCHANT, token: 'another-made-up-one' };
    const findings = await examined({}, { platform: { ...stage.app.settings.platform, merchant: wrong } });
    expect(reported(findings)).toEqual([...ALL.slice(0, -1), 'platform, merchant SBX-M-1!']);
    expect(findings.at(-1)!.detail).toMatch(/401.*check the merchant's token/);
    expect(JSON.stringify(findings)).not.toContain(wrong.token);
    expect(examinedExitCode(findings)).toBe(4);
  });

  test('reports a store that cannot be written, and wrong settings before what cannot be reached', async () => {
    stage = await openStage();
    await stage.sandbox.close();
    const objects = await openObjectStore({
      statementsUrl: pathToFileURL('/dev/null/statements').href,
      s3ForcePathStyle: null,
      env: {},
    });
    const findings = await examined({ openObjects: () => Promise.resolve(objects) });
    expect(reported(findings)).toEqual([...ALL.slice(0, 9), 'object store!', 'platform, merchant SBX-M-1!']);
    expect(findings.slice(9).map(({ exitCode }) => exitCode)).toEqual([2, 4]);
    expect(examinedExitCode(findings)).toBe(2);
  });

  test('reports missing or altered published files, each by name, and writes nothing', async () => {
    stage = await openStage();
    await stage.run();
    expect((await examined())[8]).toMatchObject({
      ok: true,
      detail: '16 files of business days from 2026-02-26 on, all present and unaltered',
    });
    const day = join(stage.app.settings.dataDir, `statements/merchant=SBX-M-1/date=${FROM}`);
    await rm(join(day, 'manifest.json'));
    await appendFile(join(day, `SBX-M-1_USD_${FROM}.r1.csv`), 'x');
    const findings = await examined();
    expect(findings[8]).toMatchObject({ what: 'published files', ok: false, exitCode: 4 });
    expect(findings[8]!.detail).toMatch(
      /_USD_2026-03-02\.r1\.csv is altered, .*manifest\.json is missing; `daybook publish --repair/,
    );
    expect(await examined()).toEqual(findings);
  });

  test('also checks some older days, and different ones each minute', async () => {
    stage = await openStage();
    await stage.run();
    const day = join(stage.app.settings.dataDir, `statements/merchant=SBX-M-1/date=${FROM}`);
    await rm(join(day, 'manifest.json'));
    stage.setNow('2026-06-01T02:00:00Z');
    const found = (await examined())[8];
    expect(found).toMatchObject({ ok: false, exitCode: 4 });
    expect(found!.detail).toMatch(/^merchant=SBX-M-1\/date=2026-03-02\/manifest\.json is missing; /);
  });

  test('names the days whose entries were altered in the database, until a run reads them again', async () => {
    stage = await openStage();
    await stage.run();
    const { db } = stage.app.database;
    await sql`UPDATE ledger_entry SET debit = debit + 1 WHERE currency = 'USD' AND debit IS NOT NULL
      AND booked_at::date = ${FROM}`.execute(db);
    const found = (await examined())[7];
    expect(found).toMatchObject({ what: 'figures', ok: false, exitCode: 3 });
    expect(found!.detail).toContain(`SBX-M-1 USD ${FROM}; \`daybook run --from ${FROM} --to ${FROM}\``);
    await stage.run({ range: { from: FROM, to: FROM } });
    expect((await examined())[7]).toMatchObject({ what: 'figures', ok: true });
  });

  test('says which database owns the statements if it is another one', async () => {
    stage = await openStage();
    await stage.run();
    await sql`UPDATE installation SET id = gen_random_uuid()`.execute(stage.app.database.db);
    const found = (await examined())[8];
    expect(found).toMatchObject({ what: 'published files', ok: false, exitCode: 2 });
    expect(found!.detail).toContain('belongs to the daybook database');
  });

  test('reports missing migrations', async () => {
    stage = await openStage();
    const { db } = stage.app.database;
    await sql`DELETE FROM kysely_migration WHERE name LIKE '0002%'`.execute(db);
    const findings = await examined();
    expect(findings[4]).toEqual({
      what: 'tables',
      ok: false,
      detail: 'lacks 0002_merchants; run `daybook migrate`',
      exitCode: 2,
    });
    expect(examinedExitCode(findings)).toBe(2);
  });

  test('says that a new database is not migrated, and checks all that needs no table', async () => {
    stage = await openStage();
    const { db, url, close } = await emptyDatabase();
    const findings = await examined({}, { databaseUrl: url });
    expect(reported(findings)).toEqual([
      'schedule',
      'signing key',
      'alerts',
      'database',
      'tables!',
      'merchants',
      'object store',
      'platform, merchant SBX-M-1',
      'time zone',
    ]);
    expect(findings[4]!.detail).toMatch(
      /^lacks 0001_installation, 0002_merchants, .*; run `daybook migrate`$/,
    );
    expect(findings[5]!.detail).toMatch(
      /^SBX-M-1, from the settings; merchants stored in the database could not be read$/,
    );
    expect(examinedExitCode(findings)).toBe(2);
    // doctor only checks. Migrating is for `daybook migrate`.
    const { rows } = await sql`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`.execute(db);
    expect(rows).toEqual([]);
    await close();
  });

  test('with the database away checks the store and the platform of the settings’ merchant', async () => {
    stage = await openStage();
    const findings = await examined({}, { databaseUrl: 'postgres://daybook:top-secret@127.0.0.1:1/daybook' });
    expect(reported(findings)).toEqual([
      'schedule',
      'signing key',
      'alerts',
      'database!',
      'merchants',
      'object store',
      'platform, merchant SBX-M-1',
      'time zone',
    ]);
    expect(examinedExitCode(findings)).toBe(4);
    expect(JSON.stringify(findings)).not.toContain('top-secret');
  });

  test('without a merchant in the settings says that merchants are in the database', async () => {
    stage = await openStage();
    const { settings } = stage.app;
    const findings = await examined(
      {},
      { databaseUrl: 'postgres://127.0.0.1:1/daybook', platform: { ...settings.platform, merchant: null } },
    );
    expect(reported(findings)).toEqual([
      'schedule',
      'signing key',
      'alerts',
      'database!',
      'merchants!',
      'object store',
    ]);
    expect(examinedExitCode(findings)).toBe(4);
  });

  test('does not report a bug in daybook as a finding', async () => {
    stage = await openStage();
    await expect(finding('x', () => Promise.reject(new TypeError('a slip')))).rejects.toThrow(TypeError);
    const away = () => Promise.reject(new DatabaseUnreachable('the database is away'));
    expect(await finding('database', away)).toEqual({
      what: 'database',
      ok: false,
      detail: 'the database is away',
      exitCode: 4,
    });
  });
});
