/**
 * Every setting, once: its type, default, example, and whether it is secret. Environment names follow from the keys:
 * `platform.timeoutMs` in the file is `PLATFORM_TIMEOUT_MS` in the environment.
 */
import { z } from 'zod';
import { CHECKS } from '../ledger/checks.ts';
import { MATCH_RULES } from '../ledger/own-books.ts';
import { SUCCESS_CODES } from '../ledger/success-codes.ts';
import { addedFormats } from '../statements/formats/registered.ts';
import * as address from './values/addresses.ts';
import * as credential from './values/credentials.ts';
import * as list from './values/lists.ts';
import * as value from './values/scalars.ts';
import { statementMail } from './values/statement-mail.ts';

/** What a setting's schema says in addition to its type. */
interface SettingNotes {
  /** A value that is accepted. */
  readonly example: string;
  /** Messages never repeat its value. */
  readonly secret?: true;
}

const DAY_S = 86_400;

const notes = (example: string): SettingNotes & Record<string, unknown> => ({ example });
const secret = (example: string): SettingNotes & Record<string, unknown> => ({ example, secret: true });

const DEFAULT_HEADERS = { Authorization: 'Bearer {token}', merchantNo: '{merchantNo}' };
const AGENT_HEADERS_EXAMPLE = { Authorization: 'Bearer {agentToken}' };
/**
 * Fields of sp1101 whose codes are listed in an appendix that the document does not include (docs/platform.md 2.3,
 * 2.4).
 */
const CODE_LIST_FIELDS = ['sourceFunds', 'paymentPurpose', 'customerIdentity', 'natures'] as const;
const NO_CODE_LISTS = { sourceFunds: null, paymentPurpose: null, customerIdentity: null, natures: null };
/** A path with a slash, absolute or not. No bare file name, no drive, no URL (docs/platform.md 4.3). */
const FILE_PATHS = '(?![A-Za-z][A-Za-z0-9+.-]*:|~|www\\.|\\.{1,2}/)(?:/|[^/\\\\]+/)(?:[^/\\\\]+/)*[^/\\\\]+';
/** What an image may be: the path of an uploaded one, the image itself, or where it is on the web. */
const IMAGE_KINDS = ['path', 'base64', 'dataUrl', 'url'] as const;
/** What a user may explicitly leave unprotected: the way to PostgreSQL or S3, all certificates, or alerts. */
const UNPROTECTED = ['database', 'statements', 'certificates', 'alerts'] as const;
/** Each day is published as CSV, whatever else is chosen: it is the file that is proven. */
const ALWAYS_PUBLISHED = 'csv';
const PUBLISHABLE = [
  ALWAYS_PUBLISHED,
  ...addedFormats.all().flatMap(({ name, canBePublished }) => (canBePublished ? [name] : [])),
];
const WORKERS = ['none', 'queue'] as const;
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

