import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { registerBeneficiary } from '../../../../src/plugins/submissions/register.ts';
import { createBeneficiaryClient } from '../../../../src/plugins/submissions/registration-client.ts';
import {
  createInbox,
  listNotifications,
  processNotifications,
} from '../../../../src/plugins/submissions/notifications.ts';
import { listBeneficiaries, releaseBeneficiary } from '../../../../src/plugins/submissions/registrations.ts';
import { freshDatabase } from '../../../support/database.ts';
import {
  MERCHANT,
  answer,
  rejection,
  reset,
  stall,
  outOfScope,
  transportTo,
  type Act,
} from '../../../platform/stranger.ts';
import { NOW, onBothDatabases, type StoreUnderTest } from '../../../store/support.ts';
import { ENTERPRISE, INDIVIDUAL, without } from './files.ts';
import type { ProcessTask } from './register-process.ts';
import { checked, PUBLIC_URL, registering, reply, SECRET_KEY } from './support.ts';

/** An address at which nothing listens. */
async function closedUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}`;
}

const REFUSAL = answer(JSON.stringify({ respCode: 'E40001', respMsg: 'accountNo 004-123456-001 unknown' }));
const OTHER_NUMBER = { ...ENTERPRISE, merOrderNo: 'BEN-0099' };
const statuses = async (store: StoreUnderTest) =>
  (await listBeneficiaries(store.db)).map(({ merOrderNo, status }) => [merOrderNo, status]);

onBothDatabases((store) => {
  it.each(['01', '03', '04'])(
    'a reply of %s is stored, and registering again sends nothing',
    async (status) => {
      const { register, sent } = await registering(store(), reply(status));
      const first = await register();
      expect(first).toMatchObject({
        sent: true,
        beneficiary: {
          merOrderNo: 'BEN-0001',
          merchantNo: MERCHANT.merchantNo,
          bizMode: 'B',
          status,
          bizFlowNo: 'F-BEN-0001',
          payeeId: 'P1',
          respCode: 'S00000',
          isNotified: true,
          mayHaveArrived: false,
          sends: 1,
          recordedAt: NOW,
          repliedAt: NOW,
        },
      });
      const again = await register();
      expect(again).toEqual({ ...first, sent: false });
      const [{ callbackUrl, ...rest } = {}] = sent();
      expect(sent()).toHaveLength(1);
      expect(rest).toEqual(ENTERPRISE);
      expect(callbackUrl).toMatch(/^https:\/\/daybook\.example\/notify\/beneficiary\/[\w-]{43}$/);
    },
  );

  it('a callbackUrl in the file is kept, and none is made without a public address', async () => {
    const { register, sent } = await registering(store(), reply('01'));
    const own = checked({ ...ENTERPRISE, callbackUrl: 'https://pay.example/hook' });
    expect((await register(own)).beneficiary.isNotified).toBe(false);
    expect((await register(checked(INDIVIDUAL), { publicUrl: null })).beneficiary.isNotified).toBe(false);
    expect(sent()).toEqual([own, INDIVIDUAL]);
    expect((await register(own)).sent).toBe(false);
  });

  it('is recorded, encrypted, before anything of it is sent', async () => {
    let stored: unknown[] = [];
    const lookFirst: Act = (response, received, call) => {
      void sql`SELECT * FROM beneficiary`.execute(store().db).then(({ rows }) => {
        stored = rows;
        reply('01')(response, received, call);
      });
    };
    const { register } = await registering(store(), lookFirst);
    await register(checked({ ...INDIVIDUAL, merOrderNo: 'BEN-0001' }));
    expect(stored).toMatchObject([{ mer_order_no: 'BEN-0001', status: 'sending', may_have_arrived: true }]);
    const plain = JSON.stringify(stored);
    const personal = without(INDIVIDUAL, 'bizMode', 'merOrderNo', 'gender', 'idType', 'countryCode');
    for (const value of Object.values(personal))
      if (typeof value === 'string' && value.length > 3) expect(plain).not.toContain(value);
  });

  it('after a failure is sent again with the same number, content and callbackUrl', async () => {
    const { register, sent } = await registering(
      store(),
      reset,
      answer('', 503),
      answer('<html>'),
      reply('01'),
    );
    for (const times of [1, 2, 3]) {
      const error = await rejection(register());
      expect(error.name).toBe('RegistrationUnanswered');
      expect(error.message).toContain('BEN-0001');
      expect(await listBeneficiaries(store().db)).toMatchObject([
        { status: 'sending', mayHaveArrived: true, sends: times },
      ]);
    }
    expect((await register()).beneficiary).toMatchObject({ status: '01', sends: 4, problem: null });
    const [first, ...others] = sent();
    expect(others).toHaveLength(3);
    for (const other of others) expect(other).toEqual(first);
  });

  it('that the platform refuses is stored as refused, without the platform’s words', async () => {
    const { register } = await registering(store(), REFUSAL);
    const { beneficiary } = await register();
    expect(beneficiary).toMatchObject({ status: 'refused', mayHaveArrived: false, bizFlowNo: null });
    expect(beneficiary.problem).toContain('E40001');
    expect(beneficiary.problem).not.toContain('123456');
  });

  it('that was never sent may be sent again, and a refusal then decides it', async () => {
    const { register } = await registering(store(), REFUSAL);
    const { transport } = transportTo(await closedUrl(), { retriesMax: 0 });
    const unreachable = createBeneficiaryClient(transport);
    expect(await rejection(register(checked(), { client: unreachable }))).toMatchObject({
      name: 'RegistrationUnanswered',
    });
    expect(await listBeneficiaries(store().db)).toMatchObject([{ status: 'sending', mayHaveArrived: false }]);
    expect((await register()).beneficiary.status).toBe('refused');
  });

  it('refused after an earlier call that may have arrived keeps its status', async () => {
    const { register } = await registering(store(), reset, REFUSAL);
    await rejection(register());
    const error = await rejection(register());
    expect(error.name).toBe('RegistrationDoubtful');
    expect(await statuses(store())).toEqual([['BEN-0001', 'sending']]);
  });

  it('refused may be corrected and sent again under its number, or under another', async () => {
    const { register, sent } = await registering(store(), REFUSAL, REFUSAL, reply('01'));
    await register();
    await register(checked(OTHER_NUMBER));
    const mended = checked({ ...ENTERPRISE, accountNo: '004-123456-002' });
    expect((await register(mended)).beneficiary).toMatchObject({ status: '01', sends: 2, problem: null });
    // The platform may have kept the address of the first one.
    expect(sent()[2]!['callbackUrl']).toBe(sent()[0]!['callbackUrl']);
    expect(sent().map(({ merOrderNo, accountNo }) => [merOrderNo, accountNo])).toEqual([
      ['BEN-0001', '004-123456-001'],
      ['BEN-0099', '004-123456-001'],
      ['BEN-0001', '004-123456-002'],
    ]);
  });

  it('a refused one may not be sent again while its payee is in review under another number', async () => {
    const { register, sent } = await registering(store(), REFUSAL, reply('01'));
    await register();
    await register(checked(OTHER_NUMBER));
    expect(await rejection(register())).toMatchObject({ name: 'PayeeInReview' });
    expect(sent()).toHaveLength(2);
    expect(await statuses(store())).toEqual([
      ['BEN-0001', 'refused'],
      ['BEN-0099', '01'],
    ]);
  });

  it('a number belongs to one registration of one merchant', async () => {
    const { register, deps, sent } = await registering(store(), reply('01'));
    await register();
    const other = checked({ ...ENTERPRISE, companyName: 'Another Trading Limited' });
    expect(await rejection(register(other))).toMatchObject({
      name: 'OrderNoTaken',
      message: expect.stringContaining('with other contents') as string,
    });
    const foreign = registerBeneficiary(deps, { merchantNo: 'M0002', token: 't' }, checked());
    expect(await rejection(foreign)).toMatchObject({
      name: 'OrderNoTaken',
      message: expect.stringContaining('for merchant M0001') as string,
    });
    expect(sent()).toHaveLength(1);
  });

  it.each<[string, object]>([
    ['another number', {}],
    ['other names', { companyName: 'Example Trading Ltd', addressLine: '1 Example Rd' }],
    ['the account number written otherwise', { accountNo: '004 123456 001' }],
    ['small letters', { bankCode: 'hk004' }],
    ['another currency', { currency: 'USD' }],
  ])('a payee under review is not sent again under %s', async (_, change) => {
    const { register, sent } = await registering(store(), reply('01'));
    await register();
    const error = await rejection(register(checked({ ...OTHER_NUMBER, ...change })));
    expect(error).toMatchObject({ name: 'PayeeInReview' });
    expect(error.message).toContain('registration 1 (merOrderNo BEN-0001)');
    expect(sent()).toHaveLength(1);
    expect(await statuses(store())).toEqual([['BEN-0001', '01']]);
  });

  it.each<[string, object]>([
    ['another account', { accountNo: '004-123456-002' }],
    ['another bank', { bankCode: 'HK012' }],
    ['another country', { countryCode: 'MO' }],
  ])('another payee is sent: %s', async (_, change) => {
    const { register, sent } = await registering(store(), reply('01'));
    await register();
    await register(checked({ ...OTHER_NUMBER, ...change }));
    expect(sent()).toHaveLength(2);
  });

  it.each(['03', '04'])(
    'a payee whose review ended with %s may be sent again, with a note',
    async (status) => {
      const { register, sent } = await registering(store(), reply(status), reply('01'));
      await register();
      const { approvedBefore } = await register(checked(OTHER_NUMBER));
      expect(approvedBefore.map(({ merOrderNo }) => merOrderNo)).toEqual(status === '04' ? ['BEN-0001'] : []);
      expect(sent()).toHaveLength(2);
    },
  );

  it('during a call, the same number and the same payee are not sent', async () => {
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<undefined>();
    const { promise: goOn, resolve: letGo } = Promise.withResolvers<undefined>();
    const slow: Act = (response, received, call) => {
      arrive(undefined);
      void goOn.then(() => reply('01')(response, received, call));
    };
    const { register, sent } = await registering(store(), slow);
    const first = register();
    await arrived;
    expect(await rejection(register())).toMatchObject({ name: 'RegistrationInFlight' });
    expect(await rejection(register(checked(OTHER_NUMBER)))).toMatchObject({ name: 'PayeeInReview' });
    letGo(undefined);
    expect((await first).beneficiary.status).toBe('01');
    expect(sent()).toHaveLength(1);
  });

  it('a call whose time is over is repeated, even if it came from another host', async () => {
    const { register, sent } = await registering(store(), stall, reply('01'));
    const stopped = new AbortController();
    const first = register(checked(), { holder: 'elsewhere:1:-', signal: stopped.signal });
    first.catch(() => undefined);
    await expect.poll(() => sent().length).toBe(1);
    expect(await rejection(register())).toMatchObject({ name: 'RegistrationInFlight' });
    await sql`UPDATE beneficiary SET claimed_until = now() - interval '1 s'`.execute(store().db);
    expect((await register()).beneficiary.status).toBe('01');
    stopped.abort(new Error('stopped'));
    expect(await rejection(first)).toMatchObject({ message: 'stopped' });
    expect(await statuses(store())).toEqual([['BEN-0001', '01']]);
  });

  it('a reply that comes after another one was stored changes nothing', async () => {
    const { promise: goOn, resolve: letGo } = Promise.withResolvers<undefined>();
    const late: Act = (response, received, call) => {
      void goOn.then(() => reply('03', 'P9')(response, received, call));
    };
    const { register, sent } = await registering(store(), late, reply('04'));
    const first = register(checked(), { holder: 'elsewhere:1:-' });
    await expect.poll(() => sent().length).toBe(1);
    await sql`UPDATE beneficiary SET claimed_until = now() - interval '1 s'`.execute(store().db);
    const { beneficiary } = await register();
    letGo(undefined);
    expect((await first).beneficiary).toEqual(beneficiary);
    expect(beneficiary).toMatchObject({ status: '04', payeeId: 'P1' });
  });

  it('stopped before it began records nothing', async () => {
    const { register } = await registering(store(), reply('01'));
    const stopped = { signal: AbortSignal.abort(new Error('stopped')) };
    expect(await rejection(register(checked(), stopped))).toMatchObject({ message: 'stopped' });
    expect(await listBeneficiaries(store().db)).toEqual([]);
  });

  it('released by a person frees the payee, unless a call is under way or was answered', async () => {
    const { register, sent } = await registering(store(), reset, stall, reply('01'));
    await rejection(register());
    const stop = new AbortController();
    const inTheAir = register(checked(), { signal: stop.signal });
    inTheAir.catch(() => undefined);
    await expect.poll(() => sent().length).toBe(2);
    expect(await releaseBeneficiary(store().db, 1, 'case 4711')).toBe(false);
    stop.abort(new Error('stopped'));
    await rejection(inTheAir);
    expect(await releaseBeneficiary(store().db, 1, 'case 4711')).toBe(true);
    await register(checked(OTHER_NUMBER));
    expect(await releaseBeneficiary(store().db, 2, 'case 4711')).toBe(false);
    expect(await statuses(store())).toEqual([
      ['BEN-0001', 'refused'],
      ['BEN-0099', '01'],
    ]);
  });

  it('stopped during its call says so, and is sent again', async () => {
    const { register, sent } = await registering(store(), stall, reply('01'));
    const stop = new AbortController();
    const first = register(checked(), { signal: stop.signal });
    first.catch(() => undefined);
    await expect.poll(() => sent().length).toBe(1);
    stop.abort(new Error('stopped'));
    expect(await rejection(first)).toMatchObject({ message: 'stopped' });
    expect((await register()).beneficiary).toMatchObject({ status: '01', sends: 2 });
  });

  it('of many at once, with one number or several, only one call is made', async () => {
    const { register, sent } = await registering(store(), reply('01'));
    const same = await Promise.allSettled(Array.from({ length: 6 }, () => register()));
    expect(sent()).toHaveLength(1);
    for (const one of same)
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ name: 'RegistrationInFlight' });
    const many = await Promise.allSettled(
      Array.from({ length: 6 }, (_, n) =>
        register(checked({ ...INDIVIDUAL, merOrderNo: `BEN-1${n}`, firstName: `Erika ${n}` })),
      ),
    );
    expect(sent()).toHaveLength(2);
    expect(many.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const one of many)
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ name: 'PayeeInReview' });
  });

  /** Pushes a result to the address that a request named; returns what became of it. */
  const pushed = async (request: Record<string, unknown>, payload: object): Promise<string> => {
    const { db } = store();
    const secret = String(request['callbackUrl']).split('/').at(-1)!;
    const secretKeys = [{ id: 'k1', key: SECRET_KEY }];
    const kind = 'beneficiary' as const;
    await createInbox({ db, secretKeys, now: () => NOW }).keep({
      kind,
      secret,
      body: JSON.stringify(payload),
    });
    await processed();
    return (await listNotifications(db, { all: true, limit: 1 }))[0]!.outcome!;
  };
  const processed = () =>
    processNotifications({
      ...{ db: store().db, secretKeys: [{ id: 'k1', key: SECRET_KEY }] },
      ...{ now: () => NOW, signal: new AbortController().signal },
    });

  it('a result ends its review once, and nothing else does', async () => {
    const { register, sent } = await registering(store(), reply('01', null));
    await register();
    const push = (status: string, payeeId: string | null) => pushed(sent()[0]!, { status, payeeId });
    expect(await push('04', null)).toBe('applied');
    expect(await push('03', 'P7')).toBe('contradiction');
    expect(await push('04', 'P7')).toBe('applied');
    expect(await push('04', 'P7')).toBe('duplicate');
    expect(await push('04', 'P8')).toBe('contradiction');
    expect(await push('04', null)).toBe('duplicate');
    expect(await listBeneficiaries(store().db)).toMatchObject([
      { status: '04', payeeId: 'P7', decidedAt: NOW },
    ]);
  });

  it('a known payeeId stays, and a missing one changes nothing', async () => {
    const { register, sent } = await registering(store(), reply('01'), reply('04', null));
    await register();
    await register(checked(INDIVIDUAL));
    const push = (n: number, status: string, payeeId: string | null) =>
      pushed(sent()[n]!, { status, payeeId });
    expect(await push(0, '04', 'P8')).toBe('contradiction');
    expect(await push(1, '04', null)).toBe('duplicate');
    expect(await push(1, '03', 'P8')).toBe('contradiction');
    expect(await listBeneficiaries(store().db)).toMatchObject([
      { status: '01', payeeId: 'P1', decidedAt: null },
      { status: '04', payeeId: null, decidedAt: null },
    ]);
  });

  it('a result ends the doubt about a registration that was refused after a lost try', async () => {
    const { register, sent } = await registering(store(), reset, reset, REFUSAL);
    await rejection(register());
    await rejection(register());
    expect(await pushed(sent()[0]!, { status: '04', payeeId: 'P7' })).toBe('waiting');
    expect((await rejection(register())).name).toBe('RegistrationDoubtful');
    expect((await processed()).outcomes).toEqual({ applied: 1 });
    const known = { needsPerson: false, mayHaveArrived: false, problem: null, decidedAt: NOW };
    expect(await listBeneficiaries(store().db)).toMatchObject([{ status: '04', payeeId: 'P7', ...known }]);
  });

  it('nothing is recorded or sent without a key to encrypt with', async () => {
    const { register, sent } = await registering(store(), reply('01'));
    expect(await rejection(register(checked(), { secretKeys: [] }))).toMatchObject({
      name: 'UnknownSecretKey',
    });
    expect(sent()).toEqual([]);
    expect(await listBeneficiaries(store().db)).toEqual([]);
  });
});

describe('processes of their own', () => {
  const start = (task: ProcessTask) => {
    const script = fileURLToPath(new URL('register-process.ts', import.meta.url));
    const child = spawn(process.execPath, [script, JSON.stringify(task)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const ended = once(child, 'exit').then(() => output.trim());
    return { child, ended };
  };
  const startTogether = async (acts: readonly Act[]) => {
    const database = await freshDatabase();
    onTestFinished(() => database.close());
    const platform = await outOfScope(...acts);
    const task = (change: object): ProcessTask => ({
      databaseUrl: database.url,
      platformUrl: platform.url,
      secretKey: SECRET_KEY.toString('base64'),
      merchant: MERCHANT,
      registration: checked({ ...ENTERPRISE, ...change }),
    });
    return { database, platform, task };
  };

  it('two that register the same payee at once make one call', async () => {
    const { platform, task } = await startTogether([reply('01')]);
    const outcomes = await Promise.all(
      ['A', 'B', 'C'].map((merOrderNo) => start(task({ merOrderNo })).ended),
    );
    expect(outcomes.sort()).toEqual(['01', 'PayeeInReview', 'PayeeInReview']);
    expect(platform.received).toHaveLength(1);
  });

  it(
    'one killed during its call is repeated at once: same number, same callbackUrl',
    { tags: ['long'] },
    async () => {
      const { database, platform, task } = await startTogether([stall, reply('01')]);
      const first = start(task({}));
      await expect.poll(() => platform.received.length, { timeout: 20_000 }).toBe(1);
      expect(await start(task({})).ended).toBe('RegistrationInFlight');
      first.child.kill('SIGKILL');
      await first.ended;
      expect(await start(task({ merOrderNo: 'BEN-0099' })).ended).toBe('PayeeInReview');
      expect(await start(task({})).ended).toBe('01');
      expect(platform.received).toHaveLength(2);
      expect(platform.received[1]!.body).toBe(platform.received[0]!.body);
      expect(platform.received[0]!.body).toContain(`${PUBLIC_URL}/notify/beneficiary/`);
      expect(await listBeneficiaries(database.db)).toMatchObject([{ status: '01', sends: 2 }]);
    },
  );
});
