/** A request that access does not let pass. The pages' server answers it with a page in plain words. */

/** Why, in words for the log: our own, without anything that was sent. */
const REFUSALS = {
  notLoggedIn: { statusCode: 403, message: 'not logged in' },
  credentials: { statusCode: 401, message: 'no right name and password in the Authorization header' },
  tooMany: { statusCode: 429, message: 'too many tries to log in' },
  behindProxy: { statusCode: 403, message: 'behind a proxy, without a login' },
  otherName: { statusCode: 403, message: 'called by another name' },
  foreignName: { statusCode: 403, message: 'called by another name than that of DAYBOOK_PAGES_URL' },
  otherSite: { statusCode: 403, message: 'embedded or fetched by another site' },
  noRole: { statusCode: 403, message: 'the proxy names a person without a role' },
  noCookie: { statusCode: 403, message: 'a form was sent without its cookie' },
  noToken: { statusCode: 403, message: 'no form token' },
} as const;

export type RefusalWhy = keyof typeof REFUSALS;

export class AccessRefused extends Error {
  override readonly name = 'AccessRefused';
  readonly statusCode: number;
  readonly why: RefusalWhy;

  constructor(why: RefusalWhy) {
    const { statusCode, message } = REFUSALS[why];
    super(message);
    this.statusCode = statusCode;
    this.why = why;
  }
}
