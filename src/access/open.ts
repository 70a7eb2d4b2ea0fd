/** Access as the settings ask for it: with logins, or on this machine alone without any. */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { isLoopback } from '../host/loopback.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import type { Access } from './access.ts';
import { createAccess, hasLogin, hasSessions, type AccessDeps } from './create.ts';
import { createLoopbackAccess } from './loopback.ts';
import { AccessRefused } from './refused.ts';

const TOKEN_BYTES = 32;
/** What proxies tell of the people behind them. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'] as const;

/** Others can reach the pages, and nobody could log in. */
export class AccessMissing extends ExpectedError {
  override readonly name = 'AccessMissing';
  readonly exitCode = EXIT.usage;
}

export interface OpenAccessDeps extends Omit<AccessDeps, 'settings' | 'isSecure' | 'secretKeys'> {
  readonly settings: Pick<SettingsWithoutPlatform, 'access' | 'secretKeys'>;
  /** Where the pages listen. */
  readonly host: string;
}

export interface OpenedAccess {
  readonly access: Access;
  /** Whether `/logout` ends anything. */
  readonly canLogOut: boolean;
}

/** Throws `AccessMissing` for pages that others can reach while there is no way to log in. */
export function openAccess({ settings, host, ...deps }: OpenAccessDeps): OpenedAccess {
  const { access, secretKeys } = settings;
  if (hasLogin(access)) {
    const isSecure = !isLoopback(host) || access.pagesUrl?.startsWith('https:') === true;
    return {
      access: createAccess({ ...deps, settings: access, secretKeys, isSecure }),
      canLogOut: hasSessions(access),
    };
  }
  if (!isLoopback(host))
    throw new AccessMissing(
      `DAYBOOK_PAGES_LISTEN is ${host}, which others can reach, and there is no way to log in: set DAYBOOK_ACCESS_USERS, ` +
        'DAYBOOK_ACCESS_PROXY_HEADER or DAYBOOK_OIDC_ISSUER, each with DAYBOOK_ACCESS_ROLES; or listen on this machine ' +
        'alone, like 127.0.0.1:8082.',
    );
  const own = createLoopbackAccess(deps.random(TOKEN_BYTES).toString('base64url'));
  return { access: { ...own, register: withoutProxies(own.register) }, canLogOut: false };
}

/** A proxy on this machine would make everybody behind it the operator. */
const withoutProxies =
  (register: Access['register']): Access['register'] =>
  async (server, pages) => {
    server.addHook('onRequest', (request, _reply, done) => {
      const isForwarded = FORWARDED.some((name) => request.headers[name] !== undefined);
      done(isForwarded ? new AccessRefused('behind a proxy, without a login') : undefined);
    });
    await register(server, pages);
  };
