/** What daybook runs with, whole and checked, whichever way it was given (CONTRACT.md, Settings). */

/** The one merchant of a simple setup; more live in the database. */
export interface SettingsMerchant {
  readonly merchantNo: string;
  readonly token: string;
}

export interface PlatformSection {
  /** Without a trailing slash; `/api/sp2404` is put behind it. */
  readonly baseUrl: string;
  /** IANA zone of `busiDate`, and of business days. */
  readonly timeZone: string;
  /** Header templates with `{token}` and `{merchantNo}`, as the platform's document names no header (5). */
  readonly headers: Readonly<Record<string, string>>;
  readonly merchant: SettingsMerchant | null;
  /** Calls in flight, all merchants together. */
  readonly concurrency: number;
  readonly rateLimitPerS: number | null;
  /** One call, from sending to the last byte. */
  readonly timeoutMs: number;
  /** Times one call is sent again after a failure that may pass. */
  readonly retriesMax: number;
}

/** 32 bytes for AES-256-GCM, and the name under which stored secrets refer to them. */
export interface SecretKey {
  readonly id: string;
  readonly key: Buffer;
}

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

/** Cron expressions of the scheduled jobs, and the zone they are read in. */
export interface Schedule {
  readonly nightly: string;
  readonly resweep: string;
  readonly zone: string;
}

export interface Settings {
  readonly platform: PlatformSection;
  /** Minor units of codes in use that ISO 4217 does not have. */
  readonly currencies: Readonly<Record<string, number>>;
  readonly settleDelayS: number;
  readonly resweepDays: number;
  readonly clockToleranceS: number;
  /** The instant to take for now, in a rehearsal or a test; null: the clock. */
  readonly nowMs: number | null;
  /** Null: the embedded database under `dataDir`. */
  readonly databaseUrl: string | null;
  /** `file://` or `s3://`. */
  readonly statementsUrl: string;
  /** Null: path style where an endpoint is set. */
  readonly s3ForcePathStyle: boolean | null;
  /** Absolute. */
  readonly dataDir: string;
  /** The first one encrypts, all decrypt. */
  readonly secretKeys: readonly SecretKey[];
  readonly schedule: Schedule;
  readonly logLevel: LogLevel;
}

/** Settings of a command that can do without the platform: null where its address or time zone is not given. */
export type SettingsWithoutPlatform = Omit<Settings, 'platform'> & {
  readonly platform: PlatformSection | null;
};
