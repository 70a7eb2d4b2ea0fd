/** Applies a notification that changed nothing so far, because a person has found that it is the result. */
import type { Transaction } from 'kysely';
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import { applicationByNotifyHash, applyApplicationResult } from './applications.ts';
import { beneficiaryByNotifyHash, decideBeneficiary } from './registrations.ts';
import {
  bodyOf,
  markAppliedByPerson,
  notificationByNumber,
  type NotificationOutcome,
  type OpenNotification,
} from './notifications.ts';
import type { NotificationKind } from '../../store/notify-path.ts';
import type { DB } from '../../store/engine/schema.ts';
import { readBeneficiaryResult } from './registration-result.ts';
import { AS_DOCUMENTED } from './body.ts';
import { changeOf, readOnboardingResult, belongsToAnother, decidesNothing } from './application-result.ts';
import type { ProcessContext, Reading } from './verdict.ts';

/** The notification cannot be applied. The message says why. Nothing was changed. */
class NotApplicable extends ExpectedError {
  override readonly name = 'NotApplicable';
  readonly exitCode = EXIT.usage;
}

export interface AppliedNotification {
  readonly number: number;
  readonly kind: NotificationKind;
  readonly merOrderNo: string;
  /** The application's state, or the registration's status, from now on. */
  readonly standing: string;
  /** Of an approved application, else null. */
  readonly merchantNo: string | null;
  /** What was read, if it was not written as the document has it; else null. */
  readonly readAs: ReadAs | null;
}

export interface ReadAs {
  readonly written: string;
  /** Neither the token nor what may be personal, unless it is to be revealed. */
  readonly fields: Readonly<Record<string, string>>;
}

const READ: Readonly<Record<NotificationKind, (body: string) => Reading<object>>> = {
  onboarding: readOnboardingResult,
  beneficiary: readBeneficiaryResult,
};
const REVEALED = ['token', 'message', 'merNameEn'];

/** What a body was read as, if it was not written as the document has it; else null, as it shows by itself what it says. */
export function readAsOf(kind: NotificationKind, body: string, { reveal = false } = {}): ReadAs | null {
  const { written, result } = READ[kind](body);
  if (result === null || written === AS_DOCUMENTED) return null;
  const fields = (Object.entries(result) as [string, string | null][]).filter(
    (field): field is [string, string] => field[1] !== null && (reveal || !REVEALED.includes(field[0])),
  );
  return { written, fields: Object.fromEntries(fields) };
}

/** Why a person cannot apply a notification with this outcome. */
const NOT_FOR_A_PERSON: Readonly<Record<string, string>> = {
  applied: 'was applied before',
  duplicate: 'repeats an applied one',
  unknown: 'used a path that was never issued, so it belongs to nothing',
  waiting: 'waits for the reply to our own request, and is applied by itself then',
};

/** The digest is for finding replays. What a person applies is never a replay. */
type ApplyContext = Omit<ProcessContext, 'digestKey'>;

/**
 * Applies notification `number`, whatever kept it from being applied before. The token of an approval replaces an
 * earlier one. Throws `NotApplicable`, `UnknownSecretKey` or `SecretUnreadable`.
 */
export async function applyNotification(
  trx: Transaction<DB>,
  { number, note }: { readonly number: number; readonly note: string | null },
  context: ApplyContext,
): Promise<AppliedNotification> {
  const notification = await notificationByNumber(trx, number);
  if (notification === undefined) {
    throw new NotApplicable(
      `there is no notification ${number}; \`daybook notifications --all\` lists those there are.`,
    );
  }
  const against = whyNot(notification.outcome);
  if (against !== null) throw notApplicable(number, against);
  const { id, kind, bodyCiphertext } = notification;
  if (bodyCiphertext === null) throw notApplicable(number, 'was forgotten with its application');
  const open = { ...notification, bodyCiphertext };
  const applied = await APPLY[kind](trx, open, context);
  await markAppliedByPerson(trx, { id, note, now: context.now });
  return { number, kind, ...applied, readAs: readAsOf(kind, bodyOf(context.secretKeys, open)) };
}

const whyNot = (outcome: NotificationOutcome | null): string | null =>
  outcome === null
    ? 'was not processed yet; `daybook notifications process` does so'
    : (NOT_FOR_A_PERSON[outcome] ?? null);

const notApplicable = (number: number, why: string): NotApplicable =>
  new NotApplicable(`notification ${number} ${why}; nothing was changed.`);

type Applied = Omit<AppliedNotification, 'number' | 'kind' | 'readAs'>;

const unreadable = (number: number, problem: string): NotApplicable =>
  notApplicable(
    number,
    `cannot be read as a result (${problem}); \`daybook notifications show ${number} --reveal\` prints it`,
  );
type Apply = (
  trx: Transaction<DB>,
  notification: OpenNotification,
  context: ApplyContext,
) => Promise<Applied>;

const applyOnboarding: Apply = async (trx, notification, { secretKeys, now }) => {
  const { number } = notification;
  const application = await applicationByNotifyHash(trx, notification.notifyHash);
  const { result, problem } = readOnboardingResult(bodyOf(secretKeys, notification));
  if (application === null) throw notApplicable(number, 'belongs to nothing any more');
  if (result === null) throw unreadable(number, problem);
  if (decidesNothing(result)) throw notApplicable(number, 'decides nothing: it says that a review follows');
  if (await belongsToAnother(trx, application.id, result))
    throw notApplicable(number, 'names the bizFlow of another application');
  const decision = changeOf(result);
  const { bizFlow, processVersion, merNameEn } = result;
  const change = { decision, bizFlow, processVersion, merNameEn, byPerson: true, secretKeys, now };
  await applyApplicationResult(trx, application, change);
  return {
    merOrderNo: application.merOrderNo,
    standing: decision.to,
    merchantNo: decision.to === 'approved' ? decision.merchantNo : null,
  };
};

const applyBeneficiary: Apply = async (trx, notification, { secretKeys, now }) => {
  const { number } = notification;
  const registration = await beneficiaryByNotifyHash(trx, notification.notifyHash);
  const { result, problem } = readBeneficiaryResult(bodyOf(secretKeys, notification));
  if (registration === null) throw notApplicable(number, 'belongs to nothing any more');
  if (result === null) throw unreadable(number, problem);
  if (result.status === '01') throw notApplicable(number, 'decides nothing: it says that the review goes on');
  const { status, payeeId } = result;
  await decideBeneficiary(trx, registration.id, { status, payeeId, note: null, now });
  return { merOrderNo: registration.merOrderNo, standing: status, merchantNo: null };
};

const APPLY: Readonly<Record<NotificationKind, Apply>> = {
  onboarding: applyOnboarding,
  beneficiary: applyBeneficiary,
};
