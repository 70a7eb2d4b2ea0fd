/**
 * Checks everything a run needs, one thing after the other, and says how to correct what fails. A failure does not
 * end it.
 */
import { addDays, dayOf, dayWindow, daysFromTo } from '../ledger/business-day.ts';
import { type ObjectStore, ObjectStoreUnreachable } from '../objects/object-store.ts';
import type { LedgerReader, MerchantAccess } from '../platform/ledger-reader.ts';
import type { Settings } from '../settings/settings.ts';
import { figuresUnlikeEntries } from '../store/account-days.ts';
import { secretKeysInUse, provenSecretKeys } from '../store/secrets/key-check.ts';
import type { Database } from '../store/engine/database.ts';
import { MigrationsPending } from '../store/engine/errors.ts';
import { migrate, pendingMigrations } from '../store/engine/migrations.ts';
import { protectionOf } from '../store/engine/connection.ts';
import { UnknownSecretKey } from '../store/secrets/secrets.ts';
import { createPlatformClock, type PlatformClock } from '../sync/clocks.ts';
import { createZoneGate } from '../sync/zone-gate.ts';
import { chosenMerchants, merchantsNotRead } from './chosen-merchants.ts';
import { ExpectedError } from '../ledger/ending.ts';
import { counted } from '../ledger/text.ts';
import { notReadLines } from './status-text.ts';
import { nextTime, type ScheduledJob } from './schedule/due.ts';
import { clockNews, SET_THE_CLOCK } from './verdict/merchant-reasons.ts';
import { exitCodeOf, listed, type ExitCode, EXIT } from './verdict/exit-codes.ts';
import { wallTime } from '../ledger/wall-time.ts';
import { TIME_ZONE_ON_TRUST } from './report.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { compareFiles, type DamagedFile } from '../statements/compare-files.ts';
import { StatementDamaged } from '../statements/fetch.ts';
import { storeOwner } from '../statements/store-owner.ts';
import { publishedSpan } from '../store/statements/stored-files.ts';

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
    ...(settings.statementMail === null
      ? []
      : [await finding('statements by mail', () => Promise.resolve(mailFound(settings.statementMail!)))]),
  ];
  const ofDatabase = await examineDatabase(patient);
  findings.push(...ofDatabase.findings);
  findings.push(
    await finding('object store', async () => {
      const objects = await openObjects();
      await objects.check();
      const { allowInsecure, statementsUrl } = settings;
      const isAllowed = allowInsecure.includes('statements') && statementsUrl.startsWith('s3:');
      return objects.location + (isAllowed ? ', plain http allowed by DAYBOOK_ALLOW_INSECURE' : '');
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
  if (answered.length > 0)
    findings.push(await finding('time zone', () => provenZone(patient, answered, latestMs, signal)));
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
    return 'PostgreSQL, its certificate NOT checked, as DAYBOOK_ALLOW_INSECURE allows; sslmode=verify-full in DATABASE_URL checks it';
  }
  return 'PostgreSQL';
}

/** The result if only the settings can be read. */
function withoutTables({ platform }: Settings, found: readonly Finding[]): DatabaseExamined {
  const { exitCode } = found.find(({ ok }) => !ok)!;
  const { merchant } = platform;
  const notRead = 'merchants stored in the database could not be read';
  const own =
    merchant === null
      ? { ok: false, detail: `none in the settings, and ${notRead}: fix the database first`, exitCode }
      : { ok: true, detail: `${merchant.merchantNo}, from the settings; ${notRead}`, exitCode: EXIT.done };
  const findings = [...found, { what: 'merchants', ...own }];
  return { findings, merchants: merchant === null ? [] : [merchant] };
}

async function examineRows(
  patient: Patient,
  database: Database,
  found: readonly Finding[],
): Promise<DatabaseExamined> {
  const { settings, openObjects } = patient;
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
      const notRead = await merchantsNotRead(settings, database.db);
      if (notRead.length > 0) throw new MerchantsNotRead(notReadLines(notRead).join('; '));
      return merchants.map(({ merchantNo }) => merchantNo).join(', ');
    }),
  ];
  const figures = await finding('figures', () => figuresCheck(patient, database, merchants));
  const files = await finding('published files', async () =>
    publishedFilesCheck(patient, database, await openObjects(), merchants),
  );
  return { findings: [...findings, figures, files], merchants };
}

