/** How a review ends: by the settings of the scenario, or by a marker in the request. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { SentRegistration } from './beneficiary.ts';
import type { SentApplication } from './merchant-access.ts';

/** `never`: it stays under review for ever. */
const OUTCOMES = ['approve', 'supplement', 'reject', 'never'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export const reviewSchema = z.strictObject({
  /** Ms from the submission to the decision. */
  delayMs: z.int().min(0).max(3_600_000).default(500),
  /** The outcome for a request without a marker. */
  application: z.enum(OUTCOMES).default('approve'),
  beneficiary: z.enum(['approve', 'reject', 'never']).default('approve'),
  /** The outcome is pushed before the submission itself is answered. */
  pushBeforeReply: z.boolean().default(false),
  /** Whether the reply of sp1401 has the payeeId at once (docs/platform.md 2.6). */
  payeeIdAtOnce: z.boolean().default(true),
  /**
   * Sent with a request for more documents (docs/platform.md 9); the document does not show where. Empty: it is not
   * sent.
   */
  processVersion: z.string().max(10).default('V2'),
  /** The currencies of a new merchant's ledger. */
  currencies: z
    .array(z.string().regex(/^[A-Z]{3}$/))
    .min(1)
    .default(['USD', 'EUR']),
});
export type ReviewSettings = z.output<typeof reviewSchema>;
export const REVIEW_DEFAULTS: ReviewSettings = reviewSchema.parse({});

/**
 * A marker may be anywhere in a request, such as `SANDBOX-REJECT`. With `-AT-ONCE`, sp1401 answers with the outcome and
 * does not push it (docs/platform.md 3.1).
 */
const MARKER = /SANDBOX-(APPROVE|SUPPLEMENT|REJECT|NEVER)(-AT-ONCE)?/;

/** What the marker of a request says; `outcome` is null if it has none. */
export function markerIn(request: object): { readonly outcome: Outcome | null; readonly isAtOnce: boolean } {
  const [, outcome, atOnce] = MARKER.exec(JSON.stringify(request)) ?? [];
  return {
    outcome: outcome === undefined ? null : (outcome.toLowerCase() as Outcome),
    isAtOnce: atOnce !== undefined,
  };
}

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
type PushedOutcome = Exclude<Outcome, 'never'>;

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
