import { expect, it } from 'vitest';
import { applyNotification } from '../../../../src/plugins/submissions/notifications.ts';
import { createInbox } from '../../../../src/plugins/submissions/notifications.ts';
import { processNotifications } from '../../../../src/plugins/submissions/notifications.ts';
import { markRefused, applicationById } from '../../../../src/plugins/submissions/applications.ts';
import { merchantTokens, notJoined } from '../../../../src/store/merchants.ts';
import { listNotifications } from '../../../../src/plugins/submissions/notifications.ts';
import { fingerprintKey } from '../../../../src/store/secrets/key-check.ts';
import { rejection } from '../../../platform/stranger.ts';
import { onBothDatabases } from '../../../store/support.ts';
import {
  accepted,
  beneficiaryResult,
  inReview,
  NEEDS_DOCUMENTS,
  onboardingResult,
  REJECTED,
  stateOf,
  submitting,
  type Subject,
} from './subjects.ts';
import { KEYS, NOW } from './support.ts';

type Db = Parameters<typeof stateOf>[0];

/** Stores and processes results. Returns their outcomes in order of arrival. */
async function come(db: Db, { path, secret }: Subject, ...payloads: (object | string)[]) {
  const inbox = createInbox({ db, secretKeys: KEYS, now: () => NOW });
  for (const payload of payloads) {
    await inbox.keep({
      kind: path.includes('onboarding') ? 'onboarding' : 'beneficiary',
      secret,
      body: typeof payload === 'string' ? payload : JSON.stringify(payload),
    });
  }
  const { signal } = new AbortController();
  await processNotifications({ db, secretKeys: KEYS, now: () => NOW, signal });
  return (await listNotifications(db, { all: true, limit: 100 })).map(({ outcome }) => outcome).reverse();
}
const apply = async (db: Db, number: number, note: string | null = null) => {
  const digestKey = await fingerprintKey(db, 'result', KEYS);
  return db
    .transaction()
    .execute((trx) => applyNotification(trx, { number, note }, { secretKeys: KEYS, digestKey, now: NOW }));
};

onBothDatabases(
  (store) => {
    it('stores the token of an approval for an application that the platform had refused', async () => {
      const { db } = store();
      const one = await submitting(db, 'A1');
      const row = (await applicationById(db, one.id))!;
      await markRefused(db, row, { problem: 'no', detail: null, secretKeys: KEYS, now: NOW });
      expect(await come(db, one, onboardingResult(one))).toEqual(['contradiction']);
      expect(await apply(db, 1, 'they said so')).toEqual({
        number: 1,
        kind: 'onboarding',
        merOrderNo: 'A1',
        standing: 'approved',
        merchantNo: 'M-A1',
        readAs: null,
      });
      expect(await applicationById(db, one.id)).toMatchObject({ state: 'approved', bizFlow: one.flow });
      expect(await merchantTokens(db, KEYS)).toEqual([{ merchantNo: 'M-A1', token: 'tok-A1' }]);
      expect([...(await notJoined(db, ['M-A1'])).keys()]).toEqual(['M-A1']);
      expect(JSON.stringify(await stateOf(db))).not.toContain('tok-A1');
      expect(await listNotifications(db, { all: true, limit: 1 })).toMatchObject([
        { outcome: 'applied', reason: 'applied by a person', note: 'they said so', resolvedAt: NOW },
      ]);
      expect(await come(db, one, onboardingResult(one))).toEqual(['applied', 'duplicate']);
    });

    it('replaces the first token by the second, if a person knows that it is right', async () => {
      const { db } = store();
      const one = await accepted(db, 'A1');
      const second = onboardingResult(one, { token: 'tok-2' });
      expect(await come(db, one, onboardingResult(one), second)).toEqual(['applied', 'second-token']);
      await apply(db, 2);
      expect(await merchantTokens(db, KEYS)).toEqual([{ merchantNo: 'M-A1', token: 'tok-2' }]);
      expect((await come(db, one, second)).at(-1)).toBe('duplicate');
    });

    it('applies a rejection after an approval, or with another bizFlow, but none for another application', async () => {
      const { db } = store();
      const [one, two] = [await accepted(db, 'A1'), await accepted(db, 'A2')];
      await come(db, one, onboardingResult(one), onboardingResult(one, REJECTED));
      await apply(db, 2);
      expect(await applicationById(db, one.id)).toMatchObject({ state: 'rejected', merchantNo: null });
      await come(db, two, onboardingResult(two, { ...NEEDS_DOCUMENTS, bizFlow: 'another' }));
      await apply(db, 3);
      expect(await applicationById(db, two.id)).toMatchObject({ state: 'supplement', bizFlow: 'another' });
      await come(db, two, onboardingResult(two, { bizFlow: one.flow }));
      const before = await stateOf(db);
      expect((await rejection(apply(db, 4))).message).toBe(
        'notification 4 names the bizFlow of another application; nothing was changed.',
      );
      expect(await stateOf(db)).toEqual(before);
    });

    it('changes a registration that was decided otherwise', async () => {
      const { db } = store();
      const one = await inReview(db, 'R1');
      const approved = beneficiaryResult(one, { payeeId: 'P-new' });
      expect(await come(db, one, beneficiaryResult(one, { status: '03' }), approved)).toEqual([
        'applied',
        'contradiction',
      ]);
      expect(await apply(db, 2)).toMatchObject({ kind: 'beneficiary', merOrderNo: 'R1', standing: '04' });
      const [row] = await db.selectFrom('beneficiary').selectAll().execute();
      expect(row).toMatchObject({ status: '04', payee_id: 'P-new' });
    });

    it('applies nothing that is no result, or that needs no person', async () => {
      const { db } = store();
      const one = await accepted(db, 'A1');
      await come(db, one, onboardingResult(one), onboardingResult(one), 'code=S00000');
      const refusals = await Promise.all([1, 2, 3, 9].map((number) => rejection(apply(db, number))));
      expect(refusals.map(({ message }) => message)).toEqual([
        'notification 1 was applied before; nothing was changed.',
        'notification 2 repeats an applied one; nothing was changed.',
        'notification 3 cannot be read as a result (bizFlow is no string); `daybook notifications show 3 --reveal` prints it; ' +
          'nothing was changed.',
        'there is no notification 9; `daybook notifications --all` lists those there are.',
      ]);
    });
  },
  { isSmoke: true },
);
