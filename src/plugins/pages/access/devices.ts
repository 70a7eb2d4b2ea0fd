/**
 * Browsers in which a name logged in with its password before: a signed cookie. Unknown senders who guess a name's password cannot lock
 * its own people out there.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sha256Of } from '../../../host/sha256.ts';
import { cookieNames, cookieOptions, type SessionDeps } from './sessions.ts';

/** The longest that browsers keep a cookie. */
const KEPT_S = 400 * 86_400;
const ID_BYTES = 16;
/** Names that one browser is known for, the latest ones: a computer may be shared. */
const NAMES_MAX = 5;

export type Devices = ReturnType<typeof createDevices>;

export function createDevices({
  settings: { users },
  random,
  isSecure,
}: Pick<SessionDeps, 'settings' | 'random' | 'isSecure'>) {
  const { device: cookie } = cookieNames(isSecure);
  /** Of a name and its password: with another password, the browser is unknown again. */
  const proofOf = (name: string): string | null => {
    const known = users.get(name);
    return known === undefined ? null : sha256Of(`device ${name} ${known.hash.toString('hex')}`);
  };
  const kept = (request: FastifyRequest): readonly string[] => {
    const { valid, value } = request.unsignCookie(request.cookies[cookie] ?? '');
    return valid && value !== '' ? value.split('.') : [];
  };
  return {
    /** What to count tries of this name in this browser by; null where the name has not logged in here before. */
    idOf: (request: FastifyRequest, name: string): string | null => {
      const [id = '', ...proofs] = kept(request);
      const proof = proofOf(name);
      return proof !== null && proofs.includes(proof) ? `${id} ${proof}` : null;
    },
    /** After a right password. */
    remember: (request: FastifyRequest, reply: FastifyReply, name: string): void => {
      const [id = random(ID_BYTES).toString('base64url'), ...proofs] = kept(request);
      const proof = proofOf(name);
      if (proof === null) return;
      const latest = [proof, ...proofs.filter((one) => one !== proof)].slice(0, NAMES_MAX);
      const options = { ...cookieOptions(isSecure, KEPT_S), signed: true };
      void reply.setCookie(cookie, [id, ...latest].join('.'), options);
    },
  };
}
