/** The person at the pages, and the interface of every way of logging in. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

export interface Person {
  readonly name: string;
  readonly role: 'viewer' | 'operator';
  /** null: all. */
  readonly merchants: readonly string[] | null;
}

/** What the page to log in shows. */
export interface LoginContent {
  /** Why the last try did not succeed; null before the first. */
  readonly problem: 'refused' | 'tooMany' | 'provider' | 'link' | null;
  /** Fields of the form for name and password, which is posted to `/login`; null if there are no passwords. */
  readonly password: { readonly formToken: string; readonly to: string } | null;
  /** Whether the link that was printed opens the pages. */
  readonly isByLink: boolean;
  /** Where to log in at the provider; null if there is none. */
  readonly oidcAddress: string | null;
  /** After a logout: where the provider logs the person out, too; null if it does not, or without a logout. */
  readonly endAddress: string | null;
}

/** A failed login. Contains nothing that was typed. */
export interface LoginRefusal {
  readonly way: 'password' | 'oidc' | 'link';
  /** Of the answer. */
  readonly status: 401 | 429 | 502;
  /** The error's name or code. */
  readonly reason: string;
}

/** What access asks of the pages. */
export interface LoginPages {
  readonly loginPage: (content: LoginContent, request: FastifyRequest) => string;
  readonly onRefusal: (refusal: LoginRefusal) => void;
}

/** What the pages ask of access. */
export interface Access {
  /** Adds routes for login and logout, and refuses requests without a login before any other route of this server. */
  readonly register: (server: FastifyInstance, pages: LoginPages) => Promise<void>;
  /** The person of a request that passed. */
  readonly personOf: (request: FastifyRequest) => Person;
  /** A hidden field's value for forms, bound to the session. Checked for every POST by `register`'s hook; the field is `form_token`. */
  readonly formToken: (request: FastifyRequest, reply: FastifyReply) => string;
}

/** Why, in words for the log: our own, without anything that was sent. */
const REFUSALS = {
  notLoggedIn: { statusCode: 403, message: 'not logged in' },
  credentials: { statusCode: 401, message: 'no right name and password in the Authorization header' },
  tooMany: { statusCode: 429, message: 'too many tries to log in' },
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
