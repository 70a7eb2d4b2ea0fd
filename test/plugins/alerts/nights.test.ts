/** What people are notified of real nights, as a receiver gets it. */
import { moneyText } from '../../../src/ledger/money.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Kysely } from 'kysely';
import { deliverDue } from '../../../src/plugins/alerts/deliver.ts';
import { targetsOf } from '../../../src/plugins/alerts/targets.ts';
import { PlatformRejected } from '../../../src/platform/errors.ts';
import { checkForMissedRun, checkForUnfinishedRuns } from '../../../src/plugins/alerts/watch.ts';
import type { RunDeps, RunRequest } from '../../../src/run/active-run.ts';
import { pino } from 'pino';
import { alertsOfCommands } from '../../../src/plugins/alerts/process.ts';
import type { EndedRun, Purpose } from '../../../src/run/alerts.ts';
import { DatabaseUnreachable } from '../../../src/store/engine/errors.ts';
import { oldestMs } from '../../../src/run/schedule/due.ts';
import { isLeftToOthers } from '../../../src/run/verdict/exit-codes.ts';
import type { ScenarioInput } from '../../../src/plugins/sandbox/scenario.ts';
import { recordAuditEvent } from '../../../src/store/audit.ts';
import { openDatabase } from '../../../src/store/engine/connection.ts';
import { acquireLease, merchantLease } from '../../../src/store/engine/lease.ts';
import type { DB } from '../../../src/store/engine/schema.ts';
import { startRun } from '../../../src/store/runs.ts';
import { startFaultyWire } from '../../support/faulty-wire.ts';
import { startReceiver, type Receiver } from '../../support/receivers.ts';
import {
  FROM,
  MERCHANT,
  NIGHT,
  openStage,
  OTHER,
  scenario,
  TO,
  ZONE,
  type Stage,
} from '../../support/stage.ts';
import { shortAndLong } from '../../support/short-and-long.ts';

const { merchantNo } = MERCHANT;
const LOG = pino({ level: 'silent' });
let stage: Stage;
let hook: Receiver;
let pings: Receiver;
let dataDir: string;
beforeEach(async () => {
  hook = await startReceiver();
  pings = await startReceiver();
  dataDir = await mkdtemp(join(tmpdir(), 'daybook-alerts-'));
});
afterEach(async () => {
  await stage.close();
  await hook.close();
  await pings.close();
  await rm(dataDir, { recursive: true, force: true });
});

const settings = () => ({
  dataDir,
  alerts: {
    webhooks: [{ kind: 'json' as const, url: hook.url }],
    ...{ secret: 'a secret of the receiver', mail: null, pingUrl: pings.url },
  },
});
const open = async (change: Partial<ScenarioInput> = {}): Promise<void> => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 8, ...change }), settings: settings() });
};
const dbOf = () => stage.app.database.db;
const targetKeys = () => targetsOf(stage.app.settings).map(({ key }) => key);
/** A night of the merchant. */
const night = (request: Partial<RunRequest> = {}, change: Partial<RunDeps> = {}) =>
  stage.run({ range: null, ...request }, change);
const range = (request: Partial<RunRequest> = {}) => stage.run({ range: { from: FROM, to: TO }, ...request });
/** What the receiver gets now. */
async function reported(): Promise<Record<string, unknown>[]> {
  const before = hook.received.length;
  await deliverDue({
    ...{ db: dbOf(), targets: targetsOf(stage.app.settings), now: stage.app.now },
    onFailed: (failed) => {
      throw new Error(JSON.stringify(failed));
    },
  });
  return hook.documents().slice(before);
}
const kinds = (documents: readonly Record<string, unknown>[]): unknown[] => documents.map(({ kind }) => kind);
/** A platform that is down for these merchants. */
const downFor = (merchants: readonly string[], error: () => Error): Partial<RunDeps> => {
  const { reader } = stage.app;
  return {
    reader: {
      page: (query, signal) =>
        merchants.includes(query.merchant.merchantNo) ? Promise.reject(error()) : reader.page(query, signal),
    },
  };
};
const refused = (): Error => new PlatformRejected('sp2404: the platform answered 400');

