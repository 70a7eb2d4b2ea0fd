import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { createInbox } from '../../../../src/plugins/submissions/notifications.ts';
import {
  processNotifications,
  type ProcessReport,
} from '../../../../src/plugins/submissions/notifications.ts';
import { markAccepted, markUnknown } from '../../../../src/plugins/submissions/applications.ts';
import { addMerchant, merchantTokens, notJoined } from '../../../../src/store/merchants.ts';
import { listNotifications, resolveNotification } from '../../../../src/plugins/submissions/notifications.ts';
import { openDatabase } from '../../../../src/store/engine/connection.ts';
import { startCuttingProxy } from '../../../support/cutting-proxy.ts';
import { onBothDatabases } from '../../../store/support.ts';
import { freshDatabase } from '../../../support/database.ts';
import {
  accepted,
  beneficiaryResult,
  inReview,
  NEEDS_DOCUMENTS,
  onboardingResult,
  REJECTED,
  replied,
  sending,
  stateOf,
  submitting,
  type Subject,
} from './subjects.ts';
import { KEYS, NOW } from './support.ts';

type Db = Parameters<typeof stateOf>[0];

const arrives = (db: Db, { path, secret }: Pick<Subject, 'path' | 'secret'>, payload: object | string) =>
  createInbox({ db, secretKeys: KEYS, now: () => NOW }).keep({
    kind: path.includes('onboarding') ? 'onboarding' : 'beneficiary',
    secret,
    body: typeof payload === 'string' ? payload : JSON.stringify(payload),
  });

const checked = (db: Db, secretKeys = KEYS): Promise<ProcessReport> =>
  processNotifications({ db, secretKeys, now: () => NOW, signal: new AbortController().signal });

/** The outcomes in order of arrival. */
async function outcomes(db: Db): Promise<(string | null)[]> {
  await checked(db);
  const rows = await listNotifications(db, { all: true, limit: 100 });
  return rows.map(({ outcome }) => outcome).reverse();
}

const application = (db: Db, { id }: Subject) =>
  db.selectFrom('application').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const beneficiary = (db: Db, { id }: Subject) =>
  db.selectFrom('beneficiary').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

