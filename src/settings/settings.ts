/** The complete, validated settings of the program (docs/reference/settings.md): those of the core, and what it asks of plugins. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { SigningKey } from '../ledger/signature.ts';
import type { AskedOfPlugins } from './asked-of-plugins.ts';
import { OBJECTS } from '../objects/settings.ts';
import { PLATFORM, platformOf, type PlatformSection } from '../platform/settings.ts';
import { STORE } from '../store/settings.ts';
import { DAYBOOK } from './core.ts';
import { placeOf, read, type Given, type Read } from './setting.ts';
import type { ListenAddress } from './values/addresses.ts';

type DaybookRead = Read<typeof DAYBOOK>;

/** What is not handed on as it was read. */
type OfDaybook =
  ('now' | 'currencies' | 'dataDir' | 'signingKey' | 'publicUrl' | 'healthListen') | `schedule${string}`;

/** A cron expression by job, as `DAYBOOK_SCHEDULE_...` gives it, null where the job is off; and the IANA zone they are in. */
export interface Schedule extends Readonly<Record<string, string | null | undefined>> {
  readonly nightly: string | null;
  readonly resweep: string | null;
  readonly zone: string;
}

export type LogLevel = DaybookRead['logLevel'];

export interface Settings
  extends
    Omit<DaybookRead, OfDaybook>,
    Pick<Read<typeof STORE>, 'secretKeys' | 'cookieKeys'>,
    AskedOfPlugins {
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
  const { url: databaseUrl = null, poolSize: connectionsMax, secretKeys, cookieKeys } = read(STORE, given);
  const { url: statementsUrl, forcePathStyle: s3ForcePathStyle = null } = read(OBJECTS, given);
  const dataDir = resolve(cwd, rest.dataDir);
  return {
    ...asRead,
    ...{ signingKey, publicUrl, healthListen, dataDir, nowMs: now },
    platform: platformOf(platform),
    fileRules: { filePaths: platform.filePaths, referralChannel: platform.referralChannel ?? null },
    currencies: { CNH: 2, ...currencies },
    ...{ databaseUrl, connectionsMax, secretKeys, cookieKeys, s3ForcePathStyle },
    statementsUrl: statementsUrl ?? pathToFileURL(resolve(dataDir, 'statements')).href,
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
