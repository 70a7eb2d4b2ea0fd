/** Who looks at the pages, and what every way of logging in has to offer. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

export interface Person {
  readonly name: string;
  readonly role: 'viewer' | 'operator';
  /** null: all. */
  readonly merchants: readonly string[] | null;
}

/** What the pages ask of access. */
export interface Access {
  /** Adds routes for login and logout, and refuses whoever is not logged in before any other route of this server. */
  readonly register: (server: FastifyInstance) => Promise<void>;
  /** The person of a request that passed. */
  readonly personOf: (request: FastifyRequest) => Person;
  /** A hidden field's value for forms, bound to the session. Checked for every POST by `register`'s hook; the field is `form_token`. */
  readonly formToken: (request: FastifyRequest, reply: FastifyReply) => string;
}
