/**
 * Applications and registrations under review. Each is decided after a delay, by a marker in the request or by the
 * scenario, and its outcome is pushed to its callback address (docs/platform.md 3, 6).
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { accountOf, type SentRegistration } from './beneficiary.ts';
import type { SentApplication } from './merchant-access.ts';
import type { Pushes } from './pushes.ts';
import { Refused } from './field-checks.ts';
import {
  applicationReply,
  applicationResult,
  merchantFor,
  payeeReply,
  payeeResult,
  type HeldApplication,
  type HeldPayee,
  type NewMerchant,
  markerIn,
  type Outcome,
  type ReviewSettings,
} from './review-rules.ts';

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
  readonly pushes: Pushes;
  /** Called before the outcome is pushed: the merchant exists from now on, and its token opens its ledger. */
  readonly onApproved: (merchant: NewMerchant) => void;
}

const unique = (): string => randomUUID().replaceAll('-', '');

export function createReviews({ seed, settings, pushes, onApproved }: ReviewDeps): Reviews {
  const applications: HeldApplication[] = [];
  const payees: HeldPayee[] = [];
  const decisions = createDecisions(settings);

  /** The merchant of a company whose application is approved now. */
  const approved = (sent: SentApplication): NewMerchant => {
    const before = applications.filter(
      (one) => one.isDecided && one.outcome === 'approve' && one.sent.certificateNo === sent.certificateNo,
    );
    const merchant = merchantFor(sent, before.length, seed, settings.currencies);
    onApproved(merchant);
    return merchant;
  };

  const decideApplication = async (held: HeldApplication): Promise<void> => {
    const { outcome, sent } = held;
    if (outcome === 'never') return;
    const merchant = outcome === 'approve' ? approved(sent) : null;
    held.isDecided = true;
    const payload = applicationResult(held, outcome, merchant, settings);
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
      const held: HeldApplication = { bizFlow: unique(), sent, outcome, isDecided: false };
      applications.push(held);
      await decisions.plan(() => decideApplication(held));
      return applicationReply(held);
    },
    register: async (merchantNo, sent) => {
      const known = payees.find(
        (payee) => payee.merchantNo === merchantNo && payee.sent.merOrderNo === sent.merOrderNo,
      );
      if (known !== undefined) return payeeReply(known, settings);
      if (isUnderReview(payees, accountOf(merchantNo, sent))) {
        throw new Refused(409, 'E40901', 'this payee is under review already');
      }
      const { outcome: marked, isAtOnce } = markerIn(sent);
      const outcome = marked ?? settings.beneficiary;
      const held: HeldPayee = {
        bizFlowNo: unique(),
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

interface Decisions {
  /**
   * Calls `decide` after the delay. Resolves at once, or when all is done if the outcome is pushed before the reply.
   */
  readonly plan: (decide: () => Promise<void>) => Promise<void>;
  /** Resolves when no decision is pending. */
  readonly settled: () => Promise<void>;
  /** Drops the decisions whose delay is not over. */
  readonly close: () => void;
}

function createDecisions({ delayMs, pushBeforeReply }: ReviewSettings): Decisions {
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
    plan: async (decide) => {
      const work = decideLater(decide);
      pending.add(work);
      void work.finally(() => pending.delete(work));
      if (pushBeforeReply) await work;
    },
    settled: async () => {
      while (pending.size > 0) await Promise.all(pending);
    },
    close: () => closing.abort(),
  };
}
