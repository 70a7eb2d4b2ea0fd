/**
 * The result of a registration (sp3401): its status and payeeId, and what they may change (docs/platform.md 3.1, 6.2).
 * The document shows no other fields. Pure.
 */
import type { Transaction } from 'kysely';
import { z } from 'zod';
import { BENEFICIARY_STATUSES } from '../../platform/wire.ts';
import {
  type BeneficiaryRow,
  applyBeneficiaryResult,
  beneficiaryByNotifyHash,
} from './registrations.ts';
import type { DB } from '../../store/engine/schema.ts';
import { bodyOf, type OpenNotification } from './notifications.ts';
import {
  asWritten,
  readBody,
  referenceOrNull,
  type Reading,
  applies,
  changesNothing,
  type Verdict,
  settled,
  type ProcessContext,
  type Settlement,
} from './verdict.ts';

/** What a result is compared with. */
export type RegistrationState = Pick<
  BeneficiaryRow,
  'merOrderNo' | 'bizFlowNo' | 'payeeId' | 'status' | 'needsPerson'
>;

interface RegistrationChange {
  readonly status: '03' | '04';
  readonly payeeId: string | null;
}

/** What is taken from the payload; the rest stays in the inbox. */
const payloadSchema = z.object({
  // Sent as a number, the status has one digit.
  status: z.preprocess(
    (value) => (typeof value === 'string' && value !== '' ? value.trim().padStart(2, '0') : value),
    z.enum(BENEFICIARY_STATUSES),
  ),
  payeeId: referenceOrNull,
  // The document does not show these two. They are compared if they come.
  merOrderNo: referenceOrNull,
  bizFlowNo: referenceOrNull,
});
type BeneficiaryResult = Readonly<z.output<typeof payloadSchema>>;

export const readBeneficiaryResult = (body: string): Reading<BeneficiaryResult> =>
  readBody(body, payloadSchema, Object.keys(payloadSchema.shape));

/** What a result changes: it ends the review, once, and only for the payee that was registered. */
export function judgeBeneficiary(
  result: BeneficiaryResult,
  { merOrderNo, bizFlowNo, payeeId, status, needsPerson }: RegistrationState,
): Verdict<RegistrationChange> {
  const differs = (reported: string | null, known: string | null): boolean =>
    reported !== null && known !== null && reported !== known;
  const otherwise = [
    differs(result.merOrderNo, merOrderNo) && 'merOrderNo',
    differs(result.bizFlowNo, bizFlowNo) && 'bizFlowNo',
    differs(result.payeeId, payeeId) && 'payeeId',
  ].find((field) => field !== false);
  if (otherwise !== undefined)
    return changesNothing('contradiction', `it used this registration’s path with another ${otherwise}`);
  // The platform refused a later try, so no other reply comes. The result says that it has the registration.
  const isDoubtful = status === 'sending' && needsPerson;
  if (status === 'sending' && !isDoubtful)
    return changesNothing('waiting', 'the platform’s reply to the registration is not stored yet');
  if (status === 'refused')
    return changesNothing('contradiction', 'the platform had refused to take the registration');
  if (result.status === '01')
    return status === '01' || status === 'sending'
      ? changesNothing('duplicate', 'the registration is under review anyway')
      : changesNothing('contradiction', decidedBefore(status));
  // The reply may have come without a payeeId (docs/platform.md 2.6).
  const tellsPayeeId = payeeId === null && result.payeeId !== null;
  if (result.status === status && !tellsPayeeId && !needsPerson)
    return changesNothing('duplicate', 'the registration has this status already');
  if (status !== '01' && status !== 'sending' && status !== result.status)
    return changesNothing('contradiction', decidedBefore(status));
  return applies({ status: result.status, payeeId: result.payeeId });
}

const decidedBefore = (status: '03' | '04'): string =>
  `the registration was ${status === '04' ? 'approved' : 'rejected'} before`;

/** Runs in the transaction that settles the notification, with the registration locked. */
export async function processBeneficiaryResult(
  trx: Transaction<DB>,
  notification: OpenNotification,
  { secretKeys, now }: ProcessContext,
): Promise<Settlement> {
  const { notifyHash } = notification;
  const registration = await beneficiaryByNotifyHash(trx, notifyHash);
  if (registration === null) return settled(changesNothing('unknown', 'this path was never issued'), null);
  const { merOrderNo } = registration;
  const reading = readBeneficiaryResult(bodyOf(secretKeys, notification));
  if (reading.result === null) return settled(changesNothing('malformed', reading.problem), merOrderNo);
  const verdict = asWritten(judgeBeneficiary(reading.result, registration), reading, notification);
  if (verdict.change === null) return settled(verdict, merOrderNo);
  const isApplied = await applyBeneficiaryResult(trx, { ...verdict.change, notifyHash, now });
  return isApplied
    ? settled(verdict, merOrderNo)
    : settled(changesNothing('contradiction', 'the registration stands otherwise'), merOrderNo);
}
