/**
 * The settings of the core, each once: its type, default, what it is for, an example, and whether it is secret. Its key in the file
 * follows from its name: `PLATFORM_TIMEOUT_MS` is `platform.timeoutMs`.
 */
import { CHECKS } from '../ledger/checks.ts';
import { SUCCESS_CODES } from '../ledger/success-codes.ts';
import { setting } from './setting.ts';
import * as address from './values/addresses.ts';
import * as credential from './values/credentials.ts';
import * as list from './values/lists.ts';
import * as value from './values/scalars.ts';

const DAY_S = 86_400;
const DEFAULT_HEADERS = { Authorization: 'Bearer {token}', merchantNo: '{merchantNo}' };
const AGENT_HEADERS_EXAMPLE = { Authorization: 'Bearer {agentToken}' };
/** A path with a slash, absolute or not. No bare file name, no drive, no URL (docs/platform.md 4.3). */
const FILE_PATHS = '(?![A-Za-z][A-Za-z0-9+.-]*:|~|www\\.|\\.{1,2}/)(?:/|[^/\\\\]+/)(?:[^/\\\\]+/)*[^/\\\\]+';
/** What a user may explicitly leave unprotected: the way to PostgreSQL or S3, all certificates, or alerts. */
const UNPROTECTED = ['database', 'statements', 'certificates', 'alerts'] as const;
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

export const PLATFORM = {
  PLATFORM_BASE_URL: setting(address.baseUrl().optional(), 'https, or http on loopback. Required.', {
    example: 'https://platform.example',
  }),
  PLATFORM_TIME_ZONE: setting(
    value.timeZone().optional(),
    "IANA zone of the platform's timestamps, and of business days. Required. It is proven before the first row is written.",
    { example: 'Asia/Shanghai' },
  ),
  PLATFORM_TIME_ZONE_PROOF: setting(
    value.oneOf(['required', 'trusted']).default('required'),
    "required: nothing is written before one entry was found at the time this zone gives it, and nowhere else. trusted: you vouch for the zone, because the platform's filters allow no proof. Reports, status and manifests then say so.",
    { example: 'required' },
  ),
  PLATFORM_HEADERS: setting(
    list.headerTemplates('token', 'merchantNo').default(DEFAULT_HEADERS),
    "Header templates, as the platform's document names no header. {token} and {merchantNo} are filled in for each call. Each try of a call has its own {timestamp} (Unix ms), {timestampS} (seconds), {nonce}, {bodySha256} (of the bytes sent, hexadecimal), {signature} (hexadecimal) and {signatureBase64}. In the environment this is JSON.",
    { example: JSON.stringify(DEFAULT_HEADERS), secret: true },
  ),
  PLATFORM_MERCHANT_NO: setting(
    credential.merchantNo().optional(),
    "The only merchant in a simple setup; give it together with its token, or neither. Add more with 'daybook merchants add'. Put numbers in quotes, or YAML drops their leading zeros.",
    { example: 'M0001' },
  ),
  PLATFORM_TOKEN: setting(credential.token().optional(), 'The token of that merchant.', {
    example: 'the token sp3101 delivered',
    secret: true,
  }),
  PLATFORM_CONCURRENCY: setting(
    value.integer(1, 64).default(8),
    'Most calls at the same time, over all merchants. Each process has its own.',
    { example: '8' },
  ),
  PLATFORM_RATE_LIMIT: setting(
    value.positiveNumber(10_000).optional(),
    'Most calls per second, over all merchants and all processes on one PostgreSQL. Without it: no limit.',
    { example: '20' },
  ),
  PLATFORM_TIMEOUT_MS: setting(
    value.integer(1, 600_000).default(30_000),
    'Time limit of one call, from sending to the last byte of the reply.',
    { example: '30000' },
  ),
  PLATFORM_RETRIES_MAX: setting(
    value.integer(0, 20).default(5),
    'How often a call is repeated after a temporary failure.',
    { example: '5' },
  ),
  PLATFORM_SUCCESS_CODES: setting(
    list.codes().default(SUCCESS_CODES),
    'Values of a code, status or flag in a reply that mean success. A reply with any other is a refusal, whatever else it holds. Case does not matter. In the environment: words separated by commas.',
    { example: 'S00000,S00001,0' },
  ),
  PLATFORM_AGENT_HEADERS: setting(
    list.headerTemplates('agentToken', 'referralChannel').default({}),
    "Header templates of calls that belong to no merchant (reference data, applications), as the document does not show how an agent authenticates. {agentToken} and {referralChannel} are filled in, and what each try has in 'headers'. In the environment this is JSON.",
    { example: JSON.stringify(AGENT_HEADERS_EXAMPLE), secret: true },
  ),
  PLATFORM_AGENT_TOKEN: setting(credential.token().optional(), 'The token of the agent, for agentHeaders.', {
    example: 'the token the platform gave the agent',
    secret: true,
  }),
  PLATFORM_REFERRAL_CHANNEL: setting(
    credential.referralChannel().optional(),
    "The agent's number. It is sent with an application that names none.",
    { example: 'A0001' },
  ),
  PLATFORM_SIGNATURE_TEMPLATE: setting(
    list.signedTemplate('token', 'merchantNo', 'agentToken', 'referralChannel').optional(),
    'What {signature} in a header signs, by HMAC-SHA256: a text with {method}, {path}, {timestamp}, {timestampS}, {nonce}, {body}, {bodySha256}, {token}, {merchantNo}, {agentToken}, {referralChannel}; \\n is a line break. What a call does not have is empty in it.',
    { example: '{method}\\n{path}\\n{timestamp}\\n{nonce}\\n{bodySha256}', secret: true },
  ),
  PLATFORM_SIGNATURE_KEY: setting(
    credential.signatureKey().optional(),
    'The key of that, as text: its UTF-8 bytes sign.',
    { example: 'the key the platform gave for signatures', secret: true },
  ),
  PLATFORM_FILE_PATHS: setting(
    value.pattern().default(`^(?:${FILE_PATHS})$`),
    "Regular expression that a path from the platform's file upload must match in full.",
    { example: '/upload/.+' },
  ),
};

