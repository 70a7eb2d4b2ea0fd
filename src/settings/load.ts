/** Combines config file and environment into checked settings, or reports every problem. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { z } from 'zod';
import { areSigned } from '../ledger/placeholders.ts';
import { isLoopback, withinOneOf } from '../host/addresses.ts';
import { missingPackages, type PackageUse } from '../host/packages.ts';
import { addedFormats } from '../statements/formats/registered.ts';
import { pluginNames } from './plugins.ts';
import { didYouMean, SettingsInvalid, type SettingsProblem } from './problem.ts';
import {
  scheduleOf,
  SECTIONS,
  SETTING_PLACES,
  settingsSchema,
  type SettingsDocument,
  type RawSettings,
} from './schema.ts';
import {
  AS_GIVEN,
  type AccessSettings,
  type AlertSettings,
  type PlatformSection,
  type Settings,
  type SettingsWithoutPlatform,
  type StatementMailSettings,
} from './settings.ts';
import { readConfigFile, readEnvironment, type SettingsSource } from './sources.ts';

type DaybookSection = SettingsDocument['daybook'];

const SHOWN_VALUE_CHARACTERS_MAX = 60;

const shown = (value: unknown, isSecret: boolean): string => {
  if (isSecret || !['string', 'number', 'boolean'].includes(typeof value)) return '';
  const text = String(value);
  // The user part or the query of a URL may hold a password that does not belong there.
  if (/[@?]/.test(text)) return '';
  return text.length <= SHOWN_VALUE_CHARACTERS_MAX ? ` (it is '${text}')` : '';
};

function problemOf(issue: z.core.$ZodIssue, raw: RawSettings): SettingsProblem[] {
  const [section = '', key = ''] = issue.path.map(String);
  const place = SETTING_PLACES.find((candidate) => candidate.section === section && candidate.key === key);
  if (place !== undefined) {
    const value = raw.sections[section]?.[key];
    return [
      {
        key: raw.sources.get(place) ?? place.environmentName,
        problem: `${issue.message}${shown(value, place.secret)}`,
        example: place.example,
      },
    ];
  }
  if (issue.code !== 'unrecognized_keys')
    return [{ key: section, problem: issue.message, example: 'a mapping' }];
  return issue.keys.map((unknown) => {
    const siblings =
      section === ''
        ? SECTIONS
        : SETTING_PLACES.filter((candidate) => candidate.section === section).map(
            (candidate) => candidate.key,
          );
    const meant = didYouMean(unknown, siblings);
    return {
      key: section === '' ? unknown : `${section}.${unknown}`,
      problem: `is no setting${meant === null ? '' : `; did you mean ${meant}?`}`,
      example: meant ?? `one of ${siblings.join(', ')}`,
    };
  });
}

/** Sentences on settings that do not go together, each with whether it applies. First stands the setting to give or change. */
type Rules = Readonly<Record<string, boolean>>;

const problemsIn = (rules: Rules): SettingsProblem[] =>
  Object.entries(rules).flatMap(([sentence, applies]) => {
    const key = sentence.slice(0, sentence.indexOf(' '));
    const place = SETTING_PLACES.find(({ environmentName }) => environmentName === key)!;
    return applies ? [{ key, problem: sentence.slice(key.length + 1), example: place.example }] : [];
  });

/** A required setting is missing, or only one half of a pair is given. */
function platformRules(sections: RawSettings['sections'], needs: readonly string[]): Rules {
  const lacks = (key: string): boolean => sections['platform']?.[key] === undefined;
  const isNeeded = needs.includes('platform');
  return {
    'PLATFORM_BASE_URL is required': isNeeded && lacks('baseUrl'),
    'PLATFORM_TIME_ZONE is required: the zone of the platform’s timestamps': isNeeded && lacks('timeZone'),
    'PLATFORM_MERCHANT_NO is required where PLATFORM_TOKEN is given': !lacks('token') && lacks('merchantNo'),
    'PLATFORM_TOKEN is required where PLATFORM_MERCHANT_NO is given': !lacks('merchantNo') && lacks('token'),
  };
}

