/**
 * Checks everything a run needs, one thing after the other, and says how to correct what fails. A failure does not
 * end it.
 */
import { addDays, dayOf, dayWindow } from '../ledger/business-day.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import type { LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import type { Settings } from '../settings/settings.ts';
import { nameOf, publicKeyOf } from '../signing/minisign.ts';
import { secretKeysInUse, provenSecretKeys } from '../store/secrets/key-check.ts';
import type { Database } from '../store/engine/database.ts';
import { MigrationsPending } from '../store/engine/errors.ts';
import { migrate, pendingMigrations } from '../store/engine/migrations.ts';
import { protectionOf } from '../store/engine/protection.ts';
import { UnknownSecretKey } from '../store/secrets/secrets.ts';
import { publishedFilesCheck } from './published-files-check.ts';
import { createPlatformClock, type PlatformClock } from '../sync/clocks.ts';
import { createZoneGate } from '../sync/zone-gate.ts';
import { chosenMerchants, merchantsNotRead } from './chosen-merchants.ts';
import { ExpectedError } from '../ledger/ending.ts';
import { notReadLines } from './status-text.ts';
import { nextTime, type ScheduledJob } from './schedule/due.ts';
import { clockNews, SET_THE_CLOCK } from './clock-text.ts';
import { exitCodeOf, type ExitCode, EXIT } from './verdict/exit-codes.ts';
import { wallTime } from '../ledger/wall-time.ts';
import { TIME_ZONE_ON_TRUST } from './report.ts';

/** How many days back to search for an entry that can prove the time zone. */
const PROOF_DAYS_MAX = 31;

const REACH_IT = '. Fix: check PLATFORM_BASE_URL and that the platform is up';

export interface Finding {
  readonly what: string;
  readonly ok: boolean;
  /** What was found, or what is wrong and how to correct it. */
  readonly detail: string;
  readonly exitCode: ExitCode;
}

/** What is checked. Each part is opened by its own check, so a part that cannot be opened does not hide the others. */
export interface Patient {
  readonly settings: Settings;
  readonly jobs: readonly ScheduledJob[];
  readonly openDatabase: () => Promise<Database>;
  readonly openObjects: () => Promise<ObjectStore>;
  readonly reader: LedgerReader;
  readonly now: () => Date;
}

/** Runs one check. An error that a person can correct becomes its finding. */
export async function finding(what: string, check: () => Promise<string>): Promise<Finding> {
  try {
    return { what, ok: true, detail: await check(), exitCode: EXIT.done };
  } catch (error) {
    const exitCode = exitCodeOf(error);
    if (exitCode === EXIT.fault) throw error;
    return { what, ok: false, detail: (error as Error).message, exitCode };
  }
}

/**
 * Checks schedule, signing key, alerts, database, object store, platform and time zone. Each is checked if possible,
 * whatever the other checks found.
 */
export async function examine(patient: Patient, signal: AbortSignal): Promise<Finding[]> {
  const { settings, openObjects, reader, now } = patient;
  const findings = [
    await finding('schedule', () => Promise.resolve(nextTimes(patient))),
    await finding('signing key', () => Promise.resolve(signingKeyFound(settings))),
    await finding('alerts', () => Promise.resolve(alertsFound(settings))),
  ];
  const ofDatabase = await examineDatabase(patient);
  findings.push(...ofDatabase.findings);
  findings.push(
    await finding('object store', async () => {
      const objects = await openObjects();
      await objects.check();
      const isAllowed =
        settings.allowInsecure.includes('statements') && settings.statementsUrl.startsWith('s3:');
      return isAllowed
        ? `${objects.location}, plain http allowed by DAYBOOK_ALLOW_INSECURE`
        : objects.location;
    }),
  );
  const latestMs = now().getTime() - settings.settleDelayS * 1_000;
  const answered: MerchantAccess[] = [];
  const platformClock = createPlatformClock();
  for (const merchant of ofDatabase.merchants) {
    const asked = await finding(`platform, merchant ${merchant.merchantNo}`, async () => {
      const window = { beginMs: latestMs - 999, endMs: latestMs };
      const { clock } = await reader.page({ merchant, window, pageNum: 1 }, signal);
      platformClock.note(clock);
      answered.push(merchant);
      return settings.platform.baseUrl;
    });
    findings.push(asked.exitCode === EXIT.incomplete ? { ...asked, detail: asked.detail + REACH_IT } : asked);
  }
  findings.push(...clockFindings(platformClock, settings));
  if (answered.length > 0) {
    const { timeZone } = settings.platform;
    findings.push(
      await finding('time zone', () =>
        provenZone({ reader, settings }, answered, timeZone, latestMs, signal),
      ),
    );
  }
  return findings;
}

