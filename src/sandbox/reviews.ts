/**
 * Applications and registrations under review: each is decided after a delay, by a marker in the request or by the
 * scenario, and the outcome pushed to its callback address (docs/platform.md 3, 6).
 */
import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { accountOf, type SentRegistration } from './beneficiary.ts';
import type { SentApplication } from './merchant-access.ts';
import type { Pushes } from './pushes.ts';
import { Refused } from './refusal.ts';

/** `never`: stays under review, as if nobody looked at it. */
const OUTCOMES = ['approve', 'supplement', 'reject', 'never'] as const;
export type Outcome = (typeof OUTCOMES)[number];

export const reviewSchema = z.strictObject({
  /** From the submission to the decision. */
  delayMs: z.int().min(0).max(3_600_000).default(500),
  /** What becomes of a request without a marker. */
  application: z.enum(OUTCOMES).default('approve'),
  beneficiary: z.enum(['approve', 'reject', 'never']).default('approve'),
  /** Pushes the outcome before the submission itself is answered. */
  pushBeforeReply: z.boolean().default(false),
  /** Whether sp1401 gives the payeeId in real time (docs/platform.md 2.6). */
  payeeIdAtOnce: z.boolean().default(true),
  /**
   * Goes with a request for more documents (docs/platform.md 9); the document does not show where it is told.
   * Empty: is not told.
   */
  processVersion: z.string().max(10).default('V2'),
  /** Accounts a new merchant's ledger has. */
  currencies: z
    .array(z.string().regex(/^[A-Z]{3}$/))
    .min(1)
    .default(['USD', 'EUR']),
});
export type ReviewSettings = z.output<typeof reviewSchema>;
export const REVIEW_DEFAULTS: ReviewSettings = reviewSchema.parse({});

/**
 * Anywhere in a request: `SANDBOX-REJECT`; with `-AT-ONCE`, sp1401 answers with the outcome and pushes none
 * (docs/platform.md 3.1).
 */
const MARKER = /SANDBOX-(APPROVE|SUPPLEMENT|REJECT|NEVER)(-AT-ONCE)?/;