/** Agent headers with a placeholder whose setting is not given; and a queue, which is for several processes. */
function callRules({ platform, daybook, database }: SettingsDocument): Rules {
  const has = (placeholder: string): boolean =>
    Object.values(platform.agentHeaders).some((template) => template.includes(placeholder));
  return {
    'PLATFORM_AGENT_TOKEN is required where PLATFORM_AGENT_HEADERS has {agentToken}':
      has('{agentToken}') && platform.agentToken === undefined,
    'PLATFORM_REFERRAL_CHANNEL is required where PLATFORM_AGENT_HEADERS has {referralChannel}':
      has('{referralChannel}') && platform.referralChannel === undefined,
    ...signatureRules(platform),
    // The embedded database belongs to one process.
    'DATABASE_URL is required where DAYBOOK_WORKERS is queue: workers share a server':
      daybook.workers === 'queue' && database.url === undefined,
  };
}

/** A signature without what makes it, and a key that would sign nothing. */
function signatureRules({
  headers,
  agentHeaders,
  signatureKey,
  signatureTemplate,
}: SettingsDocument['platform']): Rules {
  const isSigned = areSigned(headers) || areSigned(agentHeaders);
  const where = 'PLATFORM_HEADERS or PLATFORM_AGENT_HEADERS';
  const unused = `is given, and no header of ${where} has {signature}: nothing would be signed`;
  return {
    [`PLATFORM_SIGNATURE_KEY is required where ${where} has {signature}`]:
      isSigned && signatureKey === undefined,
    [`PLATFORM_SIGNATURE_TEMPLATE is required where ${where} has {signature}: what is signed`]:
      isSigned && signatureTemplate === undefined,
    [`PLATFORM_SIGNATURE_KEY ${unused}`]: !isSigned && signatureKey !== undefined,
    [`PLATFORM_SIGNATURE_TEMPLATE ${unused}`]: !isSigned && signatureTemplate !== undefined,
  };
}

/** Node's own variable switches off all certificate checks, so that anyone in between could read every token. */
function certificateProblems({ daybook }: SettingsDocument, env: SettingsSource['env']): SettingsProblem[] {
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] !== '0' || daybook.allowInsecure.includes('certificates'))
    return [];
  const problem =
    'is 0, so that no certificate is checked; take it away and name the authority in NODE_EXTRA_CA_CERTS, or answer ' +
    'for it with DAYBOOK_ALLOW_INSECURE=certificates';
  return [
    { key: 'NODE_TLS_REJECT_UNAUTHORIZED', problem, example: 'NODE_EXTRA_CA_CERTS=/etc/ssl/our-ca.pem' },
  ];
}

const WAYS = 'DAYBOOK_ACCESS_USERS, DAYBOOK_ACCESS_PROXY_HEADER or DAYBOOK_OIDC_ISSUER';

/** Halves of a way to log in, roles without one, and people whom no role would let in. */
export const accessProblems = (section: DaybookSection): SettingsProblem[] =>
  problemsIn({ ...oidcRules(section), ...pagesUrlRules(section), ...roleRules(section) });

