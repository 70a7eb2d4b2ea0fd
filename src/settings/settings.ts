/** What daybook runs with, whole and checked, whichever way it was given (docs/reference/settings.md). */
import type { Check } from '../ledger/checks.ts';

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
  /** `trusted`: nothing is asked to prove the zone, as a person answers for it. */
  readonly timeZoneProof: 'required' | 'trusted';
  /**
   * Header templates with `{token}` and `{merchantNo}`, as the platform's document names no header
   * (docs/platform.md 5).
   */
  readonly headers: Readonly<Record<string, string>>;
  readonly merchant: SettingsMerchant | null;
  /** Calls in flight, all merchants together. */
  readonly concurrency: number;
  readonly rateLimitPerS: number | null;
  /** One call, from sending to the last byte. */
  readonly timeoutMs: number;
  /** Times one call is sent again after a failure that may pass. */
  readonly retriesMax: number;
  /**
   * Header templates with `{agentToken}` and `{referralChannel}` for calls that belong to no merchant, as the
   * document does not show how the agent authenticates (docs/platform.md 5).
   */
  readonly agentHeaders: Readonly<Record<string, string>>;
  readonly agentToken: string | null;
  /** The agent's own number: sent in sp1101 where the application leaves it out (docs/platform.md 5). */
  readonly referralChannel: string | null;
  /** The two wallet methods that need no bankCode (docs/platform.md 2.5, rule 1). */
  readonly walletMethods: readonly string[];
  readonly codeLists: CodeLists;
  /** Source of the regular expression a file path of the upload operation matches (docs/platform.md 4.3). */
  readonly filePaths: string;
}

/**
 * Codes that stand in an appendix the document does not show (docs/platform.md 2.3, 2.4); null: any code that
 * looks like one.
 */
export interface CodeLists {
  readonly sourceFunds: readonly string[] | null;
  readonly paymentPurpose: readonly string[] | null;
  readonly customerIdentity: readonly string[] | null;
  readonly natures: readonly string[] | null;
}

/** Where a server listens; port 0 takes a free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
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
  readonly reference: string;
  readonly zone: string;
}

/** What files for the platform are held to: known without its address. */
export type FileRules = Pick<
  PlatformSection,
  'walletMethods' | 'codeLists' | 'filePaths' | 'referralChannel'
>;

export interface Settings {
  readonly platform: PlatformSection;
  readonly fileRules: FileRules;
  /** Minor units of codes in use that ISO 4217 does not have. */
  readonly currencies: Readonly<Record<string, number>>;
  readonly settleDelayS: number;
  readonly resweepDays: number;
  /** As `resweepDays`, of the sweep around midday. */
  readonly lateSweepDays: number;
  readonly clockToleranceS: number;
  /** What a nightly run looks at beyond the days it reads. */
  readonly checks: readonly Check[];
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
  /** ISO alpha-2 codes of the countries whose banks and payout methods are kept. */
  readonly referenceCountries: readonly string[];
  /** Under which the platform reaches `serve`, without a trailing slash; null: nobody is told. */
  readonly publicUrl: string | null;
  readonly listen: ListenAddress;
  /** Transport that may go unprotected: `database`, `statements` (S3), `certificates`. */
  readonly allowInsecure: readonly string[];
  /** Where `/healthz` and `/readyz` are answered; null: where `serve` listens. */
  readonly healthListen: ListenAddress | null;
  /** Addresses and networks of proxies, whose word is taken for where a request came from. */
  readonly trustedProxies: readonly string[];
  readonly logLevel: LogLevel;
}

/** Settings of a command that can do without the platform: null where its address or time zone is not given. */
export type SettingsWithoutPlatform = Omit<Settings, 'platform'> & {
  readonly platform: PlatformSection | null;
};
