/** `alerts`, and the alerts of all commands: sent at the end of a command, or in the background of a long-running one. */
import { messageOf } from '../ledger/text.ts';
import type { Command } from 'commander';
import {
  alertOf,
  listAlerts,
  type DeliveryRow,
  type ListedAlert,
  claimWatchdogCheck,
  raiseCondition,
  type WatchdogCheck,
} from '../alerts/outbox.ts';
import {
  sendDirect,
  deliverDue,
  keepAlerting,
  forgetDirectlySent,
  lastSuccess,
  recordLastSuccess,
  sendDirectOnceADay,
} from '../alerts/deliver.ts';
import { jobs } from '../../jobs/all.ts';
import { ABOUT_NO_MERCHANT, type AlertContent } from '../alerts/alert.ts';
import { targetsOf, type Target } from '../alerts/targets.ts';
import { notStarted, type NotBegun } from '../run/alerts/run-alerts.ts';
import { checkForMissedRun, checkForUnfinishedRuns, oldestMs } from '../run/alerts/watch.ts';
import { clockOf } from '../run/app.ts';
import { EXIT, UsageError } from '../run/verdict/exit-codes.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import { openDatabase } from '../store/engine/connection.ts';
import { EmbeddedDatabaseBusy, isDatabaseTrouble } from '../store/engine/errors.ts';
import { LeaseHeld } from '../store/engine/lease.ts';
import type { DB } from '../store/engine/schema.ts';
import { activeMerchants } from '../store/merchants.ts';
import { answer, offlineSettings, print } from './context.ts';
import { lines, table, type Times } from './output/text.ts';
import type { Kysely } from 'kysely';
import type { Logger } from 'pino';

const SHOWN = 100;

const TEST: AlertContent = {
  kind: 'test',
  title: 'a test',
  sentences: ['This is a test of `daybook alerts test`. Nothing has happened.'],
  todo: 'nothing',
  ...ABOUT_NO_MERCHANT,
};

export function alertsCommand(alerts: Command): void {
  alerts
    .command('test')
    .description('send a test to each target, and say which took it; ends with 4 if one did not')
    .action(async (_flags: object, self: Command) => {
      const settings = offlineSettings(self);
      const targets = targetsOf(settings);
      if (targets.length === 0) {
        throw new UsageError(
          'no alerts are set up: set DAYBOOK_ALERT_URL, or DAYBOOK_ALERT_MAIL_TO, DAYBOOK_ALERT_MAIL_FROM and DAYBOOK_SMTP_URL.',
        );
      }
      const results = await sendDirect(targets, TEST, { now: clockOf(settings) });
      print(self, {
        document: results,
        text: table(
          ['target', '~result'],
          results.map(({ target, problem }) => [target, problem ?? 'took the test']),
        ),
        exitCode: results.every(({ problem }) => problem === null) ? EXIT.done : EXIT.incomplete,
      });
    });
  alerts
    .command('list')
    .description(`alerts and their delivery, newest first, up to ${SHOWN}`)
    .action((_flags: object, self: Command) =>
      answer(self, async ({ db, settings, times }) => {
        const targets = targetsOf(settings);
        const listed = await listAlerts(db, SHOWN);
        return {
          document: listed.map((one) => documentOf(one, targets)),
          text: listed.length === 0 ? 'no alerts yet' : listText(listed, targets, times),
        };
      }),
    );
}

const nameOf = (key: string, targets: readonly Target[]): string =>
  targets.find((target) => target.key === key)?.name ?? `${key.split(' ')[0] ?? ''}, no longer set`;

function documentOf(listed: ListedAlert, targets: readonly Target[]) {
  const { id, kind, title, sentences, todo, merchants, merchantCount, days, since, runId, raisedAt } =
    alertOf(listed);
  return {
    ...{ id, kind, title, sentences, todo, merchants, merchantCount, days, since, runId, raisedAt },
    deliveries: listed.deliveries.map((one) => ({ ...one, target: nameOf(one.target, targets) })),
  };
}

const stateText = ({ state, attempts, problem }: DeliveryRow): string =>
  state === 'sent' || problem === null
    ? state
    : `${state} after ${attempts === 1 ? '1 try' : `${attempts} tries`}: ${problem}`;

const listText = (listed: readonly ListedAlert[], targets: readonly Target[], times: Times): string =>
  lines(
    table(
      ['at', 'kind', '~what', '~to'],
      listed.map((one) => [
        times.at(one.raisedAt),
        one.kind,
        alertOf(one).title,
        one.deliveries
          .map((delivery) => `${nameOf(delivery.target, targets)}: ${stateText(delivery)}`)
          .join('; '),
      ]),
    ),
    times.note,
    listed.length === SHOWN && `only the newest ${SHOWN} are shown`,
  );