/**
 * Says how far the platform's clock is off. If it is behind by more than the settle delay, days stay open for longer.
 */
function clockFindings(clock: PlatformClock, { settleDelayS }: Settings): Finding[] {
  const apart = { platformBehindMs: clock.behindMs(), platformAheadMs: clock.aheadMs() };
  const news = clockNews(apart);
  if (news === null) return [];
  const ok = apart.platformBehindMs <= settleDelayS * 1_000;
  const detail = ok
    ? news
    : `${news}, so entries are read only once they are old enough by that clock: ${SET_THE_CLOCK}`;
  return [{ what: 'platform clock', ok, detail, exitCode: ok ? EXIT.done : EXIT.incomplete }];
}

function nextTimes({ jobs, settings, now }: Patient): string {
  const { zone } = settings.schedule;
  const next = jobs.map(({ job, when }) => `${job} ${wallTime(nextTime(when, zone, now()).getTime(), zone)}`);
  return `next ${next.join(', ')} (${zone})`;
}

interface DatabaseExamined {
  readonly findings: readonly Finding[];
  /** From the database and the settings; from the settings alone if the database cannot be read. */
  readonly merchants: readonly MerchantAccess[];
}

async function examineDatabase(patient: Patient): Promise<DatabaseExamined> {
  const { settings, openDatabase } = patient;
  let database: Database | undefined;
  try {
    const opened = await finding('database', async () => {
      database = await openDatabase();
      return database.kind === 'postgres' ? serverFound(settings) : `embedded, in ${settings.dataDir}`;
    });
    if (database === undefined) return withoutTables(settings, [opened]);
    const { db, kind } = database;
    const tables = await finding('tables', async () => {
      // As with any command, the embedded database is migrated to this version.
      if (kind === 'embedded') await migrate(db);
      const pending = await pendingMigrations(db);
      if (pending.length === 0) return 'at this version';
      throw new MigrationsPending(`lacks ${pending.join(', ')}; run \`daybook migrate\``);
    });
    if (!tables.ok) return withoutTables(settings, [opened, tables]);
    return await examineRows(patient, database, [opened, tables]);
  } finally {
    await database?.close();
  }
}

/** Names a connection that is not protected. */
function serverFound({ databaseUrl }: Settings): string {
  const protection = databaseUrl === null ? 'local' : protectionOf(databaseUrl);
  if (protection === 'plain') return 'PostgreSQL, connected WITHOUT TLS, as DAYBOOK_ALLOW_INSECURE allows';
  if (protection === 'unverified') {
    return 'PostgreSQL, its certificate NOT checked, as sslmode in DATABASE_URL says; verify-full checks it';
  }
  return 'PostgreSQL';
}

/** The result if only the settings can be read. */
function withoutTables({ platform }: Settings, found: readonly Finding[]): DatabaseExamined {
  const { exitCode } = found.find(({ ok }) => !ok)!;
  const { merchant } = platform;
  if (merchant !== null) {
    const detail = `${merchant.merchantNo}, from the settings; merchants stored in the database could not be read`;
    return {
      findings: [...found, { what: 'merchants', ok: true, detail, exitCode: EXIT.done }],
      merchants: [merchant],
    };
  }
  const detail =
    'none in the settings, and merchants stored in the database could not be read: fix the database first';
  return { findings: [...found, { what: 'merchants', ok: false, detail, exitCode }], merchants: [] };
}