/** Entries in the database are not what a reading stored. */
class EntriesAltered extends ExpectedError {
  override readonly name = 'EntriesAltered';
  readonly exitCode = EXIT.needsPerson;
}

/** Adds up the entries of the days that a nightly run reads. Throws `EntriesAltered`. */
async function figuresCheck(
  { settings, now }: Patient,
  { db }: Database,
  merchants: readonly MerchantAccess[],
): Promise<string> {
  const to = dayOf(now().getTime(), settings.platform.timeZone);
  const from = addDays(to, -settings.resweepDays - 1);
  const unlike = [];
  for (const { merchantNo } of merchants)
    unlike.push(...(await figuresUnlikeEntries(db, merchantNo, { from, to })));
  if (unlike.length === 0) return `those of business days from ${from} on are the sums of their entries`;
  const named = listed(
    unlike,
    ({ merchantNo, currency, day }) => `${merchantNo} ${currency} ${day}`,
    FIGURES_NAMED_MAX,
  );
  const [first] = unlike;
  throw new EntriesAltered(
    `entries were altered in the database after figures were made of them: ${named}; ` +
      `\`daybook run --from ${first!.day} --to ${unlike.at(-1)!.day}\` reads the days again and makes new figures`,
  );
}

/** A merchant that ought to be read has no token. */
class MerchantsNotRead extends ExpectedError {
  override readonly name = 'MerchantsNotRead';
  readonly exitCode = EXIT.incomplete;
}

/** Whom a night tells. Places are tried by `alerts test`, as each try is a message. */
function alertsFound({ alerts: { webhooks, mail, pingUrl } }: Settings): string {
  const reported = [
    webhooks.length === 0 ? [] : `DAYBOOK_ALERT_URL (${webhooks.length})`,
    mail === null ? [] : 'DAYBOOK_ALERT_MAIL_TO',
    pingUrl === null ? [] : 'DAYBOOK_PING_URL',
  ].flat();
  return reported.length === 0
    ? 'no alert is sent when a night fails; set DAYBOOK_ALERT_URL or DAYBOOK_ALERT_MAIL_TO'
    : `${reported.join(', ')} set; \`daybook alerts test\` sends a test alert`;
}

const mailFound = ({ recipients }: NonNullable<Settings['statementMail']>): string =>
  `${counted(recipients.length, 'entry', 'entries')} in DAYBOOK_STATEMENT_MAIL; \`daybook mail send --dry-run\` shows what is due`;

/** A key that cannot be read is found with the settings. */
function signingKeyFound({ signingKey }: Settings): string {
  if (signingKey !== null) return `${signingKey.name} signs manifests; its public key is ${signingKey.text}`;
  return 'none, so manifests are not signed; `daybook statements keygen` makes one';
}

/** Checks that the settings hold every key that stored data is encrypted with. Throws `UnknownSecretKey`. */
function keysFound(inUse: ReadonlyMap<string, number>, { secretKeys }: Settings): string {
  if (inUse.size === 0) return 'none needed yet';
  const missing = [...inUse].filter(([id]) => !secretKeys.some((key) => key.id === id));
  if (missing.length === 0) return `all there: ${[...inUse.keys()].sort().join(', ')}`;
  const reported = missing.map(([id, count]) => `"${id}" (${count} stored)`).join(', ');
  throw new UnknownSecretKey(`DAYBOOK_SECRET_KEYS lacks ${reported}; put it back after the key in use.`);
}

