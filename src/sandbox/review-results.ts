/** What the platform says about applications and registrations: replies and the payloads of notifications. Pure. */
import { createHash } from 'node:crypto';
import type { SentRegistration } from './beneficiary.ts';
import type { SentApplication } from './merchant-access.ts';
import type { Outcome, ReviewSettings } from './review-rules.ts';

export interface NewMerchant {
  readonly merchantNo: string;
  readonly token: string;
  readonly currencies: readonly string[];
}

/** An application as the platform holds it. */
export interface HeldApplication {
  readonly bizFlow: string;
  readonly sent: SentApplication;
  readonly outcome: Outcome;
  isDecided: boolean;
}

/** A payee as the platform holds it (docs/platform.md 3.1). */
export interface HeldPayee {
  readonly bizFlowNo: string;
  readonly payeeId: string;
  readonly merchantNo: string;
  readonly sent: SentRegistration;
  status: '01' | '03' | '04';
}

/** An outcome that is pushed: every one but `never`. */
export type PushedOutcome = Exclude<Outcome, 'never'>;

const CODE_OF = { approve: 'S00000', supplement: '80000', reject: 'E30001' } as const;

/** docs/platform.md 6.1: a reason and the fields it is about, as JSON text. */
function messageOf(outcome: PushedOutcome): string {
  if (outcome === 'approve') return 'Success';
  return outcome === 'supplement'
    ? JSON.stringify({ reason: 'the registration document is not legible', fields: ['certificate'] })
    : JSON.stringify({ reason: 'the business is not supported', fields: ['businessNature'] });
}

/**
 * The merchant of a company. The same company gets the same number and token in every sandbox with this seed; its
 * second approval (`approvedBefore` 1) gets others (docs/platform.md 6.1).
 */
export function merchantFor(
  { certificateNo }: SentApplication,
  approvedBefore: number,
  seed: number,
  currencies: readonly string[],
): NewMerchant {
  const digest = createHash('sha256').update(`${seed} ${certificateNo} ${approvedBefore}`).digest('hex');
  return {
    merchantNo: `SANDBOX-2${String(Number.parseInt(digest.slice(0, 8), 16) % 1_000_000).padStart(6, '0')}`,
    token: digest.slice(8, 40),
    currencies,
  };
}

/** The reply of sp1101 (docs/platform.md 4.3). */
export const applicationReply = ({ bizFlow, sent: { merOrderNo } }: HeldApplication): object => ({
  bizFlow,
  ...(merOrderNo === undefined ? {} : { merOrderNo }),
  status: 'ACCEPT',
  code: 'S00001',
  message: 'ACCEPT',
});

/** The payload of sp3101 (docs/platform.md 6.1). `merchant` is the one that was approved, or null. */
export function applicationResult(
  { bizFlow, sent }: HeldApplication,
  outcome: PushedOutcome,
  merchant: NewMerchant | null,
  { processVersion }: ReviewSettings,
): object {
  const { merOrderNo, merNameEn } = sent;
  const isVersioned = outcome === 'supplement' && processVersion !== '';
  return {
    bizFlow,
    ...(merOrderNo === undefined || merOrderNo === '' ? {} : { merOrderNo }),
    code: CODE_OF[outcome],
    message: messageOf(outcome),
    merchantNo: merchant?.merchantNo ?? '',
    merNameEn,
    token: merchant?.token ?? '',
    ...(isVersioned ? { processVersion } : {}),
  };
}

/** The reply of sp1401 (docs/platform.md 2.6). */
export const payeeReply = (
  { sent, bizFlowNo, payeeId, status }: HeldPayee,
  { payeeIdAtOnce }: ReviewSettings,
): object => ({
  merOrderNo: sent.merOrderNo,
  bizFlowNo,
  payeeId: payeeIdAtOnce || status !== '01' ? payeeId : '',
  status,
  respCode: 'S00000',
});

/** The payload of sp3401 (docs/platform.md 6.2). */
export const payeeResult = ({ sent, bizFlowNo, payeeId, status }: HeldPayee): object => ({
  merOrderNo: sent.merOrderNo,
  bizFlowNo,
  payeeId,
  status,
});
