/**
 * sp1101, merchant access application: submits one, once, and recognizes the receipt among all other replies
 * (docs/platform.md 4.3).
 */
import { PlatformRejected, PlatformReplyInvalid, PlatformUnreachable } from '../../platform/errors.ts';
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
import { APPLICATION_ACCEPTED } from '../../platform/wire.ts';

const REPLY_FIELDS = ['bizFlow', 'merOrderNo', 'status'];

/** The receipt of an application that now awaits review. It is no approval (docs/platform.md 4.3, rule 2). */
export interface ApplicationReceipt {
  /** Null if the receipt has none, or one that cannot be kept as a number. The application was received all the same. */
  readonly bizFlow: string | null;
  /** The complete reply. It may repeat personal data: stored only encrypted, never printed or logged. */
  readonly reply: string;
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

const textIn = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

const codesIn = ({ layers }: Opened): string[] =>
  layers.flatMap((layer) => CODE_FIELDS.map((field) => textIn(layer[field]))).filter((code) => code !== '');

/** Whether any layer of the reply has the code S00001 (docs/platform.md 4.3), in any of the fields for codes. */
const hasReceiptCode = (reply: Opened): boolean => codesIn(reply).includes(APPLICATION_ACCEPTED.code);

const hasReceiptStatus = ({ layers }: Opened): boolean =>
  layers.some(({ status }) => textIn(status) === APPLICATION_ACCEPTED.status);

const REFUSAL_WORD = /rej|refus|den(?:y|ied)|declin|fail|err|invalid|cancel|abort/i;
/** Whether a status next to the code of a receipt says no, as REJECT: then it is unknown what the platform did. */
const statusRefuses = ({ layers }: Opened): boolean =>
  layers.some(({ status }) => REFUSAL_WORD.test(textIn(status)));

/**
 * Reads the reply as a receipt: it has the code S00001 or the status ACCEPT, and nothing that refuses. If it names an
 * order number, that must equal the sent one.
 */
function receiptOf(text: string, context: ReplyContext, payload: object): ApplicationReceipt {
  const { refusal } = readReply(text, context, { expected: REPLY_FIELDS, hasState: true });
  const reply = opened(text, REPLY_FIELDS)!;
  const received = cameOf(text, context.excerpt);
  const isAccepted = hasReceiptCode(reply) || hasReceiptStatus(reply);
  if (refusal !== null && isAccepted) {
    throw new PlatformReplyInvalid(
      `the reply says ${APPLICATION_ACCEPTED.status}, but its ${refusal} is no success: ${received}`,
      text,
    );
  }
  if (refusal !== null) throw refusedBy(refusal, text, context.excerpt);
  if (isAccepted && statusRefuses(reply)) {
    throw new PlatformReplyInvalid(
      `the reply has the code ${APPLICATION_ACCEPTED.code}, but its status refuses: ${received}`,
      text,
    );
  }
  if (isAccepted) return receiptIn(reply, text, payload);
  throw new PlatformReplyInvalid(`the reply is neither a receipt nor a refusal: ${received}`, text);
}

function receiptIn(reply: Opened, text: string, payload: object): ApplicationReceipt {
  const sent = (payload as { merOrderNo?: unknown }).merOrderNo;
  const echo = reply.field('merOrderNo') ?? null;
  if (echo !== null && textIn(echo) !== sent) {
    throw new PlatformReplyInvalid('the receipt is for another merOrderNo than was sent', text);
  }
  return { bizFlow: referenceIn(reply.field('bizFlow')), reply: text };
}

/**
 * The receipt, if an error reply is one nevertheless: the document does not say which HTTP status a receipt has
 * (docs/platform.md 7). Its status alone counts only where no code says otherwise. Throws `PlatformReplyInvalid` if it
 * is for another order, because then something was received, and it must not count as refused.
 */
function receiptDespite(error: unknown, payload: object): ApplicationReceipt | null {
  const isAnswer = error instanceof PlatformRejected || error instanceof PlatformUnreachable;
  const text = isAnswer ? error.replyText() : null;
  const reply = text === null ? null : openedOrNull(text, REPLY_FIELDS);
  if (text === null || reply === null) return null;
  if (hasReceiptCode(reply) && statusRefuses(reply))
    throw new PlatformReplyInvalid(
      `sp1101 for the agent: an error reply has the code ${APPLICATION_ACCEPTED.code}, but its status refuses`,
      text,
    );
  const isReceipt = hasReceiptCode(reply) || (hasReceiptStatus(reply) && codesIn(reply).length === 0);
  return isReceipt ? receiptIn(reply, text, payload) : null;
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