export const settingsSchema = z.strictObject({
  platform: z.strictObject({
    /** Without a slash at the end; `/api/sp2404` is appended. */
    baseUrl: address.baseUrl().optional().meta(notes('https://platform.example')),
    /** IANA zone of `busiDate`, and of business days. */
    timeZone: value.timeZone().optional().meta(notes('Asia/Shanghai')),
    /** `trusted`: no proof of the time zone is needed, as a person vouches for it. */
    timeZoneProof: value.oneOf(['required', 'trusted']).default('required').meta(notes('required')),
    /** Header templates with `{token}` and `{merchantNo}`, and what is of one try of a call: the document names no header (docs/platform.md 5). */
    headers: list
      .headerTemplates('token', 'merchantNo')
      .default(DEFAULT_HEADERS)
      .meta(secret(JSON.stringify(DEFAULT_HEADERS))),
    merchantNo: credential.merchantNo().optional().meta(notes('M0001')),
    token: credential.token().optional().meta(secret('the token sp3101 delivered')),
    /** Most calls at the same time, over all merchants. */
    concurrency: value.integer(1, 64).default(8).meta(notes('8')),
    rateLimit: value.positiveNumber(10_000).optional().meta(notes('20')),
    /** Time limit of one call, from sending to the last byte of the reply. */
    timeoutMs: value.integer(1, 600_000).default(30_000).meta(notes('30000')),
    /** How often a call is repeated after a temporary failure. */
    retriesMax: value.integer(0, 20).default(5).meta(notes('5')),
    /** Codes, statuses and flags of a reply that mean success. Any other is a refusal. */
    successCodes: list.codes().default(SUCCESS_CODES).meta(notes('S00000,S00001,0')),
    /**
     * Header templates with `{agentToken}` and `{referralChannel}`, for calls that belong to no merchant: the document
     * does not show how the agent authenticates (docs/platform.md 5).
     */
    agentHeaders: list
      .headerTemplates('agentToken', 'referralChannel')
      .default({})
      .meta(secret(JSON.stringify(AGENT_HEADERS_EXAMPLE))),
    agentToken: credential.token().optional().meta(secret('the token the platform gave the agent')),
    referralChannel: credential.referralChannel().optional().meta(notes('A0001')),
    /** What `{signature}` in a header signs, by HMAC-SHA256 with the key (docs/platform.md 5). */
    signatureTemplate: list
      .signedTemplate('token', 'merchantNo', 'agentToken', 'referralChannel')
      .optional()
      .meta(secret('{method}\\n{path}\\n{timestamp}\\n{nonce}\\n{bodySha256}')),
    signatureKey: credential
      .signatureKey()
      .optional()
      .meta(secret('the key the platform gave for signatures')),
    /** The two wallet methods that need no bankCode (docs/platform.md 2.5, rule 1). */
    walletMethods: list.codes().default([]).meta(notes('["WALLET_A","WALLET_B"]')),
    codeLists: list
      .codeLists(CODE_LIST_FIELDS)
      .default(NO_CODE_LISTS)
      .meta(notes('{"sourceFunds":["01","02"]}')),
    /** Regular expression that a file path from the platform's upload must match completely (docs/platform.md 4.3). */
    filePaths: value.pattern().default(`^(?:${FILE_PATHS})$`).meta(notes('/upload/.+')),
    /** What an image of sp1401 may be: the document says that it is one, and not in which form (docs/platform.md 2.5). */
    images: list.someOf(IMAGE_KINDS).default(IMAGE_KINDS).meta(notes('base64')),
  }),
  daybook: z.strictObject({
    settleDelayS: value.integer(0, DAY_S).default(300).meta(notes('300')),
    /** How many merchants one process works on side by side. */
    merchantsAtOnce: value.integer(1, 256).default(8).meta(notes('8')),
    resweepDays: value.integer(0, 366).default(7).meta(notes('7')),
    /** Most days of lookback where measured lateness asks for more than `resweepDays`. */
    resweepDaysMax: value.integer(0, 366).default(31).meta(notes('31')),
    /** Like `resweepDays`, but for the job around midday. */
    lateSweepDays: value.integer(0, 366).default(14).meta(notes('14')),
    /** The checks a nightly run makes beyond the days it reads. */
    checks: list.someOrNone(CHECKS).default(CHECKS).meta(notes('frontier,wide')),
    clockToleranceS: value.integer(0, 3_600).default(2).meta(notes('2')),
    now: value.instant().optional().meta(notes('2026-04-01T02:00:00Z')),
    dataDir: value.directory().default('.daybook').meta(notes('.daybook')),
    /** The first key encrypts, all decrypt. */
    secretKeys: credential
      .secretKeys()
      .default([])
      .meta(secret("k1: and the output of 'openssl rand -base64 32'")),
    /** Signs the cookies of the pages: the first key signs, all are believed. Without it, keys derived from `secretKeys`. */
    cookieKeys: credential
      .secretKeys()
      .default([])
      .meta(secret("k1: and the output of 'openssl rand -base64 32'")),
    signingKey: credential
      .signingKey()
      .optional()
      .meta(secret("the secret key of 'daybook statements keygen'")),
    /** Formats that statements are published in, in addition to CSV. */
    statementFormats: list
      .someOf(PUBLISHABLE)
      .default([ALWAYS_PUBLISHED])
      .meta(notes(PUBLISHABLE.join(','))),
    /** `required`: one person prepares the close of a month, and another one approves it. */
    closeApproval: value.oneOf(['none', 'required']).default('none').meta(notes('required')),
    bankCurrencies: list.bankCurrencies().default({}).meta(notes('{"CNH":"CNY"}')),
    currencies: list.currencyUnits().default({}).meta(notes('{"CNH":2}')),
    scheduleNightly: value.jobTimes().default('30 1 * * *').meta(notes('30 1 * * *')),
    scheduleResweep: value.jobTimes().default('30 13 * * *').meta(notes('30 13 * * *')),
    scheduleReference: value.jobTimes().default('0 3 * * 1').meta(notes('0 3 * * 1')),
    /** Without it, own books are matched at the time of the nightly job. */
    scheduleBooks: value.jobTimes().optional().meta(notes('0 6 * * *')),
    scheduleZone: value.timeZone().optional().meta(notes('Asia/Shanghai')),
    /** `queue`: the schedule puts the ledger's work on the queue, and `worker` processes do it. */
    workers: value.oneOf(WORKERS).default('none').meta(notes('queue')),
    /** ISO alpha-2 codes of the countries whose banks and payout methods are stored. */
    referenceCountries: list.countries().default([]).meta(notes('["CN","US"]')),
    publicUrl: address.publicUrl().optional().meta(notes('https://daybook.example')),
    listen: address.listenAddress().default({ host: '127.0.0.1', port: 8080 }).meta(notes('127.0.0.1:8080')),
    allowInsecure: list.someOf(UNPROTECTED).default([]).meta(notes('database')),
    pagesListen: address.listenAddress().optional().meta(notes('127.0.0.1:8090')),
    healthListen: address.listenAddress().optional().meta(notes('127.0.0.1:8081')),
    /** Whether there are metrics per merchant, with its number as a label. */
    metricsMerchants: value.yesOrNo().default(false).meta(notes('true')),
    /** Addresses and networks of proxies whose forwarding headers are believed. */
    trustedProxies: list.networks().default(['127.0.0.0/8', '::1']).meta(notes('10.0.0.0/8,192.0.2.7')),
    pagesUrl: address.pagesUrl().optional().meta(notes('https://books.example')),
    accessUsers: credential
      .hashedPasswords()
      .default(new Map())
      .meta(secret('{"ada": the output of \'daybook access hash\'}')),
    accessRoles: credential
      .roles()
      .default(new Map())
      .meta(notes('{"ada":"operator","group:finance":"viewer"}')),
    accessHours: value
      .integer(1, 24 * 31)
      .default(12)
      .meta(notes('12')),
    accessIdleMinutes: value
      .integer(1, 24 * 60)
      .default(30)
      .meta(notes('30')),
    accessProxyHeader: credential.headerName().optional().meta(notes('X-Forwarded-User')),
    accessProxies: list.networks().default([]).meta(notes('10.0.0.7')),
    oidcIssuer: address.issuer().optional().meta(notes('https://login.example')),
    oidcClientId: credential.clientText().optional().meta(notes('daybook')),
    oidcClientSecret: credential
      .clientText()
      .optional()
      .meta(secret('the secret the provider gave the client')),
    oidcNameClaim: credential.clientText().default('email').meta(notes('email')),
    oidcGroupsClaim: credential.clientText().default('groups').meta(notes('groups')),
    alertUrl: address.alertUrls().default([]).meta(secret('https://ops.example/daybook')),
    alertSecret: address.alertSecret().optional().meta(secret("the output of 'openssl rand -base64 32'")),
    alertMailTo: address.mailAddresses().default([]).meta(notes('ops@company.example')),
    alertMailFrom: address.mailAddress().optional().meta(notes('daybook@company.example')),
    smtpUrl: address.smtpUrl().optional().meta(secret('smtps://user:password@mail.example')),
    /** Who gets statements by mail, once their days are proven. */
    statementMail: statementMail()
      .default([])
      .meta(notes('[{"name":"Anna Berg","to":"anna@company.example","every":"month","from":"2026-04-01"}]')),
    pingUrl: address.pingUrl().optional().meta(secret('https://hc-ping.com/your-uuid')),
    logLevel: value.oneOf(LOG_LEVELS).default('info').meta(notes('info')),
  }),
  /** How merchants' own books are matched with the ledger, and who may decide what is left. */
  books: z.strictObject({
    rules: list.someOf(MATCH_RULES).default(MATCH_RULES).meta(notes('reference,same-day')),
    /** Most days between two entries of a match that no reference makes. */
    days: value.integer(0, 14).default(3).meta(notes('3')),
    /** Most entries that are matched with one of the other side. */
    sumEntriesMax: value.integer(2, 6).default(6).meta(notes('6')),
    /** By currency: the largest difference of a match, and what it is. */
    tolerances: list.tolerances().default(new Map()).meta(notes('{"USD":{"max":"0.50","type":"fee"}}')),
    /** By currency: above this amount, another person approves what a person decides. */
    approvalAbove: list.amountsOfCurrencies().default(new Map()).meta(notes('{"USD":"10000"}')),
    /** Whether a month with unmatched entries is kept from being closed. */
    closeNeedsMatch: value.yesOrNo().default(false).meta(notes('true')),
    /** An entry that is unmatched for more days raises an alert. */
    alertDays: value.integer(1, 366).optional().meta(notes('7')),
  }),
  database: z.strictObject({
    url: address.databaseUrl().optional().meta(secret('postgres://daybook@db.example/daybook')),
    /** How many connections a process opens at most. */
    poolSize: value.integer(2, 100).default(7).meta(notes('7')),
  }),
  statements: z.strictObject({
    url: address.statementsUrl().optional().meta(notes('s3://bucket/statements')),
  }),
  s3: z.strictObject({
    forcePathStyle: value.yesOrNo().optional().meta(notes('true')),
  }),
});

