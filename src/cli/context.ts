/** What every command uses: settings, the open app (`src/run/app.ts`), a signal for Ctrl-C, the log, the audit, and printing (`print.ts`). */
import { readFileSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import type { Command } from 'commander';
import type { Transaction } from 'kysely';
import { pino, type Logger } from 'pino';
import { ownManifest } from '../host/files.ts';
import { isInstalled } from '../host/packages.ts';
import { messageOf, showableText } from '../ledger/text.ts';
import type { ProcessMetrics } from '../web/observation.ts';
import { openApp, openPlatformApp, type App, type PlatformApp } from '../run/app.ts';
import { EXIT, Interrupted, UsageError } from '../run/verdict/exit-codes.ts';
import { loadSettings } from '../settings/load.ts';
import type { LogLevel, Settings, SettingsWithoutPlatform } from '../settings/settings.ts';
import { doneBy, type AuditEvent } from '../store/audit.ts';
import type { Database } from '../store/engine/database.ts';
import type { DB } from '../store/engine/schema.ts';
import { observerOf, tracesOf } from './observed.ts';
import { hasColors, sentenceLog, textLog } from './output/log-lines.ts';
import { createRetryLog } from './output/progress-line.ts';
import { type GlobalFlags, print, type CommandOutput } from './print.ts';
import { timesOf, type Times } from './output/text.ts';

export * from './print.ts';

/** A stopped run ends between two windows. After this time the process ends in any case. */
const STOP_WITHIN_MS = 25_000;

/**
 * The log, on stderr: lines of JSON, or readable text on a terminal. There, a command that `answers` shows no more than
 * warnings, a sentence each, unless a level below `info` is asked for.
 */
export function createLog(given: LogLevel, { answers = true }: { readonly answers?: boolean } = {}): Logger {
  const { isTTY } = process.stderr;
  const isForPerson = isTTY && answers && given !== 'debug';
  const level = isForPerson && given === 'info' ? 'warn' : given;
  const stderr = isForPerson ? sentenceLog(2) : isTTY ? textLog(2, hasColors()) : pino.destination(2);
  return pino({ level, base: null, formatters: { log: showableFields } }, stderr);
}

/** The fields of a log line. Characters that must not reach a terminal are replaced. */
const showableFields = (fields: Record<string, unknown>): Record<string, unknown> =>
  JSON.parse(JSON.stringify(fields), (_, value: unknown) =>
    typeof value === 'string' ? showableText(value) : value,
  ) as Record<string, unknown>;

/** Logs why a stage of a merchant failed, for who searches a fault. */
export const troubleLog =
  (log: Logger) =>
  (merchantNo: string, error: unknown): void =>
    log.debug({ merchantNo, stack: error instanceof Error ? error.stack : String(error) }, 'a stage failed');

/** Aborts on SIGTERM and Ctrl-C. A second one ends the process at once; `STOP_WITHIN_MS` ends it too. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = (): void => {
    if (controller.signal.aborted) process.exit(EXIT.incomplete);
    process.stderr.write('finishing current work; press Ctrl-C again to stop now\n');
    controller.abort(new Interrupted());
    setTimeout(() => process.exit(EXIT.incomplete), STOP_WITHIN_MS).unref();
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
  return controller.signal;
}

const source = (flags: GlobalFlags, otherNames: readonly string[]) => ({
  env: process.env,
  readFile: (path: string) => readFileSync(path, 'utf8'),
  modeOf: (path: string) => statSync(path).mode,
  isInstalled,
  configPath: flags.config,
  otherNames,
});

/** Settings for commands that call the platform. */
export const platformSettings = (command: Command, otherNames: readonly string[] = []): Settings =>
  loadSettings({ ...source(command.optsWithGlobals(), otherNames), needs: ['platform'] });

/** Settings for commands that do not call the platform. */
export const offlineSettings = (
  command: Command,
  otherNames: readonly string[] = [],
): SettingsWithoutPlatform =>
  loadSettings({ ...source(command.optsWithGlobals(), otherNames), needs: [] as const });

/** Opens the database and the object store for `work`, and always closes them. */
export async function withApp<Result>(
  settings: SettingsWithoutPlatform,
  work: (app: App) => Promise<Result>,
): Promise<Result> {
  const app = await openApp(settings, { env: process.env });
  try {
    return await work(app);
  } finally {
    await app.close();
  }
}

/** What the audit says of a command, in addition to its name and who gave it. */
interface Recorded {
  /** What it was done to: a number, or the name of a file. Never a secret or personal data. */
  readonly subject: string | number;
  readonly note?: string | null | undefined;
}

/** What a command works with that reads or changes what is stored. */
export interface StoreWork extends App {
  readonly db: Database['db'];
  readonly settings: SettingsWithoutPlatform;
  readonly times: Times;
  /** Does `act` in one transaction with the audit event that says who did it, and to what (`withBy`). */
  readonly recorded: <Result>(
    about: Recorded,
    act: (trx: Transaction<DB>, at: Date) => Promise<Result>,
  ) => Promise<Result>;
}

/** Opens what is stored for `work`, and prints the output that this returns; null if it has written it already. */
export async function answerWith(
  settings: SettingsWithoutPlatform,
  self: Command,
  work: (store: StoreWork) => Promise<CommandOutput | null>,
): Promise<void> {
  await withApp(settings, async (app) => {
    const { db } = app.database;
    const output = await work({
      ...{ ...app, db, settings, times: timesOf(settings) },
      recorded: ({ subject, note }, act) => {
        const at = app.now();
        return doneBy(db, auditEventOf(self, subject, note), at, (trx) => act(trx, at));
      },
    });
    if (output !== null) print(self, output);
  });
}

/** The same with the command's own settings. */
export const answer = (
  self: Command,
  work: (store: StoreWork) => Promise<CommandOutput | null>,
): Promise<void> => answerWith(offlineSettings(self), self, work);

export interface PlatformWork {
  /** Receives metrics of the work, where they are enabled. */
  readonly metrics?: ProcessMetrics | null;
  /** False: it works until it is stopped, and its log is what a terminal shows of it. */
  readonly answers?: boolean;
  /** Called if the platform's client cannot be opened, as no run can start. */
  readonly onFailure?: ((settings: Settings, error: unknown, log: Logger) => Promise<unknown>) | null;
}

/** Opens the app with the platform's client for `work`, and always closes both. Its work is counted in `metrics`, and traced if OTEL_* is set. */
export async function withPlatform<Result>(
  settings: Settings,
  work: (app: PlatformApp, log: Logger) => Promise<Result>,
  { metrics = null, onFailure = null, answers = true }: PlatformWork = {},
): Promise<Result> {
  const log = createLog(settings.logLevel, { answers });
  const traces = await tracesOf(log, ownManifest().version);
  try {
    const app = await openPlatformApp(settings, {
      env: process.env,
      onRetry: createRetryLog(log),
      onAlertProblem: (error) => log.warn({ problem: messageOf(error) }, 'an alert could not be raised'),
      ...((metrics ?? traces) !== null && { observer: observerOf(metrics, traces) }),
    }).catch(async (error: unknown) => {
      await onFailure?.(settings, error, log);
      throw error;
    });
    try {
      return await work(app, log);
    } finally {
      await app.close();
    }
  } finally {
    await traces?.close();
  }
}

const BY_CHARACTERS_MAX = 100;

export const withBy = (command: Command): Command =>
  command.option('--by <name>', 'who does it, for the record (default: the system’s user)');

/** The audit event of a command that was made with `withBy`. Throws `UsageError` for a `--by` that is not a name. */
export function auditEventOf(command: Command, subject: string | number, note?: string | null): AuditEvent {
  const path: string[] = [];
  for (let at = command; at.parent !== null; at = at.parent) path.unshift(at.name());
  return { by: whoIn(command), command: path.join(' '), subject: String(subject), note: note ?? undefined };
}

function whoIn(command: Command): string {
  const given = command.opts<{ readonly by?: string }>().by?.trim();
  if (given === undefined) return systemUser();
  if (given === '' || given.length > BY_CHARACTERS_MAX || /\p{C}/u.test(given)) {
    throw new UsageError(`--by takes a name of 1 to ${BY_CHARACTERS_MAX} characters in one line.`);
  }
  return given;
}

/** In a container, the process may run under a number that belongs to no user. */
function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}
