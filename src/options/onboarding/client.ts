/**
 * sp1101, merchant access application: submits one, once, and recognizes the receipt among all other replies
 * (docs/platform.md 4.3).
 */
import { PlatformRejected, PlatformReplyInvalid, PlatformUnreachable } from '../../platform/errors.ts';
import { cameOf, isPrintable, opened, readReply, refusedBy, type Opened } from '../../platform/reply.ts';
import type { ReplyContext, Transport } from '../../platform/transport.ts';
import { APPLICATION_ACCEPTED } from '../../platform/wire.ts';

/** Longest bizFlow and merOrderNo (docs/platform.md 8). */
const REFERENCE_CHARACTERS_MAX = 32;
const REPLY_FIELDS = ['bizFlow', 'merOrderNo', 'status'];

/** The receipt of an application that now awaits review. It is no approval (docs/platform.md 4.3, rule 2). */
export interface ApplicationReceipt {
  /** Null if the receipt has none or an unusable one. The application was received all the same. */
  readonly bizFlow: string | null;
  readonly merOrderNo: string | null;
}

export interface ApplicationClient {
  /**
   * Submits an application. The operation is not documented as idempotent. So it is repeated only if the platform did
   * not answer and certainly did not receive it. Rejects with `PlatformRejected` if the platform refused it. Rejects
   * with a `PlatformError` whose `mayHaveArrived` is true, or with the signal's reason, if it is unknown whether the
   * platform accepted it: then it must not be submitted again automatically.
   */
  readonly submit: (payload: object, signal?: AbortSignal) => Promise<ApplicationReceipt>;
}

/** Fields that may hold the code of a receipt. */
const CODE_FIELDS = ['code', 'respCode', 'errorCode', 'retCode', 'error'];

/** Whether any layer of the reply has the code S00001 (docs/platform.md 4.3), in any of the fields for codes. */
const isReceipt = ({ layers }: Opened): boolean =>
  layers.some((layer) => CODE_FIELDS.some((field) => layer[field] === APPLICATION_ACCEPTED.code));

/** Reads the reply as a receipt. If the receipt names an order number, it must equal the sent one. */
function receiptOf(text: string, context: ReplyContext, payload: object): ApplicationReceipt {
  const { refusal } = readReply(text, context, { expected: REPLY_FIELDS, hasState: true });
  const reply = opened(text, REPLY_FIELDS)!;
  const received = cameOf(text, context.excerpt);
  const isAccepted = isReceipt(reply) || reply.field('status') === APPLICATION_ACCEPTED.status;
  if (refusal !== null && isAccepted) {
    throw new PlatformReplyInvalid(
      `the reply says ${APPLICATION_ACCEPTED.status}, but its ${refusal} is no success: ${received}`,
    );
  }
  if (refusal !== null) throw refusedBy(refusal, text, context.excerpt);
  if (isReceipt(reply)) return receiptIn(reply, payload);
  throw new PlatformReplyInvalid(`the reply is neither a receipt nor a refusal: ${received}`);
}

function receiptIn(reply: Opened, payload: object): ApplicationReceipt {
  const sent = (payload as { merOrderNo?: unknown }).merOrderNo;
  const echo = reply.field('merOrderNo') ?? null;
  if (echo !== null && echo !== sent) {
    throw new PlatformReplyInvalid('the receipt is for another merOrderNo than was sent');
  }
  const bizFlow = reply.field('bizFlow');
  return {
    bizFlow: isPrintable(bizFlow, REFERENCE_CHARACTERS_MAX) ? bizFlow : null,
    merOrderNo: echo === null ? null : String(sent),
  };
}

/**
 * The receipt, if an error reply is one nevertheless: the document does not say which HTTP status a receipt has
 * (docs/platform.md 7). Throws `PlatformReplyInvalid` if it is for another order, because then something was
 * received, and it must not count as refused.
 */
function receiptDespite(error: unknown, payload: object): ApplicationReceipt | null {
  const isAnswer = error instanceof PlatformRejected || error instanceof PlatformUnreachable;
  const text = isAnswer ? error.replyText() : null;
  const reply = text === null ? null : openedOrNull(text);
  return reply !== null && isReceipt(reply) ? receiptIn(reply, payload) : null;
}

function openedOrNull(text: string): Opened | null {
  try {
    return opened(text, REPLY_FIELDS);
  } catch {
    return null;
  }
}

/** These are calls of the agent itself, whose number is in the body (docs/platform.md 5, rule 2). */
export function createApplicationClient(transport: Transport): ApplicationClient {
  return {
    submit: async (payload, signal) => {
      try {
        return await transport.post(
          {
            operation: 'sp1101',
            access: { kind: 'agent' },
            repeatable: false,
            confidential: true,
            body: payload,
            read: (text, context) => receiptOf(text, context, payload),
          },
          signal,
        );
      } catch (error) {
        const receipt = receiptDespite(error, payload);
        if (receipt === null) throw error;
        return receipt;
      }
    },
  };
}
