/** The alerts of all commands: sent at the end of a command, or in the background of a long-running one. */
import type { Logger } from 'pino';
import { jobs } from '../../../jobs/all.ts';
import { messageOf } from '../../ledger/text.ts';
import type { AlertContent, AlertingApp, AlertingOptions, Alerts, Purpose } from '../../run/alerts.ts';
import { clockOf } from '../../run/app.ts';
import { ownMerchants, readMerchants } from '../../run/chosen-merchants.ts';
import { oldestMs } from '../../run/schedule/due.ts';
import { scheduledJobs } from '../../run/schedule/job.ts';
import type { SettingsWithoutPlatform } from '../../settings/settings.ts';
import { openDatabase } from '../../store/engine/connection.ts';
import { EmbeddedDatabaseBusy, isDatabaseTrouble } from '../../store/engine/errors.ts';
import { LeaseHeld } from '../../store/engine/lease.ts';
import {
  AT_END_MS_MAX,
  deliverDue,
  directlySent,
  forgetDirectlySent,
  lastSuccess,
  recordLastSuccess,
  sendDirectOnceADay,
  TRY_AT_END_MS_MAX,
  whileDelivering,
} from './deliver.ts';
import { NOT_STARTED, notStarted } from './nights.ts';
import {
  claimWatchdogCheck,
  endConditions,
  raiseCondition,
  troublesOf,
  undelivered,
  type WatchdogCheck,
} from './outbox.ts';
import { openRunAlerts } from './run-end.ts';
import { targetsOf } from './targets.ts';
import { checkForMissedRun, checkForUnfinishedRuns, checkForUnmatched } from './watch.ts';

function partsOf({ database: { db }, now, settings }: AlertingApp, log: Logger) {
  const targets = targetsOf(settings);
  const onFailed = (failed: object): void => log.warn(failed, 'an alert did not arrive');
  const onFault = (error: unknown): void => log.error({ problem: messageOf(error) }, 'alerts failed');
  return { db, now, targets, keys: targets.map(({ key }) => key), onFailed, onFault };
}

/** Sends what is due, in bounded time. Never rejects, so that it changes the end of no command. */
async function deliverAtEnd(app: AlertingApp, log: Logger): Promise<void> {
  const { db, now, targets, onFailed, onFault } = partsOf(app, log);
  if (targets.length === 0) return;
  const atEnd = { signal: AbortSignal.timeout(AT_END_MS_MAX), timeoutMs: TRY_AT_END_MS_MAX };
  await deliverDue({ db, now, targets, onFailed, ...atEnd }).catch(onFault);
}

/** Checks whatever other processes do, and sends what is due. */
async function checkNow(app: AlertingApp, log: Logger, maxAgeMs: number | null): Promise<void> {
  await runWatchdog(app, { maxAgeMs, always: true });
  await deliverAtEnd(app, log);
}

/** One of all processes checks at this interval: a check queries every merchant, and runs are hours apart. */
const CHECK_EVERY_MS = 5 * 60_000;

interface WatchdogOptions {
  readonly maxAgeMs?: number | null;
  readonly seesRuns?: boolean;
  /** Checks regardless of other processes: a person or cron asked for it. */
  readonly always?: boolean;
}

export async function runWatchdog(
  { database: { db }, now, settings }: AlertingApp,
  { maxAgeMs, seesRuns = true, always = false }: WatchdogOptions = {},
): Promise<void> {
  // A process that sees no runs may not know when they are due, so those that see them go first.
  const everyMs = seesRuns ? CHECK_EVERY_MS : 2 * CHECK_EVERY_MS;
  const isMine = async (what: WatchdogCheck): Promise<boolean> =>
    always || claimWatchdogCheck(db, what, everyMs);
  const targets = targetsOf(settings).map(({ key }) => key);
  if (targets.length === 0) return;
  const { schedule, platform } = settings;
  const at = now();
  const raising = { targets, now: at, zone: platform?.timeZone ?? schedule.zone };
  if (await isMine('nights')) {
    await checkForUnmatched(db, { ...raising, maxDays: settings.books.alertDays });
    await checkForMissedRun(db, ownMerchants(settings), {
      ...raising,
      maxAgeMs: maxAgeMs ?? oldestMs(schedule, at),
    });
  }
  if (!seesRuns || !(await isMine('runs'))) return;
  const due = new Set(scheduledJobs(jobs, settings).map(({ job }) => job));
  const others = jobs.filter(({ isLedger }) => !isLedger).map(({ name }) => name);
  await checkForUnfinishedRuns(db, {
    ...raising,
    ledgerJobs: jobs.filter(({ isLedger }) => isLedger).map(({ name }) => name),
    otherJobs: others.filter((job) => due.has(job)),
    jobsOff: others.filter((job) => !due.has(job)),
    merchants: () => readMerchants(db, settings),
  });
}

/** What a process of this purpose checks in the background of its work. */
function checksOf(
  app: AlertingApp,
  keys: readonly string[],
  { purpose = 'night', check }: AlertingOptions,
): () => Promise<void> {
  const { database, now } = app;
  let hasBegun = false;
  return async () => {
    const troubles = troublesOf(database.db, { targets: keys, now: now() });
    if (purpose !== 'night' && !hasBegun) await endNotStarted(app, keys, NOT_STARTED[purpose]);
    hasBegun = true;
    await check?.(troubles);
    await runWatchdog(app, { seesRuns: purpose !== 'serve' });
  };
}

