import { expect, it } from 'vitest';
import { settleBeneficiary } from '../../../../src/plugins/submissions/register.ts';
import { listBeneficiaries } from '../../../../src/plugins/submissions/registrations.ts';
import { inReview, replied, sending } from '../notifications/subjects.ts';
import { NOW } from '../notifications/support.ts';
import { rejection } from '../../../platform/stranger.ts';
import { onBothDatabases } from '../../../store/support.ts';

onBothDatabases((store) => {
  const settle = (
    id: number,
    status: '03' | '04',
    payeeId: string | null = null,
    note: string | null = null,
  ) =>
    store()
      .db.transaction()
      .execute((trx) => settleBeneficiary(trx, { id, status, payeeId, note, now: NOW }));
  const refusal = async (...asked: Parameters<typeof settle>) => (await rejection(settle(...asked))).message;

  it('decides a registration that is under review or was never answered', async () => {
    const [one, two] = [await inReview(store().db, 'R1'), await sending(store().db, 'R2')];
    expect(await settle(one.id, '03', null, 'case 4711')).toMatchObject({
      status: '03',
      payeeId: 'P-R1',
      note: 'case 4711',
      decidedAt: NOW,
    });
    expect(await settle(two.id, '04', 'P9')).toMatchObject({ status: '04', payeeId: 'P9', bizFlowNo: null });
  });

  it('adds the payeeId that an approval left out, and never replaces one', async () => {
    const one = await sending(store().db, 'R1');
    await replied(store().db, one, null);
    expect(await settle(one.id, '04')).toMatchObject({ status: '04', payeeId: null });
    expect(await settle(one.id, '04', 'P1')).toMatchObject({ status: '04', payeeId: 'P1' });
    expect(await refusal(one.id, '04', 'P2')).toContain('has payeeId P1 from the platform already');
    expect(await refusal(one.id, '04')).toContain('stands so already');
    expect(await refusal(one.id, '03')).toContain('is approved by the platform');
    expect(await refusal(99, '03')).toContain('registration 99 is no registration; nothing was changed');
    expect(await listBeneficiaries(store().db, one.id)).toMatchObject([{ status: '04', payeeId: 'P1' }]);
  });
});
