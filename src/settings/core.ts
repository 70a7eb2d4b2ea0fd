/**
 * The settings of the core: those that several modules use, and those that `platform`, `store` and `objects` declare.
 */
import { CHECKS } from '../ledger/checks.ts';
import type { SigningKey } from '../ledger/signature.ts';
import { OBJECTS } from '../objects/settings.ts';
import { PLATFORM } from '../platform/settings.ts';
import { readSigningKey } from '../signing.ts';
import { STORE } from '../store/settings.ts';
import { setting } from './setting.ts';
import * as address from './values/addresses.ts';
import * as list from './values/lists.ts';
import * as value from './values/scalars.ts';

const DAY_S = 86_400;
/** What a user may explicitly leave unprotected: the way to PostgreSQL or S3, all certificates, or alerts. */
const UNPROTECTED = ['database', 'statements', 'certificates', 'alerts'] as const;
const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** A secret key of minisign without a password: its line, or its complete file. */
const signingKey = () =>
  value.reading((text): SigningKey => {
    const key = readSigningKey(text);
    if (typeof key === 'string') throw new value.Wrong(key);
    return key;
  });

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
  DAYBOOK_SIGNING_KEY: setting(
    signingKey().optional(),
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
    "What you allow to go unprotected; anything else is refused. database: PostgreSQL on another machine without TLS, or with a certificate that is not checked. statements: S3 over plain http to another machine. certificates: NODE_TLS_REJECT_UNAUTHORIZED=0, so that no certificate is checked. alerts: webhooks over plain http to another machine, and mail without TLS. 'daybook doctor' names what goes unprotected.",
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

export const CORE = { ...PLATFORM, ...DAYBOOK, ...STORE, ...OBJECTS };
