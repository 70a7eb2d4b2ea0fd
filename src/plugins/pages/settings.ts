/** Settings of the pages: where they are shown, and who may log in. */
import { isLoopback, withinOneOf } from '../../host/addresses.ts';
import type { Grant } from '../../ledger/people.ts';
import { setting, settingsGroup, type Read, type Rules } from '../../settings/setting.ts';
import { addressOf, checkedUrl, listenAddress } from '../../settings/values/addresses.ts';
import { networks } from '../../settings/values/lists.ts';
import { integer, reading, Wrong } from '../../settings/values/scalars.ts';
import { clientText, hashedPasswords, headerName, roles, type PasswordHash } from './access/credentials.ts';

/** A provider of OpenID Connect, as it writes itself: a slash at the end is part of its name. */
const issuer = () =>
  reading((value) => {
    checkedUrl(value, '; DAYBOOK_OIDC_CLIENT_SECRET has the secret');
    return value;
  });

/** The address at which people open the pages. Their links begin at the host, so there can be no path. */
const pagesUrl = () =>
  reading((value) => {
    const address = addressOf(value, '');
    if (address !== new URL(address).origin)
      throw new Wrong('must be a host of its own, without a path: the links of the pages begin there');
    return address;
  });

export const PAGES = {
  DAYBOOK_PAGES_LISTEN: setting(
    listenAddress().optional(),
    "The address at which 'daybook serve' shows pages for people: months, days, breaks, status. Without it there are none. If it is the same address as listen, pages and notifications share that address.",
    { example: '127.0.0.1:8090' },
  ),
  DAYBOOK_PAGES_URL: setting(
    pagesUrl().optional(),
    'The address at which people open the pages, without a path: https, or http on loopback. Requests by another name are refused. Required in three cases: with oidcIssuer (the provider sends people back to this address, at /login/oidc/back); with accessUsers where pagesListen is on loopback; and where accessProxies has an address of this machine.',
    { example: 'https://books.example' },
  ),
  DAYBOOK_ACCESS_USERS: setting(
    hashedPasswords().default(new Map()),
    "Who may log in at the pages with a password: names, each with what 'daybook access hash' prints. In the environment this is JSON.",
    { example: '{"ada": the output of \'daybook access hash\'}', secret: true },
  ),
  DAYBOOK_ACCESS_ROLES: setting(
    roles().default(new Map()),
    'Who may what at the pages, however they log in: a name, group:NAME, or * for everybody who logs in, with viewer (reads and downloads) or operator (works on breaks and closes months, too). A person gets the role of their name; else of the first of their groups in the order written here; else of *. Who has no role is not let in. In the environment this is JSON.',
    { example: '{"ada":"operator","group:finance":"viewer"}' },
  ),
  DAYBOOK_ACCESS_HOURS: setting(integer(1, 24 * 31).default(12), 'How many hours a login lasts.', {
    example: '12',
  }),
  DAYBOOK_ACCESS_IDLE_MINUTES: setting(
    integer(1, 24 * 60).default(30),
    'After how many minutes without a request a login ends before that.',
    { example: '30' },
  ),
  DAYBOOK_ACCESS_PROXY_HEADER: setting(
    headerName().optional(),
    'The header in which a proxy in front of the pages says who has logged in at it. The proxy has to take this header away from what others send.',
    { example: 'X-Forwarded-User' },
  ),
  DAYBOOK_ACCESS_PROXIES: setting(
    networks().default([]),
    'Addresses and networks of that proxy. The header from any other address is ignored; every process at such an address is believed.',
    { example: '10.0.0.7' },
  ),
  DAYBOOK_OIDC_ISSUER: setting(
    issuer().optional(),
    "OpenID Connect: the provider's issuer as it writes itself, which is https, or http on loopback.",
    { example: 'https://login.example' },
  ),
  DAYBOOK_OIDC_CLIENT_ID: setting(clientText().optional(), "The client's id at that provider.", {
    example: 'daybook',
  }),
  DAYBOOK_OIDC_CLIENT_SECRET: setting(clientText().optional(), "The client's secret at that provider.", {
    example: 'the secret the provider gave the client',
    secret: true,
  }),
  DAYBOOK_OIDC_NAME_CLAIM: setting(
    clientText().default('email'),
    'The claim that names the person. An email counts only where the provider says that it is verified.',
    { example: 'email' },
  ),
  DAYBOOK_OIDC_GROUPS_CLAIM: setting(clientText().default('groups'), "The claim with the person's groups.", {
    example: 'groups',
  }),
};

type PagesRead = Read<typeof PAGES>;

/** Who may log in at the pages, and how. */
export interface AccessSettings {
  /** Passwords by name. */
  readonly users: ReadonlyMap<string, PasswordHash>;
  /** By name, by `group:NAME`, and `*` for everybody who logged in. */
  readonly roles: ReadonlyMap<string, Grant>;
  /** A header with the name of the person, believed from these addresses and networks alone. Null if none is. */
  readonly proxy: { readonly header: string; readonly from: readonly string[] } | null;
  /** An OpenID Connect provider. Null if there is none. */
  readonly oidc: {
    readonly issuer: string;
    readonly clientId: string;
    readonly clientSecret: string;
    /** The claim with the person's name; an `email` counts only if the provider has verified it. */
    readonly nameClaim: string;
    readonly groupsClaim: string;
  } | null;
  /** The address at which people open the pages, without a slash at the end. Never null with `oidc`. */
  readonly pagesUrl: string | null;
  /** How long a login lasts. */
  readonly sessionHours: number;
  /** How long a login lasts that is not used. */
  readonly idleMinutes: number;
}

