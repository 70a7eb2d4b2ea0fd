/**
 * Applications and registrations under review. Each is decided after a delay, by a marker in the request or by the
 * settings of the scenario, and its outcome is pushed to its callback address (docs/platform.md 3, 6).
 */
import { CURRENCY_CODE } from '../../ledger/money.ts';
import { randomUUID, createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { accountOf, type SentRegistration } from './beneficiary.ts';
import type { SentApplication } from './merchant-access.ts';
import type { Latitude } from './latitude.ts';
import type { Pushes } from './pushes.ts';
import { Refused } from './field-checks.ts';
import { z } from 'zod';

export interface Reviews {
  /**
   * Takes an application; resolves to the reply of sp1101 (docs/platform.md 4.3). The document does not say that the
   * same application counts once, so each call is a new one.
   */
  readonly apply: (sent: SentApplication) => Promise<object>;
  /**
   * Takes a registration; resolves to the reply of sp1401 (docs/platform.md 2.6). The same merOrderNo is not processed
   * a second time (docs/platform.md 2.5). Throws `Refused` while another registration of the payee is under review.
   */
  readonly register: (merchantNo: string, sent: SentRegistration) => Promise<object>;
  readonly applications: () => readonly HeldApplication[];
  readonly payees: () => readonly HeldPayee[];
  /** Resolves when no decision and no push is pending. */
  readonly settled: () => Promise<void>;
  readonly close: () => void;
}

interface ReviewDeps {
  readonly seed: number;
  readonly settings: ReviewSettings;
  readonly latitude: Latitude;
  readonly pushes: Pushes;
  /** Called before the outcome is pushed: the merchant exists from now on, and its token opens its ledger. */
  readonly onApproved: (merchant: NewMerchant) => void;
}

const unique = (characters = 32): string =>
  randomUUID().replaceAll('-', '').padEnd(characters, '0').slice(0, characters);

export function createReviews({ seed, settings, latitude, pushes, onApproved }: ReviewDeps): Reviews {
  const applications: HeldApplication[] = [];
  const payees: HeldPayee[] = [];
  const decisions = createDecisions(settings);

  /** The merchant of a company whose application is approved now. */
  const approved = (sent: SentApplication): NewMerchant => {
    const before = applications.filter(
      (one) => one.isDecided && one.outcome === 'approve' && one.sent.certificateNo === sent.certificateNo,
    );
    const { currencies } = settings;
    const merchant = merchantFor(sent, { approvedBefore: before.length, seed, currencies, latitude });
    onApproved(merchant);
    return merchant;
  };

  const decideApplication = async (held: HeldApplication): Promise<void> => {
    const { outcome, sent } = held;
    if (outcome === 'never') return;
    const merchant = outcome === 'approve' ? approved(sent) : null;
    held.isDecided = true;
    const payload = applicationResult(held, { outcome, merchant, settings, latitude });
    await pushes.send({ operation: 'sp3101', url: sent.callbackUrl, payload });
  };

  const decidePayee = async (held: HeldPayee, outcome: Outcome): Promise<void> => {
    if (outcome === 'never') return;
    held.status = outcome === 'approve' ? '04' : '03';
    const { callbackUrl } = held.sent;
    if (callbackUrl === undefined) return;
    await pushes.send({ operation: 'sp3401', url: callbackUrl, payload: payeeResult(held) });
  };

  return {
    apply: async (sent) => {
      const outcome = markerIn(sent).outcome ?? settings.application;
      const held: HeldApplication = {
        bizFlow: unique(latitude.flowCharacters),
        sent,
        outcome,
        isDecided: false,
      };
      applications.push(held);
      await decisions.plan(() => decideApplication(held));
      return applicationReply(held, latitude);
    },
    register: async (merchantNo, sent) => {
      const known = payees.find(
        (payee) => payee.merchantNo === merchantNo && payee.sent.merOrderNo === sent.merOrderNo,
      );
      if (known !== undefined) return replyAgain(known, settings, latitude);
      if (isUnderReview(payees, accountOf(merchantNo, sent))) {
        throw new Refused(409, 'E40901', 'this payee is under review already');
      }
      const { outcome: marked, isAtOnce } = markerIn(sent);
      const outcome = marked ?? settings.beneficiary;
      const held: HeldPayee = {
        bizFlowNo: unique(latitude.flowCharacters),
        payeeId: `P${unique().slice(0, 16)}`,
        merchantNo,
        sent,
        status: isAtOnce ? (outcome === 'approve' ? '04' : '03') : '01',
      };
      payees.push(held);
      // Written before the decision, which may come before the reply.
      const reply = payeeReply(held, settings);
      if (!isAtOnce) await decisions.plan(() => decidePayee(held, outcome));
      return reply;
    },
    applications: () => applications,
    payees: () => payees,
    settled: decisions.settled,
    close: decisions.close,
  };
}

const isUnderReview = (payees: readonly HeldPayee[], account: string): boolean =>
  payees.some(({ status, merchantNo, sent }) => status === '01' && accountOf(merchantNo, sent) === account);

function createDecisions({ delayMs, pushBeforeReply }: ReviewSettings) {
  const closing = new AbortController();
  const pending = new Set<Promise<void>>();

  const decideLater = async (decide: () => Promise<void>): Promise<void> => {
    if (!pushBeforeReply) {
      const isOpen = await sleep(delayMs, true, { signal: closing.signal }).catch(() => false);
      if (!isOpen) return;
    }
    await decide();
  };

  return {
    /** Calls `decide` after the delay. Resolves at once, or when all is done if the outcome is pushed before the reply. */
    plan: async (decide: () => Promise<void>): Promise<void> => {
      const work = decideLater(decide);
      pending.add(work);
      void work.finally(() => pending.delete(work));
      if (pushBeforeReply) await work;
    },
    /** Resolves when no decision is pending. */
    settled: async (): Promise<void> => {
      while (pending.size > 0) await Promise.all(pending);
    },
    /** Drops the decisions whose delay is not over. */
    close: () => closing.abort(),
  };
}

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
  currencies: z.array(z.string().regex(CURRENCY_CODE)).min(1).default(['USD', 'EUR']),
});
export type ReviewSettings = z.output<typeof reviewSchema>;
export const REVIEW_DEFAULTS: ReviewSettings = reviewSchema.parse({});

