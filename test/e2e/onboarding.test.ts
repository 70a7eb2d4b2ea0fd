import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { EVERY_ACCOUNT } from '../../src/ledger/account-filter.ts';
import { prepareRegistration } from '../../src/plugins/submissions/registration-check.ts';
import { registerBeneficiary } from '../../src/plugins/submissions/register.ts';
import { statusOfApplication } from '../../src/plugins/submissions/application-status.ts';
import { submitApplication } from '../../src/plugins/submissions/submit.ts';
import { chosenMerchants } from '../../src/run/chosen-merchants.ts';
import { EXIT } from '../../src/run/verdict/exit-codes.ts';
import { openPlatformApp, runDeps, type PlatformApp } from '../../src/run/app.ts';
import { executeReferenceRun, referenceWork } from '../../src/plugins/reference/run.ts';
import { executeRun } from '../../src/run/run.ts';
import type { ScenarioInput } from '../../src/plugins/sandbox/scenario.ts';
import { createSandbox, type Sandbox } from '../../src/plugins/sandbox/server.ts';
import { submissionSettings } from '../../src/plugins/submissions/settings.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { applicationById } from '../../src/plugins/submissions/applications.ts';
import { listBeneficiaries } from '../../src/plugins/submissions/registrations.ts';
import { referenceCodes } from '../../src/plugins/reference/stored.ts';
import { merchantTokens } from '../../src/store/merchants.ts';
import { listNotifications } from '../../src/plugins/submissions/notifications.ts';
import { newNotifySecret } from '../../src/store/notify-path.ts';
import { thisHolder } from '../../src/host/process-identity.ts';
import { listStatements } from '../../src/store/statements/statements.ts';
import { serve, type Serving } from '../../src/plugins/submissions/serve.ts';
import { createBeneficiaryClient } from '../../src/plugins/submissions/registration-client.ts';
import { createApplicationClient } from '../../src/plugins/submissions/application-client.ts';
import { application } from '../plugins/submissions/onboarding/applications.ts';
import { ENTERPRISE } from '../plugins/submissions/beneficiaries/files.ts';
import { freshDatabaseUrl } from '../support/database.ts';
import { shortAndLong } from '../support/short-and-long.ts';
/**
 * From an application to the new merchant's statements and a beneficiary. daybook and sandbox call each other over
 * HTTP.
 */

const NIGHT = '2026-03-06T01:30:00+08:00';
const RANGE = { from: '2026-03-02', to: '2026-03-05' };
const SCENARIO: ScenarioInput = {
  seed: 7,
  timeZone: 'Asia/Shanghai',
  ...RANGE,
  now: NIGHT,
  merchants: [{ merchantNo: 'SBX-M-1', token: 'made-up-token-1', currencies: ['USD'] }],
  reviews: { delayMs: 50 },
  pushes: { retryMs: 20, retryMsMax: 100 },
};
const RESULT_MS_MAX = 30_000;

interface Stage {
  readonly sandbox: Sandbox;
  readonly app: PlatformApp;
  readonly startServing: () => Promise<Serving>;
  readonly stopServing: () => Promise<void>;
  readonly close: () => Promise<void>;
}

let stage: Stage | undefined;
afterEach(async () => {
  await stage?.close();
  stage = undefined;
});

