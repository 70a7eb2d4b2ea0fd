/**
 * The ways in which a call to the platform can fail, as values a caller can decide on. None ever shows a token or a
 * header.
 */
import { EXIT, ExpectedError } from '../ledger/ending.ts';

/** A call without success, and the reply if there was one. */
abstract class Unsuccessful extends ExpectedError {
  readonly exitCode = EXIT.incomplete;
  /** Whether the call may have been done. */
  readonly mayHaveArrived: boolean;
  readonly #reply: string | null;

  constructor(message: string, mayHaveArrived: boolean, reply: string | null) {
    super(message);
    this.mayHaveArrived = mayHaveArrived;
    this.#reply = reply;
  }

  /**
   * The complete reply. It may repeat personal data that was sent. Store it only encrypted, and never print or log it.
   * It is a method so that no serializer includes it.
   */
  replyText(): string | null {
    return this.#reply;
  }
}

/**
 * No usable reply even after all retries: a network error, a time-out, or always 5xx or 429. `mayHaveArrived` is false if
 * the call was certainly not sent, or if the platform asked to come back later.
 */
export class PlatformUnreachable extends Unsuccessful {
  override readonly name = 'PlatformUnreachable';

  constructor(message: string, mayHaveArrived = true, reply: string | null = null) {
    super(message, mayHaveArrived, reply);
  }
}

/**
 * The platform refused: 401, 403, another 4xx, an error document, or a redirect. `mayHaveArrived` is true if the refusal
 * leaves open whether the call was done: a redirect.
 */
export class PlatformRejected extends Unsuccessful {
  override readonly name = 'PlatformRejected';
  /** Whether the platform refused the token: by 401 or 403, or by a reply that says so (docs/platform.md 7). */
  readonly refusesToken: boolean;

  constructor(message: string, mayHaveArrived = false, reply: string | null = null, refusesToken = false) {
    super(message, mayHaveArrived, reply);
    this.refusesToken = refusesToken;
  }
}

/** The platform replied, but the reply is not what its contract promises. So it may have done what was asked. */
export class PlatformReplyInvalid extends Unsuccessful {
  override readonly name = 'PlatformReplyInvalid';

  constructor(message: string, reply: string | null = null) {
    super(message, true, reply);
  }
}

export type PlatformError = PlatformUnreachable | PlatformRejected | PlatformReplyInvalid;

export const isPlatformError = (error: unknown): error is PlatformError =>
  error instanceof PlatformUnreachable ||
  error instanceof PlatformRejected ||
  error instanceof PlatformReplyInvalid;

/**
 * The same error with another message. `mayHaveArrived` can become true but never false: if an earlier attempt may
 * have arrived, that stays so.
 */
export function saying(message: string, error: PlatformError, mayHaveArrived = false): PlatformError {
  const may = mayHaveArrived || error.mayHaveArrived;
  if (error instanceof PlatformUnreachable) return new PlatformUnreachable(message, may, error.replyText());
  if (error instanceof PlatformRejected)
    return new PlatformRejected(message, may, error.replyText(), error.refusesToken);
  return new PlatformReplyInvalid(message, error.replyText());
}
