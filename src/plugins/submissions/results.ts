/**
 * The results that the platform pushes: what they say (docs/platform.md 6.1, 6.2) and what they may change (docs/platform.md
 * 3.1, 3.2). Pure.
 */
import { z } from 'zod';
import { isMerchantNo, MERCHANT_NO_MAX, TOKEN } from '../../ledger/merchant-no.ts';
import { isPrintable, REFERENCE_CHARACTERS_MAX, referenceIn } from '../../platform/reply.ts';
import {
  APPLICATION_ACCEPTED,
  APPLICATION_APPROVED,
  APPLICATION_NEEDS_DOCUMENTS,
  BENEFICIARY_STATUSES,
} from '../../platform/wire.ts';
import type { ApplicationDecision, JudgedApplication } from './applications.ts';
import { readBody, type Reading } from './body.ts';
import type { BeneficiaryRow } from './registrations.ts';

/**
 * What became of a notification:
 *
 * - `applied`: it changed the application or the registration that its path belongs to.
 * - `waiting`: the reply to our own request is not stored yet.
 * - `duplicate`: it arrived again. Changed nothing, like all that follow.
 * - `unknown`: its path belongs to nothing any more.
 * - `contradiction`: it says something else than is known.
 * - `second-token`: it brings another token than the one delivered before.
 * - `malformed`: it is not what the document describes.
 */
export type NotificationOutcome =
  'applied' | 'duplicate' | 'unknown' | 'contradiction' | 'second-token' | 'malformed' | 'waiting';

export interface Verdict<Change> {
  readonly outcome: NotificationOutcome;
  /** A sentence for a person. It repeats nothing of the post. */
  readonly reason: string | null;
  /** What is changed if the outcome is `applied`, else null. */
  readonly change: Change | null;
}

const applies = <Change>(change: Change): Verdict<Change> => ({
  outcome: 'applied',
  reason: null,
  change,
});

export const changesNothing = (
  outcome: Exclude<NotificationOutcome, 'applied'>,
  reason: string,
): Verdict<never> => ({ outcome, reason, change: null });

/** A reference number, without the blanks around it. It is shown to a person, so it has no invisible characters. */
const reference = z
  .string()
  .trim()
  .refine(
    (text) => text === '' || referenceIn(text) !== null,
    `is longer than ${REFERENCE_CHARACTERS_MAX}, or holds what cannot be shown`,
  );
/** A reference that may be left out, null or empty; null then. */
const referenceOrNull = reference.nullish().transform((value) => (value ? value : null));
const absentAsEmpty = (text: z.ZodString) => text.nullish().transform((value) => value ?? '');

/** Of a process version, in characters (docs/platform.md 2.3). */
const PROCESS_VERSION_MAX = 10;

const applicationResult = z
  .object({
    bizFlow: reference.min(1),
    merOrderNo: referenceOrNull,
    // The document allows 6 characters. Any other value than those it names means rejected, whatever its form.
    code: z.string().trim().min(1),
    // The document describes a JSON text. If JSON itself is sent, it is turned into text.
    message: z.preprocess(
      (value) => (typeof value === 'object' && value !== null ? JSON.stringify(value) : value),
      absentAsEmpty(z.string()),
    ),
    merchantNo: absentAsEmpty(z.string().trim()),
    token: absentAsEmpty(z.string().trim()),
    merNameEn: absentAsEmpty(z.string()),
    // The document has it in requests alone.
    processVersion: z
      .unknown()
      .optional()
      .transform((value) => (isPrintable(value, PROCESS_VERSION_MAX) ? value : null)),
  })
  .superRefine(({ code, merchantNo, token }, context) => {
    const wrong = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message });
    if (code === APPLICATION_APPROVED) {
      if (!isMerchantNo(merchantNo)) wrong('merchantNo', wrongNumber(merchantNo));
      if (!TOKEN.test(token)) wrong('token', `${wrongToken(token)}, though the application is approved`);
    } else if (token !== '') wrong('token', 'is filled, though the application is not approved');
  });

function wrongNumber(text: string): string {
  const { length } = text;
  if (length === 0) return 'is empty, though the application is approved';
  return length > MERCHANT_NO_MAX
    ? `has ${length} characters, more than the ${MERCHANT_NO_MAX} of the document`
    : 'holds what cannot be shown';
}
const wrongToken = (text: string): string =>
  text === '' ? 'is empty' : 'cannot be sent in a header (printable ASCII, up to 512 characters)';

/** '' and null stand for what did not come. */
export type ApplicationResult = Readonly<z.output<typeof applicationResult>>;

const APPLICATION_FIELDS = ['bizFlow', 'merOrderNo', 'code', 'message', 'merchantNo', 'merNameEn', 'token'];

export const readApplicationResult = (body: string): Reading<ApplicationResult> =>
  readBody(body, applicationResult, APPLICATION_FIELDS);

