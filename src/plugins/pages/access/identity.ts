/** Who a request is from, and in which role: passwords, hashed by scrypt; the name that a proxy sends; roles. Pure. */
import { isUtf8 } from 'node:buffer';
import { scrypt, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { plainAddress, withinOneOf } from '../../../host/addresses.ts';
import type { AccessSettings } from '../settings.ts';
import { isPersonName } from '../../../ledger/people.ts';
import type { PasswordHash } from './credentials.ts';
import { EVERYBODY, GROUP, isOwnName } from '../../../run/operators.ts';
import type { Person } from './access.ts';

/** Those of the groups that the settings give a role. */
export const groupsWithRole = (
  groups: readonly string[],
  roles: AccessSettings['roles'],
): readonly string[] => [...new Set(groups)].filter((group) => roles.has(GROUP + group));

/** A person, as the way of logging in names them. */
export interface Identity {
  readonly name: string;
  readonly groups: readonly string[];
}

/**
 * The person with their role: that of the name, else that of the first group in the order of the settings, else that of
 * everybody. Null for who has none. A name that reads like a group or like everybody is no one's.
 */
export function personWithRole({ name, groups }: Identity, roles: AccessSettings['roles']): Person | null {
  if (!isOwnName(name)) return null;
  const keys = [...roles.keys()];
  const ofGroup = keys.find((key) => key.startsWith(GROUP) && groups.includes(key.slice(GROUP.length)));
  const grant =
    roles.get(name) ?? (ofGroup === undefined ? undefined : roles.get(ofGroup)) ?? roles.get(EVERYBODY);
  return grant === undefined ? null : { name, ...grant };
}

/** The person that the proxy names. Null: none. `refused`: a person without a role, or no name at all. */
type ProxyPerson = (request: FastifyRequest) => Person | null | 'refused';

/** The address of the connection itself counts, never one from a header. */
export function createProxyPerson({ proxy, roles }: AccessSettings): ProxyPerson {
  if (proxy === null) return () => null;
  const isTrusted = withinOneOf(proxy.from);
  return ({ headers, raw }) => {
    const given = decoded(headers[proxy.header]);
    const address = plainAddress(raw.socket.remoteAddress ?? '') ?? '';
    if (given === undefined || !isTrusted(address)) return null;
    if (typeof given !== 'string' || !isPersonName(given)) return 'refused';
    return personWithRole({ name: given, groups: [] }, roles) ?? 'refused';
  };
}

/** Node takes a header's bytes for Latin-1; proxies send names in UTF-8. */
function decoded(header: string | string[] | undefined): string | string[] | undefined {
  if (typeof header !== 'string') return header;
  const bytes = Buffer.from(header, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : header;
}

export interface Credentials {
  readonly name: string;
  readonly password: string;
}

const HEADER_CHARACTERS_MAX = 2_000;

/** Name and password of an `Authorization: Basic` header, as programs send them; null if there is none. */
export function credentialsIn({ headers }: FastifyRequest): Credentials | null {
  const [, base64 = ''] = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(headers.authorization ?? '') ?? [];
  if (base64 === '' || base64.length > HEADER_CHARACTERS_MAX) return null;
  const text = Buffer.from(base64, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 1 ? null : { name: text.slice(0, colon), password: text.slice(colon + 1) };
}

const HASH_BYTES = 32;
export const SALT_BYTES = 16;
/** 32 MB and about a tenth of a second, what OWASP asks of scrypt. */
const COST = { cost: 15, blockSize: 8, parallel: 3 } as const;

type Parameters = Pick<PasswordHash, 'cost' | 'blockSize' | 'parallel' | 'salt'>;

const hashOf = (password: string, { cost, blockSize, parallel, salt }: Parameters): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const [N, r, p] = [2 ** cost, blockSize, parallel];
    const maxmem = 2 * 128 * N * r;
    scrypt(password.normalize('NFKC'), salt, HASH_BYTES, { N, r, p, maxmem }, (error, hash) => {
      if (error === null) resolve(hash);
      else reject(error);
    });
  });

/** The hash of a password for DAYBOOK_ACCESS_USERS: `scrypt:15:8:3:SALT:HASH`. `salt` is random. */
export async function hashPassword(password: string, salt: Buffer): Promise<string> {
  const hash = await hashOf(password, { ...COST, salt });
  const { cost, blockSize, parallel } = COST;
  return ['scrypt', cost, blockSize, parallel, salt.toString('base64url'), hash.toString('base64url')].join(
    ':',
  );
}

/** Whether a name has this password. */
export type PasswordCheck = (name: string, password: string) => Promise<boolean>;

/** What a hash takes of time, in scrypt's own measure. */
const workOf = ({ cost, blockSize, parallel }: Parameters): number => 2 ** cost * blockSize * parallel;

/**
 * An unknown name takes as long as the one whose hash takes longest: its password is compared with a hash that
 * nothing fits.
 */
export function createPasswordCheck(users: ReadonlyMap<string, PasswordHash>): PasswordCheck {
  const [costliest] = [...users.values()].sort((a, b) => workOf(b) - workOf(a));
  const nobodys = { ...COST, ...costliest, salt: Buffer.alloc(SALT_BYTES), hash: Buffer.alloc(HASH_BYTES) };
  return async (name, password) => {
    const known = users.get(name);
    const { hash, ...parameters } = known ?? nobodys;
    const isSame = timingSafeEqual(await hashOf(password, parameters), hash);
    return isSame && known !== undefined;
  };
}
