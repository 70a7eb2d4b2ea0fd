/** Applies a result (sp3101) to the application that its path belongs to. */
import { createHmac } from 'node:crypto';
import type { Transaction } from 'kysely';
import { applicationByNotifyHash, applyApplicationResult } from '../store/onboarding/application-results.ts';
import { applicationByBizFlow } from '../store/onboarding/applications.ts';
import {
  appliedBefore,
  bodyOf,
  type OpenNotification,
} from '../store/notifications/notification-outcomes.ts';
import type { DB } from '../store/engine/schema.ts';
import { judgeOnboarding, readOnboardingResult, type OnboardingResult } from './onboarding-result.ts';
import { changesNothing, settled, type ProcessContext, type Settlement } from './verdict.ts';

/** Runs in the transaction that settles the notification, with the application locked. */
export async function processOnboardingResult(
  trx: Transaction<DB>,
  notification: OpenNotification,
  { secretKeys, digestKey, now }: ProcessContext,
): Promise<Settlement> {
  const application = await applicationByNotifyHash(trx, notification.notifyHash);
  if (application === null) return settled(changesNothing('unknown', 'this path was never issued'), null);
  const { id, merOrderNo } = application;
  const { result, problem } = readOnboardingResult(bodyOf(secretKeys, notification));
  if (result === null) return settled(changesNothing('malformed', problem), merOrderNo);

  const digest = digestOf(result, digestKey);
  const earlier = await appliedBefore(trx, notification.notifyHash, digest);
  const verdict = judgeOnboarding(
    result,
    application,
    earlier.map((one) => readOnboardingResult(bodyOf(secretKeys, one)).result).filter((one) => one !== null),
  );
  if (verdict.change === null) return settled(verdict, merOrderNo);
  if (await belongsToAnother(trx, id, result))
    return settled(changesNothing('contradiction', 'its bizFlow is another application’s'), merOrderNo);
  const done = await applyApplicationResult(
    trx,
    { id, merOrderNo },
    {
      decision: verdict.change,
      bizFlow: result.bizFlow,
      processVersion: result.processVersion,
      merNameEn: result.merNameEn,
      secretKeys,
      now,
    },
  );
  switch (done) {
    case 'applied':
      return settled(verdict, merOrderNo, digest);
    case 'second-token':
      return settled(changesNothing('second-token', 'the merchant has another token already'), merOrderNo);
    case 'conflict':
      return settled(changesNothing('contradiction', 'the application was decided before'), merOrderNo);
  }
}

/** The same for two results that `judgeOnboarding` takes for one. */
const digestOf = ({ bizFlow, code, message, merchantNo, token }: OnboardingResult, key: Buffer): string =>
  createHmac('sha256', key)
    .update(JSON.stringify([bizFlow, code, message, merchantNo, token]))
    .digest('hex');

/** Whether the bizFlow of a result belongs to another application. */
export async function belongsToAnother(
  trx: Transaction<DB>,
  id: number,
  { bizFlow }: OnboardingResult,
): Promise<boolean> {
  const found = await applicationByBizFlow(trx, bizFlow);
  return found !== null && found.id !== id;
}
