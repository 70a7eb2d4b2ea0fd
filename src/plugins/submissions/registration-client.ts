/** sp1401, register a beneficiary: submits one under its order number, repeatedly if needed (docs/platform.md 4.4). */
import { PlatformRejected, PlatformReplyInvalid, saying, type PlatformError } from '../../platform/errors.ts';
import type { MerchantAccess } from '../../platform/ledger-reader.ts';
import {
  cameOf,
  opened,
  openedOrNull,
  readReply,
  referenceIn,
  refusedBy,
  type Opened,
} from '../../platform/reply.ts';
import type { ReplyContext, Transport } from '../../platform/transport.ts';
import { BENEFICIARY_ACCEPTED, BENEFICIARY_STATUSES, type BeneficiaryStatus } from '../../platform/wire.ts';

const REFERENCES = ['merOrderNo', 'bizFlowNo', 'payeeId'];
const REPLY_FIELDS = [...REFERENCES, 'status', 'respCode'];

/** The platform's answer to a registration (docs/platform.md 2.6). */
export interface RegistrationReply {
  readonly merOrderNo: string;
  /** Null if the reply has none, as in a rejection. */
  readonly bizFlowNo: string | null;
  /** Null if the platform does not return it at once; then the notification brings it (docs/platform.md 2.6, 6.2). */
  readonly payeeId: string | null;
  readonly status: BeneficiaryStatus;
  readonly respCode: string | null;
  /** A sentence that says how the reply refuses and yet gives a state; null if it is clear. */
  readonly contradiction: string | null;
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
 * The state of what was sent in a reply that refuses, if it gives one. A number by itself is a status of the call. A
 * payeeId without a state means that the platform has the payee.
 */
function statusDespite(reply: Opened, payload: object): BeneficiaryStatus | undefined {
  if (!isFor(payload, reply)) return undefined;
  const status = statusOf(reply);
  const isOfPayee =
    isStatus(reply.field('status')) || REFERENCES.some((name) => reply.field(name) !== undefined);
  if (isStatus(status) && isOfPayee) return status;
  return reply.field('payeeId') === undefined ? undefined : UNDER_REVIEW;
}

/** The code of the reply, or the value of the field that refuses. */
function codeIn(reply: Opened, refusal: string | null): string | null {
  const accepting = reply.layers.map(({ code }) => code).find(isAcceptance);
  const code = reply.field('respCode') ?? accepting ?? (refusal === null ? null : reply.field(refusal));
  return referenceIn(code);
}

/**
 * Reads the reply (docs/platform.md 2.6). Without a status, S00000 means accepted for review, and any other code
 * means refused (docs/platform.md 7).
 */
function registrationOf(text: string, context: ReplyContext, payload: object): RegistrationReply {
  const { refusal } = readReply(text, context, { expected: REPLY_FIELDS, hasState: true });
  const reply = opened(text, REPLY_FIELDS)!;
  const respCode = codeIn(reply, refusal);
  if (refusal !== null) {
    const status = statusDespite(reply, payload);
    if (status === undefined)
      throw naming(reply.field('bizFlowNo'), payload, refusedBy(refusal, text, context.excerpt));
    return replyIn(reply, payload, { status, respCode, contradiction: saysNo(refusal) });
  }
  const status = statusOf(reply) ?? (isAcceptance(respCode) ? UNDER_REVIEW : undefined);
  if (!isStatus(status)) {
    const received = cameOf(text, context.excerpt);
    throw new PlatformReplyInvalid(`status is none of ${BENEFICIARY_STATUSES.join(', ')}: ${received}`);
  }
  return replyIn(reply, payload, { status, respCode, contradiction: null });
}

/** The refusal with the number that the platform gave it, unless that repeats something that was sent. */
const naming = (bizFlowNo: unknown, payload: object, refusal: PlatformRejected): PlatformError => {
  const reference = referenceIn(bizFlowNo);
  return reference === null || Object.values(payload).includes(reference)
    ? refusal
    : saying(`${refusal.message}; it has bizFlowNo ${reference}`, refusal);
};

/** Whether the reply is for the number that was sent; one that names none is. */
const isFor = (payload: object, reply: Opened): boolean => {
  const sent = merOrderNoOf(payload);
  return referenceIn(reply.field('merOrderNo') ?? sent) === sent;
};

const merOrderNoOf = (payload: object): string => (payload as { readonly merOrderNo: string }).merOrderNo;

const saysNo = (field: string): string =>
  `the reply gives a state, but its ${field} has no value that means success (PLATFORM_SUCCESS_CODES)`;

/** Throws `PlatformReplyInvalid` if the reply is for another number than was sent. A rejection contradicts nothing. */
function replyIn(
  reply: Opened,
  payload: object,
  { contradiction, ...state }: Pick<RegistrationReply, 'status' | 'respCode' | 'contradiction'>,
): RegistrationReply {
  if (!isFor(payload, reply))
    throw new PlatformReplyInvalid('the reply is for another merOrderNo than was sent');
  return {
    merOrderNo: merOrderNoOf(payload),
    bizFlowNo: referenceOf(reply, 'bizFlowNo'),
    payeeId: referenceOf(reply, 'payeeId'),
    ...state,
    contradiction: state.status === REJECTED ? null : contradiction,
  };
}

/** The state that a reply gives although its HTTP status is no success; null if it gives none. */
function stateDespite(error: unknown, payload: object): RegistrationReply | null {
  const text = error instanceof PlatformRejected ? error.replyText() : null;
  const reply = text === null ? null : openedOrNull(text, REPLY_FIELDS);
  const status = reply === null ? undefined : statusDespite(reply, payload);
  if (reply === null || status === undefined) return null;
  const contradiction = 'the reply gives a state, but its HTTP status is no success';
  return replyIn(reply, payload, { status, respCode: codeIn(reply, 'code'), contradiction });
}

const UNDER_REVIEW = '01';
const REJECTED = '03';
const isAcceptance = (code: unknown): boolean => code === BENEFICIARY_ACCEPTED;

/** These are calls for a merchant, with its number and token (docs/platform.md 5, rule 1). */
export function createBeneficiaryClient(transport: Transport): BeneficiaryClient {
  return {
    register: async (merchant, payload, signal) => {
      try {
        return await transport.post(
          {
            operation: 'sp1401',
            access: { kind: 'merchant', merchant },
            repeatable: true,
            confidential: true,
            body: payload,
            read: (text, context) => registrationOf(text, context, payload),
          },
          signal,
        );
      } catch (error) {
        const reply = stateDespite(error, payload);
        if (reply === null) throw error;
        return reply;
      }
    },
  };
}