export type SettingsDocument = z.output<typeof settingsSchema>;

/** A setting's place in the file and its name in the environment. */
export interface SettingPlace {
  readonly section: string;
  readonly key: string;
  readonly environmentName: string;
  readonly example: string;
  readonly secret: boolean;
}

const environmentName = (section: string, key: string): string =>
  `${section}_${key.replace(/[A-Z]/g, (letter) => `_${letter}`)}`.toUpperCase();

/** All settings, in the order of the schema. */
export const SETTING_PLACES: readonly SettingPlace[] = Object.entries(settingsSchema.shape).flatMap(
  ([section, { shape }]) =>
    Object.entries<z.ZodType>(shape).map(([key, schema]) => {
      const { example, secret: isSecret } = schema.meta() as unknown as SettingNotes;
      return {
        section,
        key,
        environmentName: environmentName(section, key),
        example,
        secret: isSecret === true,
      };
    }),
);

export const SECTIONS: readonly string[] = Object.keys(settingsSchema.shape);

/** Values by section and key. `sources` has the name the user gave each by: a variable, or a key in the file. */
export interface RawSettings {
  readonly sections: Record<string, Record<string, unknown>>;
  readonly sources: Map<SettingPlace, string>;
}

type Section = SettingsDocument['daybook'];
const PREFIX = 'schedule';

/**
 * A cron expression for each setting `schedule...`, null where the job is off, and the IANA zone they are in.
 *
 * ### Example
 * `scheduleNightly: 30 1 * * *` is `nightly: '30 1 * * *'` here.
 */
export type Schedule = {
  readonly [
    Key in keyof Section as Key extends 'scheduleZone'
      ? never
      : Key extends `${typeof PREFIX}${infer Job}`
        ? Uncapitalize<Job>
        : never
  ]: Section[Key];
} & { readonly zone: string };

/** Without a zone of its own, the schedule is in `platformZone`, or in UTC. */
export function scheduleOf(section: Section, platformZone: string | undefined): Schedule {
  const times = Object.entries(section).flatMap(([key, value]) =>
    key.startsWith(PREFIX) && key !== 'scheduleZone' ? [[jobOf(key), value]] : [],
  );
  return { ...(Object.fromEntries(times) as Schedule), zone: section.scheduleZone ?? platformZone ?? 'UTC' };
}

function jobOf(key: string): string {
  const job = key.slice(PREFIX.length);
  return job.charAt(0).toLowerCase() + job.slice(1);
}
