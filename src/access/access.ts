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
  readonly problem: 'refused' | 'tooMany' | 'provider' | null;
  /** Fields of the form for name and password, which is posted to `/login`; null if nobody has a password. */
  readonly password: { readonly formToken: string; readonly to: string } | null;
  /** Where to log in at the provider; null if there is none. */
  readonly oidcAddress: string | null;
  /** After a logout: where the provider logs the person out, too; null if it does not, or nobody has logged out. */
  readonly endAddress: string | null;
}

/** A login that did not succeed. Nothing that somebody typed is in it. */
export interface LoginRefusal {
  readonly way: 'password' | 'oidc';
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
  /** Adds routes for login and logout, and refuses whoever is not logged in before any other route of this server. */
  readonly register: (server: FastifyInstance, pages: LoginPages) => Promise<void>;
  /** The person of a request that passed. */
  readonly personOf: (request: FastifyRequest) => Person;
  /** A hidden field's value for forms, bound to the session. Checked for every POST by `register`'s hook; the field is `form_token`. */
  readonly formToken: (request: FastifyRequest, reply: FastifyReply) => string;
}