/** A process has begun, after one that could not. */
async function endNotStarted(
  { database: { db }, now, settings: { dataDir } }: AlertingApp,
  targets: readonly string[],
  condition: string,
): Promise<void> {
  const direct = await directlySent(dataDir);
  await db
    .transaction()
    .execute((trx) => endConditions(trx, [condition], { targets, now: now() }, { direct }));
  if (direct.has(condition)) await forgetDirectlySent(dataDir).catch(() => undefined);
}

/** As `Alerts` says. Without alert targets, it only works. */
async function withAlerting<Result>(
  app: AlertingApp,
  log: Logger,
  work: () => Promise<Result>,
  options: AlertingOptions = {},
): Promise<Result> {
  const { db, now, targets, keys, onFailed, onFault } = partsOf(app, log);
  if (targets.length === 0) return work();
  return whileDelivering(
    {
      deliver: (signal) => deliverDue({ db, now, targets, onFailed, signal }),
      runWatchdog: checksOf(app, keys, options),
      onFault,
    },
    work,
  );
}

/**
 * Reports that something could not start, through the outbox if the database works, else directly and at most once a
 * day; nothing where another process is at work and runs succeed. Returns whether it is reported or need not be.
 * Never rejects.
 */
async function reportNotStarted(
  settings: SettingsWithoutPlatform,
  error: unknown,
  log: Logger,
  purpose: Purpose = 'night',
): Promise<boolean> {
  const targets = targetsOf(settings);
  if (targets.length === 0 || error instanceof LeaseHeld) return true;
  const now = clockOf(settings);
  if (error instanceof EmbeddedDatabaseBusy && !(await isRunMissed(settings, now()))) return true;
  const { condition, content } = notStarted(error, purpose);
  try {
    if (isDatabaseTrouble(error)) throw error;
    const database = await openDatabase(settings);
    try {
      const raising = { targets: targets.map(({ key }) => key), now: now() };
      await database.db.transaction().execute((trx) => raiseCondition(trx, condition, content, raising));
      await deliverAtEnd({ database, now, settings }, log);
      return true;
    } finally {
      await database.close();
    }
  } catch {
    return reportDirectly(settings, content, log);
  }
}

/**
 * Whether the last successful nightly run is too old, by the data folder: the only source while another process has the
 * embedded database. Without any, counts from now on.
 */
async function isRunMissed({ dataDir, schedule }: SettingsWithoutPlatform, now: Date): Promise<boolean> {
  const lastGood = await lastSuccess(dataDir);
  if (lastGood === null) {
    return recordLastSuccess(dataDir, now).then(
      () => false,
      () => true,
    );
  }
  return now.getTime() - lastGood.getTime() > oldestMs(schedule, now);
}

/**
 * Reports the error that ended a run started in this app, unless reported as the end of its run, or another run is at
 * work. Never rejects.
 */
async function reportThrown(app: AlertingApp, error: unknown, log: Logger): Promise<void> {
  const { db, now, keys } = partsOf(app, log);
  if (keys.length === 0 || error instanceof LeaseHeld) return;
  const { condition, content } = notStarted(error);
  const raising = { targets: keys, now: now() };
  await db
    .transaction()
    .execute((trx) => raiseCondition(trx, condition, content, raising))
    .catch(() => reportDirectly(app.settings, content, log));
}

/** Reports without the database, at most once a day. Returns whether a target took it now. Never rejects. */
async function reportDirectly(
  settings: SettingsWithoutPlatform,
  content: AlertContent,
  log: Logger,
): Promise<boolean> {
  const results = await sendDirectOnceADay(targetsOf(settings), content, {
    ...{ dataDir: settings.dataDir, now: clockOf(settings) },
  });
  for (const { target, problem } of results)
    if (problem !== null) log.warn({ target, problem }, 'an alert did not arrive');
  return results.some(({ problem }) => problem === null);
}

/** After so many ticks in a row that failed, a schedule that cannot do its work says so. They are a minute apart. */
const TICKS_FAILED_MAX = 5;
const REPORT_AGAIN_MS = 24 * 3_600_000;

/** Reports that the schedule cannot query due jobs: at each further tick, until a target accepts it. */
export function createFailingTicks(
  settings: SettingsWithoutPlatform,
  log: Logger,
  clock = (): number => performance.now(),
) {
  let inARow = 0;
  let reportedMs = -Infinity;
  return {
    worked: (): void => {
      if (inARow >= TICKS_FAILED_MAX) void forgetDirectlySent(settings.dataDir).catch(() => undefined);
      inARow = 0;
      reportedMs = -Infinity;
    },
    /** Resolves once it is reported, or need not be. Never rejects. */
    failed: async (error: unknown): Promise<void> => {
      inARow += 1;
      const nowMs = clock();
      if (inARow < TICKS_FAILED_MAX || nowMs - reportedMs < REPORT_AGAIN_MS) return;
      reportedMs = nowMs;
      if (!(await reportNotStarted(settings, error, log))) reportedMs = -Infinity;
    },
  };
}

export const alertsOfCommands: Alerts = {
  ofRuns: openRunAlerts,
  deliverAtEnd,
  checkNow,
  withAlerting,
  reportNotStarted,
  reportThrown,
  createFailingTicks,
  undelivered,
};
