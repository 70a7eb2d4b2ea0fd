/** The complete, validated settings of the program (docs/reference/settings.md): those of the core, and what it asks of plugins. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { areSigned } from '../ledger/placeholders.ts';
import type { SigningKey } from '../ledger/signature.ts';
import type { AskedOfPlugins } from './asked-of-plugins.ts';
import { DATABASE, DAYBOOK, PLATFORM, S3, STATEMENTS } from './core.ts';
import { placeOf, read, type Given, type Read, type Rules } from './setting.ts';
import type { ListenAddress } from './values/addresses.ts';

type PlatformRead = Read<typeof PLATFORM>;
type DaybookRead = Read<typeof DAYBOOK>;

/** The only merchant in a simple setup. Further ones are in the database. */
export interface SettingsMerchant {
  readonly merchantNo: string;
  readonly token: string;
}

/** What is not handed on as it was read. */
type OfPlatform =
  | 'baseUrl'
  | 'timeZone'
  | 'agentToken'
  | 'referralChannel'
  | 'merchantNo'
  | 'token'
  | 'rateLimit'
  | 'signatureTemplate'
  | 'signatureKey';
type OfDaybook =
  ('now' | 'currencies' | 'dataDir' | 'signingKey' | 'publicUrl' | 'healthListen') | `schedule${string}`;

export interface PlatformSection extends Omit<PlatformRead, OfPlatform> {
  readonly baseUrl: string;
  readonly timeZone: string;
  readonly merchant: SettingsMerchant | null;
  readonly rateLimitPerS: number | null;
  readonly agentToken: string | null;
  /** The agent's own number. sp1101 sends it if the application names none (docs/platform.md 5). */
  readonly referralChannel: string | null;
  /** How requests are signed. Null where no header has a signature. */
  readonly signing: { readonly template: string; readonly key: string } | null;
}

/** A cron expression by job, as `DAYBOOK_SCHEDULE_...` gives it, null where the job is off; and the IANA zone they are in. */
export interface Schedule extends Readonly<Record<string, string | null | undefined>> {
  readonly nightly: string | null;
  readonly resweep: string | null;
  readonly zone: string;
}

export type LogLevel = DaybookRead['logLevel'];

export interface Settings extends Omit<DaybookRead, OfDaybook>, AskedOfPlugins {
  readonly platform: PlatformSection;
  /** Rules for files that are submitted to the platform. They do not need its address. */
  readonly fileRules: { readonly filePaths: string; readonly referralChannel: string | null };
  /** Minor units of currency codes that are in use but not in ISO 4217. */
  readonly currencies: Readonly<Record<string, number>>;
  /** An instant to use as the current time, in a rehearsal or test. Null means the clock. */
  readonly nowMs: number | null;
  /** Null means the embedded database under `dataDir`. */
  readonly databaseUrl: string | null;
  /** How many connections a process opens at most for its work. The embedded database has one. */
  readonly connectionsMax: number;
  /** Set by the process itself (`DatabaseSettings`). */
  readonly plansOnce?: boolean;
  /** `file://` or `s3://`. */
  readonly statementsUrl: string;
  /** Null means path style if an endpoint is set. */
  readonly s3ForcePathStyle: boolean | null;
  /** An absolute path. */
  readonly dataDir: string;
  /** What signs manifests. Null means that they are not signed. */
  readonly signingKey: SigningKey | null;
  readonly schedule: Schedule;
  /** The address at which the platform reaches `serve`, without a slash at the end. Null if the platform gets no address. */
  readonly publicUrl: string | null;
  /** Where `/healthz`, `/readyz` and `/metrics` are. Null: `serve` answers the first two where it listens, others nothing. */
  readonly healthListen: ListenAddress | null;
}

/** Settings for commands that do not need the platform. It is null if its address or time zone is not given. */
export type SettingsWithoutPlatform = Omit<Settings, 'platform'> & {
  readonly platform: PlatformSection | null;
};

