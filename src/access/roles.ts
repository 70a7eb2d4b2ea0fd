/** The role of a person. Pure. */
import { isUtf8 } from 'node:buffer';
import type { FastifyRequest } from 'fastify';
import { withinOneOf } from '../host/networks.ts';
import type { AccessSettings } from '../settings/settings.ts';
import { isPersonName } from '../settings/values/access.ts';
import type { Person } from './access.ts';

const GROUP = 'group:';
const EVERYBODY = '*';

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
  if (name === EVERYBODY || name.startsWith(GROUP)) return null;
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
    const address = (raw.socket.remoteAddress ?? '').replace(/^::ffff:/, '');
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
