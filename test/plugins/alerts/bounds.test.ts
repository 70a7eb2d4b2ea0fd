/** Alerts hold up no end of a run, and say of no one that is not done that it is. */
import { randomUUID } from 'node:crypto';
import { sql, type Kysely } from 'kysely';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { finishAlerting, runAlerts, type Receivers } from '../../../src/plugins/alerts/run-end.ts';
import type { EndedRun } from '../../../src/run/alerts.ts';
import { listAlerts } from '../../../src/plugins/alerts/outbox.ts';
import { recordAuditEvent } from '../../../src/store/audit.ts';
import { unreportedDownloads } from '../../../src/plugins/alerts/revisions.ts';
import { acquireLease, merchantLease } from '../../../src/store/engine/lease.ts';
import { openDatabase } from '../../../src/store/engine/connection.ts';
import type { DB } from '../../../src/store/engine/schema.ts';
import { rowsLookedAt } from '../../store/rows-looked-at.ts';
import { FROM, MERCHANT, openStage, OTHER, scenario, TO, ZONE, type Stage } from '../../support/stage.ts';

const { merchantNo } = MERCHANT;
let stage: Stage;
let alerts: Receivers;
beforeEach(() => {
  alerts = {
    targets: ['json 1'],
    direct: vi.fn(),
    directlySent: () => Promise.resolve(new Map()),
    onProblem: vi.fn(),
    onSuccess: vi.fn(),
  };
});
afterEach(() => stage.close());

const open = async (planted: Parameters<typeof scenario>[0] = {}): Promise<void> => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 20, ...planted }) });
};
const dbOf = () => stage.app.database.db;
const kinds = async () =>
  (await listAlerts(dbOf(), 10)).map(({ kind, content }) => [kind, (content as { title: string }).title]);
/** As if a run had revised this day in US dollars. */
async function reviseDay(db: Kysely<DB>, day: string): Promise<void> {
  await sql`INSERT INTO statement SELECT (jsonb_populate_record(own, jsonb_build_object(
      'revision', 2, 'sha256', repeat('0', 64), 'object_key', ${`r2 of ${day}`}::text))).*
    FROM statement own WHERE day = ${day} AND currency = 'USD'`.execute(db);
  const detail = { merchantNo, currency: 'USD', day, oldRevision: 1, revision: 2, reason: null };
  await sql`INSERT INTO event (kind, subject, merchant_no, data, at)
    VALUES ('amendment', ${day}, ${merchantNo}, ${JSON.stringify(detail)}::jsonb, now())`.execute(db);
}
const failed: EndedRun = {
  ...{
    runId: 1,
    command: 'run',
    job: 'nightly',
    exitCode: 4,
    from: FROM,
    to: TO,
    isNightly: true,
    interrupted: false,
  },
  ...{ busy: 0, leftOut: 0, reasons: [{ exitCode: 4, what: 'refused', todo: null }] },
};

test('an end whose alerts wait for a lock is recorded in bounded time, and leaves nothing locked at the server', async () => {
  await open();
  await stage.run({});
  const other = await openDatabase({ databaseUrl: stage.app.settings.databaseUrl, dataDir: '' });
  const blocker = await other.db.startTransaction().execute();
  await sql`LOCK TABLE alert IN ACCESS EXCLUSIVE MODE`.execute(blocker);
  const finish = async (db: Kysely<DB>): Promise<boolean> => {
    await db.updateTable('run').set({ exit_code: 4 }).where('id', '=', 1).execute();
    return true;
  };
  const deps = { db: dbOf(), now: stage.app.now, zone: ZONE, alerts };
  expect(await finishAlerting(deps, failed, { finish, statementMsMax: 300 })).toBe(true);
  expect(alerts.direct).toHaveBeenCalledTimes(1);
  expect(alerts.onProblem).toHaveBeenCalledTimes(1);
  expect(await dbOf().selectFrom('run').select('exit_code').execute()).toEqual([{ exit_code: 4 }]);
  await blocker.rollback().execute();
  await other.close();
});

test('who downloaded a revised day is found without reading the whole record of downloads', async () => {
  await open();
  await stage.run({});
  const db = dbOf();
  await sql`INSERT INTO audit_event (at, by_whom, command, subject)
    SELECT ${stage.app.now()}, 'somebody', 'statements get', CASE WHEN n % 2 = 0 THEN 'merchant=M' || n || '/x.csv' ELSE '2025-01 M' || n END
    FROM generate_series(1, 20000) AS n`.execute(db);
  const { object_key: key } = await db
    .selectFrom('statement')
    .select('object_key')
    .where('day', '=', FROM)
    .where('currency', '=', 'USD')
    .executeTakeFirstOrThrow();
  await sql`INSERT INTO audit_event (at, by_whom, command, subject) VALUES
    (${stage.app.now()}, 'somebody', 'statements get', ${key}), (${stage.app.now()}, 'somebody', 'statements get', '2026-03 USD')`.execute(
    db,
  );
  await reviseDay(db, FROM);
  await sql`ANALYZE`.execute(db);
  expect((await unreportedDownloads(db)).downloads).toEqual([
    { merchantNo, currency: 'USD', day: FROM, times: 2, lastAt: stage.app.now() },
  ]);
  const direct = await openDatabase({ databaseUrl: stage.app.settings.databaseUrl, dataDir: '' });
  expect(await rowsLookedAt(direct.db, () => unreportedDownloads(direct.db))).toBeLessThan(500);
  await direct.close();
});

