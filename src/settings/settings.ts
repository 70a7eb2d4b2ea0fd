/** The complete, validated settings (docs/reference/settings.md). */
import type { Check } from '../ledger/checks.ts';
import type { PublishableFormat } from '../ledger/statement-formats.ts';
import type { SigningKey } from '../signing/minisign.ts';
import type { Schedule } from './schema.ts';
import type { Grant, PasswordHash } from './values/access.ts';
import type { ListenAddress } from './values/addresses.ts';
import type { Webhook } from './values/alerts.ts';
import type { SecretKey } from './values/credentials.ts';

/** The only merchant in a simple setup. Further ones are in the database. */
export interface SettingsMerchant {
  readonly merchantNo: string;
  readonly token: string;
}

export interface PlatformSection {
  /** Without a slash at the end; `/api/sp2404` is appended. */
  readonly baseUrl: string;
  /** IANA zone of `busiDate`, and of business days. */
  readonly timeZone: string;
  /** `trusted`: no proof of the time zone is needed, as a person vouches for it. */
  readonly timeZoneProof: 'required' | 'trusted';
  /** Header templates with `{token}` and `{merchantNo}`: the document names no header (docs/platform.md 5). */
  readonly headers: Readonly<Record<string, string>>;
  readonly merchant: SettingsMerchant | null;
  /** Most calls at the same time, over all merchants. */
  readonly concurrency: number;
  readonly rateLimitPerS: number | null;
  /** Time limit of one call, from sending to the last byte of the reply. */
  readonly timeoutMs: number;
  /** How often a call is repeated after a temporary failure. */
  readonly retriesMax: number;
  /** Codes, statuses and flags of a reply that mean success. Any other is a refusal. */
  readonly successCodes: readonly string[];
  /**
   * Header templates with `{agentToken}` and `{referralChannel}`, for calls that belong to no merchant: the document
   * does not show how the agent authenticates (docs/platform.md 5).
   */
  readonly agentHeaders: Readonly<Record<string, string>>;
  readonly agentToken: string | null;
  /** The agent's own number. sp1101 sends it if the application names none (docs/platform.md 5). */
  readonly referralChannel: string | null;
  /** The two wallet methods that need no bankCode (docs/platform.md 2.5, rule 1). */
  readonly walletMethods: readonly string[];
  readonly codeLists: CodeLists;
  /** Regular expression that a file path from the platform's upload must match completely (docs/platform.md 4.3). */
  readonly filePaths: string;
}

/**
 * Codes listed in an appendix that the document does not include (docs/platform.md 2.3, 2.4). Null accepts any text
 * that resembles a code.
 */
export interface CodeLists {
  readonly sourceFunds: readonly string[] | null;
  readonly paymentPurpose: readonly string[] | null;
  readonly customerIdentity: readonly string[] | null;
  readonly natures: readonly string[] | null;
}

/** Where alerts are sent. */
export interface AlertSettings {
  readonly webhooks: readonly Webhook[];
  /** Signs what `json` webhooks get. Null only if there is none. */
  readonly secret: string | null;
  /** Null if no mail is sent. */
  readonly mail: {
    readonly to: readonly string[];
    readonly from: string;
    /** `smtp://` or `smtps://`, with user and password if the server asks for them. */
    readonly smtpUrl: string;
  } | null;
  /** Requested after each successful nightly run; null if none. */
  readonly pingUrl: string | null;
}

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
}

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

/** Rules for files that are submitted to the platform. They do not need its address. */
export type FileRules = Pick<
  PlatformSection,
  'walletMethods' | 'codeLists' | 'filePaths' | 'referralChannel'
>;

export interface Settings {
  readonly platform: PlatformSection;
  readonly fileRules: FileRules;
  /** Minor units of currency codes that are in use but not in ISO 4217. */
  readonly currencies: Readonly<Record<string, number>>;
  readonly settleDelayS: number;
  /** How many merchants one process works on side by side. */
  readonly merchantsAtOnce: number;
  readonly resweepDays: number;
  /** Most days of lookback where measured lateness asks for more than `resweepDays`. */
  readonly resweepDaysMax: number;
  /** Like `resweepDays`, but for the job around midday. */
  readonly lateSweepDays: number;
  readonly clockToleranceS: number;
  /** The checks a nightly run makes beyond the days it reads. */
  readonly checks: readonly Check[];
  /** An instant to use as the current time, in a rehearsal or test. Null means the clock. */
  readonly nowMs: number | null;
  /** Null means the embedded database under `dataDir`. */
  readonly databaseUrl: string | null;
  /** `file://` or `s3://`. */
  readonly statementsUrl: string;
  /** Null means path style if an endpoint is set. */
  readonly s3ForcePathStyle: boolean | null;
  /** An absolute path. */
  readonly dataDir: string;
  /** Formats that statements are published in, in addition to CSV. */
  readonly statementFormats: readonly PublishableFormat[];
  /** The first key encrypts, all decrypt. */
  readonly secretKeys: readonly SecretKey[];
  /** What signs manifests. Null means that they are not signed. */
  readonly signingKey: SigningKey | null;
  readonly schedule: Schedule;
  /** `queue`: the schedule puts the ledger's work on the queue, and `worker` processes do it. */
  readonly workers: 'none' | 'queue';
  /** ISO alpha-2 codes of the countries whose banks and payout methods are stored. */
  readonly referenceCountries: readonly string[];
  /**
   * The address at which the platform reaches `serve`, without a slash at the end. Null if the platform gets no
   * address.
   */
  readonly publicUrl: string | null;
  readonly listen: ListenAddress;
  /** The address `serve` shows pages at. Null if it shows none. */
  readonly pagesListen: ListenAddress | null;
  /** What may go unprotected: `database`, `statements` (S3), `certificates`, `alerts`. */
  readonly allowInsecure: readonly string[];
  /**
   * Where `/healthz`, `/readyz` and `/metrics` are. Null: `serve` answers the first two where it listens, others nothing.
   */
  readonly healthListen: ListenAddress | null;
  /** Whether there are metrics per merchant, with its number as a label. */
  readonly metricsMerchants: boolean;
  /** Addresses and networks of proxies whose forwarding headers are believed. */
  readonly trustedProxies: readonly string[];
  readonly access: AccessSettings;
  readonly alerts: AlertSettings;
  readonly logLevel: LogLevel;
}

/** Settings for commands that do not need the platform. It is null if its address or time zone is not given. */
export type SettingsWithoutPlatform = Omit<Settings, 'platform'> & {
  readonly platform: PlatformSection | null;
};
