/**
 * sp1401, register a beneficiary: hands one in under its order number, as often as it takes
 * (docs/platform.md 4.4).
 */
import { PlatformRejected, PlatformReplyInvalid } from './errors.ts';
import type { MerchantAccess } from './ledger-reader.ts';
import { cameOf, isPrintable, openReply, saysNo, type Opened } from './reply.ts';
import type { Excerpt, Transport } from './transport.ts';
import { BENEFICIARY_ACCEPTED, BENEFICIARY_STATUSES, type BeneficiaryStatus } from './wire.ts';

/** A bound of our own, as the document shows none for sp1401 (docs/platform.md 8). */
const REFERENCE_CHARACTERS_MAX = 64;
const REPLY_FIELDS = ['merOrderNo', 'bizFlowNo', 'payeeId', 'status', 'respCode'];

/** What the platform made of a registration (docs/platform.md 2.6). */
export interface RegistrationReply {
  readonly merOrderNo: string;
  /** Null where the reply names none, as with a rejection. */
  readonly bizFlowNo: string | null;
  /** Null where it is not given in real time; the notification brings it (docs/platform.md 2.6, 6.2). */
  readonly payeeId: string | null;
  readonly status: BeneficiaryStatus;
  readonly respCode: string | null;
}

export interface BeneficiaryClient {
  /**
   * Hands a registration in. The same merOrderNo is not processed twice (docs/platform.md 2.5), so it is sent
   * again after a failure that may pass, and may be handed in again later under the same number. Rejects with
   * a `PlatformError`, and with the signal's reason when aborted.
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
 * The status, as the reply has it or as the number it would be (`1` for `01`). An envelope's own status may be a flag of
 * success, so it counts only where it is written as the document writes one.
 */
function statusOf({ body, field }: Opened): unknown {
  const own = body['status'];
  if (typeof own !== 'string' || own === '') {
    const outer = field('status');
    return isStatus(outer) ? outer : undefined;
  }
  return own.padStart(2, '0');
}

/** An identifier of the reply; null where it has none. */
function referenceOf({ field }: Opened, name: string): string | null {
  const value = field(name) ?? null;
  if (value !== null && !isPrintable(value, REFERENCE_CHARACTERS_MAX)) {
    throw new PlatformReplyInvalid(`the reply has a ${name} that could not be kept`);
  }
  return value;
}

/**
 * The reply (docs/platform.md 2.6). S00000 alone says that it is taken for review; another code without a
 * status is a refusal (docs/platform.md 7).
 */
function registrationOf(text: string, excerpt: Excerpt, payload: object): RegistrationReply {
  const came = () => cameOf(text, excerpt);
  const reply = openReply(text, excerpt, REPLY_FIELDS);
  const told = reply.field('respCode') ?? reply.layers.map(({ code }) => code).find(isAcceptance);
  const respCode = isPrintable(told, REFERENCE_CHARACTERS_MAX) ? told : null;
  const status = statusOf(reply) ?? (isAcceptance(respCode) ? UNDER_REVIEW : undefined);
  if (!isStatus(status)) {
    const isRefusal = status === undefined && saysNo(reply);
    if (isRefusal) throw new PlatformRejected(`the registration was not accepted: ${came()}`, false, text);
    throw new PlatformReplyInvalid(`status is none of ${BENEFICIARY_STATUSES.join(', ')}: ${came()}`);
  }
  const sent = (payload as { merOrderNo?: unknown }).merOrderNo;
  const echo = reply.field('merOrderNo') ?? sent;
  if (typeof sent !== 'string' || echo !== sent) {
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

/** Calls made for a merchant carry its number and token (docs/platform.md 5, rule 1). */
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
