/** Puts the settings of access and of alerts together, and says what does not go together. */
import { isLoopback } from '../host/loopback.ts';
import { withinOneOf } from '../host/networks.ts';
import type { SettingsProblem } from './invalid.ts';
import { SETTING_PLACES, type SettingsDocument } from './schema.ts';
import type { AccessSettings, AlertSettings } from './settings.ts';

type Section = SettingsDocument['daybook'];

const problem = (name: string, what: string): SettingsProblem => ({
  key: name,
  problem: what,
  example: SETTING_PLACES.find(({ environmentName }) => environmentName === name)!.example,
});

const WAYS = 'DAYBOOK_ACCESS_USERS, DAYBOOK_ACCESS_PROXY_HEADER or DAYBOOK_OIDC_ISSUER';

/** Halves of a way to log in, roles without one, and people whom no role would let in. */
export function accessProblems(section: Section): SettingsProblem[] {
  const { accessUsers, accessRoles, accessProxyHeader, accessProxies } = section;
  const problems = [...oidcProblems(section), ...pagesUrlProblems(section)];
  const isWay = accessUsers.size > 0 || accessProxyHeader !== undefined || section.oidcIssuer !== undefined;
  if (isWay && accessRoles.size === 0)
    problems.push(
      problem('DAYBOOK_ACCESS_ROLES', `is required where people log in by ${WAYS}: it says who may what`),
    );
  if (!isWay && accessRoles.size > 0)
    problems.push(problem('DAYBOOK_ACCESS_ROLES', `names roles, and there is no way to log in: set ${WAYS}`));
  const without = accessRoles.has('*')
    ? []
    : [...accessUsers.keys()].filter((name) => !accessRoles.has(name));
  if (accessRoles.size > 0 && without.length > 0)
    problems.push(
      problem('DAYBOOK_ACCESS_ROLES', `has no role for ${without.join(', ')} of DAYBOOK_ACCESS_USERS`),
    );
  if (accessProxyHeader !== undefined && accessProxies.length === 0)
    problems.push(
      problem(
        'DAYBOOK_ACCESS_PROXIES',
        'is required where DAYBOOK_ACCESS_PROXY_HEADER is given: whose header is believed',
      ),
    );
  if (accessProxyHeader === undefined && accessProxies.length > 0)
    problems.push(
      problem('DAYBOOK_ACCESS_PROXY_HEADER', 'is required where DAYBOOK_ACCESS_PROXIES is given'),
    );
  return problems;
}

function oidcProblems({ oidcIssuer, oidcClientId, oidcClientSecret, pagesUrl }: Section): SettingsProblem[] {
  const parts = [
    ['DAYBOOK_OIDC_ISSUER', oidcIssuer],
    ['DAYBOOK_OIDC_CLIENT_ID', oidcClientId],
    ['DAYBOOK_OIDC_CLIENT_SECRET', oidcClientSecret],
    ['DAYBOOK_PAGES_URL', pagesUrl],
  ] as const;
  const given = parts.slice(0, 3).find(([, value]) => value !== undefined)?.[0];
  if (given === undefined) return [];
  return parts
    .filter(([, value]) => value === undefined)
    .map(([name]) => problem(name, `is required where ${given} is given`));
}

/** Where TLS ends at a proxy on this machine, nothing else says at which address people open the pages. */
function pagesUrlProblems({ pagesUrl, pagesListen, accessUsers, accessProxies }: Section): SettingsProblem[] {
  if (pagesUrl !== undefined) return [];
  const isOfThisMachine = withinOneOf(accessProxies);
  if (accessUsers.size > 0 && pagesListen !== undefined && isLoopback(pagesListen.host))
    return [
      problem(
        'DAYBOOK_PAGES_URL',
        'is required where DAYBOOK_ACCESS_USERS is given and the pages listen on this machine: it says whether people open them by https',
      ),
    ];
  const networks = accessProxies.map((network) => network.split('/')[0]!);
  return networks.some(isLoopback) || ['127.0.0.1', '::1'].some(isOfThisMachine)
    ? [
        problem(
          'DAYBOOK_PAGES_URL',
          'is required where DAYBOOK_ACCESS_PROXIES has an address of this machine: a browser on it could be called by another name',
        ),
      ]
    : [];
}

export function accessSettingsOf(section: Section): AccessSettings {
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
  };
}

const isOpen = (address: string): boolean => {
  const { protocol, hostname } = new URL(address);
  return protocol === 'http:' && !isLoopback(hostname);
};

const NOT_HTTPS =
  'must be https; plain http is for loopback only, or answer for it with DAYBOOK_ALLOW_INSECURE=alerts';

/** A webhook without a secret, mail without a server, and addresses that others could listen to. */
export function alertProblems(section: Section): SettingsProblem[] {
  const { alertUrl, alertSecret, alertMailTo, alertMailFrom, smtpUrl, pingUrl } = section;
  const problems: SettingsProblem[] = [];
  if (alertSecret === undefined && alertUrl.some(({ kind }) => kind === 'json')) {
    const what =
      'is required where DAYBOOK_ALERT_URL has a webhook that is not Slack’s: it signs what that gets';
    problems.push(problem('DAYBOOK_ALERT_SECRET', what));
  }
  if (alertMailTo.length > 0) {
    const needed = 'is required where DAYBOOK_ALERT_MAIL_TO is given';
    if (alertMailFrom === undefined) problems.push(problem('DAYBOOK_ALERT_MAIL_FROM', needed));
    if (smtpUrl === undefined) problems.push(problem('DAYBOOK_SMTP_URL', needed));
  }
  if (section.allowInsecure.includes('alerts')) return problems;
  if (alertUrl.some(({ url }) => isOpen(url))) problems.push(problem('DAYBOOK_ALERT_URL', NOT_HTTPS));
  if (pingUrl !== undefined && isOpen(pingUrl)) problems.push(problem('DAYBOOK_PING_URL', NOT_HTTPS));
  return problems;
}

export function alertSettingsOf(section: Section): AlertSettings {
  const { alertUrl, alertSecret, alertMailTo, alertMailFrom, smtpUrl, pingUrl } = section;
  const mail =
    alertMailTo.length === 0 || alertMailFrom === undefined || smtpUrl === undefined
      ? null
      : { to: alertMailTo, from: alertMailFrom, smtpUrl };
  return { webhooks: alertUrl, secret: alertSecret ?? null, mail, pingUrl: pingUrl ?? null };
}