describe('a failed night', () => {
  test('is told at once, not again while it stays so, once a day, and when it is over; good nights ask for the ping', async () => {
    await open();
    await range();
    expect(await reported()).toEqual([]);
    await night({}, downFor([merchantNo], refused));
    const [first, ...more] = await reported();
    expect(more).toEqual([]);
    expect(first).toMatchObject({
      kind: 'failed-night',
      title: 'run 2 failed (exit 4, incomplete), 1 merchant is not done',
      text: `Not done: ${merchantNo}.\n${merchantNo}: sp2404: the platform answered 400`,
      todo: expect.stringContaining('daybook doctor'),
      merchants: [merchantNo],
      merchantCount: 1,
      since: new Date(NIGHT).toISOString(),
      runId: 2,
      runbook: 'Alert: a night failed',
    });
    stage.setNow('2026-03-06T02:30:00+08:00');
    await night({}, downFor([merchantNo], refused));
    expect(await reported()).toEqual([]);
    stage.setNow('2026-03-07T01:30:00+08:00');
    await night({}, downFor([merchantNo], refused));
    expect(await reported()).toMatchObject([
      { title: expect.stringMatching(/^still: run 4 failed/), since: new Date(NIGHT).toISOString() },
    ]);
    expect(pings.received).toEqual([]);
    await night();
    expect(await reported()).toMatchObject([
      {
        kind: 'recovered',
        title: 'run 5 ended well, after trouble since 2026-03-06 01:30',
        since: new Date(NIGHT).toISOString(),
      },
    ]);
    expect(pings.received.map(({ method }) => method)).toEqual(['GET']);
    await night();
    expect(await reported()).toEqual([]);
    expect(pings.received).toHaveLength(2);
  });

  test(
    'of four hundred merchants is one message, with the number and the first few',
    { tags: ['long'], timeout: 60_000 },
    async () => {
      await open();
      await range();
      const many = Array.from({ length: 400 }, (_, number) => ({
        merchantNo: `STORM-${String(number).padStart(3, '0')}`,
        token: 'made-up-token',
      }));
      await night(
        { merchants: many },
        downFor(
          many.map((one) => one.merchantNo),
          refused,
        ),
      );
      const [one, ...more] = await reported();
      expect(more).toEqual([]);
      expect(one).toMatchObject({
        title: 'run 2 failed (exit 4, incomplete), 400 merchants are not done',
        merchants: ['STORM-000', 'STORM-001', 'STORM-002', 'STORM-003', 'STORM-004'],
        merchantCount: 400,
      });
      const lines = String(one!['text']).split('\n');
      expect(lines[0]).toBe('Not done: STORM-000, STORM-001, STORM-002, STORM-003, STORM-004 and 395 more.');
      expect(lines).toHaveLength(7);
      expect(lines.at(-1)).toBe('and 395 more: `daybook runs 2`');
    },
  );

  test('of one merchant by name, of days by date, or one that was told to stop, is told by its exit code alone', async () => {
    await open();
    await night({ isByName: true }, downFor([merchantNo], refused));
    await stage.run({}, downFor([merchantNo], refused));
    const stop = new AbortController();
    stop.abort(new Error('stop'));
    await night({}, { signal: stop.signal });
    expect(await reported()).toEqual([]);
    expect(pings.received).toEqual([]);
  });

  test('whose process was killed is told by any process that looks, once, and a good night ends it', async () => {
    await open();
    await range();
    await startRun(dbOf(), {
      ...{ command: 'nightly', slot: '2026-03-06 01:30', holder: 'gone:1:-', fromDay: TO, toDay: TO },
      now: stage.app.now(),
    });
    const look = () =>
      checkForUnfinishedRuns(dbOf(), {
        ...{ targets: targetKeys(), now: stage.app.now(), zone: ZONE },
        ...{
          ledgerJobs: ['nightly', 'resweep'],
          otherJobs: ['reference'],
          merchants: () => Promise.resolve([merchantNo]),
        },
      });
    await Promise.all([look(), look()]);
    expect(await reported()).toMatchObject([
      {
        kind: 'failed-night',
        title: 'nightly run 2 was killed',
        text: expect.stringContaining('It began 2026-03-06 01:30 (Asia/Shanghai) and was killed'),
      },
    ]);
    await night();
    await look();
    expect(kinds(await reported())).toEqual(['recovered']);
  });
});