/** The settings of the core. */
export function coreSettings(given: Given, cwd: string): Omit<SettingsWithoutPlatform, keyof AskedOfPlugins> {
  const { now = null, currencies, signingKey = null, publicUrl = null, ...rest } = read(DAYBOOK, given);
  const { healthListen = null, scheduleNightly, scheduleResweep, scheduleZone, ...asRead } = rest;
  const platform = read(PLATFORM, given);
  const dataDir = resolve(cwd, rest.dataDir);
  return {
    ...asRead,
    ...{ signingKey, publicUrl, healthListen, dataDir, nowMs: now },
    platform: platformOf(platform),
    fileRules: { filePaths: platform.filePaths, referralChannel: platform.referralChannel ?? null },
    currencies: { CNH: 2, ...currencies },
    databaseUrl: read(DATABASE, given).url ?? null,
    connectionsMax: read(DATABASE, given).poolSize,
    statementsUrl: read(STATEMENTS, given).url ?? pathToFileURL(resolve(dataDir, 'statements')).href,
    s3ForcePathStyle: read(S3, given).forcePathStyle ?? null,
    schedule: {
      ...timesOfPlugins(given),
      ...{ nightly: scheduleNightly, resweep: scheduleResweep },
      zone: scheduleZone ?? platform.timeZone ?? 'UTC',
    },
  };
}

/** The times of jobs, by job. */
function timesOfPlugins(given: Given): Readonly<Record<string, string | null>> {
  const prefix = 'DAYBOOK_SCHEDULE_';
  const times = Object.entries(given).filter(([name]) => name.startsWith(prefix) && !(name in DAYBOOK));
  return Object.fromEntries(
    times.map(([name, when]) => [placeOf(name.replace('SCHEDULE_', '')).key, when as string | null]),
  );
}

function platformOf(section: PlatformRead): PlatformSection | null {
  const { baseUrl, timeZone, merchantNo, token, rateLimit, agentToken, referralChannel, ...others } = section;
  const { signatureTemplate: template, signatureKey: key, ...rest } = others;
  if (baseUrl === undefined || timeZone === undefined) return null;
  return {
    ...rest,
    ...{ baseUrl, timeZone },
    merchant: merchantNo === undefined || token === undefined ? null : { merchantNo, token },
    rateLimitPerS: rateLimit ?? null,
    agentToken: agentToken ?? null,
    referralChannel: referralChannel ?? null,
    signing: template === undefined || key === undefined ? null : { template, key },
  };
}

/** A required setting is missing, or only one half of a pair is given. `lacks` knows what was given, even if it is wrong. */
export function requiredRules(lacks: (name: keyof typeof PLATFORM) => boolean, isNeeded: boolean): Rules {
  const [lacksNo, lacksToken] = [lacks('PLATFORM_MERCHANT_NO'), lacks('PLATFORM_TOKEN')];
  return {
    'PLATFORM_BASE_URL is required': isNeeded && lacks('PLATFORM_BASE_URL'),
    'PLATFORM_TIME_ZONE is required: the zone of the platform’s timestamps':
      isNeeded && lacks('PLATFORM_TIME_ZONE'),
    'PLATFORM_MERCHANT_NO is required where PLATFORM_TOKEN is given': lacksNo && !lacksToken,
    'PLATFORM_TOKEN is required where PLATFORM_MERCHANT_NO is given': lacksToken && !lacksNo,
  };
}

/** Agent headers with a placeholder whose setting is not given. A signature without what makes it, and a key that would sign nothing. */
export function callRules(given: Given): Rules {
  const { headers, agentHeaders, ...platform } = read(PLATFORM, given);
  const { agentToken, referralChannel, signatureKey, signatureTemplate } = platform;
  const has = (placeholder: string): boolean =>
    Object.values(agentHeaders).some((template) => template.includes(placeholder));
  const isSigned = areSigned(headers) || areSigned(agentHeaders);
  const where = 'PLATFORM_HEADERS or PLATFORM_AGENT_HEADERS';
  const unused = `is given, and no header of ${where} has {signature}: nothing would be signed`;
  return {
    'PLATFORM_AGENT_TOKEN is required where PLATFORM_AGENT_HEADERS has {agentToken}':
      has('{agentToken}') && agentToken === undefined,
    'PLATFORM_REFERRAL_CHANNEL is required where PLATFORM_AGENT_HEADERS has {referralChannel}':
      has('{referralChannel}') && referralChannel === undefined,
    [`PLATFORM_SIGNATURE_KEY is required where ${where} has {signature}`]:
      isSigned && signatureKey === undefined,
    [`PLATFORM_SIGNATURE_TEMPLATE is required where ${where} has {signature}: what is signed`]:
      isSigned && signatureTemplate === undefined,
    [`PLATFORM_SIGNATURE_KEY ${unused}`]: !isSigned && signatureKey !== undefined,
    [`PLATFORM_SIGNATURE_TEMPLATE ${unused}`]: !isSigned && signatureTemplate !== undefined,
  };
}