onBothDatabases((store) => {
  it('an approval stores merchant number and token encrypted; the merchant is known, but not joined yet', async () => {
    const { db } = store();
    const one = await accepted(db, 'A1');
    await arrives(db, one, onboardingResult(one));
    expect(await checked(db)).toEqual({ outcomes: { applied: 1 }, left: [] });
    expect(await application(db, one)).toMatchObject({ state: 'approved', merchant_no: 'M-A1' });
    expect(await merchantTokens(db, KEYS)).toEqual([{ merchantNo: 'M-A1', token: 'tok-A1' }]);
    expect([...(await notJoined(db, ['M-A1'])).keys()]).toEqual(['M-A1']);
    expect(JSON.stringify(await stateOf(db))).not.toContain('tok-A1');
    expect(await checked(db)).toEqual({ outcomes: {}, left: [] });
  });

  it('a request for documents, then the approval: each changes the state once, replays and late posts do not', async () => {
    const { db } = store();
    const one = await accepted(db, 'A1');
    await arrives(db, one, onboardingResult(one, NEEDS_DOCUMENTS));
    await arrives(db, one, onboardingResult(one, NEEDS_DOCUMENTS));
    expect(await outcomes(db)).toEqual(['applied', 'duplicate']);
    expect(await application(db, one)).toMatchObject({ state: 'supplement' });
    await arrives(db, one, onboardingResult(one));
    await arrives(db, one, onboardingResult(one, NEEDS_DOCUMENTS));
    await arrives(db, one, onboardingResult(one));
    await arrives(db, one, onboardingResult(one, REJECTED));
    expect((await outcomes(db)).slice(2)).toEqual(['applied', 'duplicate', 'duplicate', 'contradiction']);
    expect(await application(db, one)).toMatchObject({ state: 'approved' });
  });

  it('a second, different token changes nothing, is kept, and is reported until a person has dealt with it', async () => {
    const { db } = store();
    const one = await accepted(db, 'A1');
    await arrives(db, one, onboardingResult(one));
    await checked(db);
    const before = await stateOf(db);
    await arrives(db, one, onboardingResult(one, { token: 'tok-other' }));
    await arrives(db, one, onboardingResult(one, { merchantNo: 'M-other' }));
    expect(await outcomes(db)).toEqual(['applied', 'second-token', 'second-token']);
    expect(await stateOf(db)).toEqual(before);
    const reported = () => listNotifications(db, { all: false, limit: 10 });
    expect((await reported()).map(({ number, merOrderNo }) => [number, merOrderNo])).toEqual([
      [3, 'A1'],
      [2, 'A1'],
    ]);
    expect(await resolveNotification(db, { number: 3, note: 'asked them', now: NOW })).toBe(true);
    expect(await resolveNotification(db, { number: 3, note: 'again', now: NOW })).toBe(false);
    expect(await resolveNotification(db, { number: 1, note: 'applied ones need nobody', now: NOW })).toBe(
      false,
    );
    expect((await reported()).map(({ number }) => number)).toEqual([2]);
  });

  it('an approval never replaces the token of an existing merchant', async () => {
    const { db } = store();
    await addMerchant(db, { merchantNo: 'M-A1', token: 'mine', secretKeys: KEYS, now: NOW });
    const one = await accepted(db, 'A1');
    const before = await stateOf(db);
    await arrives(db, one, onboardingResult(one));
    expect(await outcomes(db)).toEqual(['second-token']);
    expect(await stateOf(db)).toEqual(before);
  });

  it('a result with the path or the numbers of another application changes neither', async () => {
    const { db } = store();
    const [one, two] = [await accepted(db, 'A1'), await accepted(db, 'A2')];
    const lost = await submitting(db, 'A3');
    await markUnknown(db, lost, { problem: 'no answer', detail: null, secretKeys: KEYS, now: NOW });
    const before = await stateOf(db);
    await arrives(db, one, onboardingResult(two));
    await arrives(db, one, onboardingResult(one, { bizFlow: two.flow }));
    await arrives(db, lost, onboardingResult(lost, { bizFlow: one.flow }));
    expect(await outcomes(db)).toEqual(['contradiction', 'contradiction', 'contradiction']);
    expect(await stateOf(db)).toEqual(before);
  });

  it('a result that overtakes our own reply waits for it', async () => {
    const { db } = store();
    const [one, two] = [await submitting(db, 'A1'), await sending(db, 'R1')];
    await arrives(db, one, onboardingResult(one));
    await arrives(db, two, beneficiaryResult(two));
    expect(await outcomes(db)).toEqual(['waiting', 'waiting']);
    expect(await outcomes(db)).toEqual(['waiting', 'waiting']);
    await markAccepted(db, one.id, { bizFlow: one.flow, now: NOW });
    await replied(db, two);
    expect(await outcomes(db)).toEqual(['applied', 'applied']);
    expect(await application(db, one)).toMatchObject({ state: 'approved' });
    expect(await beneficiary(db, two)).toMatchObject({ status: '04' });
  });

  it('for an application whose process died or whose outcome is unknown, the result decides', async () => {
    const { db } = store();
    const [died, unclear] = [await submitting(db, 'A1', 'elsewhere:1:-'), await submitting(db, 'A2')];
    await markUnknown(db, unclear, { problem: 'no answer', detail: null, secretKeys: KEYS, now: NOW });
    await db
      .updateTable('application')
      .set({ submitted_at: new Date(NOW.getTime() - 7_200_000) })
      .where('id', '=', died.id)
      .execute();
    for (const one of [died, unclear]) await arrives(db, one, onboardingResult(one));
    expect(await outcomes(db)).toEqual(['applied', 'applied']);
    expect(await application(db, died)).toMatchObject({ state: 'approved', biz_flow: died.flow });
  });

  it('a beneficiary leaves review once, and gets its payeeId if the reply had none', async () => {
    const { db } = store();
    const [one, two] = [await inReview(db, 'R1'), await sending(db, 'R2')];
    await replied(db, two, null);
    await arrives(db, one, beneficiaryResult(one, { payeeId: 'P-other' }));
    await arrives(db, one, beneficiaryResult(one, { status: '03' }));
    await arrives(db, one, beneficiaryResult(one));
    await arrives(db, one, beneficiaryResult(one, { status: '03' }));
    await arrives(db, two, beneficiaryResult(two, { unshown: { fee: 1 } }));
    expect(await outcomes(db)).toEqual(['contradiction', 'applied', 'contradiction', 'duplicate', 'applied']);
    expect(await beneficiary(db, one)).toMatchObject({ status: '03', payee_id: 'P-R1' });
    expect(await beneficiary(db, two)).toMatchObject({ status: '04', payee_id: 'P-R2' });
  });

  it('a notification whose key is missing is left, its key is named, and the others are processed', async () => {
    const { db } = store();
    const [one, two] = [await accepted(db, 'A1'), await inReview(db, 'R1')];
    const other = [{ id: 'k9', key: Buffer.alloc(32, 9) }];
    await createInbox({ db, secretKeys: other, now: () => NOW }).keep({
      kind: 'onboarding',
      secret: one.secret,
      body: JSON.stringify(onboardingResult(one)),
    });
    await arrives(db, two, beneficiaryResult(two));
    const report = await checked(db);
    expect(report.outcomes).toEqual({ applied: 1 });
    expect(report.left).toEqual([{ number: 1, problem: expect.stringContaining('"k9"') as string }]);
    expect((await checked(db, [...KEYS, ...other])).outcomes).toEqual({ applied: 1 });
    expect(await application(db, one)).toMatchObject({ state: 'approved' });
  });

  it('in any order and however often, the first approval decides, and nothing after it changes that', async () => {
    const { db } = store();
    let n = 0;
    const pushes = fc.array(fc.constantFrom('documents', 'approval', 'second', 'rejection'), {
      minLength: 1,
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(pushes, async (order) => {
        n += 1;
        const one = await accepted(db, `A${n}`);
        const changes = {
          documents: NEEDS_DOCUMENTS,
          approval: {},
          second: { token: 'tok-2' },
          rejection: REJECTED,
        };
        for (const push of order) {
          await arrives(db, one, onboardingResult(one, changes[push]));
          if (n % 2 === 0) await checked(db);
        }
        await checked(db);
        const decision = order.find((push) => push === 'approval' || push === 'second');
        // The last notification before it that is new. Anything seen before is a replay.
        const last = order.findLast((push, index) => order.indexOf(push) === index);
        const { state } = await application(db, one);
        expect(state).toBe(
          decision !== undefined ? 'approved' : last === 'documents' ? 'supplement' : 'rejected',
        );
        const token = (await merchantTokens(db, KEYS)).find(({ merchantNo }) => merchantNo === `M-A${n}`);
        expect(token?.token).toBe(
          decision === 'approval' ? `tok-A${n}` : decision === 'second' ? 'tok-2' : undefined,
        );
      }),
      { numRuns: 40 },
    );
  });
});

const WAIT = { timeout: 20_000, interval: 50 };

describe('processing that is cut off or shared', () => {
  it('a connection cut at the commit changes all or nothing, and the next pass completes it', async () => {
    const real = await freshDatabase();
    for (const when of ['before', 'after'] as const) {
      const one = await accepted(real.db, `A-${when}`);
      await arrives(real.db, one, onboardingResult(one));
      const proxy = await startCuttingProxy(real.url);
      const database = await openDatabase({ databaseUrl: proxy.url, dataDir: '' });
      proxy.cuts.push({ message: 'commit', when });
      await expect(checked(database.db)).rejects.toThrow();
      // In one statement, as the server may be committing at this moment.
      const { state, outcome } = await real.db
        .selectFrom('notification')
        .innerJoin('application', 'application.notify_hash', 'notification.notify_hash')
        .select(['application.state', 'notification.outcome'])
        .where('application.id', '=', one.id)
        .executeTakeFirstOrThrow();
      expect([
        ['accepted', null],
        ['approved', 'applied'],
      ]).toContainEqual([state, outcome]);
      await vi.waitFor(async () => {
        // It is skipped as long as the cut transaction still holds it.
        await checked(real.db);
        expect(await application(real.db, one)).toMatchObject({ state: 'approved' });
      }, WAIT);
      await database.close();
      await proxy.close();
    }
    await real.close();
  });

  it('several processes at once share the work, and process each notification once', async () => {
    const { db, close } = await freshDatabase();
    const subjects = await Promise.all(Array.from({ length: 40 }, (_, n) => accepted(db, `A${n}`)));
    for (const one of subjects) {
      await arrives(db, one, onboardingResult(one));
      await arrives(db, one, onboardingResult(one));
    }
    const reports = await Promise.all([checked(db), checked(db), checked(db)]);
    const sum = (outcome: 'applied' | 'duplicate') =>
      reports.reduce((total, { outcomes: counts }) => total + (counts[outcome] ?? 0), 0);
    expect([sum('applied'), sum('duplicate')]).toEqual([40, 40]);
    expect(await merchantTokens(db, KEYS)).toHaveLength(40);
    await close();
  });
});
