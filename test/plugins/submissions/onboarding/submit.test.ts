import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createApplicationClient } from '../../../../src/plugins/submissions/application-client.ts';
import {
  adviceOf,
  ApplicationStands,
  settleApplication,
} from '../../../../src/plugins/submissions/application-status.ts';
import {
  ApplicationInvalid,
  ReceiptNotStored,
  submitApplication,
  type SubmitDeps,
} from '../../../../src/plugins/submissions/submit.ts';
import {
  applyApplicationResult,
  markAccepted,
  markBrokenOff,
  SUBMITTING_MS_MAX,
  applicationDetail,
  listApplications,
  openPayloads,
  type ApplicationRow,
} from '../../../../src/plugins/submissions/applications.ts';
import { merchantTokens } from '../../../../src/store/merchants.ts';
import { newNotifySecret, notifyHashOf } from '../../../../src/store/notify-path.ts';
import { thisHolder } from '../../../../src/host/process-identity.ts';
import {
  answer,
  breakOff,
  rejection,
  reset,
  stall,
  outOfScope,
  transportTo,
  type Act,
} from '../../../platform/stranger.ts';
import { NOW, onBothDatabases } from '../../../store/support.ts';
import { application, path, person, rules } from './applications.ts';

const secretKeys = [{ id: 'k1', key: randomBytes(32) }];

/** The receipt of docs/platform.md 4.3 for the application that was sent. */
const receipt =
  (bizFlow: string): Act =>
  (response, { body }) => {
    const { merOrderNo } = JSON.parse(body) as { merOrderNo: string };
    const reply = { bizFlow, merOrderNo, status: 'ACCEPT', code: 'S00001', message: 'ACCEPT' };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
  };

