/** How a call to the platform can fail, as values a caller decides on. None ever shows a token or a header. */
import { EXIT, ExpectedError } from '../ledger/ending.ts';

/** Ended without success, with what was answered where anything was. */
abstract class Unsuccessful extends ExpectedError {
  readonly exitCode = EXIT.incomplete;
  abstract readonly mayHaveArrived: boolean;
  readonly #reply: string | null;

  constructor(message: string, reply: string | null) {
    super(message);
    this.#reply = reply;
  }

  /**
   * What the platform answered, in full: may repeat what it was sent, personal data included. To be kept encrypted,
   * never to be printed or logged; no serializer reaches it.
   */
  replyText(): string | null {
    return this.#reply;
  }
}

/** No usable answer after every retry: the network, a time-out, 5xx or 429 throughout. */
export class PlatformUnreachable extends Unsuccessful {
  override readonly name = 'PlatformUnreachable';
  /** False: nothing of the call ever left, or the platform asked to come back later. True: it may have been done. */
  readonly mayHaveArrived: boolean;

  constructor(message: string, mayHaveArrived = true, reply: string | null = null) {
    super(message, reply);
    this.mayHaveArrived = mayHaveArrived;
  }
}

/** The platform answered and said no: 401, 403, another 4xx, an error document, a redirect. */
export class PlatformRejected extends Unsuccessful {
  override readonly name = 'PlatformRejected';
  /** True where it said no in a way that does not tell whether the call was done: a redirect to look elsewhere. */
  readonly mayHaveArrived: boolean;

  constructor(message: string, mayHaveArrived = false, reply: string | null = null) {
    super(message, reply);
    this.mayHaveArrived = mayHaveArrived;
  }
}

/** The platform answered with something that is not the reply its contract promises. */
export class PlatformReplyInvalid extends ExpectedError {
  override readonly name = 'PlatformReplyInvalid';
  readonly exitCode = EXIT.incomplete;
  /** It answered, so it may have done what it was asked. */
  readonly mayHaveArrived = true;
}

export type PlatformError = PlatformUnreachable | PlatformRejected | PlatformReplyInvalid;

export const isPlatformError = (error: unknown): error is PlatformError =>
  error instanceof PlatformUnreachable ||
  error instanceof PlatformRejected ||
  error instanceof PlatformReplyInvalid;

/** The same failure in other words. `mayHaveArrived` can only be added: what an earlier try left open stays open. */
export function saying(message: string, error: PlatformError, mayHaveArrived = false): PlatformError {
  const may = mayHaveArrived || error.mayHaveArrived;
  if (error instanceof PlatformUnreachable) return new PlatformUnreachable(message, may, error.replyText());
  if (error instanceof PlatformRejected) return new PlatformRejected(message, may, error.replyText());
  return new PlatformReplyInvalid(message);
}
