/** sp1401, register a beneficiary: submits one under its order number, repeatedly if needed (docs/platform.md 4.4). */
import { PlatformReplyInvalid } from '../../platform/errors.ts';
import type { MerchantAccess } from '../../platform/ledger-reader.ts';
import { cameOf, opened, readReply, referenceIn, refusedBy, type Opened } from '../../platform/reply.ts';
import type { ReplyContext, Transport } from '../../platform/transport.ts';
import { BENEFICIARY_ACCEPTED, BENEFICIARY_STATUSES, type BeneficiaryStatus } from '../../platform/wire.ts';

const REPLY_FIELDS = ['merOrderNo', 'bizFlowNo', 'payeeId', 'status', 'respCode'];

/** The platform's answer to a registration (docs/platform.md 2.6). */
export interface RegistrationReply {
  readonly merOrderNo: string;
  /** Null if the reply has none, as in a rejection. */
  readonly bizFlowNo: string | null;
  /** Null if the platform does not return it at once; then the notification brings it (docs/platform.md 2.6, 6.2). */
  readonly payeeId: string | null;
  readonly status: BeneficiaryStatus;
  readonly respCode: string | null;
}

export interface BeneficiaryClient {
  /**
   * Submits a registration. The platform does not process the same merOrderNo twice (docs/platform.md 2.5). So this
   * repeats it after a temporary failure, and it may be submitted again later under the same number. Rejects with a
   * `PlatformError`, or with the signal's reason when aborted.
   */
  readonly register: (
    merchant: MerchantAccess,
    payload: object,
    signal?: AbortSignal,
  ) => Promise<RegistrationReply>;
}

const isStatus = (value: unknown): value is BeneficiaryStatus =>
  (BENEFICIARY_STATUSES as readonly unknown[]).includes(value);

/**
 * The status in the reply; `1` counts as `01`. A status in the envelope around the reply may only mean success of the
 * call. It counts only if it is written exactly as in the document.
 */
function statusOf({ body, field }: Opened): unknown {
  const own = body['status'];
  if (typeof own !== 'string' || own.trim() === '') {
    const outer = field('status');
    return isStatus(outer) ? outer : undefined;
  }
  return own.trim().padStart(2, '0');
}

/** An identifier from the reply; null if it has none. */
function referenceOf({ field }: Opened, name: string): string | null {
  const value = field(name) ?? null;
  const reference = referenceIn(value);
  if (value !== null && reference === null)
    throw new PlatformReplyInvalid(`the reply has a ${name} that could not be kept`);
  return reference;
}

/**
 * Reads the reply (docs/platform.md 2.6). Without a status, S00000 means accepted for review, and any other code
 * means refused (docs/platform.md 7).
 */
function registrationOf(text: string, context: ReplyContext, payload: object): RegistrationReply {
  const { refusal } = readReply(text, context, { expected: REPLY_FIELDS, hasState: true });
  const reply = opened(text, REPLY_FIELDS)!;
  const named = reply.field('respCode') ?? reply.layers.map(({ code }) => code).find(isAcceptance);
  const respCode = referenceIn(named);
  const status = statusOf(reply) ?? (isAcceptance(respCode) ? UNDER_REVIEW : undefined);
  // The status of a finished review decides, whatever the code.
  if (refusal !== null && (status === undefined || status === UNDER_REVIEW))
    throw refusedBy(refusal, text, context.excerpt);
  if (!isStatus(status)) {
    const received = cameOf(text, context.excerpt);
    throw new PlatformReplyInvalid(`status is none of ${BENEFICIARY_STATUSES.join(', ')}: ${received}`);
  }
  const sent = (payload as { merOrderNo?: unknown }).merOrderNo;
  const echo = reply.field('merOrderNo') ?? sent;
  if (typeof sent !== 'string' || referenceIn(echo) !== sent) {
    throw new PlatformReplyInvalid('the reply is for another merOrderNo than was sent');
  }
  return {
    merOrderNo: sent,
    bizFlowNo: referenceOf(reply, 'bizFlowNo'),
    payeeId: referenceOf(reply, 'payeeId'),
    status,
    respCode,
  };
}

const UNDER_REVIEW = '01';
const isAcceptance = (code: unknown): boolean => code === BENEFICIARY_ACCEPTED;

/** These are calls for a merchant, with its number and token (docs/platform.md 5, rule 1). */
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
          read: (text, context) => registrationOf(text, context, payload),
        },
        signal,
      ),
  };
}
