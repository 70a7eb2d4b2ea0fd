/**
 * The result of an application (sp3101): what it says (docs/platform.md 6.1), and what it may change (docs/platform.md
 * 3.2). Pure.
 */
import { createHmac } from 'node:crypto';
import type { Transaction } from 'kysely';
import { z } from 'zod';
import { MERCHANT_NO, TOKEN } from '../../ledger/merchant-no.ts';
import { APPLICATION_APPROVED, APPLICATION_NEEDS_DOCUMENTS } from '../../platform/wire.ts';
import type { DB } from '../../store/engine/schema.ts';
import { appliedBefore, bodyOf, type OpenNotification } from './stored.ts';
import {
  type ApplicationDecision,
  type JudgedApplication,
  applicationByNotifyHash,
  applyApplicationResult,
  applicationByBizFlow,
} from '../onboarding/stored.ts';
import {
  absentAsNull,
  readJson,
  reference,
  type Reading,
  applies,
  changesNothing,
  type Verdict,
  settled,
  type ProcessContext,
  type Settlement,
} from './verdict.ts';

const absentAsEmpty = (text: z.ZodString) => text.nullish().transform((value) => value ?? '');

/** The document describes a JSON text. If JSON itself is sent, it is turned into text. */
const asText = z.preprocess(
  (value) => (typeof value === 'object' && value !== null ? JSON.stringify(value) : value),
  absentAsEmpty(z.string()),
);

/** What is taken from the payload (docs/platform.md 6.1). */
const payloadSchema = z
  .object({
    bizFlow: reference(32).min(1),
    merOrderNo: absentAsNull(reference(32)),
    code: reference(6).min(1),
    // For a person: a reason and field names, in a JSON text whose shape the document does not show. The document allows 255
    // characters. Longer texts do no harm, as the size of the body is limited.
    message: asText,
    merchantNo: absentAsEmpty(z.string()),
    token: absentAsEmpty(z.string()),
    // The merchant's English name as the platform has it.
    merNameEn: absentAsEmpty(z.string()),
    processVersion: absentAsNull(reference(10)),
  })
  .superRefine(({ code, merchantNo, token }, context) => {
    const wrong = (field: string, message: string): void => {
      context.addIssue({ code: 'custom', path: [field], message });
    };
    if (code === APPLICATION_APPROVED) {
      if (!MERCHANT_NO.test(merchantNo)) wrong('merchantNo', 'is none, though the application is approved');
      if (!TOKEN.test(token)) wrong('token', 'is none, though the application is approved');
    } else if (token !== '') wrong('token', 'is filled, though the application is not approved');
  });

/** '' and null stand for what did not come. */
export type OnboardingResult = Readonly<z.output<typeof payloadSchema>>;

const PAYLOAD_FIELDS = ['bizFlow', 'merOrderNo', 'code', 'message', 'merchantNo', 'merNameEn', 'token'];

/**
 * Reads the body of a post. It is malformed if it is not what the document describes. Additional fields are allowed.
 */
export const readOnboardingResult = (body: string): Reading<OnboardingResult> =>
  readJson(body, payloadSchema, PAYLOAD_FIELDS);

/** What makes two results the same. */
const identityOf = ({ bizFlow, code, message, merchantNo, token }: OnboardingResult): string =>
  JSON.stringify([bizFlow, code, message, merchantNo, token]);

/**
 * What a result changes. `applied` are the results that changed this application before, oldest first. One of them that
 * arrives again is a replay, whatever arrived in between.
 */
export function judgeOnboarding(
  result: OnboardingResult,
  { merOrderNo, bizFlow, state }: JudgedApplication,
  applied: readonly OnboardingResult[],
): Verdict<ApplicationDecision> {
  if (result.merOrderNo !== null && result.merOrderNo !== merOrderNo)
    return changesNothing('contradiction', 'it used this application’s path with another merOrderNo');
  if (bizFlow !== null && result.bizFlow !== bizFlow)
    return changesNothing('contradiction', 'it used this application’s path with another bizFlow');
  if (applied.some((earlier) => identityOf(earlier) === identityOf(result)))
    return changesNothing('duplicate', 'the same result was applied before');
  switch (state) {
    case 'submitting':
      return changesNothing('waiting', 'the platform’s reply to the application is not stored yet');
    case 'accepted':
    case 'unknown':
    case 'supplement':
    // It means "rejected or processing error" (docs/platform.md 6.1). After an error the review goes on, and a later
    // result counts.
    case 'rejected':
      return applies(changeOf(result));
    case 'refused':
      return changesNothing('contradiction', 'the platform had refused to take the application');
    case 'approved':
      return againstApproval(result, applied);
  }
}

/** The state that a result brings an application to. */
export function changeOf({ code, message, merchantNo, token }: OnboardingResult): ApplicationDecision {
  if (code === APPLICATION_APPROVED) return { to: 'approved', merchantNo, token };
  return { to: code === APPLICATION_NEEDS_DOCUMENTS ? 'supplement' : 'rejected', message };
}

function againstApproval(
  result: OnboardingResult,
  applied: readonly OnboardingResult[],
): Verdict<ApplicationDecision> {
  if (result.code !== APPLICATION_APPROVED)
    return changesNothing('contradiction', 'the application was approved before');
  const approval = applied.find(({ code }) => code === APPLICATION_APPROVED);
  return approval?.token === result.token && approval.merchantNo === result.merchantNo
    ? changesNothing('duplicate', 'the same merchant number and token were delivered before')
    : changesNothing('second-token', 'another merchant number or token than the one delivered before');
}

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
  const { bizFlow, processVersion, merNameEn } = result;
  const change = { decision: verdict.change, bizFlow, processVersion, merNameEn, secretKeys, now };
  const done = await applyApplicationResult(trx, { id, merOrderNo }, change);
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
const digestOf = (result: OnboardingResult, key: Buffer): string =>
  createHmac('sha256', key).update(identityOf(result)).digest('hex');

/** Whether the bizFlow of a result belongs to another application. */
export async function belongsToAnother(
  trx: Transaction<DB>,
  id: number,
  { bizFlow }: OnboardingResult,
): Promise<boolean> {
  const found = await applicationByBizFlow(trx, bizFlow);
  return found !== null && found.id !== id;
}