async function provenZone(
  { reader, settings }: Pick<Patient, 'reader' | 'settings'>,
  merchants: readonly MerchantAccess[],
  latestMs: number,
  signal: AbortSignal,
): Promise<string> {
  const zone = settings.platform.timeZone;
  if (settings.platform.timeZoneProof === 'trusted') return `${zone}, ${TIME_ZONE_ON_TRUST}`;
  const today = dayOf(latestMs, zone);
  const window = { beginMs: dayWindow(addDays(today, -PROOF_DAYS_MAX), zone).beginMs, endMs: latestMs };
  for (const merchant of merchants) {
    const { entries } = await reader.page({ merchant, window, pageNum: 1 }, signal);
    if (entries.length === 0) continue;
    const zoneGate = createZoneGate(zone, { clockToleranceS: settings.clockToleranceS });
    const ask = (batchNo: string | null, asked: Window) =>
      reader.page({ merchant, window: asked, pageNum: 1, ...(batchNo !== null && { batchNo }) }, signal);
    await zoneGate.check(ask, entries, window);
    return `${zone}, proven by an entry of ${merchant.merchantNo}`;
  }
  return `${zone}, not proven: no merchant has an entry in the last ${PROOF_DAYS_MAX} days`;
}

/** The exit code of `doctor`. Wrong settings come before what cannot be reached. */
export const examinedExitCode = (findings: readonly Finding[]): ExitCode =>
  findings.some(({ exitCode }) => exitCode === EXIT.usage)
    ? EXIT.usage
    : (findings.find(({ ok }) => !ok)?.exitCode ?? EXIT.done);

const FIGURES_NAMED_MAX = 5;
const FILES_NAMED_MAX = 5;
/** Older days that are checked, of all merchants together. Each takes one listing of the store. */
const HISTORICAL_FILES_SAMPLED = 20;

/** The days that a nightly run compares, and a sample of those before. Throws `StoreOwnedByAnother` and `StatementDamaged`. */
async function publishedFilesCheck(
  { settings, now }: Patient,
  { db }: Database,
  objects: ObjectStore,
  merchants: readonly MerchantAccess[],
): Promise<string> {
  await storeOwner({ db, objects }).catch((error: unknown) => {
    // The check of the store itself reports a store that cannot be reached.
    if (!(error instanceof ObjectStoreUnreachable)) throw error;
  });
  const today = dayOf(now().getTime(), settings.platform.timeZone);
  const fromDay = addDays(today, -settings.resweepDays - 1);
  const lately = merchants.map(({ merchantNo }) => ({ merchantNo, fromDay, toDay: today }));
  const older: typeof lately = [];
  const ofEach = Math.ceil(HISTORICAL_FILES_SAMPLED / Math.max(1, merchants.length));
  for (const { merchantNo } of merchants.slice(0, HISTORICAL_FILES_SAMPLED)) {
    const span = await publishedSpan(db, merchantNo, null);
    if (span === null || span.from >= fromDay) continue;
    for (const day of sampled(daysFromTo(span.from, addDays(fromDay, -1)), ofEach, now()))
      older.push({ merchantNo, fromDay: day, toDay: day });
  }
  let [files, olderFiles] = [0, 0];
  const damaged: DamagedFile[] = [];
  for (const days of [...lately, ...older]) {
    for await (const one of compareFiles({ db, objects, ...days })) {
      if (days.toDay === today) files += one.files;
      else olderFiles += one.files;
      damaged.push(...one.damaged);
    }
  }
  if (damaged.length > 0) {
    const named = listed(damaged, ({ file, damage }) => `${file.key} is ${damage}`, FILES_NAMED_MAX);
    throw new StatementDamaged(`${named}; \`daybook publish --repair\` writes again what can be made again`);
  }
  const sample =
    olderFiles === 0 ? '' : `; ${olderFiles} sampled from earlier days, all present and unaltered`;
  const ofDays = `of business days from ${fromDay} on`;
  return files === 0
    ? `none ${ofDays}${sample}`
    : `${files} files ${ofDays}, all present and unaltered${sample}`;
}

/** Chooses evenly spread days. The choice changes with every minute, so that repeated calls check other days. */
function sampled(days: readonly BusinessDay[], count: number, now: Date): BusinessDay[] {
  if (days.length <= count) return [...days];
  const step = days.length / count;
  const turn = (Math.floor(now.getTime() / 60_000) % Math.ceil(step)) / step;
  return Array.from({ length: count }, (_, at) => days[Math.floor((at + turn) * step) % days.length]!);
}