onBothDatabases((store) => {
  let orders = 0;

  /** A platform with these acts, and a function that submits to it. */
  const platform = async (...acts: Act[]) => {
    const { url, received } = await outOfScope(...acts);
    return { received, ...depsTo(url, {}, acts.includes(stall) ? 150 : 30_000) };
  };
  const depsTo = (url: string, more: Partial<SubmitDeps> = {}, timeoutMs = 30_000) => {
    const deps: SubmitDeps = {
      db: store().db,
      client: createApplicationClient(transportTo(url, { timeoutMs, retriesMax: 2 }).transport),
      secretKeys,
      rules: rules(),
      referralChannel: null,
      publicUrl: 'https://daybook.example.com',
      holder: thisHolder(),
      now: () => NOW,
      newOrderNo: () => `DB${(orders += 1)}`,
      newSecret: newNotifySecret,
      signal: new AbortController().signal,
      storeDelaysMs: [],
      ...more,
    };
    const submit = (
      file: unknown = application(),
      replaces: number | null = null,
      change: Partial<SubmitDeps> = {},
    ) => submitApplication({ file, replaces }, { ...deps, ...change });
    return { deps, submit };
  };
  const all = () => listApplications(store().db, 10);
  const states = async () => (await all()).map(({ state }) => state);
  const decide = (row: ApplicationRow, message: string, processVersion: string | null = null) =>
    store()
      .db.transaction()
      .execute((trx) =>
        applyApplicationResult(trx, row, {
          decision: { to: 'supplement', message },
          bizFlow: row.bizFlow ?? 'FLOW1',
          processVersion,
          secretKeys,
          now: NOW,
        }),
      );

  describe('an application', () => {
    it('is accepted for review, and its payload is stored nowhere in clear text', async () => {
      const { submit, received } = await platform(receipt('FLOW1'));
      const row = await submit();
      expect(row).toMatchObject({ state: 'accepted', bizFlow: 'FLOW1', isNotified: true, problem: null });
      const sent = JSON.parse(received[0]!.body) as Record<string, unknown>;
      expect(received[0]!.path).toBe('/api/sp1101');
      expect(sent).toEqual({ ...application(), merOrderNo: row.merOrderNo, callbackUrl: expect.any(String) });
      const [stored] = await store().db.selectFrom('application').selectAll().execute();
      const secret = String(sent['callbackUrl']).replace(
        'https://daybook.example.com/notify/onboarding/',
        '',
      );
      expect(secret).toMatch(/^[\w-]{43}$/);
      expect(stored!.notify_hash).toBe(notifyHashOf(secret));
      for (const kept of [secret, 'kyc@example.com', 'Ada Wong', 'Lantern', '76543210', 'harbour'])
        expect(JSON.stringify(stored).toLowerCase()).not.toContain(kept.toLowerCase());
      expect((await openPayloads(store().db, secretKeys))[0]!.payload).toEqual(sent);
    });

    it('that breaks a rule is not recorded and not sent', async () => {
      const { submit, received } = await platform(receipt('FLOW1'));
      const error = await rejection(submit(application({ email: '', certificate: ['scan.jpg'] })));
      expect(error).toBeInstanceOf(ApplicationInvalid);
      expect(error.message).toBe(
        '2 problems in the application; nothing was sent.\n  email is required\n  certificate[0] is a local file name; give ' +
          'the path that the platform’s file upload operation returned',
      );
      expect([received.length, (await all()).length]).toEqual([0, 0]);
    });

    it('is not recorded or sent without a key to encrypt it with', async () => {
      const { submit, received } = await platform(receipt('FLOW1'));
      await expect(submit(application(), null, { secretKeys: [] })).rejects.toThrow(/DAYBOOK_SECRET_KEYS/);
      expect([received.length, (await all()).length]).toEqual([0, 0]);
    });

    it('with its own callbackUrl gets a warning that the result goes there', async () => {
      const { submit } = await platform(receipt('FLOW1'));
      const row = await submit(application({ callbackUrl: 'https://hooks.example.com/kyc' }));
      expect(row).toMatchObject({ state: 'accepted', isNotified: false });
      expect(adviceOf(row)).toMatch(/not to daybook/);
    });
  });

  describe('a submission that fails', () => {
    it('is refused if the platform refuses it, and the platform’s words are stored encrypted', async () => {
      const reply = '{"code":"E40000","message":"certNo K80012345 of Ada Wong is not valid"}';
      const { submit, received } = await platform(answer(reply, 400));
      const row = await submit();
      expect(row).toMatchObject({ state: 'refused', bizFlow: null });
      expect(row.problem).toMatch(/^sp1101 for the agent: the platform answered 400/);
      expect(JSON.stringify(await store().db.selectFrom('application').selectAll().execute())).not.toMatch(
        /K80012345/,
      );
      expect(row.problem).not.toMatch(/Ada|K80012345/);
      expect(await applicationDetail(store().db, secretKeys, row.id)).toBe(reply);
      expect(received).toHaveLength(1);
    });

    it('is refused if it was never sent', async () => {
      const { submit } = depsTo('http://127.0.0.1:1');
      expect(await submit()).toMatchObject({
        state: 'refused',
        problem: expect.stringMatching(/^it was not sent: .*ECONNREFUSED/),
      });
      expect(adviceOf((await all())[0]!)).toMatch(/^Nothing reached the platform\. /);
    });

    it.each<[string, Act]>([
      ['a connection cut', reset],
      ['no reply in time', stall],
      ['a reply that breaks off', breakOff('{"bizFlow":"FLOW1"'.padEnd(100))],
      ['500', answer('', 500)],
      ['502', answer('<html>', 502)],
      ['a reply that is no receipt', answer('{"status":"ACCEPT","code":"S00009","bizFlow":"FLOW1"}')],
      ['HTML', answer('<html>')],
      ['a receipt that rejects', answer('{"status":"REJECT","code":"S00001","bizFlow":"FLOW1"}')],
      ['an error that is both', answer('{"status":"REJECT","code":"S00001","bizFlow":"FLOW1"}', 400)],
      ['a redirect', answer('', 302, { location: 'https://elsewhere.example' })],
    ])('is unknown after %s, and is sent only once', async (_what, act) => {
      const { submit, received } = await platform(act, receipt('FLOW1'));
      const row = await submit();
      expect(row).toMatchObject({ state: 'unknown', bizFlow: null });
      expect(row.problem).toMatch(/^sp1101 for the agent: /);
      expect(received).toHaveLength(1);
      expect(adviceOf(row)).toContain(`Ask the platform whether it has merOrderNo ${row.merOrderNo}`);
      expect(adviceOf(row)).toContain(`onboard settle ${row.id} --biz-flow FLOW`);
      expect(adviceOf(row)).toContain(`onboard submit FILE --replaces ${row.id}`);
    });

    it('is unknown, but received, after a receipt without bizFlow; a result at its path is applied', async () => {
      const { submit, received } = await platform(answer('{"code":200,"data":{"code":"S00001"}}'));
      const row = await submit();
      expect(row).toMatchObject({
        state: 'unknown',
        bizFlow: null,
        isReceived: true,
        problem: 'the platform’s receipt names no bizFlow, or none that can be kept',
      });
      expect(received).toHaveLength(1);
      expect(adviceOf(row)).toContain('Do not submit it again');
      expect(adviceOf(row)).toContain(`onboard settle ${row.id} --biz-flow FLOW`);
      expect((await rejection(submit())).message).toContain('stands as unknown');
      expect(received).toHaveLength(1);
    });

    it('is unknown if it is stopped midway', async () => {
      const stop = new AbortController();
      const { submit } = await platform(() => stop.abort(new Error('stopped')));
      const row = await submit(application(), null, { signal: stop.signal });
      expect(row).toMatchObject({
        state: 'unknown',
        problem: 'the submission ended before the platform’s reply arrived: it was stopped',
      });
    });

    it('is unknown after a bug of our own, and the bug is reported', async () => {
      const client = { submit: () => Promise.reject(new TypeError('a fault')) };
      const { submit } = depsTo('http://127.0.0.1:1', { client });
      await expect(submit()).rejects.toThrow(TypeError);
      expect(await states()).toEqual(['unknown']);
    });

    it('says what the platform answered if the database went away meanwhile', async () => {
      const { deps, submit } = await platform(receipt('FLOW1'));
      const lost = Object.assign(new Error('Connection terminated'), { code: '08006' });
      let gone = false;
      const client = {
        submit: async (payload: object) => {
          const reply = await deps.client.submit(payload);
          gone = true;
          return reply;
        },
      };
      const db = new Proxy(deps.db, {
        get: (target, name, receiver: unknown) => {
          if (gone) throw lost;
          const value: unknown = Reflect.get(target, name, receiver);
          return typeof value === 'function' ? (value.bind(target) as unknown) : value;
        },
      });
      const error = await rejection(submit(application(), null, { client, db, storeDelaysMs: [1, 1] }));
      expect(error).toBeInstanceOf(ReceiptNotStored);
      const [row] = await all();
      expect(error.message).toContain(`\`daybook onboard settle ${row!.id} --biz-flow FLOW1\``);
      expect(row).toMatchObject({ state: 'submitting' });
    });

    it('ignores its receipt if another application has that bizFlow', async () => {
      const { submit } = await platform(receipt('FLOW1'));
      await submit();
      const row = await submit(application({ certificateNo: 'OTHER-1' }));
      expect(row).toMatchObject({ state: 'unknown', bizFlow: null });
      expect(row.problem).toMatch(/bizFlow of another application/);
    });
  });

  describe('a process that dies between sending and storing', () => {
    const submittingBy = async (holder: string, submittedAt: Date) => {
      const { submit } = depsTo('http://127.0.0.1:1', {
        holder,
        now: () => submittedAt,
        client: { submit: () => Promise.reject(new TypeError('x')) },
      });
      await submit(application({ certificateNo: `C${(orders += 1)}` })).catch(() => undefined);
      const [row] = await all();
      await store()
        .db.updateTable('application')
        .set({ state: 'submitting', problem: null })
        .where('id', '=', row!.id)
        .execute();
      return row!.id;
    };
    const stateOf = async (id: number) => (await all()).find((row) => row.id === id)!.state;

    it('leaves an unknown application: at once if the process is known to be dead, else after an hour', async () => {
      const dead = thisHolder().replace(/:\d+:/, ':4194305:');
      const gone = await submittingBy(dead, NOW);
      const alive = await submittingBy(thisHolder(), NOW);
      const elsewhere = await submittingBy('other-host:1:boot.1.1', NOW);
      const elsewhereLong = await submittingBy(
        'other-host:1:boot.1.1',
        new Date(NOW.getTime() - SUBMITTING_MS_MAX - 1),
      );
      expect(await markBrokenOff(store().db, NOW)).toBe(2);
      expect(await Promise.all([gone, alive, elsewhere, elsewhereLong].map(stateOf))).toEqual([
        'unknown',
        'submitting',
        'submitting',
        'unknown',
      ]);
      expect(await markBrokenOff(store().db, NOW)).toBe(0);
    });

    it('a receipt that comes late is still accepted', async () => {
      const id = await submittingBy('other-host:1:boot.1.1', new Date(0));
      await markBrokenOff(store().db, NOW);
      expect(await markAccepted(store().db, id, { bizFlow: 'LATE', now: NOW })).toMatchObject({
        state: 'accepted',
        bizFlow: 'LATE',
        problem: null,
      });
    });
  });

  it('a result that came before the receipt stays, and a receipt with another bizFlow changes nothing', async () => {
    const { submit } = await platform(reset);
    const row = await submit();
    const approve = (bizFlow: string) =>
      store()
        .db.transaction()
        .execute((trx) =>
          applyApplicationResult(trx, row, {
            decision: { to: 'approved', merchantNo: 'M7', token: 'made-up' },
            bizFlow,
            processVersion: null,
            secretKeys,
            now: NOW,
          }),
        );
    expect(await approve('FLOW1')).toBe(true);
    const approved = { state: 'approved', bizFlow: 'FLOW1', merchantNo: 'M7', problem: null };
    for (const bizFlow of ['FLOW1', 'FLOW2'])
      expect(await markAccepted(store().db, row.id, { bizFlow, now: NOW })).toMatchObject(approved);
    expect((await all())[0]).toMatchObject(approved);
    expect(await merchantTokens(store().db, secretKeys)).toEqual([{ merchantNo: 'M7', token: 'made-up' }]);
  });

  describe('a second application for the same merchant', () => {
    it.each([
      ['accepted', receipt('FLOW1')],
      ['unknown', reset],
    ])('is not sent while the first is %s', async (state, act) => {
      const { submit, received } = await platform(act, receipt('FLOW2'));
      const first = await submit();
      const error = await rejection(
        submit(application({ certificateNo: '76543210000', email: 'other@example.com' })),
      );
      expect(error).toBeInstanceOf(ApplicationStands);
      expect(error.message).toBe(
        `application ${first.id} is for the same registration number and stands as ${state}: \`daybook onboard status ` +
          `${first.id}\` says what to do; --replaces ${first.id} submits this one in its place. Nothing was sent.`,
      );
      expect(received).toHaveLength(1);
      expect(await submit(application({ certificateNo: '1' }))).toMatchObject({ state: 'accepted' });
    });

    it('is sent once the first was refused', async () => {
      const { submit } = await platform(answer('', 400), receipt('FLOW2'));
      await submit();
      await submit();
      expect(await states()).toEqual(['accepted', 'refused']);
    });

    it('is sent in its place, once, if a person says so', async () => {
      const { submit } = await platform(reset, receipt('FLOW2'), receipt('FLOW3'));
      const first = await submit();
      const second = await submit(application(), first.id);
      expect(second).toMatchObject({ state: 'accepted', replaces: first.id });
      expect(await states()).toEqual(['accepted', 'unknown']);
      await expect(submit(application(), first.id)).rejects.toThrow(
        `application ${first.id} is replaced already, by ${second.id}`,
      );
      await expect(submit()).rejects.toThrow(`application ${second.id} is for the same registration number`);
      expect(await submit(application(), second.id)).toMatchObject({ state: 'accepted' });
    });

    it('cannot replace one that is approved, under way, or missing', async () => {
      const { submit } = await platform(receipt('FLOW1'));
      const { id } = await submit();
      const become = (state: string, merchant_no: string | null) =>
        store().db.updateTable('application').set({ state, merchant_no }).where('id', '=', id).execute();
      await become('approved', 'M1');
      await expect(submit(application(), id)).rejects.toThrow(`application ${id} is approved`);
      await become('submitting', null);
      await expect(submit(application(), id)).rejects.toThrow(
        `application ${id} is being submitted right now`,
      );
      await expect(submit(application(), 999)).rejects.toThrow('there is no application 999');
    });

    it('needs another order number', async () => {
      const { submit, received } = await platform(receipt('FLOW1'));
      const { id } = await submit(application({ merOrderNo: 'MINE' }));
      await expect(submit(application({ merOrderNo: 'MINE' }))).rejects.toThrow(
        `merOrderNo is that of application ${id} already (accepted)`,
      );
      expect(received).toHaveLength(1);
    });

    it('is the same one where the first was refused: corrected, under its number and its address for results', async () => {
      const { submit, received } = await platform(answer('', 400), receipt('FLOW1'));
      const { id } = await submit(application({ merOrderNo: 'MINE' }));
      const again = await submit(application({ merOrderNo: 'MINE', email: 'corrected@example.com' }));
      expect(again).toMatchObject({ id, state: 'accepted', bizFlow: 'FLOW1', problem: null });
      const [first, second] = received.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
      expect(second).toEqual({ ...first, email: 'corrected@example.com' });
      expect(await applicationDetail(store().db, secretKeys, id)).toBeNull();
      expect((await all()).length).toBe(1);
    });

    it('stays in the place of an earlier one, however often it is refused', async () => {
      const refuse = answer('', 400);
      const { submit } = await platform(reset, refuse, refuse, receipt('FLOW1'));
      const first = await submit();
      const mine = application({ merOrderNo: 'MINE' });
      const second = await submit(mine, first.id);
      expect(await submit(mine)).toMatchObject({ id: second.id, state: 'refused', replaces: first.id });
      expect(await submit(mine, second.id)).toMatchObject({
        ...{ id: second.id, state: 'accepted', replaces: first.id },
      });
    });

    it('is not sent by two processes at once', async () => {
      const { submit, received } = await platform(receipt('FLOW1'), receipt('FLOW2'));
      const ended = await Promise.allSettled([submit(), submit(), submit()]);
      expect(ended.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
      expect(received).toHaveLength(1);
    });
  });

  describe('an unknown application', () => {
    it('is settled by a person who got its bizFlow from the platform', async () => {
      const { submit } = await platform(receipt('FLOW1'), reset);
      const accepted = await submit();
      const { id } = await submit(application({ certificateNo: 'OTHER-1' }));
      const settle = (bizFlow: string, which = id) =>
        settleApplication(store().db, { id: which, bizFlow, now: NOW });
      await expect(settle('FLOW1')).rejects.toThrow(`bizFlow FLOW1 is application ${accepted.id}’s`);
      await expect(settle('FLOW9', 999)).rejects.toThrow('there is no application 999');
      expect(await settle('FLOW2')).toMatchObject({ state: 'accepted', bizFlow: 'FLOW2', problem: null });
      await expect(settle('FLOW3')).rejects.toThrow('stands as accepted');
    });
  });

  describe('a result that asks for more documents', () => {
    const message = '{"reason":"the licence is cut off","fields":["certificate"],"processId":"V2"}';

    it('guards the merchant against a second application', async () => {
      const { submit, received } = await platform(receipt('FLOW1'), receipt('FLOW2'));
      const first = await submit();
      await decide(first, message);
      expect((await rejection(submit())).message).toContain('stands as supplement');
      expect(received).toHaveLength(1);
      expect(await submit(application(), first.id)).toMatchObject({ state: 'accepted' });
    });

    it('gives its process version to the application that replaces it', async () => {
      const { submit, received } = await platform(receipt('FLOW1'), receipt('FLOW2'), receipt('FLOW3'));
      const first = await submit();
      expect(await decide(first, message)).toBe(true);
      const second = await submit(application({ certificate: [path('whole')] }), first.id);
      expect(JSON.parse(received[1]!.body)).toMatchObject({
        processVersion: 'V2',
        certificate: [path('whole')],
      });
      expect(second).toMatchObject({ processVersion: 'V2', replaces: first.id });
      expect(adviceOf(first, true)).not.toContain('settle');
    });

    it('the process version comes from the result, or from the file', async () => {
      const { submit, received } = await platform(receipt('FLOW1'), receipt('FLOW2'), receipt('FLOW3'));
      const first = await submit();
      await decide(first, '{"reason":"no version here"}', 'V3');
      await submit(application({ director: [person('Cy Ng')] }), first.id);
      expect(JSON.parse(received[1]!.body)).toMatchObject({ processVersion: 'V3' });
      const [second] = await all();
      await decide(second!, message);
      await submit(application({ processVersion: 'V9' }), second!.id);
      expect(JSON.parse(received[2]!.body)).toMatchObject({ processVersion: 'V9' });
    });
  });
});