function markerIn(request: object): { readonly outcome: Outcome | null; readonly isAtOnce: boolean } {
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

export interface Reviews {
  /**
   * The reply of sp1101 (docs/platform.md 4.3). The document does not say that a submission counts once: each
   * is one more.
   */
  readonly apply: (sent: SentApplication) => Promise<object>;
  /**
   * The reply of sp1401 (docs/platform.md 2.6). The same merOrderNo is not processed a second time
   * (docs/platform.md 2.5).
   */
  readonly register: (merchantNo: string, sent: SentRegistration) => Promise<object>;
  readonly applications: () => readonly HeldApplication[];
  readonly payees: () => readonly HeldPayee[];
  /** Resolves when no decision and no push is pending. */
  readonly settled: () => Promise<void>;
  readonly close: () => void;
}

export interface ReviewDeps {
  readonly seed: number;
  readonly settings: ReviewSettings;
  readonly pushes: Pushes;
  /** The merchant exists from now on, and its token opens its ledger. */
  readonly onApproved: (merchant: NewMerchant) => void;
}

const CODE_OF = { approve: 'S00000', supplement: '80000', reject: 'E30001' } as const;

/** docs/platform.md 6.1: a reason and the fields it is about, as JSON text. */
function messageOf(outcome: keyof typeof CODE_OF): string {
  if (outcome === 'approve') return 'Success';
  return outcome === 'supplement'
    ? JSON.stringify({ reason: 'the registration document is not legible', fields: ['certificate'] })
    : JSON.stringify({ reason: 'the business is not supported', fields: ['businessNature'] });
}

const unique = (): string => randomUUID().replaceAll('-', '');

export function createReviews({ seed, settings, pushes, onApproved }: ReviewDeps): Reviews {
  const closing = new AbortController();
  const applications: HeldApplication[] = [];
  const payees: HeldPayee[] = [];
  const pending = new Set<Promise<void>>();

  /** Decides after the delay, or before the reply where the scenario says so. */
  const afterwards = async (decide: () => Promise<void>): Promise<void> => {
    const work = (async () => {
      if (!settings.pushBeforeReply) {
        const isOpen = await sleep(settings.delayMs, true, { signal: closing.signal }).catch(() => false);
        if (!isOpen) return;
      }
      await decide();
    })();
    pending.add(work);
    void work.finally(() => pending.delete(work));
    if (settings.pushBeforeReply) await work;
  };

  /**
   * The same company gets the same number and token everywhere, the second time others
   * (docs/platform.md 6.1).
   */
  const merchantFor = ({ certificateNo }: SentApplication): NewMerchant => {
    const nth = applications.filter(
      (one) => one.isDecided && one.outcome === 'approve' && one.sent.certificateNo === certificateNo,
    ).length;
    const digest = createHash('sha256').update(`${seed} ${certificateNo} ${nth}`).digest('hex');
    return {
      merchantNo: `SANDBOX-2${String(Number.parseInt(digest.slice(0, 8), 16) % 1_000_000).padStart(6, '0')}`,
      token: digest.slice(8, 40),
      currencies: settings.currencies,
    };
  };

  const decideApplication = async (held: HeldApplication): Promise<void> => {
    const { outcome, bizFlow, sent } = held;
    if (outcome === 'never') return;
    const merchant = outcome === 'approve' ? merchantFor(sent) : null;
    if (merchant !== null) onApproved(merchant);
    held.isDecided = true;
    const isVersioned = outcome === 'supplement' && settings.processVersion !== '';
    const payload = {
      bizFlow,
      ...(sent.merOrderNo === undefined || sent.merOrderNo === '' ? {} : { merOrderNo: sent.merOrderNo }),
      code: CODE_OF[outcome],
      message: messageOf(outcome),
      merchantNo: merchant?.merchantNo ?? '',
      merNameEn: sent.merNameEn,
      token: merchant?.token ?? '',
      ...(isVersioned ? { processVersion: settings.processVersion } : {}),
    };
    await pushes.send({ operation: 'sp3101', url: sent.callbackUrl, payload });
  };

  const decidePayee = async (held: HeldPayee, outcome: Outcome): Promise<void> => {
    if (outcome === 'never') return;
    held.status = outcome === 'approve' ? '04' : '03';
    const { callbackUrl, merOrderNo } = held.sent;
    if (callbackUrl === undefined) return;
    const { bizFlowNo, payeeId, status } = held;
    const payload = { merOrderNo, bizFlowNo, payeeId, status };
    await pushes.send({ operation: 'sp3401', url: callbackUrl, payload });
  };

  const replyOf = ({ sent, bizFlowNo, payeeId, status }: HeldPayee): object => ({
    merOrderNo: sent.merOrderNo,
    bizFlowNo,
    payeeId: settings.payeeIdAtOnce || status !== '01' ? payeeId : '',
    status,
    respCode: 'S00000',
  });

  return {
    apply: async (sent) => {
      const outcome = markerIn(sent).outcome ?? settings.application;
      const held: HeldApplication = { bizFlow: unique(), sent, outcome, isDecided: false };
      applications.push(held);
      await afterwards(() => decideApplication(held));
      return {
        bizFlow: held.bizFlow,
        ...(sent.merOrderNo === undefined ? {} : { merOrderNo: sent.merOrderNo }),
        status: 'ACCEPT',
        code: 'S00001',
        message: 'ACCEPT',
      };
    },
    register: async (merchantNo, sent) => {
      const known = payees.find(
        (payee) => payee.merchantNo === merchantNo && payee.sent.merOrderNo === sent.merOrderNo,
      );
      if (known !== undefined) return replyOf(known);
      const account = accountOf(merchantNo, sent);
      const isUnderReview = payees.some(
        (payee) => payee.status === '01' && accountOf(payee.merchantNo, payee.sent) === account,
      );
      if (isUnderReview) throw new Refused(409, 'E40901', 'this payee is under review already');
      const marker = markerIn(sent);
      const outcome = marker.outcome ?? settings.beneficiary;
      const held: HeldPayee = {
        bizFlowNo: unique(),
        payeeId: `P${unique().slice(0, 16)}`,
        merchantNo,
        sent,
        status: marker.isAtOnce ? (outcome === 'approve' ? '04' : '03') : '01',
      };
      payees.push(held);
      const reply = replyOf(held);
      if (!marker.isAtOnce) await afterwards(() => decidePayee(held, outcome));
      return reply;
    },
    applications: () => applications,
    payees: () => payees,
    settled: async () => {
      while (pending.size > 0) await Promise.all(pending);
    },
    close: () => closing.abort(),
  };
}
