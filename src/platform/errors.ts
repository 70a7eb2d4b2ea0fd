/** How a call to the platform can fail, as values a caller decides on. None ever carries a token or a header. */

/** No usable answer after every retry: the network, a time-out, 5xx or 429 throughout. */
export class PlatformUnreachable extends Error {
  override readonly name = 'PlatformUnreachable';
}

/** The platform answered and said no: 401, 403, another 4xx, an error document, a redirect. */
export class PlatformRejected extends Error {
  override readonly name = 'PlatformRejected';
}

/** The platform answered with something that is not the reply its contract promises. */
export class PlatformReplyInvalid extends Error {
  override readonly name = 'PlatformReplyInvalid';
}

export type PlatformError = PlatformUnreachable | PlatformRejected | PlatformReplyInvalid;

export const isPlatformError = (error: unknown): error is PlatformError =>
  error instanceof PlatformUnreachable ||
  error instanceof PlatformRejected ||
  error instanceof PlatformReplyInvalid;