const WAYS = 'DAYBOOK_ACCESS_USERS, DAYBOOK_ACCESS_PROXY_HEADER or DAYBOOK_OIDC_ISSUER';

/** Halves of a way to log in, roles without one, and people whom no role would let in. */
const accessRules = (section: PagesRead): Rules => ({
  ...oidcRules(section),
  ...pagesUrlRules(section),
  ...roleRules(section),
});

function roleRules(section: PagesRead): Rules {
  const { accessUsers, accessRoles, accessProxyHeader, accessProxies } = section;
  const isWay = accessUsers.size > 0 || accessProxyHeader !== undefined || section.oidcIssuer !== undefined;
  const hasRoles = accessRoles.size > 0;
  const without = [...accessUsers.keys()].filter((name) => !accessRoles.has('*') && !accessRoles.has(name));
  return {
    [`DAYBOOK_ACCESS_ROLES is required where people log in by ${WAYS}: it says who may what`]:
      isWay && !hasRoles,
    [`DAYBOOK_ACCESS_ROLES names roles, and there is no way to log in: set ${WAYS}`]: !isWay && hasRoles,
    [`DAYBOOK_ACCESS_ROLES has no role for ${without.join(', ')} of DAYBOOK_ACCESS_USERS`]:
      hasRoles && without.length > 0,
    'DAYBOOK_ACCESS_PROXIES is required where DAYBOOK_ACCESS_PROXY_HEADER is given: whose header is believed':
      accessProxyHeader !== undefined && accessProxies.length === 0,
    'DAYBOOK_ACCESS_PROXY_HEADER is required where DAYBOOK_ACCESS_PROXIES is given':
      accessProxyHeader === undefined && accessProxies.length > 0,
  };
}

function oidcRules({ oidcIssuer, oidcClientId, oidcClientSecret, pagesUrl }: PagesRead): Rules {
  const parts = {
    DAYBOOK_OIDC_ISSUER: oidcIssuer,
    DAYBOOK_OIDC_CLIENT_ID: oidcClientId,
    DAYBOOK_OIDC_CLIENT_SECRET: oidcClientSecret,
  };
  const given = Object.entries(parts).find(([, value]) => value !== undefined)?.[0];
  if (given === undefined) return {};
  return Object.fromEntries(
    Object.entries({ ...parts, DAYBOOK_PAGES_URL: pagesUrl }).map(([name, value]) => [
      `${name} is required where ${given} is given`,
      value === undefined,
    ]),
  );
}

/** Where TLS ends at a proxy on this machine, nothing else says at which address people open the pages. */
function pagesUrlRules({ pagesUrl, pagesListen, accessUsers, accessProxies }: PagesRead): Rules {
  if (pagesUrl !== undefined) return {};
  const networks = accessProxies.map((network) => network.split('/')[0]!);
  const isProxyHere = networks.some(isLoopback) || ['127.0.0.1', '::1'].some(withinOneOf(accessProxies));
  const isPasswordHere = accessUsers.size > 0 && pagesListen !== undefined && isLoopback(pagesListen.host);
  return {
    'DAYBOOK_PAGES_URL is required where DAYBOOK_ACCESS_USERS is given and the pages listen on this machine: it says whether people open them by https':
      isPasswordHere,
    'DAYBOOK_PAGES_URL is required where DAYBOOK_ACCESS_PROXIES has an address of this machine: a browser on it could be called by another name':
      !isPasswordHere && isProxyHere,
  };
}

function accessSettingsOf(section: PagesRead): AccessSettings {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret } = section;
  const { oidcNameClaim: nameClaim, oidcGroupsClaim: groupsClaim, pagesUrl = null } = section;
  const isOidc =
    issuer !== undefined && clientId !== undefined && clientSecret !== undefined && pagesUrl !== null;
  return {
    users: section.accessUsers,
    roles: section.accessRoles,
    proxy:
      section.accessProxyHeader === undefined
        ? null
        : { header: section.accessProxyHeader, from: section.accessProxies },
    oidc: isOidc ? { issuer, clientId, clientSecret, nameClaim, groupsClaim } : null,
    pagesUrl,
    sessionHours: section.accessHours,
    idleMinutes: section.accessIdleMinutes,
  };
}

export const pagesSettings = settingsGroup(PAGES, {
  value: (own) => ({ pagesListen: own.pagesListen ?? null, access: accessSettingsOf(own) }),
  rules: accessRules,
  uses: ({ oidcIssuer }) => [['DAYBOOK_OIDC_ISSUER', oidcIssuer !== undefined, 'a login by OpenID Connect']],
});
