/** The complete, validated settings (docs/reference/settings.md). What stands there as it was given is explained in `schema.ts`. */
import type { SigningKey } from '../ledger/signature.ts';
import type { Schedule, SettingsDocument } from './schema.ts';
import type { ListenAddress, Webhook } from './values/addresses.ts';
import type { Grant, PasswordHash } from './values/credentials.ts';
import type { MailedStatements } from './values/statement-mail.ts';

/** The only merchant in a simple setup. Further ones are in the database. */
export interface SettingsMerchant {
  readonly merchantNo: string;
  readonly token: string;
}

type PlatformDocument = SettingsDocument['platform'];
type MaybeGiven =
  | 'baseUrl'
  | 'timeZone'
  | 'merchantNo'
  | 'token'
  | 'rateLimit'
  | 'agentToken'
  | 'referralChannel'
  | 'signatureTemplate'
  | 'signatureKey';

export interface PlatformSection extends Readonly<Omit<PlatformDocument, MaybeGiven>> {
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

/**
 * Codes listed in an appendix that the document does not include (docs/platform.md 2.3, 2.4). Null accepts any text
 * that resembles a code.
 */
export type CodeLists = PlatformDocument['codeLists'];

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

/** Statements by mail: who gets which, and how they are sent. */
export interface StatementMailSettings {
  readonly recipients: readonly MailedStatements[];
  readonly from: string;
  /** As that of alerts. */
  readonly smtpUrl: string;
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
  /** How long a login lasts that is not used. */
  readonly idleMinutes: number;
}

export type LogLevel = Settings['logLevel'];

/** Rules for files that are submitted to the platform. They do not need its address. */
export type FileRules = Pick<
  PlatformSection,
  'walletMethods' | 'codeLists' | 'filePaths' | 'images' | 'referralChannel'
>;

/** Settings of the section `daybook` that are taken as they were given. */
export const AS_GIVEN = [
  ...(['settleDelayS', 'merchantsAtOnce', 'resweepDays', 'resweepDaysMax', 'lateSweepDays'] as const),
  ...(['clockToleranceS', 'checks', 'secretKeys', 'statementFormats', 'workers', 'listen'] as const),
  ...([
    'cookieKeys',
    'referenceCountries',
    'allowInsecure',
    'metricsMerchants',
    'trustedProxies',
    'logLevel',
  ] as const),
  ...(['closeApproval', 'bankCurrencies'] as const),
];

export interface Settings extends Readonly<Pick<SettingsDocument['daybook'], (typeof AS_GIVEN)[number]>> {
  readonly platform: PlatformSection;
  readonly fileRules: FileRules;
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
  /**
   * The address at which the platform reaches `serve`, without a slash at the end. Null if the platform gets no
   * address.
   */
  readonly publicUrl: string | null;
  /** The address `serve` shows pages at. Null if it shows none. */
  readonly pagesListen: ListenAddress | null;
  /**
   * Where `/healthz`, `/readyz` and `/metrics` are. Null: `serve` answers the first two where it listens, others nothing.
   */
  readonly healthListen: ListenAddress | null;
  readonly access: AccessSettings;
  readonly alerts: AlertSettings;
  readonly books: Readonly<SettingsDocument['books']>;
  /** Null if no statement is mailed. */
  readonly statementMail: StatementMailSettings | null;
}

/** Settings for commands that do not need the platform. It is null if its address or time zone is not given. */
export type SettingsWithoutPlatform = Omit<Settings, 'platform'> & {
  readonly platform: PlatformSection | null;
};
