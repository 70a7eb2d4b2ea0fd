/**
 * sp3101, the result of an application: what it says (docs/platform.md 6.1), and what it may change
 * (docs/platform.md 3.2). Pure.
 */
import { z } from 'zod';
import { MERCHANT_NO, TOKEN } from '../ledger/merchant-no.ts';
import { APPLICATION_APPROVED, APPLICATION_NEEDS_DOCUMENTS } from '../platform/wire.ts';
import { readJson, reference, type Reading } from './read-json.ts';
import { applies, changesNothing, type Verdict } from './verdict.ts';

/** What is taken from the payload (docs/platform.md 6.1). */
export interface OnboardingResult {
  readonly bizFlow: string;
  readonly merOrderNo: string | null;
  readonly code: string;
  /** For a person: a reason and field names, in a JSON text of no shown shape. */
  readonly message: string;
  readonly merchantNo: string;
  readonly token: string;
  /** The merchant's English name as the platform has it; '' where it is not told. */
  readonly merNameEn: string;
  readonly processVersion: string | null;
}

/** An application as far as a result is concerned with it. */
export interface ApplicationStanding {
  readonly merOrderNo: string;
  /** Null until our own call's reply was stored. */
  readonly bizFlow: string | null;
  readonly state: 'submitting' | 'accepted' | 'refused' | 'unknown' | 'approved' | 'supplement' | 'rejected';
}

export type ApplicationChange =
  | { readonly to: 'approved'; readonly merchantNo: string; readonly token: string }
  | { readonly to: 'supplement' | 'rejected'; readonly message: string };

const absentAsNull = (text: ReturnType<typeof reference>) =>
  text.nullish().transform((value) => (value === undefined || value === '' ? null : value));
const absentAsEmpty = (text: z.ZodString) => text.nullish().transform((value) => value ?? '');

/** A detail is described as JSON text; one sent as JSON is spelt as text. */
const asText = z.preprocess(
  (value) => (typeof value === 'object' && value !== null ? JSON.stringify(value) : value),
  absentAsEmpty(z.string()),
);

const payloadSchema = z
  .object({
    bizFlow: reference(32).min(1),
    merOrderNo: absentAsNull(reference(32)),
    code: reference(6).min(1),
    // Longer than the 255 of the document loses nobody anything; the body limit bounds it.
    message: asText,
    merchantNo: absentAsEmpty(z.string()),
    token: absentAsEmpty(z.string()),
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

const PAYLOAD_FIELDS = ['bizFlow', 'merOrderNo', 'code', 'message', 'merchantNo', 'merNameEn', 'token'];

/** Reads a post's body. What the document does not describe is malformed; more fields than it shows are not. */
export const readOnboardingResult = (body: string): Reading<OnboardingResult> =>
  readJson(body, payloadSchema, PAYLOAD_FIELDS);

const sameResult = (one: OnboardingResult, other: OnboardingResult): boolean =>
  one.bizFlow === other.bizFlow &&
  one.code === other.code &&
  one.message === other.message &&
  one.merchantNo === other.merchantNo &&
  one.token === other.token;

/**
 * What a result changes. `applied` are the results that changed this application before, oldest first: one of them
 * coming again is a replay, whatever came since.
 */
export function judgeOnboarding(
  result: OnboardingResult,
  { merOrderNo, bizFlow, state }: ApplicationStanding,
  applied: readonly OnboardingResult[],
): Verdict<ApplicationChange> {
  if (result.merOrderNo !== null && result.merOrderNo !== merOrderNo)
    return changesNothing('contradiction', 'it came by this application’s path with another merOrderNo');
  if (bizFlow !== null && result.bizFlow !== bizFlow)
    return changesNothing('contradiction', 'it came by this application’s path with another bizFlow');
  if (applied.some((earlier) => sameResult(earlier, result)))
    return changesNothing('duplicate', 'the same result was applied before');
  switch (state) {
    case 'submitting':
      return changesNothing('waiting', 'the platform’s reply to the application is not stored yet');
    case 'accepted':
    case 'unknown':
    case 'supplement':
    // "Rejected or processing error" (docs/platform.md 6.1): where it was an error, the review goes on, and
    // its result is the result.
    case 'rejected':
      return applies(changeOf(result));
    case 'refused':
      return changesNothing('contradiction', 'the platform had refused to take the application');
    case 'approved':
      return againstApproval(result, applied);
  }
}

/** What a result says is to become of its application. */
export function changeOf({ code, message, merchantNo, token }: OnboardingResult): ApplicationChange {
  if (code === APPLICATION_APPROVED) return { to: 'approved', merchantNo, token };
  return { to: code === APPLICATION_NEEDS_DOCUMENTS ? 'supplement' : 'rejected', message };
}

function againstApproval(
  result: OnboardingResult,
  applied: readonly OnboardingResult[],
): Verdict<ApplicationChange> {
  if (result.code !== APPLICATION_APPROVED)
    return changesNothing('contradiction', 'the application was approved before');
  const approval = applied.find(({ code }) => code === APPLICATION_APPROVED);
  return approval?.token === result.token && approval.merchantNo === result.merchantNo
    ? changesNothing('duplicate', 'the same merchant number and token were delivered before')
    : changesNothing('second-token', 'another merchant number or token than the one delivered before');
}
