/** Applies a result (sp3401) to the registration that its path belongs to. */
import type { Transaction } from 'kysely';
import { applyBeneficiaryResult, beneficiaryByNotifyHash } from '../store/beneficiaries/beneficiaries.ts';
import { bodyOf, type OpenNotification } from '../store/notifications/notification-outcomes.ts';
import type { DB } from '../store/engine/schema.ts';
import { judgeBeneficiary, readBeneficiaryResult } from './beneficiary-result.ts';
import { changesNothing, settled, type ProcessContext, type Settlement } from './verdict.ts';

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
  const { result, problem } = readBeneficiaryResult(bodyOf(secretKeys, notification));
  if (result === null) return settled(changesNothing('malformed', problem), merOrderNo);
  const verdict = judgeBeneficiary(result, registration);
  if (verdict.change === null) return settled(verdict, merOrderNo);
  const isApplied = await applyBeneficiaryResult(trx, { ...verdict.change, notifyHash, now });
  return isApplied
    ? settled(verdict, merOrderNo)
    : settled(changesNothing('contradiction', 'the registration stands otherwise'), merOrderNo);
}
