/** Combines config file and environment into checked settings, or reports every problem. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { z } from 'zod';
import { SettingsInvalid, type SettingsProblem } from './invalid.ts';
import { readConfigFile } from './config-file.ts';
import { readEnvironment, type SettingsSource } from './environment.ts';
import { accessProblems, accessSettingsOf, alertProblems, alertSettingsOf } from './sections.ts';
import {
  scheduleOf,
  SECTIONS,
  SETTING_PLACES,
  settingsSchema,
  type SettingsDocument,
  type RawSettings,
} from './schema.ts';
import type { PlatformSection, Settings, SettingsWithoutPlatform } from './settings.ts';
import { didYouMean } from './suggest.ts';

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

const missing = (name: string, problem: string): SettingsProblem => ({
  key: name,
  problem,
  example: SETTING_PLACES.find(({ environmentName }) => environmentName === name)!.example,
});

/** Problems that are not in a single value: a required setting is missing, or only one half of a pair is given. */
function togetherProblems(sections: RawSettings['sections'], needs: readonly string[]): SettingsProblem[] {
  const given = (key: string): boolean => sections['platform']?.[key] !== undefined;
  const problems: SettingsProblem[] = [];
  if (needs.includes('platform')) {
    if (!given('baseUrl')) problems.push(missing('PLATFORM_BASE_URL', 'is required'));
    if (!given('timeZone')) {
      problems.push(missing('PLATFORM_TIME_ZONE', 'is required: the zone of the platform’s timestamps'));
    }
  }
  if (given('token') && !given('merchantNo')) {
    problems.push(missing('PLATFORM_MERCHANT_NO', 'is required where PLATFORM_TOKEN is given'));
  }
  if (given('merchantNo') && !given('token')) {
    problems.push(missing('PLATFORM_TOKEN', 'is required where PLATFORM_MERCHANT_NO is given'));
  }
  return problems;
}

/** The embedded database belongs to one process, and a queue is for several. */
function queueProblems({ daybook, database }: SettingsDocument): SettingsProblem[] {
  if (daybook.workers !== 'queue' || database.url !== undefined) return [];
  return [missing('DATABASE_URL', 'is required where DAYBOOK_WORKERS is queue: workers share a server')];
}

/** Agent headers with a placeholder whose setting is not given. */
function agentProblems({ platform }: SettingsDocument): SettingsProblem[] {
  const templates = Object.values(platform.agentHeaders).join('\n');
  const halves = [
    ['{agentToken}', platform.agentToken, 'PLATFORM_AGENT_TOKEN'],
    ['{referralChannel}', platform.referralChannel, 'PLATFORM_REFERRAL_CHANNEL'],
  ] as const;
  return halves
    .filter(([placeholder, value]) => templates.includes(placeholder) && value === undefined)
    .map(([placeholder, , name]) =>
      missing(name, `is required where PLATFORM_AGENT_HEADERS has ${placeholder}`),
    );
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

function platformOf(section: SettingsDocument['platform']): PlatformSection | null {
  const { baseUrl, timeZone, merchantNo, token, rateLimit, agentToken, referralChannel, ...rest } = section;
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
  };
}

function settingsOf({ platform, daybook, database, statements, s3 }: SettingsDocument, cwd: string) {
  const dataDir = resolve(cwd, daybook.dataDir);
  return {
    platform: platformOf(platform),
    fileRules: {
      walletMethods: platform.walletMethods,
      codeLists: platform.codeLists,
      filePaths: platform.filePaths,
      referralChannel: platform.referralChannel ?? null,
    },
    currencies: { CNH: 2, ...daybook.currencies },
    settleDelayS: daybook.settleDelayS,
    merchantsAtOnce: daybook.merchantsAtOnce,
    resweepDays: daybook.resweepDays,
    resweepDaysMax: daybook.resweepDaysMax,
    lateSweepDays: daybook.lateSweepDays,
    clockToleranceS: daybook.clockToleranceS,
    checks: daybook.checks,
    nowMs: daybook.now ?? null,
    databaseUrl: database.url ?? null,
    statementsUrl: statements.url ?? pathToFileURL(resolve(dataDir, 'statements')).href,
    s3ForcePathStyle: s3.forcePathStyle ?? null,
    dataDir,
    secretKeys: daybook.secretKeys,
    signingKey: daybook.signingKey ?? null,
    statementFormats: daybook.statementFormats,
    schedule: scheduleOf(daybook, platform.timeZone),
    workers: daybook.workers,
    referenceCountries: daybook.referenceCountries,
    publicUrl: daybook.publicUrl ?? null,
    listen: daybook.listen,
    allowInsecure: daybook.allowInsecure,
    pagesListen: daybook.pagesListen ?? null,
    healthListen: daybook.healthListen ?? null,
    metricsMerchants: daybook.metricsMerchants,
    trustedProxies: daybook.trustedProxies,
    access: accessSettingsOf(daybook),
    alerts: alertSettingsOf(daybook),
    logLevel: daybook.logLevel,
  } satisfies SettingsWithoutPlatform;
}

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
  problems.push(...togetherProblems(raw.sections, source.needs ?? ['platform']));
  if (parsed.success)
    problems.push(
      ...agentProblems(parsed.data),
      ...queueProblems(parsed.data),
      ...accessProblems(parsed.data.daybook),
      ...alertProblems(parsed.data.daybook),
      ...certificateProblems(parsed.data, source.env),
    );
  if (!parsed.success || problems.length > 0) throw new SettingsInvalid(problems);
  return settingsOf(parsed.data, source.cwd ?? process.cwd());
}
