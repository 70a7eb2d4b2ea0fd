/** Commands for who keeps an installation: `doctor`, `migrate`, `prune` and `audit`. */
import { queueOf } from '../run/work-queue.ts';
import { listCloses } from '../months/stored.ts';
import type { Command } from 'commander';
import { addDays, dayOf } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { openObjectStore } from '../objects/open.ts';
import { clockOf, openPlatform } from '../run/app.ts';
import { examine, examinedExitCode, finding, type Finding } from '../run/doctor.ts';
import { UsageError } from '../run/verdict/exit-codes.ts';
import type { Settings, SettingsWithoutPlatform } from '../settings/settings.ts';
import { type AuditRow, listAuditEvents, recordAuditEvent } from '../store/audit.ts';
import { openDatabase } from '../store/engine/connection.ts';
import type { Database } from '../store/engine/database.ts';
import { assertMigrated, laterMigrations, migrate } from '../store/engine/migrations.ts';
import { MIGRATION_WAITS } from '../store/engine/retry.ts';
import type { MonthClose } from '../months/closes.ts';
import { PRUNE_KEEPS_DAYS, prunableRows, pruneRows, type Pruned } from '../store/prune.ts';
import {
  answer,
  auditEventOf,
  createLog,
  offlineSettings,
  platformSettings,
  print,
  stopSignal,
  type CommandOutput,
  withBy,
} from './context.ts';
import { dayFlag } from './flags.ts';
import { createRetryLog } from './output/progress-line.ts';
import { counted, lines, listTable, table } from './output/text.ts';
import { jobs } from '../../jobs/all.ts';
import { scheduledJobs } from '../run/schedule/job.ts';

export function doctorCommand(command: Command): void {
  command.action(async (_flags: object, self: Command) => {
    const findings = await findingsOf(self);
    print(self, {
      document: findings,
      text: lines(...findings.map(({ what, ok, detail }) => `${ok ? 'ok  ' : 'FIX '}  ${what}: ${detail}`)),
      exitCode: examinedExitCode(findings),
    });
  });
}

async function findingsOf(self: Command): Promise<Finding[]> {
  let settings: Settings | undefined;
  const found = await finding('settings', () => {
    settings = platformSettings(self);
    const unchecked = settings.allowInsecure.includes('certificates')
      ? '; NODE_TLS_REJECT_UNAUTHORIZED=0 is allowed, so certificates may go UNCHECKED'
      : '';
    const openly = settings.allowInsecure.includes('alerts')
      ? '; alerts may go by plain http and by mail without TLS, allowed by DAYBOOK_ALLOW_INSECURE'
      : '';
    return Promise.resolve(
      `every value can be used; business days are of ${settings.platform.timeZone}${unchecked}${openly}`,
    );
  });
  return settings === undefined ? [found] : [found, ...(await examined(settings))];
}

async function examined(settings: Settings): Promise<Finding[]> {
  const log = createLog(settings.logLevel);
  const platform = openPlatform(settings, { onRetry: createRetryLog(log) });
  try {
    const patient = {
      settings,
      jobs: scheduledJobs(jobs, settings),
      openDatabase: () => openDatabase(settings),
      openObjects: () => openObjectStore({ ...settings, env: process.env }),
      reader: platform.reader,
      now: clockOf(settings),
    };
    return await examine(patient, stopSignal());
  } finally {
    await platform.close();
  }
}

export function migrateCommand(command: Command): void {
  command
    .addHelpText(
      'after',
      '\nWith DAYBOOK_WORKERS=queue it also makes the tables of the queue; run the files of sql/roles (all but migrate.sql) again afterwards.',
    )
    .action((_flags: object, self: Command) => {
      const settings = offlineSettings(self);
      return answerFromDatabase(self, settings, async (db) => {
        const applied = [...(await migrate(db)), ...((await queueOf(settings)?.install(db)) ?? [])];
        const later = await laterMigrations(db);
        const nothing =
          later.length === 0
            ? 'the database is at this version'
            : `nothing to apply: the database has ${later.join(', ')} of a later version, and this one may run with it`;
        const text =
          applied.length === 0 ? nothing : lines('applied:', ...applied.map((name) => `  ${name}`));
        return { document: { applied }, text };
      });
    });
}

/** Opens the database alone for `work`, with the long waits of a migration, and prints the output that this returns. */
async function answerFromDatabase(
  self: Command,
  settings: SettingsWithoutPlatform,
  work: (db: Database['db']) => Promise<CommandOutput>,
): Promise<void> {
  const database = await openDatabase({ ...settings, waits: MIGRATION_WAITS });
  try {
    print(self, await work(database.db));
  } finally {
    await database.close();
  }
}