/** A command that ends waits this long for receivers. What is left is sent by the next one. */
const AT_END_MS_MAX = 5_000;
const TRY_AT_END_MS_MAX = 4_000;

interface AlertingApp {
  readonly database: { readonly db: Kysely<DB> };
  readonly now: () => Date;
  readonly settings: SettingsWithoutPlatform;
}

function partsOf({ database: { db }, now, settings }: AlertingApp, log: Logger) {
  const targets = targetsOf(settings);
  const onFailed = (failed: object): void => log.warn(failed, 'an alert did not arrive');
  const onFault = (error: unknown): void => log.error({ problem: messageOf(error) }, 'alerts failed');
  return { db, now, targets, keys: targets.map(({ key }) => key), onFailed, onFault };
}

/** Sends what is due, in bounded time. Never rejects, so that it changes the end of no command. */
export async function deliverAtEnd(app: AlertingApp, log: Logger): Promise<void> {
  const { db, now, targets, onFailed, onFault } = partsOf(app, log);
  if (targets.length === 0) return;
  const signal = AbortSignal.timeout(AT_END_MS_MAX);
  await deliverDue({ db, now, targets, onFailed, signal, timeoutMs: TRY_AT_END_MS_MAX }).catch(onFault);
}

/** The merchants whose ledgers are read: the active ones in the database, and the one in the settings. */
async function readMerchants(
  db: Kysely<DB>,
  { platform }: Pick<SettingsWithoutPlatform, 'platform'>,
): Promise<string[]> {
  const stored = await activeMerchants(db);
  const own = platform?.merchant ?? null;
  return [...new Set([...stored, ...(own === null ? [] : [own.merchantNo])])].sort();
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
  const own = platform?.merchant?.merchantNo;
  const at = now();
  const raising = { targets, now: at, zone: platform?.timeZone ?? schedule.zone };
  if (await isMine('nights'))
    await checkForMissedRun(db, own === undefined ? [] : [own], {
      ...raising,
      maxAgeMs: maxAgeMs ?? oldestMs(schedule.nightly, schedule.zone, at),
    });
  if (!seesRuns || !(await isMine('runs'))) return;
  const named = (isLedger: boolean): string[] =>
    jobs.filter((job) => job.isLedger === isLedger).map(({ name }) => name);
  await checkForUnfinishedRuns(db, {
    ...{ ...raising, ledgerJobs: named(true), otherJobs: named(false) },
    merchants: () => readMerchants(db, settings),
  });
}

/**
 * Sends alerts and runs `check` in the background of `work`, and sends once more at its end. Without alert targets, it
 * only works. `check` raises alerts of the process itself.
 */
export async function withAlerting<Result>(
  app: AlertingApp,
  log: Logger,
  work: () => Promise<Result>,
  check: () => Promise<unknown> = () => runWatchdog(app),
): Promise<Result> {
  const { db, now, targets, onFailed, onFault } = partsOf(app, log);
  if (targets.length === 0) return work();
  const stop = new AbortController();
  const { signal } = stop;
  const kept = keepAlerting({
    // The last delivery is bounded, as the process is stopping.
    deliver: () =>
      signal.aborted ? deliverAtEnd(app, log) : deliverDue({ db, now, targets, onFailed, signal }),
    runWatchdog: check,
    onFault,
    signal,
  });
  try {
    return await work();
  } finally {
    stop.abort();
    await kept;
  }
}

/**
 * Reports that something could not start, through the outbox if the database works, else directly and at most once a
 * day; nothing where another process is at work and runs succeed. Returns whether it is reported or need not be.
 * Never rejects.
 */
export async function reportNotStarted(
  settings: SettingsWithoutPlatform,
  error: unknown,
  log: Logger,
  what: NotBegun = 'night',
): Promise<boolean> {
  const targets = targetsOf(settings);
  if (targets.length === 0 || error instanceof LeaseHeld) return true;
  const now = clockOf(settings);
  if (error instanceof EmbeddedDatabaseBusy && !(await isRunMissed(settings, now()))) return true;
  const { condition, content } = notStarted(error, what);
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
  return now.getTime() - lastGood.getTime() > oldestMs(schedule.nightly, schedule.zone, now);
}

/**
 * Reports the error that ended a run started in this app, unless reported as the end of its run, or another run is at
 * work. Never rejects.
 */
export async function reportThrown(app: AlertingApp, error: unknown, log: Logger): Promise<void> {
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
    ...{ dataDir: settings.dataDir, now: clockOf(settings), timeoutMs: TRY_AT_END_MS_MAX },
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