test('a download of a month for very many merchants is recorded, and told where one of its days is revised', async () => {
  await open();
  await stage.run({});
  const db = dbOf();
  const others = Array.from({ length: 2_000 }, () => `M-${randomUUID()}`);
  const download = (subject: string) =>
    recordAuditEvent(db, { by: 'somebody', command: 'statements get', subject }, stage.app.now());
  await download(['2026-03', ...others, merchantNo].join(' '));
  await download(['2026-03', ...others].join(' '));
  const key = `${'long/'.repeat(60)}r1.csv`;
  await db
    .updateTable('statement')
    .set({ object_key: key })
    .where('day', '=', FROM)
    .where('currency', '=', 'USD')
    .execute();
  await download(`${key}.pdf`);
  await download(key);
  await reviseDay(db, FROM);
  expect((await unreportedDownloads(db)).downloads).toEqual([
    { merchantNo, currency: 'USD', day: FROM, times: 2, lastAt: stage.app.now() },
  ]);
});

test('a good night that left a busy merchant out is no recovery, and no good night for whoever waits for one', async () => {
  await open();
  await stage.run({});
  const finish = (): Promise<boolean> => Promise.resolve(true);
  await finishAlerting({ db: dbOf(), now: stage.app.now, zone: ZONE, alerts }, failed, { finish });
  await acquireLease(dbOf(), { name: merchantLease(OTHER.merchantNo), holder: 'other:1:-', ttlMs: 60_000 });
  const report = await stage.run(
    { range: null, merchants: [MERCHANT, OTHER] },
    { alerts: runAlerts(alerts) },
  );
  expect(report.exitCode).toBe(0);
  expect((await kinds()).map(([kind]) => kind)).toEqual(['failed-night']);
  expect(alerts.onSuccess).not.toHaveBeenCalled();
  await stage.run({ range: null }, { alerts: runAlerts(alerts) });
  expect((await kinds()).map(([kind]) => kind).sort()).toEqual(['failed-night', 'recovered']);
  expect(alerts.onSuccess).toHaveBeenCalledTimes(1);
});

test('whether somebody had downloaded a revised day is not claimed where it is not known', async () => {
  await open();
  await stage.run({ range: { from: FROM, to: TO } }, { alerts: runAlerts(alerts) });
  const [entry] = stage.sandbox.entriesOf(merchantNo);
  stage.sandbox.amend(merchantNo, entry!.batchNo, { busiType: 'CORRECTED' });
  const atTheEnd = runAlerts(alerts);
  const finish: typeof atTheEnd.finish = async (...args) => {
    await dbOf().schema.alterTable('audit_event').renameTo('audit_away').execute();
    return atTheEnd.finish(...args);
  };
  await stage.run({ range: { from: FROM, to: TO } }, { alerts: { ...atTheEnd, finish } });
  await dbOf().schema.alterTable('audit_away').renameTo('audit_event').execute();
  const [{ kind, content }] = (await listAlerts(dbOf(), 1)) as [
    Awaited<ReturnType<typeof listAlerts>>[number],
  ];
  expect(kind).toBe('amendment');
  expect((content as { sentences: string[] }).sentences.at(-1)).toBe(
    'Whether somebody had downloaded them could not be found out now: `daybook audit` lists downloads.',
  );
});

test('nor of one that another run noted after it was looked who downloaded what', async () => {
  await open();
  await stage.run({});
  const db = dbOf();
  await reviseDay(db, FROM);
  const note = () => reviseDay(db, TO);
  const finish = async (trx: Kysely<DB>): Promise<boolean> => {
    await note();
    return (await trx.selectFrom('run').select('id').execute()).length === 1;
  };
  await finishAlerting(
    { db, now: stage.app.now, zone: ZONE, alerts },
    { ...failed, exitCode: 0 },
    { finish },
  );
  const reported = (await listAlerts(db, 10)).map(
    ({ content }) => (content as { sentences: string[] }).sentences,
  );
  expect(reported.sort((a, b) => a.length - b.length)).toEqual([
    [`${merchantNo} USD ${FROM} went from r1 to r2.`],
    [
      `${merchantNo} USD ${TO} went from r1 to r2.`,
      'Whether somebody had downloaded them could not be found out now: `daybook audit` lists downloads.',
    ],
  ]);
});
