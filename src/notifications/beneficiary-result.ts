/**
 * sp3401, the result of a registration: status and payeeId, as no more of it is shown (docs/platform.md 6.2),
 * and what they may change (docs/platform.md 3.1). Pure.
 */
import { z } from 'zod';
import { BENEFICIARY_STATUSES, type BeneficiaryStatus } from '../platform/wire.ts';
import { readJson, reference, type Reading } from './read-json.ts';
import { applies, changesNothing, type Verdict } from './verdict.ts';

/** What is taken from the payload; the rest stays in the inbox. */
export interface BeneficiaryResult {
  readonly status: BeneficiaryStatus;
  readonly payeeId: string | null;
  /** Not shown, but compared where they come. */
  readonly merOrderNo: string | null;
  readonly bizFlowNo: string | null;
}

/** A registration as far as a result is concerned with it. */
export interface RegistrationStanding {
  readonly merOrderNo: string;
  /** Null until our own call's reply was stored. */
  readonly bizFlowNo: string | null;
  readonly payeeId: string | null;
  readonly status: 'sending' | 'refused' | BeneficiaryStatus;
}

export interface RegistrationChange {
  readonly status: '03' | '04';
  readonly payeeId: string | null;
}

const REFERENCE_CHARACTERS_MAX = 128;
const given = reference(REFERENCE_CHARACTERS_MAX)
  .nullish()
  .transform((value) => (value === undefined || value === '' ? null : value));

const PAYLOAD_FIELDS = ['status', 'payeeId', 'merOrderNo', 'bizFlowNo'];
const payloadSchema = z.object({
  // As a number it has one digit.
  status: z.preprocess(
    (value) => (typeof value === 'string' && value !== '' ? value.padStart(2, '0') : value),
    z.enum(BENEFICIARY_STATUSES),
  ),
  payeeId: given,
  merOrderNo: given,
  bizFlowNo: given,
});

export const readBeneficiaryResult = (body: string): Reading<BeneficiaryResult> =>
  readJson(body, payloadSchema, PAYLOAD_FIELDS);

/** What a result changes: out of review, once, and only for the payee that was registered. */
export function judgeBeneficiary(
  result: BeneficiaryResult,
  { merOrderNo, bizFlowNo, payeeId, status }: RegistrationStanding,
): Verdict<RegistrationChange> {
  const differs = (told: string | null, known: string | null): boolean =>
    told !== null && known !== null && told !== known;
  const otherwise = [
    differs(result.merOrderNo, merOrderNo) && 'merOrderNo',
    differs(result.bizFlowNo, bizFlowNo) && 'bizFlowNo',
    differs(result.payeeId, payeeId) && 'payeeId',
  ].find((field) => field !== false);
  if (otherwise !== undefined)
    return changesNothing('contradiction', `it came by this registration’s path with another ${otherwise}`);
  if (status === 'sending')
    return changesNothing('waiting', 'the platform’s reply to the registration is not stored yet');
  if (status === 'refused')
    return changesNothing('contradiction', 'the platform had refused to take the registration');
  if (result.status === '01')
    return status === '01'
      ? changesNothing('duplicate', 'the registration is under review anyway')
      : changesNothing('contradiction', decidedBefore(status));
  // The reply may have left the payeeId open (docs/platform.md 2.6).
  const tellsPayeeId = payeeId === null && result.payeeId !== null;
  if (result.status === status && !tellsPayeeId)
    return changesNothing('duplicate', 'the registration has this status already');
  if (status !== '01' && status !== result.status)
    return changesNothing('contradiction', decidedBefore(status));
  return applies({ status: result.status, payeeId: result.payeeId });
}

const decidedBefore = (status: '03' | '04'): string =>
  `the registration was ${status === '04' ? 'approved' : 'rejected'} before`;