test('a night that was missed is told once, once a day, and is over with the next good one', async () => {
  await open();
  await range();
  const maxAgeMs = oldestMs({ nightly: '30 1 * * *', resweep: null, zone: ZONE }, stage.app.now());
  expect(maxAgeMs).toBe(26 * 3_600_000);
  const look = () =>
    checkForMissedRun(dbOf(), [merchantNo, 'NEVER-READ'], {
      ...{ targets: targetKeys(), now: stage.app.now(), zone: ZONE, maxAgeMs },
    });
  stage.setNow('2026-03-07T03:30:00+08:00');
  await look();
  expect(await reported()).toEqual([]);
  stage.setNow('2026-03-07T03:31:00+08:00');
  await Promise.all([look(), look(), look()]);
  expect(await reported()).toMatchObject([
    {
      kind: 'missed-night',
      title: 'no good night for 1 merchant within 26 hours',
      text: `The last good reading of ${merchantNo} is older than 26 hours; the oldest ended 2026-03-06 01:30 (Asia/Shanghai).`,
      todo: expect.stringContaining('daybook schedule'),
      merchants: [merchantNo],
    },
  ]);
  await look();
  expect(await reported()).toEqual([]);
  stage.setNow('2026-03-08T03:31:00+08:00');
  await look();
  expect(await reported()).toMatchObject([{ title: expect.stringMatching(/^still: /) }]);
  await night();
  expect(kinds(await reported())).toEqual(['recovered']);
});