export function pruneCommand(command: Command): void {
  withBy(command)
    .requiredOption('--before <day>', 'only what ended before this day began (UTC), YYYY-MM-DD')
    .option('--yes', 'delete them; only a backup can restore them')
    .addHelpText(
      'after',
      `\nThe last ${PRUNE_KEEPS_DAYS} days always stay. Never deleted, however old: entries and their earlier versions, certificates,\n` +
        'account days, breaks and what was done about them, statements, summaries and manifests, what was read back\n' +
        'from the store, notices, runs, merchants, applications, beneficiaries, and the audit. So every published day\n' +
        'can be proven, repaired and verified again.\n\n' +
        'Examples:\n  daybook prune --before 2025-01-01\n  daybook prune --before 2025-01-01 --yes --by "Ada"',
    )
    .action(({ before: text, yes = false }: PruneFlags, self: Command) => {
      const settings = offlineSettings(self);
      const now = earlier(clockOf(settings)(), new Date());
      const before = prunableDay(text, now);
      const asked = { before: new Date(`${before}T00:00:00Z`), now };
      return answerFromDatabase(self, settings, async (db) => {
        await assertMigrated(db);
        // Recorded first: the work takes several transactions and may be stopped between two of them.
        if (yes) await recordAuditEvent(db, auditEventOf(self, before), now);
        const rows = yes ? await pruneRows(db, asked) : await prunableRows(db, asked);
        return { document: { before, deleted: yes, rows }, text: prunedText(rows, before, yes) };
      });
    });
}

interface PruneFlags {
  readonly before: string;
  readonly yes?: boolean;
}

/** A rehearsed time (DAYBOOK_NOW) may lie ahead. It makes nothing older than it is. */
const earlier = (a: Date, b: Date): Date => (a < b ? a : b);

/** Throws `UsageError` or `InvalidDay` for a day before which nothing may be deleted. */
function prunableDay(text: string, now: Date): BusinessDay {
  const day = dayFlag('--before', text);
  const latest = addDays(dayOf(now.getTime(), 'UTC'), -PRUNE_KEEPS_DAYS);
  if (day <= latest) return day;
  throw new UsageError(
    `--before ${day} is too young: the last ${PRUNE_KEEPS_DAYS} days stay, so ask for ${latest} or an earlier day.`,
  );
}

function prunedText(rows: readonly Pruned[], before: BusinessDay, deleted: boolean): string {
  const all = rows.reduce((sum, one) => sum + one.rows, 0);
  const found = rows.filter((one) => one.rows > 0);
  if (all === 0) return `nothing that ended before ${before} may go`;
  return lines(
    table(
      ['>rows', 'table', '~what'],
      found.map((one) => [one.rows.toLocaleString('en'), one.table, one.what]),
    ),
    deleted
      ? `\n${counted(all, 'row')} deleted, all of which ended before ${before}`
      : `\n${counted(all, 'row')} may go, and nothing was deleted: \`daybook prune --before ${before} --yes\` deletes them`,
  );
}

const AUDIT_ROWS_MAX = 1_000;

export function auditCommand(command: Command): void {
  command.action((_flags: object, self: Command) =>
    answer(self, async ({ db, times }) => {
      const rows = await listAuditEvents(db, AUDIT_ROWS_MAX);
      const closes = await listCloses(db, { merchants: null });
      const closeOf = new Map(
        closes.map((one) => [closeName(`${one.merchantNo} ${one.month}`, one.closedAt), one]),
      );
      const listed = listTable(rows, {
        at: (row) => times.at(row.at),
        by: (row) => row.by_whom,
        // Who is named in `by` is the word of the login, which is shown where it was not the same each time.
        ...(isOfSeveral(rows.map(({ login }) => login)) && { login: (row: AuditRow) => row.login }),
        did: (row) => row.command,
        '~with': (row) => row.subject,
        '~note': (row) => noteText(row.note, closeOf.get(closeName(row.subject, row.at))),
      });
      const cut = rows.length === AUDIT_ROWS_MAX && `only the newest ${AUDIT_ROWS_MAX} are shown`;
      return {
        document: rows.map(({ at, by_whom: by, login, command, subject, note }) => ({
          ...{ at, by, login, command, subject, note },
        })),
        text: rows.length === 0 ? 'nothing on record yet' : lines(listed, times.note, cut),
      };
    }),
  );
}

const isOfSeveral = (logins: readonly (string | null)[]): boolean => new Set(logins).size > 1;

const closeName = (subject: string, at: Date): string => `${subject} ${at.getTime()}`;

/** The note of an audit event, and of a close also the reason for closing with open days. */
const noteText = (note: string | null, close: MonthClose | undefined): string | null =>
  close?.despite == null
    ? note
    : `despite ${counted(close.openDays, 'open account day')}: ${close.despite}` +
      (note === null ? '' : `; note: ${note}`);
