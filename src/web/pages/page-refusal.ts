/** What a route throws where there is no page to show. */

type Status = 400 | 403 | 404;

/** A request that gets no page, though nothing failed. */
export class PageRefusal extends Error {
  override readonly name = 'PageRefusal';
  readonly statusCode: Status;
  /** `viewer`: it needs an operator. */
  readonly why: 'viewer' | null;

  constructor(statusCode: Status, why: 'viewer' | null = null) {
    super(`refused with ${statusCode}`);
    this.statusCode = statusCode;
    this.why = why;
  }
}
