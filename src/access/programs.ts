/** Programs, which send a name and password with each request. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AccessSettings } from '../settings/settings.ts';
import type { Person } from './access.ts';
import { credentialsIn } from './identify.ts';
import type { LimitedCheck } from './limits.ts';
import { AccessRefused } from './refused.ts';
import { personWithRole } from './roles.ts';

/** The answer that asks a program for a name and password. */
const CHALLENGE = 'Basic realm="daybook", charset="UTF-8"';

/**
 * The person of a request with an `Authorization` header. Throws `AccessRefused` where it is not right: a program that was
 * sent to the page to log in would take that page for its answer.
 */
export async function programPerson(
  request: FastifyRequest,
  reply: FastifyReply,
  { settings, check }: { readonly settings: AccessSettings; readonly check: LimitedCheck },
): Promise<Person> {
  const credentials = settings.users.size === 0 ? null : credentialsIn(request);
  const tried = credentials === null ? 'wrong' : await check(request, credentials);
  if (tried === 'tooMany') throw new AccessRefused('tooMany');
  const isRight = credentials !== null && tried === 'right';
  const person = isRight ? personWithRole({ name: credentials.name, groups: [] }, settings.roles) : null;
  if (person !== null) return person;
  void reply.header('www-authenticate', CHALLENGE);
  throw new AccessRefused('credentials');
}
