/** People who come without a session: by a trusted proxy's header, or with name and password in each request. */
import { isUtf8 } from 'node:buffer';
import type { FastifyRequest } from 'fastify';
import { withinOneOf } from '../host/networks.ts';
import type { AccessSettings } from '../settings/settings.ts';
import { isPersonName } from '../settings/values/access.ts';
import type { Person } from './access.ts';
import { personWithRole } from './roles.ts';

/** The person that the proxy names. Null: it names nobody. `refused`: somebody without a role, or no name at all. */
export type ProxyPerson = (request: FastifyRequest) => Person | null | 'refused';

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
