/** sp1401, register a beneficiary: hands one in under its order number, as often as it takes (4.4). */
import { PlatformRejected, PlatformReplyInvalid } from './errors.ts';
import type { MerchantAccess } from './ledger-reader.ts';
import { cameOf, isPrintable, replyFields } from './reply.ts';
import type { Excerpt, Transport } from './transport.ts';
import { BENEFICIARY_ACCEPTED, BENEFICIARY_STATUSES, type BeneficiaryStatus } from './wire.ts';

/** A bound of our own, as the document shows none for sp1401 (8). */
const REFERENCE_CHARACTERS_MAX = 64;
const REPLY_FIELDS = ['bizFlowNo', 'payeeId', 'status'];

/** What the platform made of a registration (2.6). */
export interface RegistrationReply {
  readonly merOrderNo: string;
  readonly bizFlowNo: string;
  /** Null where it is not given in real time; the notification brings it (2.6, 6.2). */
  readonly payeeId: string | null;
  readonly status: BeneficiaryStatus;
  readonly respCode: string | null;
}

export interface BeneficiaryClient {
  /**
   * Hands a registration in. The same merOrderNo is not processed twice (2.5), so it is sent again after a failure
   * that may pass, and may be handed in again later under the same number. Rejects with a `PlatformError`, and with
   * the signal's reason when aborted.
   */
  readonly register: (
    merchant: MerchantAccess,
    payload: object,
    signal?: AbortSignal,
  ) => Promise<RegistrationReply>;
}

const isStatus = (value: unknown): value is BeneficiaryStatus =>
  (BENEFICIARY_STATUSES as readonly unknown[]).includes(value);

/** The reply (2.6); one without status but with a code other than S00000 is a refusal (7). */
function registrationOf(text: string, excerpt: Excerpt, payload: object): RegistrationReply {
  const came = () => cameOf(text, excerpt);
  const { merOrderNo, bizFlowNo, payeeId, status, respCode } = replyFields(text, excerpt, REPLY_FIELDS);
  if (!isStatus(status)) {
    const isRefusal = typeof respCode === 'string' && respCode !== BENEFICIARY_ACCEPTED;
    if (isRefusal) throw new PlatformRejected(`the registration was not accepted: ${came()}`, false, text);
    throw new PlatformReplyInvalid(`status is none of ${BENEFICIARY_STATUSES.join(', ')}: ${came()}`);
  }
  if (!isPrintable(bizFlowNo, REFERENCE_CHARACTERS_MAX)) {
    throw new PlatformReplyInvalid('the reply has no bizFlowNo that could be kept');
  }
  const sent = (payload as { merOrderNo?: unknown }).merOrderNo;
  if (typeof sent !== 'string' || merOrderNo !== sent) {
    throw new PlatformReplyInvalid('the reply is for another merOrderNo than was sent');
  }
  const isGiven = payeeId !== undefined && payeeId !== null && payeeId !== '';
  if (isGiven && !isPrintable(payeeId, REFERENCE_CHARACTERS_MAX)) {
    throw new PlatformReplyInvalid('the reply has a payeeId that could not be kept');
  }
  return {
    merOrderNo: sent,
    bizFlowNo,
    payeeId: isGiven ? payeeId : null,
    status,
    respCode: typeof respCode === 'string' ? respCode : null,
  };
}

/** Calls made for a merchant carry its number and token (5, rule 1). */
export function createBeneficiaryClient(transport: Transport): BeneficiaryClient {
  return {
    register: (merchant, payload, signal) =>
      transport.post(
        {
          operation: 'sp1401',
          access: { kind: 'merchant', merchant },
          repeatable: true,
          confidential: true,
          body: payload,
          read: (text, excerpt) => registrationOf(text, excerpt, payload),
        },
        signal,
      ),
  };
}