describe('the alerts of one trouble', () => {
  const begun = () => withAlerting(() => Promise.resolve());
  const withAlerting = (work: () => Promise<void>, purpose: Purpose = 'night') =>
    alertsOfCommands.withAlerting(stage.app, LOG, work, { purpose });
  const states = (documents: readonly Record<string, unknown>[]): unknown[] =>
    documents.map(({ dedup_key: key, status }) => [key, status]);
  const key = (condition: string): unknown =>
    expect.stringMatching(new RegExp(`^daybook/[0-9a-f]{12}/${condition}$`)) as unknown;

  test('have one key from its begin to its end, which comes once; so have those of two that end together', async () => {
    await open();
    await range();
    await night({}, downFor([merchantNo], refused));
    const failed = await reported();
    expect(states(failed)).toEqual([[key('night'), 'firing']]);
    stage.setNow('2026-03-08T03:31:00+08:00');
    await checkForMissedRun(dbOf(), [merchantNo], {
      ...{ targets: targetKeys(), now: stage.app.now(), zone: ZONE, maxAgeMs: 1 },
    });
    await night({}, downFor([merchantNo], refused));
    const more = await reported();
    expect(states(more)).toEqual(expect.arrayContaining([[key('night'), 'firing']]));
    const conditions = new Set([...failed, ...more].map((one) => one['dedup_key']));
    await night();
    const over = await reported();
    expect(new Set(over.map((one) => one['dedup_key']))).toEqual(conditions);
    expect(over.map(({ kind, status }) => [kind, status])).toEqual(over.map(() => ['recovered', 'resolved']));
    expect(over).toHaveLength(conditions.size);
    await night();
    expect(await reported()).toEqual([]);
  });

  test('of what happened once have a key of their own', async () => {
    const gap = {
      what: 'missing',
      merchant: merchantNo,
      currency: 'USD',
      day: '2026-03-03',
      nth: 5,
    } as const;
    await open({ planted: [gap] });
    await range();
    const [found] = await reported();
    expect(states([found!])).toEqual([[key(String(found!['id'])), 'firing']]);
  });

  test.each([
    ['worker', 'daybook worker could not begin (exit 70)'],
    ['serve', 'daybook serve could not begin (exit 70)'],
  ] as const)('a %s that could not begin is resolved once one begins', async (purpose, title) => {
    await open();
    await range();
    await reported();
    const before = hook.received.length;
    await alertsOfCommands.reportNotStarted(stage.app.settings, new Error('no'), LOG, purpose);
    await withAlerting(() => Promise.resolve(), purpose);
    await begun();
    const sent = hook.documents().slice(before);
    expect(sent).toMatchObject([
      { title, dedup_key: key(purpose), status: 'firing' },
      { title, dedup_key: key(purpose), status: 'resolved', kind: 'recovered' },
    ]);
  });

  test('what was reported while the database was away is resolved by the next good night, once', async () => {
    await open();
    await range();
    await reported();
    const before = hook.received.length;
    const away = { ...stage.app.settings, databaseUrl: 'postgres://127.0.0.1:1/daybook' };
    const gone = new DatabaseUnreachable('the database cannot be reached');
    await alertsOfCommands.reportNotStarted(away, gone, LOG);
    await alertsOfCommands.reportNotStarted(away, gone, LOG);
    await night();
    await night();
    await reported();
    expect(states(hook.documents().slice(before))).toEqual([
      [key('night'), 'firing'],
      [key('night'), 'resolved'],
    ]);
  });

  test('a failed job names itself in the title', async () => {
    await open();
    await range();
    await reported();
    const scheduled = { job: 'nightly', slot: '2026-03-06T01:30' };
    await night({ scheduled }, downFor([merchantNo], refused));
    expect(await reported()).toMatchObject([
      { title: expect.stringMatching(/^nightly run 2 failed \(exit 4/) },
    ]);
  });
});

describe('what a run finds', () => {
  const gap = { what: 'missing', merchant: merchantNo, currency: 'USD', day: '2026-03-03', nth: 5 } as const;

  test('a new break is told once, with its account day and amount', async () => {
    await open({ planted: [gap] });
    await range();
    const [one, ...more] = await reported();
    expect(more).toEqual([]);
    const [found] = await dbOf().selectFrom('continuity_break').selectAll().execute();
    expect(one).toMatchObject({
      kind: 'new-break',
      title: `1 new break of ${merchantNo}`,
      text: `Break 1: ${merchantNo} USD 2026-03-03, unexplained difference: ${moneyText(found!.missing_net, 'USD')}.`,
      merchants: [merchantNo],
      days: ['2026-03-03'],
      runId: 1,
    });
    await range();
    await night();
    expect(await reported()).toEqual([]);
  });

  test(
    'a break is told by the next run, if the one that found it ended without an end of the merchant',
    { tags: ['long'] },
    async () => {
      await open({ planted: [gap] });
      await range();
      await reported();
      await dbOf().deleteFrom('event').where('kind', '=', 'new-break').execute();
      await range();
      expect(await reported()).toEqual([]);
      await dbOf().deleteFrom('run_merchant').where('run_id', '=', 1).execute();
      await range();
      expect(kinds(await reported())).toEqual(['new-break']);
    },
  );

  test('a break that a killed run found is told by the next one', async () => {
    await open({ planted: [gap] });
    const { db } = stage.deps();
    await stage.run({}, {});
    await reported();
    await db.deleteFrom('event').where('kind', '=', 'new-break').execute();
    await db.updateTable('run').set({ exit_code: null, finished_at: null }).execute();
    await range();
    expect(kinds(await reported())).toEqual(['new-break']);
  });

  const amend = (nth: number) => {
    const entry = stage.sandbox.entriesOf(merchantNo)[nth]!;
    stage.sandbox.amend(merchantNo, entry.batchNo, { busiType: `CORRECTED ${nth}` });
    return entry;
  };

  test('a published day that is revised is told once, with what changed', async () => {
    await open();
    await range();
    const entry = amend(0);
    await range();
    expect(await reported()).toMatchObject([
      {
        kind: 'amendment',
        title: '1 published day was revised',
        text: `${merchantNo} ${entry.currency} ${FROM} went from r1 to r2 (1 entry amended (${entry.batchNo})).`,
        days: [FROM],
      },
    ]);
    await range();
    expect(await reported()).toEqual([]);
  });

  for (const { options, cases } of shortAndLong([
    ['by itself', (key: string) => key],
    ['with its month', () => '2026-03'],
    [
      'with its month, chosen by merchant and currency',
      (_: string, currency: string) => `2026-03 ${merchantNo} ${currency}`,
    ],
  ] as const))
    test.each(cases)(
      'a day that somebody downloaded %s and that is revised is told as that',
      options,
      async (_, subject) => {
        await open();
        await range();
        const entry = stage.sandbox.entriesOf(merchantNo)[0]!;
        const { object_key: key } = await dbOf()
          .selectFrom('statement')
          .select('object_key')
          .where('day', '=', FROM)
          .where('currency', '=', entry.currency)
          .executeTakeFirstOrThrow();
        const auditEvent = {
          by: 'a person',
          command: 'statements get',
          subject: subject(key, entry.currency),
        };
        await recordAuditEvent(dbOf(), auditEvent, stage.app.now());
        amend(0);
        await range();
        const [one, ...more] = await reported();
        expect(more).toEqual([]);
        expect(one).toMatchObject({
          kind: 'revised-download',
          title: '1 day that somebody had downloaded was revised',
          text: `${merchantNo} ${entry.currency} ${FROM} went from r1 to r2 (1 entry amended (${entry.batchNo})); downloaded 1 time, last 2026-03-06 01:30 (Asia/Shanghai).`,
        });
        expect(JSON.stringify(one)).not.toContain('a person');
      },
    );

  test(
    'another month, merchant, currency or day that was downloaded is not taken for it',
    { tags: ['long'] },
    async () => {
      await open();
      await range();
      const { currency } = stage.sandbox.entriesOf(merchantNo)[0]!;
      const other = currency === 'USD' ? 'KWD' : 'USD';
      const keys = await dbOf()
        .selectFrom('statement')
        .select('object_key')
        .where((day) => day.or([day('day', '<>', FROM), day('currency', '=', other)]))
        .execute();
      const subjects = ['2026-02', `2026-03 ${OTHER.merchantNo}`, `2026-03 ${other}`];
      for (const subject of [...subjects, ...keys.map(({ object_key }) => object_key)]) {
        await recordAuditEvent(
          dbOf(),
          { by: 'a person', command: 'statements get', subject },
          stage.app.now(),
        );
      }
      amend(0);
      await range();
      expect(kinds(await reported())).toEqual(['amendment']);
    },
  );

  test('a token that the platform refuses is told once, and again only after it has worked', async () => {
    await open();
    await range();
    const forbidden = (): Error =>
      new PlatformRejected('sp2404: the platform answered 401', false, null, true);
    await night({}, downFor([merchantNo], forbidden));
    const documents = await reported();
    expect(kinds(documents).sort()).toEqual(['failed-night', 'key-problem']);
    expect(documents.find(({ kind }) => kind === 'key-problem')).toMatchObject({
      title: `the token of ${merchantNo} cannot be used`,
      text: `${merchantNo}: sp2404: the platform answered 401`,
      todo: expect.stringContaining('merchants add'),
    });
    await night({}, downFor([merchantNo], forbidden));
    expect(await reported()).toEqual([]);
    await night();
    expect(kinds(await reported())).toEqual(['recovered']);
    await night({}, downFor([merchantNo], forbidden));
    expect(kinds(await reported()).sort()).toEqual(['failed-night', 'key-problem']);
  });
});

test(
  'a night whose database is away at its end is told without it',
  { tags: ['long'], timeout: 60_000 },
  async () => {
    await open();
    const wire = await startFaultyWire(stage.app.settings.databaseUrl!);
    const { db, close } = await openDatabase({ databaseUrl: wire.url, dataDir: '' });
    await wire.close();
    const { alerts, now } = stage.deps();
    const reasons = [{ exitCode: 4, what: 'the database did not answer', todo: null }] as const;
    const ended: EndedRun = {
      ...{ runId: 7, command: 'run', job: 'nightly', exitCode: 4, reasons, from: TO, to: TO },
      ...{ isNightly: true, interrupted: false, busy: 0, leftOut: 0 },
    };
    const finish = async (on: Kysely<DB>): Promise<boolean> => {
      await on.selectFrom('run').select('id').execute();
      return true;
    };
    const deps = { db, now, zone: ZONE };
    expect(await alerts!.finish(deps, ended, { finish, isAway: true })).toBe(false);
    expect(hook.documents()).toMatchObject([
      { kind: 'failed-night', text: 'the database did not answer', runId: 7 },
    ]);
    await close();
  },
);

const NIGHT_ENDED_4: Omit<EndedRun, 'reasons'> = {
  ...{ runId: 1, command: 'run', job: 'nightly', exitCode: 4, from: TO, to: TO },
  ...{ isNightly: true, interrupted: false, busy: 0, leftOut: 0 },
};

test('a night that lost a lease while the database is there is told through the outbox, and is over with a good one', async () => {
  await open();
  await range();
  const { alerts, now } = stage.deps();
  const ended: EndedRun = {
    ...NIGHT_ENDED_4,
    reasons: [{ exitCode: 4, what: 'the lease was lost', todo: null }],
  };
  const deps = { db: dbOf(), now, zone: ZONE };
  expect(await alerts!.finish(deps, ended, { finish: () => Promise.resolve(true), isAway: true })).toBe(true);
  expect(hook.received).toEqual([]);
  expect(kinds(await reported())).toEqual(['failed-night']);
  await night();
  expect(kinds(await reported())).toEqual(['recovered']);
});

test('a night that left busy merchants to others has not failed, nor for a look at it within an hour; one that also failed has', async () => {
  await open();
  await range();
  const { alerts, now } = stage.deps();
  const deps = { db: dbOf(), now, zone: ZONE };
  const busy = { exitCode: 4, what: 'M is busy: another run is at work', todo: null } as const;
  const ended: EndedRun = {
    ...NIGHT_ENDED_4,
    ...{ busy: 1, leftOut: 1 },
    reasons: [busy],
  };
  const finish = (): Promise<boolean> => Promise.resolve(true);
  await alerts!.finish(deps, ended, { finish });
  await dbOf()
    .updateTable('run')
    .set({ exit_code: 4, is_night: true, figures: { leftToOthers: isLeftToOthers(ended) } })
    .execute();
  const look = () =>
    checkForUnfinishedRuns(dbOf(), {
      ...{
        targets: targetKeys(),
        now: stage.app.now(),
        zone: ZONE,
        merchants: () => Promise.resolve([merchantNo]),
      },
      ...{ ledgerJobs: ['nightly', 'resweep'], otherJobs: ['reference'] },
    });
  await look();
  expect(await reported()).toEqual([]);
  await alerts!.finish(deps, { ...ended, reasons: [busy, { ...busy, what: 'N: refused' }] }, { finish });
  expect(kinds(await reported())).toEqual(['failed-night']);
  await dbOf().deleteFrom('alert_condition').execute();
  stage.setNow('2026-03-06T02:31:00+08:00');
  await look();
  expect(kinds(await reported())).toEqual(['failed-night']);
});

test('what a run by hand says of busy merchants does not hide that others failed', async () => {
  await open();
  await range();
  const name = merchantLease(OTHER.merchantNo);
  await acquireLease(dbOf(), { name, holder: 'other:1:-', ttlMs: 60_000 });
  const merchants = [MERCHANT, OTHER];
  await night({ merchants }, downFor([merchantNo], refused));
  expect(kinds(await reported())).toEqual(['failed-night']);
});

test('alerts that cannot be stored keep no run from its end, and a failed night is told directly', async () => {
  await open();
  await range();
  await dbOf().schema.alterTable('alert').renameTo('alert_away').execute();
  const report = await night({}, downFor([merchantNo], refused));
  expect(report.exitCode).toBe(4);
  expect(await dbOf().selectFrom('run').select('exit_code').where('id', '=', 2).execute()).toEqual([
    { exit_code: 4 },
  ]);
  expect(kinds(hook.documents())).toEqual(['failed-night']);
  await dbOf().schema.alterTable('alert_away').renameTo('alert').execute();
});

test('no token and no address of a receiver reaches the outbox', async () => {
  await open();
  await night({}, downFor([merchantNo], refused));
  await reported();
  const rows = JSON.stringify([
    await dbOf().selectFrom('alert').selectAll().execute(),
    await dbOf().selectFrom('alert_delivery').selectAll().execute(),
  ]);
  expect(rows).toContain('failed-night');
  for (const secret of [MERCHANT.token, 'secret-part', hook.url, 'a secret of the receiver']) {
    expect(rows).not.toContain(secret);
  }
});

test('where no alerts are set up, nothing is written', async () => {
  stage = await openStage({ scenario: scenario({ entriesPerDay: 20 }) });
  expect(stage.app.alerts).toBeUndefined();
  await night({}, downFor([merchantNo], refused));
  for (const table of ['alert', 'alert_delivery', 'alert_condition', 'event'] as const) {
    expect(await dbOf().selectFrom(table).selectAll().execute()).toEqual([]);
  }
});
