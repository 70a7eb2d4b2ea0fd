/** How a review ends: by the settings of the scenario, or by a marker in the request. */
import { z } from 'zod';

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