async function openStage(change: Partial<ScenarioInput> = {}): Promise<Stage> {
  const sandbox = createSandbox({ ...SCENARIO, ...change });
  const { url } = await sandbox.listen({ port: 0 });
  const dataDir = await mkdtemp(join(tmpdir(), 'daybook-onboarding-'));
  const settings = loadSettings({
    env: {
      PLATFORM_BASE_URL: url,
      PLATFORM_TIME_ZONE: 'Asia/Shanghai',
      PLATFORM_REFERRAL_CHANNEL: 'A0001',
      PLATFORM_RETRIES_MAX: '0',
      DAYBOOK_REFERENCE_COUNTRIES: 'CN,HK',
      DATABASE_URL: await freshDatabaseUrl(),
      DAYBOOK_DATA_DIR: dataDir,
      DAYBOOK_NOW: NIGHT,
      DAYBOOK_SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    },
    readFile: () => '',
    needs: ['platform'],
  });
  const app = await openPlatformApp(settings, { env: {} });
  let serving: (Serving & { readonly stopping: AbortController }) | undefined;
  // The first start uses any free port. Later starts use the same address, as the platform knows it.
  let listen = { host: '127.0.0.1', port: 0 };
  const stopServing = async (): Promise<void> => {
    serving?.stopping.abort();
    await serving?.ended;
    serving = undefined;
  };
  return {
    sandbox,
    app,
    startServing: async () => {
      const stopping = new AbortController();
      const started = await serve(app, { ...settings, listen }, stopping.signal, {
        onRefusal: () => undefined,
        onProcessed: () => undefined,
        onFault: (error) => expect.fail(String(error)),
      });
      listen = { ...listen, port: Number(new URL(started.url).port) };
      serving = { ...started, stopping };
      return started;
    },
    stopServing,
    close: async () => {
      await sandbox.close();
      await stopServing();
      await app.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

const signal = new AbortController().signal;
let orders = 0;

function submit({ app }: Stage, publicUrl: string, file: object = application()) {
  const { platform, secretKeys } = app.settings;
  const { codeLists } = submissionSettings.of(app.settings);
  return submitApplication(
    { file, replaces: null },
    {
      db: app.database.db,
      client: createApplicationClient(app.transport),
      secretKeys,
      rules: {
        codeLists,
        filePaths: platform.filePaths,
        isLocalFile: existsSync,
        today: '2026-03-06',
      },
      referralChannel: platform.referralChannel,
      publicUrl,
      holder: thisHolder(),
      now: app.now,
      newOrderNo: () => `A${(orders += 1)}`,
      newSecret: newNotifySecret,
      signal,
    },
  );
}

async function register({ app }: Stage, publicUrl: string, file: object = ENTERPRISE) {
  const { filePaths } = app.settings.platform;
  const { walletMethods, images } = submissionSettings.of(app.settings);
  const { db } = app.database;
  const registration = await prepareRegistration(db, file, {
    walletMethods,
    filePaths,
    images,
    isLocalFile: existsSync,
    today: '2026-03-06',
  });
  const [merchant] = await chosenMerchants(app, null);
  const { beneficiary } = await registerBeneficiary(
    {
      db,
      client: createBeneficiaryClient(app.transport),
      secretKeys: app.settings.secretKeys,
      publicUrl,
      holder: thisHolder(),
      now: app.now,
      signal,
    },
    merchant!,
    registration,
  );
  return beneficiary;
}

const run = async ({ app }: Stage) =>
  executeRun(
    { command: 'run', range: RANGE, merchants: await chosenMerchants(app, null), currencies: null },
    runDeps(app, signal),
  );

async function until<Found>(look: () => Promise<Found | undefined>): Promise<Found> {
  for (let waitedMs = 0; waitedMs < RESULT_MS_MAX; waitedMs += 20) {
    const found = await look();
    if (found !== undefined) return found;
    await sleep(20);
  }
  throw new Error('it did not come to that');
}

/** Resolves with the application once a result has decided it. */
const decided = ({ app }: Stage, id: number) =>
  until(async () => {
    const row = await applicationById(app.database.db, id);
    return row !== null && ['approved', 'supplement', 'rejected'].includes(row.state) ? row : undefined;
  });

const outcomesOf = async ({ app }: Stage) =>
  (await listNotifications(app.database.db, { all: true, limit: 100 })).map(({ outcome }) => outcome);

describe('onboarding', () => {
  it('makes a merchant whose ledger is synced, proven and published, and registers a beneficiary for it', async () => {
    stage = await openStage();
    const { url } = await stage.startServing();
    const sent = await submit(stage, url);
    expect(sent.state).toBe('accepted');
    const approved = await decided(stage, sent.id);
    const [made] = stage.sandbox.merchants().slice(1);
    expect(approved).toMatchObject({ state: 'approved', merchantNo: made!.merchantNo });
    expect(await merchantTokens(stage.app.database.db, stage.app.settings.secretKeys)).toEqual([
      { merchantNo: made!.merchantNo, token: made!.token },
    ]);

    const report = await run(stage);
    expect([report.exitCode, report.notes]).toEqual([EXIT.done, []]);
    const statements = await listStatements(stage.app.database.db, {
      ...EVERY_ACCOUNT,
      fromDay: RANGE.from,
      toDay: RANGE.to,
    });
    expect(statements.map(({ verdict }) => verdict)).toEqual(Array<string>(8).fill('continuous'));

    const { id, status } = await register(stage, url);
    expect(status).toBe('01');
    const paid = await until(async () => {
      const [row] = await listBeneficiaries(stage!.app.database.db, id);
      return row?.status === '04' ? row : undefined;
    });
    expect(paid.payeeId).toBe(stage.sandbox.payees()[0]!.payeeId);
    await stage.sandbox.settled();
    expect(await outcomesOf(stage)).toEqual(['applied', 'applied']);
  });

  it('accepts a result that comes before our own reply, for an application and for a registration', async () => {
    stage = await openStage({ reviews: { delayMs: 0, pushBeforeReply: true } });
    const { url } = await stage.startServing();
    const sent = await submit(stage, url);
    expect((await decided(stage, sent.id)).state).toBe('approved');
    await run(stage);
    const { id } = await register(stage, url);
    await until(async () => {
      const [row] = await listBeneficiaries(stage!.app.database.db, id);
      return row?.status === '04' ? row : undefined;
    });
  });

  it('gets the outcome of an application whose reply was lost from its result', async () => {
    stage = await openStage({ hostility: { lostRepliesEvery: 1 } });
    const { url } = await stage.startServing();
    const sent = await submit(stage, url);
    expect(sent.state).toBe('unknown');
    expect((await decided(stage, sent.id)).state).toBe('approved');
    expect(stage.sandbox.applications()).toHaveLength(1);
  });

  it('loses no result while nobody listens: the platform repeats it, and it is applied once', async () => {
    stage = await openStage();
    const { url } = await stage.startServing();
    await stage.stopServing();
    const sent = await submit(stage, url);
    await until(() => {
      const [push] = stage!.sandbox.pushes();
      return Promise.resolve(push !== undefined && push.tries >= 2 ? push : undefined);
    });
    expect((await applicationById(stage.app.database.db, sent.id))?.state).toBe('accepted');
    await stage.startServing();
    expect((await decided(stage, sent.id)).state).toBe('approved');
    await stage.sandbox.settled();
    expect(await outcomesOf(stage)).toEqual(['applied']);
  });

  it('keeps a merchant out of the nightly job until its token works', async () => {
    stage = await openStage();
    const { url } = await stage.startServing();
    const sent = await submit(stage, url);
    const { merchantNo } = await decided(stage, sent.id);
    stage.sandbox.setHostility({ http500Every: 1 });
    expect((await run(stage)).sync).toMatchObject([{ merchantNo, notJoined: { mayPass: true } }]);
    stage.sandbox.setHostility({});
    const report = await run(stage);
    expect(report.exitCode).toBe(EXIT.done);
    expect(report.sync[0]!.notJoined).toBeUndefined();
  });

  it('reports what is missing and what was refused', async () => {
    stage = await openStage();
    const { url } = await stage.startServing();
    const sentBack = await submit(stage, url, application({ merNameEn: 'Acme SANDBOX-SUPPLEMENT' }));
    expect(await decided(stage, sentBack.id)).toMatchObject({ state: 'supplement', processVersion: 'V2' });
    const change = { merNameEn: 'Other SANDBOX-REJECT', certificateNo: '1234', email: 'b@example.com' };
    const refused = await submit(stage, url, application(change));
    expect((await decided(stage, refused.id)).state).toBe('rejected');
  });
});

/** Everything that the document leaves open, in another form than the default. */
const OTHER_PLATFORMS: [string, Partial<ScenarioInput>][] = [
  [
    'wraps everything in data, sends codes as numbers and text/json, and leaves out what is empty',
    {
      latitude: {
        envelope: 'data',
        replyType: 'text/json',
        pushType: 'text/json;charset=UTF-8',
        codesAsNumbers: true,
        fieldOrder: 'reversed',
        nothing: 'left-out',
        moreFields: true,
        pushSlash: true,
      },
      hostility: { order: 'descending' },
    },
  ],
  [
    'wraps everything in result, names no type of its own, and sends null for what is empty',
    {
      latitude: {
        envelope: 'result',
        replyType: 'text/plain',
        pushType: '',
        nothing: 'null',
        fieldOrder: 'reversed',
      },
      hostility: { order: 'window-shuffled' },
    },
  ],
  [
    'pushes forms, and adds fields',
    { latitude: { pushType: 'application/x-www-form-urlencoded', moreFields: true, codesAsNumbers: true } },
  ],
];

for (const { options, cases } of shortAndLong(OTHER_PLATFORMS))
  describe.each(cases)('a platform that %s', options, (_, change) => {
    it('works like any other for reference data, applications, registrations and sync', async () => {
      stage = await openStage({ ...change, reviews: { delayMs: 50, payeeIdAtOnce: false } });
      const { sandbox, app } = stage;
      const { db } = app.database;
      const { url } = await stage.startServing();

      const reference = await executeReferenceRun(referenceWork(app, signal));
      expect([reference.exitCode, reference.notes]).toEqual([EXIT.done, []]);
      expect(await referenceCodes(db, { kind: 'purpose', country: '' })).toEqual(['1001', '1002']);
      expect(await referenceCodes(db, { kind: 'bank', country: 'HK' })).toEqual(['HK004', 'HK012']);

      const sentBack = await submit(stage, url, application({ merNameEn: 'Acme SANDBOX-SUPPLEMENT' }));
      expect(sentBack.state).toBe('accepted');
      expect(await decided(stage, sentBack.id)).toMatchObject({ state: 'supplement', processVersion: 'V2' });
      const other = { certificateNo: '1234', email: 'b@example.com' };
      const sent = await submit(stage, url, application(other));
      expect(sent.state).toBe('accepted');
      const { merchantNo } = await decided(stage, sent.id);
      expect(sandbox.merchants().map((one) => one.merchantNo)).toContain(merchantNo);
      const named = await statusOfApplication(db, sent.id, {
        secretKeys: app.settings.secretKeys,
        reveal: true,
      });
      expect(named?.recordedName).toEqual({ isAsSent: true, name: application().merNameEn });

      const report = await run(stage);
      expect([report.exitCode, report.notes]).toEqual([EXIT.done, []]);
      const stored = await db.selectFrom('ledger_entry').select('batch_no').execute();
      expect(stored.map(({ batch_no }) => batch_no).sort()).toEqual(
        sandbox
          .entriesOf(merchantNo!)
          .map(({ batchNo }) => batchNo)
          .sort(),
      );

      const { id, status, payeeId } = await register(stage, url);
      expect([status, payeeId]).toEqual(['01', null]);
      const paid = await until(async () => {
        const [row] = await listBeneficiaries(db, id);
        return row?.status === '04' ? row : undefined;
      });
      expect(paid.payeeId).toBe(sandbox.payees()[0]!.payeeId);
      await sandbox.settled();
      expect(await outcomesOf(stage)).toEqual(['applied', 'applied', 'applied']);
      expect(sandbox.applications()).toHaveLength(2);
    });
  });
