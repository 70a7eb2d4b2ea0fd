/**
 * sp1101, merchant access application: hands one in, once, and tells a receipt from anything else
 * (docs/platform.md 4.3).
 */
import { PlatformRejected, PlatformReplyInvalid, PlatformUnreachable } from './errors.ts';
import { cameOf, codesIn, isPrintable, opened, openReply, saysNo, type Opened } from './reply.ts';
import type { Excerpt, Transport } from './transport.ts';
import { APPLICATION_ACCEPTED } from './wire.ts';

/** Of bizFlow and merOrderNo (docs/platform.md 8). */
const REFERENCE_CHARACTERS_MAX = 32;
const REPLY_FIELDS = ['bizFlow', 'merOrderNo', 'status'];

/**
 * The receipt of an application that awaits review (docs/platform.md 4.3). It is not an approval
 * (docs/platform.md 4.3, rule 2).
 */
export interface ApplicationReceipt {
  /** Null where the receipt names none, or none that could be one: received all the same. */
  readonly bizFlow: string | null;
  readonly merOrderNo: string | null;
}

export interface ApplicationClient {
  /**
   * Hands an application in. The operation is not documented as idempotent, so it is sent again only where nobody
   * answered and nothing was left behind. Rejects with `PlatformRejected` where the platform said no, and with a
   * `PlatformError` whose `mayHaveArrived` is true, or the signal's reason, where nobody knows whether it took the
   * application on: that one must not be handed in again by itself.
   */
  readonly submit: (payload: object, signal?: AbortSignal) => Promise<ApplicationReceipt>;
}

/** Code S00001 (docs/platform.md 4.3), in whatever envelope and by whatever field tells a code. */
const isReceipt = ({ layers }: Opened): boolean =>
  layers.some((layer) => codesIn(layer).includes(APPLICATION_ACCEPTED.code));

/** The reply's text as a receipt, for the order number that was sent, if it names one. */
function receiptOf(text: string, excerpt: Excerpt, payload: object): ApplicationReceipt {
  const came = () => cameOf(text, excerpt);
  const reply = openReply(text, excerpt, REPLY_FIELDS);
  if (isReceipt(reply)) return receiptIn(reply, payload);
  if (saysNo(reply)) throw new PlatformRejected(`the application was not accepted: ${came()}`, false, text);
  throw new PlatformReplyInvalid(`the reply is neither a receipt nor a refusal: ${came()}`);
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
 * What an answer that is no success says, where it is a receipt all the same: HTTP statuses are not shown
 * (docs/platform.md 7). Throws `PlatformReplyInvalid` for one that is for another order: received, and not to
 * be taken for a refusal.
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

/** Calls of the agent itself, whose number stands in the body (docs/platform.md 5, rule 2). */
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
            read: (text, excerpt) => receiptOf(text, excerpt, payload),
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