/** What makes two results the same. An approval says the same with another message. */
export const identityOf = ({ bizFlow, code, message, merchantNo, token }: ApplicationResult): string =>
  JSON.stringify([bizFlow, code, code === APPLICATION_APPROVED ? '' : message, merchantNo, token]);

/** What a result changes. `isRepeated`: the same result was applied to this application before. */
export function judgeApplication(
  result: ApplicationResult,
  { merOrderNo, bizFlow, state }: JudgedApplication,
  isRepeated: boolean,
): Verdict<ApplicationDecision> {
  if (result.merOrderNo !== null && result.merOrderNo !== merOrderNo)
    return changesNothing('contradiction', 'it used this application’s path with another merOrderNo');
  if (bizFlow !== null && result.bizFlow !== bizFlow)
    return changesNothing('contradiction', 'it used this application’s path with another bizFlow');
  if (isRepeated) return changesNothing('duplicate', 'the same result was applied before');
  if (state === 'submitting')
    return changesNothing('waiting', 'the platform’s reply to the application is not stored yet');
  if (state === 'refused')
    return changesNothing('contradiction', 'the platform had refused to take the application');
  if (decidesNothing(result) && state !== 'unknown')
    return changesNothing('duplicate', 'it says that the application was received, which is known');
  if (state === 'approved')
    return result.code === APPLICATION_APPROVED
      ? changesNothing('second-token', 'another merchant number or token than the one delivered before')
      : changesNothing('contradiction', 'the application was approved before');
  // A rejection may have been an error in processing (docs/platform.md 6.1): the review goes on, and a later result counts.
  return applies(decisionOf(result));
}

/** Whether it says no more than the reply to the application did: received, awaiting review (docs/platform.md 4.3). */
const decidesNothing = ({ code }: ApplicationResult): boolean => code === APPLICATION_ACCEPTED.code;

/** The state that a result brings an application to. */
function decisionOf(result: ApplicationResult): ApplicationDecision {
  const { code, message, merchantNo, token } = result;
  if (code === APPLICATION_APPROVED) return { to: 'approved', merchantNo, token };
  if (decidesNothing(result)) return { to: 'accepted' };
  return code === APPLICATION_NEEDS_DOCUMENTS
    ? { to: 'supplement', message }
    : { to: 'rejected', message, code };
}

/** What a result changes of which a person says that it is the one. */
export const decisionBy = (result: ApplicationResult): Verdict<ApplicationDecision> =>
  decidesNothing(result)
    ? changesNothing('duplicate', 'decides nothing: it says that a review follows')
    : applies(decisionOf(result));

const registrationResult = z.object({
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
export type RegistrationResult = Readonly<z.output<typeof registrationResult>>;

export const readRegistrationResult = (body: string): Reading<RegistrationResult> =>
  readBody(body, registrationResult, Object.keys(registrationResult.shape));

/** What a result is compared with. */
export type RegistrationState = Pick<
  BeneficiaryRow,
  'merOrderNo' | 'bizFlowNo' | 'payeeId' | 'status' | 'needsPerson'
>;

interface RegistrationChange {
  readonly status: '03' | '04';
  readonly payeeId: string | null;
}

/** What a result changes: it ends the review, once, and only for the payee that was registered. */
export function judgeRegistration(
  result: RegistrationResult,
  registration: RegistrationState,
): Verdict<RegistrationChange> {
  const { status, payeeId, needsPerson } = registration;
  const otherwise = (['merOrderNo', 'bizFlowNo', 'payeeId'] as const).find((field) => {
    const [reported, known] = [result[field], registration[field]];
    return reported !== null && known !== null && reported !== known;
  });
  if (otherwise !== undefined)
    return changesNothing('contradiction', `it used this registration’s path with another ${otherwise}`);
  // Where the platform refused a later try, no other reply comes: the result says that it has the registration.
  if (status === 'sending' && !needsPerson)
    return changesNothing('waiting', 'the platform’s reply to the registration is not stored yet');
  if (status === 'refused')
    return changesNothing('contradiction', 'the platform had refused to take the registration');
  const isDecided = status === '03' || status === '04';
  if (isDecided && result.status !== status)
    return changesNothing(
      'contradiction',
      `the registration was ${status === '04' ? 'approved' : 'rejected'} before`,
    );
  if (result.status === '01') return changesNothing('duplicate', 'the registration is under review anyway');
  // The reply may have come without a payeeId (docs/platform.md 2.6).
  const tellsPayeeId = payeeId === null && result.payeeId !== null;
  if (isDecided && !tellsPayeeId && !needsPerson)
    return changesNothing('duplicate', 'the registration has this status already');
  return applies({ status: result.status, payeeId: result.payeeId });
}

/** What a result changes of which a person says that it is the one. */
export const decidedBy = ({ status, payeeId }: RegistrationResult): Verdict<RegistrationChange> =>
  status === '01'
    ? changesNothing('duplicate', 'decides nothing: it says that the review goes on')
    : applies({ status, payeeId });