function roleRules(section: DaybookSection): Rules {
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

function oidcRules({ oidcIssuer, oidcClientId, oidcClientSecret, pagesUrl }: DaybookSection): Rules {
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
function pagesUrlRules({ pagesUrl, pagesListen, accessUsers, accessProxies }: DaybookSection): Rules {
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

const isOpen = (address: string): boolean => {
  const { protocol, hostname } = new URL(address);
  return protocol === 'http:' && !isLoopback(hostname);
};

const NOT_HTTPS =
  'must be https; plain http is for loopback only, or answer for it with DAYBOOK_ALLOW_INSECURE=alerts';

/** A webhook without a secret, mail without a server, and addresses that others could listen to. */
function alertRules(section: DaybookSection): Rules {
  const { alertUrl, alertSecret, alertMailTo, alertMailFrom, smtpUrl, pingUrl } = section;
  const isSecured = !section.allowInsecure.includes('alerts');
  const isMailed = alertMailTo.length > 0;
  return {
    'DAYBOOK_ALERT_SECRET is required where DAYBOOK_ALERT_URL has a webhook that is not Slack’s: it signs what that gets':
      alertSecret === undefined && alertUrl.some(({ kind }) => kind === 'json'),
    'DAYBOOK_ALERT_MAIL_FROM is required where DAYBOOK_ALERT_MAIL_TO is given':
      isMailed && alertMailFrom === undefined,
    'DAYBOOK_SMTP_URL is required where DAYBOOK_ALERT_MAIL_TO is given': isMailed && smtpUrl === undefined,
    [`DAYBOOK_ALERT_URL ${NOT_HTTPS}`]: isSecured && alertUrl.some(({ url }) => isOpen(url)),
    [`DAYBOOK_PING_URL ${NOT_HTTPS}`]: isSecured && pingUrl !== undefined && isOpen(pingUrl),
  };
}

/** Statements by mail without a server, or with a link to nowhere. */
const statementMailRules = ({ statementMail, alertMailFrom, smtpUrl, pagesUrl }: DaybookSection): Rules => {
  const isMailed = statementMail.length > 0;
  return {
    'DAYBOOK_ALERT_MAIL_FROM is required where DAYBOOK_STATEMENT_MAIL is given: the sender of all mail':
      isMailed && alertMailFrom === undefined,
    'DAYBOOK_SMTP_URL is required where DAYBOOK_STATEMENT_MAIL is given': isMailed && smtpUrl === undefined,
    'DAYBOOK_PAGES_URL is required where DAYBOOK_STATEMENT_MAIL has a recipient with as: link':
      pagesUrl === undefined && statementMail.some(({ as }) => as === 'link'),
  };
};

/** Settings that need a package which is not installed with daybook. */
function packageProblems({ daybook }: SettingsDocument, { isInstalled }: SettingsSource): SettingsProblem[] {
  if (isInstalled === undefined) return [];
  const { statementMail: mailed } = daybook;
  const uses: readonly (readonly [string, boolean, PackageUse])[] = [
    ...addedFormats
      .all()
      .flatMap(({ name, packages }) =>
        packages === undefined
          ? []
          : [
              ['DAYBOOK_STATEMENT_FORMATS', daybook.statementFormats.includes(name), packages] as const,
              [
                'DAYBOOK_STATEMENT_MAIL',
                mailed.some(({ formats }) => formats.includes(name)),
                packages,
              ] as const,
            ],
      ),
    ['DAYBOOK_ALERT_MAIL_TO', daybook.alertMailTo.length > 0, 'alerts by mail'],
    ['DAYBOOK_STATEMENT_MAIL', mailed.length > 0, 'statements by mail'],
    ['DAYBOOK_OIDC_ISSUER', daybook.oidcIssuer !== undefined, 'a login by OpenID Connect'],
    ['DAYBOOK_WORKERS', daybook.workers === 'queue', 'the queue of workers'],
  ];
  return uses.flatMap(([key, isAsked, use]) => {
    const missing = isAsked ? missingPackages(use, isInstalled) : null;
    if (missing === null) return [];
    const problem = `asks for ${use}, and ${missing.names} is not installed; install it next to daybook`;
    return [{ key, problem, example: missing.install }];
  });
}

const NO_QUEUE =
  'asks for the queue of workers, which this copy of daybook was made without; without it, `daybook schedule` does all the work';
const NO_MAIL =
  'asks for statements by mail, and this copy of daybook was made without them; use one that has them, or take the setting away';
const NO_ALERTS =
  'names a receiver of alerts, and nothing would reach it: this copy of daybook was made without alerts; use one that has ' +
  'them, or take the setting away';

/** The settings that name a receiver of alerts. */
const receiversOf = ({ alertUrl, alertMailTo, pingUrl }: DaybookSection): string[] => [
  ...(alertUrl.length > 0 ? ['DAYBOOK_ALERT_URL'] : []),
  ...(alertMailTo.length > 0 ? ['DAYBOOK_ALERT_MAIL_TO'] : []),
  ...(pingUrl === undefined ? [] : ['DAYBOOK_PING_URL']),
];

/** Settings that need a plugin which this copy of daybook was made without. */
function pluginProblems(
  { daybook }: SettingsDocument,
  { plugins = pluginNames.all() }: SettingsSource,
): SettingsProblem[] {
  const without = (name: 'queue' | 'alerts' | 'mail'): boolean => !plugins.includes(name);
  const receivers = without('alerts') ? receiversOf(daybook) : [];
  return [
    ...(without('queue') && daybook.workers !== 'none'
      ? [{ key: 'DAYBOOK_WORKERS', problem: NO_QUEUE, example: 'none' }]
      : []),
    ...(without('mail') && daybook.statementMail.length > 0
      ? [{ key: 'DAYBOOK_STATEMENT_MAIL', problem: NO_MAIL, example: 'unset DAYBOOK_STATEMENT_MAIL' }]
      : []),
    ...receivers.map((key) => ({ key, problem: NO_ALERTS, example: `unset ${key}` })),
  ];
}

function platformOf(section: SettingsDocument['platform']): PlatformSection | null {
  const { baseUrl, timeZone, merchantNo, token, rateLimit, agentToken, referralChannel, ...others } = section;
  const { signatureTemplate: template, signatureKey: key, ...rest } = others;
  if (baseUrl === undefined || timeZone === undefined) return null;
  const merchant = merchantNo === undefined || token === undefined ? null : { merchantNo, token };
  return {
    ...rest,
    baseUrl,
    timeZone,
    merchant,
    rateLimitPerS: rateLimit ?? null,
    agentToken: agentToken ?? null,
    referralChannel: referralChannel ?? null,
    signing: template === undefined || key === undefined ? null : { template, key },
  };
}

export function accessSettingsOf(section: DaybookSection): AccessSettings {
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

function alertSettingsOf(section: DaybookSection): AlertSettings {
  const { alertUrl, alertSecret, alertMailTo, alertMailFrom, smtpUrl, pingUrl } = section;
  const mail =
    alertMailTo.length === 0 || alertMailFrom === undefined || smtpUrl === undefined
      ? null
      : { to: alertMailTo, from: alertMailFrom, smtpUrl };
  return { webhooks: alertUrl, secret: alertSecret ?? null, mail, pingUrl: pingUrl ?? null };
}

const statementMailOf = ({
  statementMail: recipients,
  alertMailFrom: from,
  smtpUrl,
}: DaybookSection): StatementMailSettings | null =>
  recipients.length === 0 || from === undefined || smtpUrl === undefined
    ? null
    : { recipients, from, smtpUrl };

function settingsOf({ platform, daybook, books, database, statements, s3 }: SettingsDocument, cwd: string) {
  const { walletMethods, codeLists, filePaths, images, referralChannel = null } = platform;
  const dataDir = resolve(cwd, daybook.dataDir);
  return {
    ...asGiven(daybook),
    books,
    platform: platformOf(platform),
    fileRules: { walletMethods, codeLists, filePaths, images, referralChannel },
    currencies: { CNH: 2, ...daybook.currencies },
    nowMs: daybook.now ?? null,
    databaseUrl: database.url ?? null,
    connectionsMax: database.poolSize,
    statementsUrl: statements.url ?? pathToFileURL(resolve(dataDir, 'statements')).href,
    s3ForcePathStyle: s3.forcePathStyle ?? null,
    dataDir,
    signingKey: daybook.signingKey ?? null,
    schedule: scheduleOf(daybook, platform.timeZone),
    publicUrl: daybook.publicUrl ?? null,
    pagesListen: daybook.pagesListen ?? null,
    healthListen: daybook.healthListen ?? null,
    access: accessSettingsOf(daybook),
    alerts: alertSettingsOf(daybook),
    statementMail: statementMailOf(daybook),
  } satisfies SettingsWithoutPlatform;
}

const asGiven = (section: DaybookSection): Pick<DaybookSection, (typeof AS_GIVEN)[number]> =>
  Object.fromEntries(AS_GIVEN.map((key) => [key, section[key]])) as Pick<
    DaybookSection,
    (typeof AS_GIVEN)[number]
  >;

/**
 * Reads the settings. The environment wins over the file, and an empty value counts as not given. Throws
 * `SettingsInvalid` with all problems. With `needs: []` the platform may be missing, and is null then.
 */
export function loadSettings(
  source: SettingsSource & { readonly needs: readonly [] },
): SettingsWithoutPlatform;
export function loadSettings(source: SettingsSource): Settings;
export function loadSettings(source: SettingsSource): SettingsWithoutPlatform {
  const configPath = source.configPath ?? (source.env['DAYBOOK_CONFIG'] || undefined);
  const raw: RawSettings = {
    sections: Object.fromEntries(SECTIONS.map((section) => [section, {}])),
    sources: new Map(),
  };
  const problems: SettingsProblem[] = [];
  if (configPath !== undefined) problems.push(...readConfigFile(configPath, source, raw));
  problems.push(...readEnvironment(source, raw));
  const parsed = settingsSchema.safeParse(raw.sections);
  if (!parsed.success) problems.push(...parsed.error.issues.flatMap((issue) => problemOf(issue, raw)));
  problems.push(...problemsIn(platformRules(raw.sections, source.needs ?? ['platform'])));
  if (parsed.success)
    problems.push(
      ...problemsIn(callRules(parsed.data)),
      ...accessProblems(parsed.data.daybook),
      ...problemsIn(alertRules(parsed.data.daybook)),
      ...problemsIn(statementMailRules(parsed.data.daybook)),
      ...certificateProblems(parsed.data, source.env),
      ...packageProblems(parsed.data, source),
      ...pluginProblems(parsed.data, source),
    );
  if (!parsed.success || problems.length > 0) throw new SettingsInvalid(problems);
  return settingsOf(parsed.data, source.cwd ?? process.cwd());
}