async function examineRows(
  { settings, openObjects, now }: Patient,
  database: Database,
  found: readonly Finding[],
): Promise<DatabaseExamined> {
  let merchants: readonly MerchantAccess[] =
    settings.platform.merchant === null ? [] : [settings.platform.merchant];
  const findings = [
    ...found,
    await finding('secret keys', async () => {
      await provenSecretKeys(database.db, settings.secretKeys);
      return keysFound(await secretKeysInUse(database.db), settings);
    }),
    await finding('merchants', async () => {
      merchants = await chosenMerchants({ database, settings }, null);
      await assertAllRead(database.db, settings);
      return merchants.map(({ merchantNo }) => merchantNo).join(', ');
    }),
  ];
  const files = await finding('published files', async () =>
    publishedFilesCheck({ database, objects: await openObjects(), settings, now }, merchants),
  );
  return { findings: [...findings, files], merchants };
}

/** Throws where a merchant that ought to be read has no token. */
async function assertAllRead(db: Database['db'], settings: Settings): Promise<void> {
  const notRead = await merchantsNotRead(settings, db);
  if (notRead.length > 0) throw new MerchantsNotRead(notReadLines(notRead).join('; '));
}

class MerchantsNotRead extends ExpectedError {
  override readonly name = 'MerchantsNotRead';
  readonly exitCode = EXIT.incomplete;
}

/** Whom a night tells. Places are tried by `alerts test`, as each try is a message. */
function alertsFound({ alerts: { webhooks, mail, pingUrl } }: Settings): string {
  const reported = [
    ...(webhooks.length === 0 ? [] : [`DAYBOOK_ALERT_URL (${webhooks.length})`]),
    ...(mail === null ? [] : ['DAYBOOK_ALERT_MAIL_TO']),
    ...(pingUrl === null ? [] : ['DAYBOOK_PING_URL']),
  ];
  return reported.length === 0
    ? 'no alert is sent when a night fails; set DAYBOOK_ALERT_URL or DAYBOOK_ALERT_MAIL_TO'
    : `${reported.join(', ')} set; \`daybook alerts test\` sends a test alert`;
}

/** A key that cannot be read is found with the settings. */
const signingKeyFound = ({ signingKey }: Settings): string =>
  signingKey === null
    ? 'none, so manifests are not signed; `daybook statements keygen` makes one'
    : `${nameOf(signingKey.id)} signs manifests; its public key is ${publicKeyOf(signingKey)}`;

/** Checks that the settings hold every key that stored data is encrypted with. Throws `UnknownSecretKey`. */
function keysFound(inUse: ReadonlyMap<string, number>, { secretKeys }: Settings): string {
  if (inUse.size === 0) return 'none needed yet';
  const missing = [...inUse].filter(([id]) => !secretKeys.some((key) => key.id === id));
  if (missing.length === 0) return `all there: ${[...inUse.keys()].sort().join(', ')}`;
  const reported = missing.map(([id, count]) => `"${id}" (${count} stored)`).join(', ');
  throw new UnknownSecretKey(`DAYBOOK_SECRET_KEYS lacks ${reported}; put it back after the key in use.`);
}

async function provenZone(
  { reader, settings }: { readonly reader: LedgerReader; readonly settings: Settings },
  merchants: readonly MerchantAccess[],
  zone: string,
  latestMs: number,
  signal: AbortSignal,
): Promise<string> {
  if (settings.platform.timeZoneProof === 'trusted') return `${zone}, ${TIME_ZONE_ON_TRUST}`;
  const today = dayOf(latestMs, zone);
  const window = { beginMs: dayWindow(addDays(today, -PROOF_DAYS_MAX), zone).beginMs, endMs: latestMs };
  for (const merchant of merchants) {
    const { entries } = await reader.page({ merchant, window, pageNum: 1 }, signal);
    if (entries.length === 0) continue;
    await createZoneGate(zone, { clockToleranceS: settings.clockToleranceS }).check(
      (batchNo, asked) =>
        reader.page(
          { merchant, window: asked, pageNum: 1, ...(batchNo === null ? {} : { batchNo }) },
          signal,
        ),
      entries,
      window,
    );
    return `${zone}, proven by an entry of ${merchant.merchantNo}`;
  }
  return `${zone}, not proven: no merchant has an entry in the last ${PROOF_DAYS_MAX} days`;
}

/** The exit code of `doctor`. Wrong settings come before what cannot be reached. */
export const examinedExitCode = (findings: readonly Finding[]): ExitCode =>
  findings.some(({ exitCode }) => exitCode === EXIT.usage)
    ? EXIT.usage
    : (findings.find(({ ok }) => !ok)?.exitCode ?? EXIT.done);
