/** A request that access does not let pass. The pages' server answers it with a page in plain words. */

export class AccessRefused extends Error {
  override readonly name = 'AccessRefused';
  readonly statusCode = 403;
}
