/** Applications and registrations in the state after submitting, and the results the platform posts for them. */
import { randomUUID } from 'node:crypto';
import type { Kysely } from 'kysely';
import { markAccepted, recordApplication } from '../../../../src/plugins/submissions/applications.ts';
import {
  recordBeneficiary,
  storeBeneficiaryReply,
} from '../../../../src/plugins/submissions/registrations.ts';
import { newNotifySecret, notifyHashOf } from '../../../../src/store/notify-path.ts';
import { thisHolder } from '../../../../src/host/process-identity.ts';
import type { DB } from '../../../../src/store/engine/schema.ts';
import { KEYS, NOW } from './support.ts';

export interface Subject {
  readonly id: number;
  readonly merOrderNo: string;
  /** bizFlow or bizFlowNo, as the platform has returned it or will. */
  readonly flow: string;
  readonly secret: string;
  readonly path: string;
}

/** An application whose call is under way. Its reply is not stored. */
export async function submitting(
  db: Kysely<DB>,
  merOrderNo: string,
  holder = thisHolder(),
  secret = newNotifySecret(),
): Promise<Subject> {
  const { id } = await recordApplication(db, {
    merOrderNo,
    payload: { merNameEn: 'Acme Ltd' },
    notifyHash: notifyHashOf(secret),
    processVersion: null,
    replaces: null,
    holder,
    secretKeys: KEYS,
    now: NOW,
  });
  return { id, merOrderNo, flow: `BF-${merOrderNo}`, secret, path: `/notify/onboarding/${secret}` };
}

export async function accepted(db: Kysely<DB>, merOrderNo: string, secret?: string): Promise<Subject> {
  const application = await submitting(db, merOrderNo, thisHolder(), secret);
  await markAccepted(db, application.id, { bizFlow: application.flow, now: NOW });
  return application;
}

/** A registration whose call is under way. */
export async function sending(db: Kysely<DB>, merOrderNo: string): Promise<Subject> {
  const secret = newNotifySecret();
  const row = await recordBeneficiary(
    db,
    {
      merOrderNo,
      merchantNo: 'M1',
      bizMode: 'B',
      payeeKey: merOrderNo,
      payload: { companyName: 'Acme Ltd' },
      notifyHash: notifyHashOf(secret),
    },
    { id: randomUUID(), holder: thisHolder(), holdsMs: 60_000 },
    { secretKeys: KEYS, now: NOW },
  );
  return { id: row!.id, merOrderNo, flow: `BN-${merOrderNo}`, secret, path: `/notify/beneficiary/${secret}` };
}

export const replied = (
  db: Kysely<DB>,
  { merOrderNo, flow }: Subject,
  payeeId: string | null = `P-${merOrderNo}`,
) =>
  storeBeneficiaryReply(db, { merOrderNo, status: '01', bizFlowNo: flow, payeeId, respCode: 'S00000' }, NOW);

export async function inReview(db: Kysely<DB>, merOrderNo: string): Promise<Subject> {
  const registration = await sending(db, merOrderNo);
  await replied(db, registration);
  return registration;
}

/** sp3101 as the document shows it. */
export const onboardingResult = ({ flow, merOrderNo }: Subject, change: object = {}): object => ({
  bizFlow: flow,
  merOrderNo,
  code: 'S00000',
  message: 'Success',
  merchantNo: `M-${merOrderNo}`,
  merNameEn: 'Acme Ltd',
  token: `tok-${merOrderNo}`,
  ...change,
});

export const NEEDS_DOCUMENTS = {
  code: '80000',
  message: '{"reason":"licence expired","fields":["certificate"]}',
  merchantNo: '',
  token: '',
};
export const REJECTED = { code: 'E00017', message: '{"reason":"no"}', merchantNo: '', token: '' };

export const beneficiaryResult = ({ merOrderNo }: Subject, change: object = {}): object => ({
  status: '04',
  payeeId: `P-${merOrderNo}`,
  ...change,
});

/** Everything that a notification could change. */
export async function stateOf(db: Kysely<DB>): Promise<object> {
  return {
    applications: await db.selectFrom('application').selectAll().orderBy('id').execute(),
    beneficiaries: await db.selectFrom('beneficiary').selectAll().orderBy('id').execute(),
    merchants: await db.selectFrom('merchant').selectAll().orderBy('merchant_no').execute(),
  };
}