export const DAYBOOK = {
  DAYBOOK_SETTLE_DELAY_S: setting(
    value.integer(0, DAY_S).default(300),
    'Entries younger than this are not read yet.',
    { example: '300' },
  ),
  DAYBOOK_MERCHANTS_AT_ONCE: setting(
    value.integer(1, 256).default(8),
    'How many merchants one process works on side by side.',
    { example: '8' },
  ),
  DAYBOOK_RESWEEP_DAYS: setting(
    value.integer(0, 366).default(7),
    "Lookback: how many days the nightly job reads again, for late entries. The job 'resweep' has lateSweepDays.",
    { example: '7' },
  ),
  DAYBOOK_RESWEEP_DAYS_MAX: setting(
    value.integer(0, 366).default(31),
    'How many days it reads again at most, where entries were measured to arrive later than those days.',
    { example: '31' },
  ),
  DAYBOOK_LATE_SWEEP_DAYS: setting(
    value.integer(0, 366).default(14),
    "How many days the job 'resweep' around midday reads again, if they were read before. Each costs at least one call.",
    { example: '14' },
  ),
  DAYBOOK_CHECKS: setting(
    list.someOrNone(CHECKS).default(CHECKS),
    "The checks a nightly run makes beyond the days it reads, for a few calls more: 'none', or a list of these. frontier: today's first entries start from the balance that yesterday ended on. wide: historical days still have as many entries as are stored, and one page of them a run is the same. zone: the newest entry is found at its own second before anything is written. empty: a day without entries is reported if its weekday is usually busy. first: an account whose first opening is not 0 is reported. shared: an entry number that two merchants have is reported.",
    { example: 'frontier,wide' },
  ),
  DAYBOOK_CLOCK_TOLERANCE_S: setting(
    value.integer(0, 3_600).default(2),
    "How far an entry's timestamp may be off from its place in the balance chain.",
    { example: '2' },
  ),
  DAYBOOK_NOW: setting(
    value.instant().optional(),
    'An instant to use as the current time, for rehearsals and tests. Without it: the clock.',
    { example: '2026-04-01T02:00:00Z' },
  ),
  DAYBOOK_DATA_DIR: setting(
    value.directory().default('.daybook'),
    'The folder for the embedded database, and for statements that have no other place. A relative path starts from the working directory.',
    { example: '.daybook' },
  ),
  DAYBOOK_SECRET_KEYS: setting(
    credential.secretKeys().default([]),
    "Keys that encrypt stored tokens and personal data: id:base64 of 32 bytes ('openssl rand -base64 32'), separated by commas. The first one encrypts, all decrypt. To change keys, put a new one in front and keep the old ones.",
    { example: "k1: and the output of 'openssl rand -base64 32'", secret: true },
  ),
  DAYBOOK_SIGNING_KEY: setting(
    credential.signingKey().optional(),
    "Signs each day's manifest: the secret key that 'daybook statements keygen' makes. Without it manifests are not signed. A new key signs what is published from then on; earlier signatures stay as they are.",
    { example: "the secret key of 'daybook statements keygen'", secret: true },
  ),
  DAYBOOK_CLOSE_APPROVAL: setting(
    value.oneOf(['none', 'required']).default('none'),
    'none: one operator closes a month. required: one operator prepares it, and another one approves it. Reopening takes a reason and one operator; closing the month again takes two.',
    { example: 'required' },
  ),
  DAYBOOK_BANK_CURRENCIES: setting(
    list.bankCurrencies().default({}),
    'What camt.053 and MT940 write as the currency of an account whose code ISO 4217 does not have: programs that know ISO 4217 alone refuse a file with CNH. The account is still called by its own code, and a note in the file names it. In the environment this is JSON.',
    { example: '{"CNH":"CNY"}' },
  ),
  DAYBOOK_CURRENCIES: setting(
    list.currencyUnits().default({}),
    'Decimals of currency codes that are in use but not in ISO 4217. CNH is built in. In the environment this is JSON.',
    { example: '{"CNH":2}' },
  ),
  DAYBOOK_SCHEDULE_NIGHTLY: setting(
    value.jobTimes().default('30 1 * * *'),
    "When 'daybook schedule' starts the nightly job: a cron expression. off, here and below: never.",
    { example: '30 1 * * *' },
  ),
  DAYBOOK_SCHEDULE_RESWEEP: setting(
    value.jobTimes().default('30 13 * * *'),
    "When the job 'resweep' runs, the midday check for late entries; its range is lateSweepDays.",
    { example: '30 13 * * *' },
  ),
  DAYBOOK_SCHEDULE_ZONE: setting(
    value.timeZone().optional(),
    'The zone of these times. Without it: platform.timeZone.',
    { example: 'Asia/Shanghai' },
  ),
  DAYBOOK_PUBLIC_URL: setting(
    address.publicUrl().optional(),
    "The address at which the platform reaches 'daybook serve' for its notifications: https, or http on loopback.",
    { example: 'https://daybook.example' },
  ),
  DAYBOOK_LISTEN: setting(
    address.listenAddress().default({ host: '127.0.0.1', port: 8080 }),
    "The address 'daybook serve' listens on. Port 0 means any free port.",
    { example: '127.0.0.1:8080' },
  ),
  DAYBOOK_ALLOW_INSECURE: setting(
    list.someOf(UNPROTECTED).default([]),
    "What you allow to go unprotected; anything else is refused. database: PostgreSQL on another machine without TLS. statements: S3 over plain http to another machine. certificates: NODE_TLS_REJECT_UNAUTHORIZED=0, so that no certificate is checked. alerts: webhooks over plain http to another machine, and mail without TLS. 'daybook doctor' names what goes unprotected.",
    { example: 'database' },
  ),
  DAYBOOK_HEALTH_LISTEN: setting(
    address.listenAddress().optional(),
    "The address for /healthz, /readyz and /metrics of 'daybook schedule', 'daybook worker' and 'daybook serve'; each process on a machine needs a port of its own. Without it 'daybook serve' answers the first two where it listens, and /metrics is not served.",
    { example: '127.0.0.1:8081' },
  ),
  DAYBOOK_TRUSTED_PROXIES: setting(
    list.networks().default(['127.0.0.0/8', '::1']),
    "Addresses and networks of the proxies in front of 'daybook serve'. Only their X-Forwarded-For is believed as the sender's address. In the environment: JSON, or words separated by commas.",
    { example: '10.0.0.0/8,192.0.2.7' },
  ),
  DAYBOOK_LOG_LEVEL: setting(
    value.oneOf(LOG_LEVELS).default('info'),
    'fatal, error, warn, info, debug, trace or silent.',
    { example: 'info' },
  ),
};

export const DATABASE = {
  DATABASE_URL: setting(
    address.databaseUrl().optional(),
    'PostgreSQL 14 or newer, with TLS (?sslmode=verify-full) unless it is on this machine. Without it: an embedded database in dataDir/db.',
    { example: 'postgres://daybook@db.example/daybook', secret: true },
  ),
  DATABASE_POOL_SIZE: setting(
    value.integer(2, 100).default(7),
    'How many connections each process opens at most, 2 to 100. With fewer than 7, pages wait for each other sooner.',
    { example: '7' },
  ),
};

export const STATEMENTS = {
  STATEMENTS_URL: setting(
    address.statementsUrl().optional(),
    "file:// or s3://bucket/prefix. Endpoint, region and credentials are read as the AWS SDK does. Without it: a folder 'statements' in dataDir.",
    { example: 's3://bucket/statements' },
  ),
};

export const S3 = {
  S3_FORCE_PATH_STYLE: setting(
    value.yesOrNo().optional(),
    'Without it: true if an endpoint is set (AWS_ENDPOINT_URL_S3).',
    { example: 'true' },
  ),
};

export const CORE = { ...PLATFORM, ...DAYBOOK, ...DATABASE, ...STATEMENTS, ...S3 };
