/** Which actions are recorded with their author, and what `onboard forget` leaves of an application. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createInbox } from '../../src/plugins/submissions/notifications.ts';
import { processNotifications } from '../../src/plugins/submissions/notifications.ts';
import {
  accepted,
  onboardingResult,
  REJECTED,
  submitting,
  type Subject,
} from '../plugins/submissions/notifications/subjects.ts';
import { KEYS, NOW } from '../plugins/submissions/notifications/support.ts';
import { freshDatabase } from '../support/database.ts';
import { MERCHANT, FROM, openStage } from '../support/stage.ts';
import { daybook, envOf, type Env } from './daybook.ts';

let database: Awaited<ReturnType<typeof freshDatabase>>;
let folder: string;
let env: Env;
beforeAll(async () => {
  database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), 'daybook-audit-'));
  env = {
    DATABASE_URL: database.url,
    DAYBOOK_DATA_DIR: folder,
    DAYBOOK_SECRET_KEYS: `k1:${KEYS[0]!.key.toString('base64')}`,
    DAYBOOK_NOW: NOW.toISOString(),
  };
});
afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true, force: true });
});

interface Row {
  readonly by: string;
  readonly command: string;
  readonly subject: string;
  readonly note: string | null;
}
const auditEvents = async (from: Env = env): Promise<Row[]> =>
  (JSON.parse((await daybook(['audit', '--json'], from)).stdout) as Row[]).map(
    ({ by, command, subject, note }) => ({
      by,
      command,
      subject,
      note,
    }),
  );

async function pushed(subject: Subject, payload: object): Promise<void> {
  const inbox = createInbox({ db: database.db, secretKeys: KEYS, now: () => NOW });
  await inbox.keep({ kind: 'onboarding', secret: subject.secret, body: JSON.stringify(payload) });
  await processNotifications({
    db: database.db,
    secretKeys: KEYS,
    now: () => NOW,
    signal: new AbortController().signal,
  });
}

it('revealing and resolving a result is recorded with the name given or the system’s user', async () => {
  const subject = await accepted(database.db, 'A1');
  await pushed(subject, onboardingResult(subject));
  await pushed(subject, onboardingResult(subject, { token: 'tok-other' }));
  expect((await daybook(['notifications', 'show', '1', '--reveal'], env)).code).toBe(0);
  expect(
    (await daybook(['notifications', 'resolve', '2', '--by', 'Ada', '--note', 'case 4711'], env)).code,
  ).toBe(0);
  // An action that failed is not recorded.
  expect((await daybook(['notifications', 'resolve', '2', '--by', 'Ada', '--note', 'again'], env)).code).toBe(
    2,
  );
  expect((await daybook(['notifications', 'show', '99', '--reveal'], env)).code).toBe(2);
  expect((await daybook(['notifications', 'show', '1', '--reveal', '--by', 'A\nB'], env)).code).toBe(2);
  expect((await daybook(['onboard', 'status', '--reveal', '--by', 'Bob'], env)).code).toBe(0);
  expect((await daybook(['merchants', 'rekey', '--by', 'Bob'], env)).code).toBe(0);
  expect(await auditEvents()).toEqual([
    { by: 'Bob', command: 'merchants rekey', subject: 'k1', note: null },
    { by: 'Bob', command: 'onboard status', subject: 'every open one', note: null },
    { by: 'Ada', command: 'notifications resolve', subject: '2', note: 'case 4711' },
    { by: userInfo().username, command: 'notifications show', subject: '1', note: null },
  ]);
  expect((await daybook(['audit'], env)).stdout).toMatch(/Ada +notifications resolve +2 +case 4711/);
}, 120_000);

it('which login of the database a name comes from is told, and shown where there were several', async () => {
  const own = new URL(database.url).username;
  const logins = async () => JSON.parse((await daybook(['audit', '--json'], env)).stdout) as object[];
  expect((await daybook(['audit'], env)).stdout).not.toMatch(/^at +by +login/m);
  const login = `audit_${new URL(database.url).pathname.slice(1, 40)}`;
  await sql.raw(`CREATE ROLE ${login} LOGIN; GRANT INSERT ON audit_event TO ${login}`).execute(database.db);
  await database.db.transaction().execute(async (trx) => {
    await sql.raw(`SET LOCAL SESSION AUTHORIZATION ${login}`).execute(trx);
    await sql`INSERT INTO audit_event (at, by_whom, command, subject) VALUES (now(), 'Ada', 'made up', 'x')`.execute(
      trx,
    );
  });
  expect((await daybook(['audit'], env)).stdout).toMatch(new RegExp(`Ada +${login} +made up`));
  const told = await logins();
  expect(told).toContainEqual(expect.objectContaining({ by: 'Ada', command: 'made up', login }));
  expect(told).toContainEqual(expect.objectContaining({ by: 'Ada', login: own }));
  await database.db.deleteFrom('audit_event').where('login', '=', login).execute();
  await sql.raw(`DROP OWNED BY ${login}; DROP ROLE ${login}`).execute(database.db);
});

it('closing an unreadable entry is recorded with the person', async () => {
  await database.db
    .insertInto('quarantined_entry')
    .values({
      merchant_no: 'M1',
      batch_no: null,
      raw: '{}',
      reason: 'batchNo is missing',
      fingerprint: 'f',
      span: '{[1,2)}',
      first_seen_at: NOW,
      released_at: null,
      acknowledged_at: null,
      note: null,
      run_id: null,
    })
    .execute();
  const close = (...flags: string[]) =>
    daybook(['quarantine', 'acknowledge', '1', '--note', 'case 4711', ...flags], env);
  expect((await close('--by', 'Ada')).code).toBe(0);
  // An action that failed is not recorded.
  expect((await close('--by', 'Bob')).code).toBe(2);
  const closed = (await auditEvents()).filter(({ command }) => command.startsWith('quarantine'));
  expect(closed).toEqual([{ by: 'Ada', command: 'quarantine acknowledge', subject: '1', note: 'case 4711' }]);
}, 120_000);

it('downloading a statement is recorded with its name', async () => {
  const stage = await openStage();
  try {
    await stage.run();
    const own = { ...envOf(stage), STATEMENTS_URL: stage.app.settings.statementsUrl };
    const flags = [
      '--merchant',
      MERCHANT.merchantNo,
      '--currency',
      'USD',
      '--day',
      FROM,
      '--stdout',
      '--by',
      'Finance',
    ];
    const got = await daybook(['statements', 'get', ...flags], own);
    expect(got.code, got.stderr).toBe(0);
    expect(await auditEvents(own)).toEqual([
      {
        by: 'Finance',
        command: 'statements get',
        subject: expect.stringMatching(/_USD_.*\.r1\.csv$/),
        note: null,
      },
    ]);
    const sheet = await daybook(['statements', 'get', ...flags, '--format', 'spreadsheet'], own);
    expect(sheet.code, sheet.stderr).toBe(0);
    const month = ['--month', FROM.slice(0, 7), '--merchant', MERCHANT.merchantNo, '--format', 'spreadsheet'];
    const zip = await daybook(['statements', 'get', ...month, '--stdout', '--by', 'Finance'], own);
    expect(zip.code, zip.stderr).toBe(0);
    expect((await auditEvents(own)).map(({ note }) => note)).toEqual([
      'as spreadsheet',
      'as spreadsheet',
      null,
    ]);
  } finally {
    await stage.close();
  }
}, 120_000);

it('forgets the content of a closed application, keeps that it existed, and refuses an open one', async () => {
  const open = await submitting(database.db, 'B1');
  const refused = await daybook(['onboard', 'forget', String(open.id)], env);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/stands as submitting/) });

  const closed = await accepted(database.db, 'B2');
  await pushed(closed, onboardingResult(closed, REJECTED));
  const gone = await daybook(['onboard', 'forget', String(closed.id), '--by', 'Ada'], env);
  expect(gone.code, gone.stderr).toBe(0);
  const row = await database.db
    .selectFrom('application')
    .selectAll()
    .where('id', '=', closed.id)
    .executeTakeFirstOrThrow();
  expect(row).toMatchObject({
    state: 'rejected',
    biz_flow: closed.flow,
    payload_ciphertext: null,
    detail_ciphertext: null,
    notify_hash: null,
    forgotten_at: NOW,
  });
  const bodies = await database.db
    .selectFrom('notification')
    .select(['number', 'outcome'])
    .where('forgotten_at', 'is not', null)
    .execute();
  expect(bodies).toEqual([{ number: expect.any(Number), outcome: 'applied' }]);
  const shown = await daybook(['notifications', 'show', String(bodies[0]!.number), '--reveal'], env);
  expect(shown).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/was forgotten with its application/),
  });
  expect((await daybook(['onboard', 'status', String(closed.id)], env)).stdout).toMatch(/rejected since/);
  // Its path no longer works, and forgetting it again changes nothing.
  await expect(pushed(closed, onboardingResult(closed))).rejects.toMatchObject({ statusCode: 404 });
  expect((await daybook(['onboard', 'forget', String(closed.id)], env)).code).toBe(0);
  expect((await auditEvents())[1]).toEqual({
    by: 'Ada',
    command: 'onboard forget',
    subject: String(closed.id),
    note: null,
  });
  const merchants = await database.db.selectFrom('merchant').select('merchant_no').execute();
  expect(merchants).not.toContainEqual({ merchant_no: 'M-B2' });
}, 120_000);

it('adding merchants and giving up a range are recorded with the person', async () => {
  const given = { ...env, TOKEN: 'made-up' };
  const add = (...flags: string[]) =>
    daybook(['merchants', 'add', '--merchant-no', 'M7', '--token-env', 'TOKEN', ...flags], given);
  expect((await add('--by', 'Ada')).code).toBe(0);
  expect((await daybook(['merchants', 'disable', 'M7', '--by', 'Bob'], env)).code).toBe(0);
  expect((await daybook(['merchants', 'disable', 'M8', '--by', 'Bob'], env)).code).toBe(2);
  const id = 7;
  await database.db
    .insertInto('request')
    .values({
      ...{ asked_by: 'run', what: 'read', number: id, state: 'waiting', merchant_no: 'M7' },
      ...{ from_day: FROM, to_day: FROM, requested_at: NOW },
    })
    .execute();
  const giveUp = () => daybook(['runs', 'forget-range', String(id), '--by', 'Cleo'], env);
  expect((await giveUp()).code).toBe(0);
  expect((await giveUp()).code).toBe(2);
  expect((await auditEvents()).slice(0, 3)).toEqual([
    { by: 'Cleo', command: 'runs forget-range', subject: String(id), note: null },
    { by: 'Bob', command: 'merchants disable', subject: 'M7', note: null },
    { by: 'Ada', command: 'merchants add', subject: 'M7', note: null },
  ]);
}, 120_000);