/**
 * A marker may be anywhere in a request, such as `SANDBOX-REJECT`. With `-AT-ONCE`, sp1401 answers with the outcome and
 * does not push it (docs/platform.md 3.1).
 */
const MARKER = /SANDBOX-(APPROVE|SUPPLEMENT|REJECT|NEVER)(-AT-ONCE)?/;

/** What the marker of a request says; `outcome` is null if it has none. */
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

const codeOf = (outcome: PushedOutcome, { rejectionCode }: Latitude): string =>
  ({ approve: 'S00000', supplement: '80000', reject: rejectionCode })[outcome];

/** docs/platform.md 6.1: a reason and the fields it is about, as JSON text. */
function messageOf(outcome: PushedOutcome): string {
  if (outcome === 'approve') return 'Success';
  return outcome === 'supplement'
    ? JSON.stringify({ reason: 'the registration document is not legible', fields: ['certificate'] })
    : JSON.stringify({ reason: 'the business is not supported', fields: ['businessNature'] });
}

interface Made {
  readonly approvedBefore: number;
  readonly seed: number;
  readonly currencies: readonly string[];
  readonly latitude: Latitude;
}

/**
 * The merchant of a company. The same company gets the same number and token in every sandbox with this seed; its
 * second approval (`approvedBefore` 1) gets others (docs/platform.md 6.1).
 */
function merchantFor(
  { certificateNo }: SentApplication,
  { approvedBefore, seed, currencies, latitude }: Made,
): NewMerchant {
  const digest = createHash('sha256').update(`${seed} ${certificateNo} ${approvedBefore}`).digest('hex');
  return {
    merchantNo: latitude.merchantNo.replace(
      '{digits}',
      String(Number.parseInt(digest.slice(0, 8), 16) % 1_000_000).padStart(6, '0'),
    ),
    token: digest.slice(8, 40),
    currencies,
  };
}

/** The reply of sp1101 (docs/platform.md 4.3). */
const applicationReply = (
  { bizFlow, sent: { merOrderNo } }: HeldApplication,
  { receipt }: Latitude,
): object => ({
  bizFlow,
  ...(merOrderNo === undefined ? {} : { merOrderNo }),
  ...(receipt !== 'code' && { status: 'ACCEPT' }),
  ...(receipt !== 'status' && { code: 'S00001' }),
  message: 'ACCEPT',
});

interface Decided {
  readonly outcome: PushedOutcome;
  readonly merchant: NewMerchant | null;
  readonly settings: ReviewSettings;
  readonly latitude: Latitude;
}

/** The payload of sp3101 (docs/platform.md 6.1). `merchant` is the one that was approved, or null. */
function applicationResult(
  { bizFlow, sent }: HeldApplication,
  { outcome, merchant, settings: { processVersion }, latitude }: Decided,
): object {
  const { merOrderNo, merNameEn } = sent;
  const isVersioned = outcome === 'supplement' && processVersion !== '';
  return {
    bizFlow,
    ...(merOrderNo === undefined || merOrderNo === '' ? {} : { merOrderNo }),
    code: codeOf(outcome, latitude),
    message: messageOf(outcome),
    merchantNo: merchant?.merchantNo ?? '',
    merNameEn,
    token: merchant?.token ?? '',
    ...(isVersioned ? { processVersion } : {}),
  };
}

/** The reply of sp1401 (docs/platform.md 2.6). */
const payeeReply = (
  { sent, bizFlowNo, payeeId, status }: HeldPayee,
  { payeeIdAtOnce }: ReviewSettings,
): object => ({
  merOrderNo: sent.merOrderNo,
  bizFlowNo,
  payeeId: payeeIdAtOnce || status !== '01' ? payeeId : '',
  status,
  respCode: 'S00000',
});

/** What a known number is answered by. Throws `Refused` where the platform is one that refuses it. */
function replyAgain(known: HeldPayee, settings: ReviewSettings, { knownNumber }: Latitude): object {
  if (knownNumber === 'refusal') throw new Refused(409, 'E40902', 'duplicate merOrderNo');
  return payeeReply(known, settings);
}

/** The payload of sp3401 (docs/platform.md 6.2). */
const payeeResult = ({ sent, bizFlowNo, payeeId, status }: HeldPayee): object => ({
  merOrderNo: sent.merOrderNo,
  bizFlowNo,
  payeeId,
  status,
});
