/**
 * The result of an application (sp3101): what it says (docs/platform.md 6.1), and what it may change (docs/platform.md
 * 3.2). Pure.
 */
import { createHmac } from 'node:crypto';
import type { Transaction } from 'kysely';
import { z } from 'zod';
import { isMerchantNo, TOKEN } from '../../ledger/merchant-no.ts';
import { isPrintable } from '../../platform/reply.ts';
import {
  APPLICATION_ACCEPTED,
  APPLICATION_APPROVED,
  APPLICATION_NEEDS_DOCUMENTS,
} from '../../platform/wire.ts';
import type { DB } from '../../store/engine/schema.ts';
import { appliedBefore, bodyOf, type OpenNotification } from './notifications.ts';
import {
  type ApplicationDecision,
  type JudgedApplication,
  applicationByNotifyHash,
  applyApplicationResult,
  applicationByBizFlow,
} from './applications.ts';
import {
  asWritten,
  readBody,
  reference,
  referenceOrNull,
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

/** Of a process version, in characters (docs/platform.md 2.3). */
const PROCESS_VERSION_MAX = 10;

/** What is taken from the payload (docs/platform.md 6.1). */
const payloadSchema = z
  .object({
    bizFlow: reference.min(1),
    merOrderNo: referenceOrNull,
    // The document allows 6 characters. Any other value than those it names means rejected, whatever its form.
    code: z.string().trim().min(1),
    // For a person: a reason and field names, in a JSON text whose shape the document does not show. The document allows 255
    // characters. Longer texts do no harm, as the size of the body is limited.
    message: asText,
    merchantNo: absentAsEmpty(z.string().trim()),
    token: absentAsEmpty(z.string().trim()),
    // The merchant's English name as the platform has it.
    merNameEn: absentAsEmpty(z.string()),
    // The document has it in requests alone.
    processVersion: z
      .unknown()
      .optional()
      .transform((value) => (isPrintable(value, PROCESS_VERSION_MAX) ? value : null)),
  })
  .superRefine(({ code, merchantNo, token }, context) => {
    const wrong = (field: string, message: string): void => {
      context.addIssue({ code: 'custom', path: [field], message });
    };
    if (code === APPLICATION_APPROVED) {
      if (!isMerchantNo(merchantNo)) wrong('merchantNo', 'is none, though the application is approved');
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
  readBody(body, payloadSchema, PAYLOAD_FIELDS);

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
    case 'unknown':
      return applies(changeOf(result));
    case 'accepted':
    case 'supplement':
    // It means "rejected or processing error" (docs/platform.md 6.1). After an error the review goes on, and a later
    // result counts.
    case 'rejected':
      return decidesNothing(result) ? changesNothing('duplicate', RECEIVED) : applies(changeOf(result));
    case 'refused':
      return changesNothing('contradiction', 'the platform had refused to take the application');
    case 'approved':
      return decidesNothing(result)
        ? changesNothing('duplicate', RECEIVED)
        : againstApproval(result, applied);
  }
}

const RECEIVED = 'it says that the application was received, which is known';

/** Whether it says no more than the reply to the application did: received, awaiting review (docs/platform.md 4.3). */
export const decidesNothing = ({ code }: OnboardingResult): boolean => code === APPLICATION_ACCEPTED.code;

/** The state that a result brings an application to. */
export function changeOf(result: OnboardingResult): ApplicationDecision {
  const { code, message, merchantNo, token } = result;
  if (code === APPLICATION_APPROVED) return { to: 'approved', merchantNo, token };
  if (decidesNothing(result)) return { to: 'accepted' };
  return code === APPLICATION_NEEDS_DOCUMENTS
    ? { to: 'supplement', message }
    : { to: 'rejected', message, code };
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
  const reading = readOnboardingResult(bodyOf(secretKeys, notification));
  if (reading.result === null) return settled(changesNothing('malformed', reading.problem), merOrderNo);
  const { result } = reading;
  const digest = digestOf(result, digestKey);
  const earlier = await appliedBefore(trx, notification.notifyHash, digest);
  const applied = earlier.map((one) => readOnboardingResult(bodyOf(secretKeys, one)).result);
  const judged = judgeOnboarding(
    result,
    application,
    applied.filter((one) => one !== null),
  );
  const verdict = asWritten(judged, reading, notification);
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
