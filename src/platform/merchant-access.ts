/** sp1101, merchant access application: hands one in, once, and tells a receipt from anything else (4.3). */
import { PlatformRejected, PlatformReplyInvalid } from './errors.ts';
import { cameOf, isPrintable, replyFields } from './reply.ts';
import type { Excerpt, Transport } from './transport.ts';
import { APPLICATION_ACCEPTED } from './wire.ts';

/** Of bizFlow and merOrderNo (platform-api.md 8). */
const REFERENCE_CHARACTERS_MAX = 32;
const REPLY_FIELDS = ['bizFlow', 'status'];

/** The receipt of an application that awaits review (4.3). It is not an approval (4.3, rule 2). */
export interface ApplicationReceipt {
  readonly bizFlow: string;
  readonly merOrderNo: string | null;
  readonly status: string;
  readonly code: string;
  readonly message: string;
}

export interface MerchantAccessClient {
  /**
   * Hands an application in. The operation is not documented as idempotent, so it is sent again only after a failure
   * that certainly left nothing behind. Rejects with `PlatformRejected` where the platform said no, and with a
   * `PlatformError` whose `mayHaveArrived` is true, or the signal's reason, where nobody knows whether it took the
   * application on: that one must not be handed in again by itself.
   */
  readonly submit: (payload: object, signal?: AbortSignal) => Promise<ApplicationReceipt>;
}

/** The receipt (4.3): status ACCEPT with code S00001 (3.2), a bizFlow, and the order number that was sent, if any. */
function receiptOf(text: string, excerpt: Excerpt, payload: object): ApplicationReceipt {
  const came = () => cameOf(text, excerpt);
  const { bizFlow, merOrderNo, status, code, message } = replyFields(text, excerpt, REPLY_FIELDS);
  if (status !== APPLICATION_ACCEPTED.status && typeof status === 'string') {
    throw new PlatformRejected(`the application was not accepted: ${came()}`, false, text);
  }
  if (status !== APPLICATION_ACCEPTED.status || code !== APPLICATION_ACCEPTED.code) {
    throw new PlatformReplyInvalid(`the reply is neither a receipt nor a refusal: ${came()}`);
  }
  if (!isPrintable(bizFlow, REFERENCE_CHARACTERS_MAX)) {
    throw new PlatformReplyInvalid(
      `the receipt has no bizFlow of 1 to ${REFERENCE_CHARACTERS_MAX} characters`,
    );
  }
  const sent = (payload as { merOrderNo?: unknown }).merOrderNo;
  const echo = merOrderNo === undefined || merOrderNo === '' ? null : merOrderNo;
  if (echo !== null && echo !== sent) {
    throw new PlatformReplyInvalid('the receipt is for another merOrderNo than was sent');
  }
  return {
    bizFlow,
    merOrderNo: echo === null ? null : String(sent),
    status,
    code,
    message: typeof message === 'string' ? message : '',
  };
}

/** Calls of the agent itself, whose number stands in the body (5, rule 2). */
export function createMerchantAccessClient(transport: Transport): MerchantAccessClient {
  return {
    submit: (payload, signal) =>
      transport.post(
        {
          operation: 'sp1101',
          access: { kind: 'agent' },
          repeatable: false,
          confidential: true,
          body: payload,
          read: (text, excerpt) => receiptOf(text, excerpt, payload),
        },
        signal,
      ),
  };
}
