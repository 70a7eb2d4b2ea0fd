/**
 * `notifications`: lists what the platform pushed and what became of it; with `process`, `show`, `apply` and
 * `resolve`.
 */
import type { Command } from 'commander';
import { applyNotification, type AppliedNotification } from '../notifications/apply.ts';
import { processNotifications } from '../notifications/process.ts';
import { EXIT, UsageError, type ExitCode } from '../run/verdict/exit-codes.ts';
import {
  countNotifications,
  listNotifications,
  NEEDS_PERSON,
  notificationBody,
  resolveNotification,
  type NotificationRow,
} from '../store/notifications/notifications.ts';
import { freeSpace } from '../store/engine/database.ts';
import { adoptSecretKey } from '../store/secrets/key-check.ts';
import { offlineSettings, stopSignal, print, withApp, auditEventOf, doneBy, withBy } from './context.ts';
import { counted, lines, table } from './output/text.ts';
import { timesOf, type Times } from './output/times.ts';

/** Most rows listed, the newest first: there may be many forged posts. */
const ROWS_MAX = 1_000;

const needsPerson = ({ outcome, resolvedAt }: NotificationRow): boolean =>
  outcome !== null && NEEDS_PERSON.includes(outcome) && resolvedAt === null;

const exitCodeFor = (rows: readonly NotificationRow[]): ExitCode =>
  rows.some(needsPerson) ? EXIT.needsPerson : EXIT.done;

export function addNotificationsCommand(program: Command): void {
  const notifications = program
    .command('notifications')
    .description('pushed results that need attention or are not processed yet, newest first')
    .option('--all', `every one, up to ${ROWS_MAX}`)
    .addHelpText(
      'after',
      '\nExamples:\n  daybook notifications\n  daybook notifications resolve 7 --note "asked the platform, case 4711"',
    )
    .action(async ({ all }: { readonly all?: boolean }, self: Command) => {
      const settings = offlineSettings(self);
      await withApp(settings, async ({ database }) => {
        const rows = await listNotifications(database.db, { all: all ?? false, limit: ROWS_MAX });
        const counts = await countNotifications(database.db);
        print(self, {
          document: { counts, notifications: rows },
          text: listText(rows, counts, timesOf(settings)),
          exitCode: exitCodeFor(rows),
        });
      });
    });
  addProcessCommand(notifications);
  addShowCommand(notifications);
  addApplyCommand(notifications);
  addResolveCommand(notifications);
}

function addProcessCommand(notifications: Command): void {
  notifications
    .command('process')
    .description('process received notifications once, as `daybook serve` does continuously')
    .action(async (_flags: object, self: Command) => {
      const settings = offlineSettings(self);
      await withApp(settings, async ({ database, now }) => {
        const { db } = database;
        const { secretKeys } = settings;
        await adoptSecretKey(db, secretKeys);
        const report = await processNotifications({
          db,
          secretKeys,
          now,
          signal: stopSignal(),
          freeSpace: () => freeSpace(database, ['notification']),
        });
        const found = Object.entries(report.outcomes);
        print(self, {
          document: report,
          text: lines(
            found.length === 0 && report.left.length === 0 && 'nothing to process',
            ...found.map(([outcome, count]) => `${count} ${outcome}`),
            report.dropped > 0 && `${report.dropped} old ones of unknown paths dropped`,
            ...report.left.map(({ number, problem }) => `${number} is left: ${problem}`),
          ),
          exitCode: report.left.length > 0 ? EXIT.incomplete : processedExit(Object.keys(report.outcomes)),
        });
      });
    });
}

const processedExit = (outcomes: readonly string[]): ExitCode =>
  outcomes.some((outcome) => NEEDS_PERSON.some((one) => one === outcome)) ? EXIT.needsPerson : EXIT.done;

function addShowCommand(notifications: Command): void {
  withBy(notifications.command('show'))
    .argument('<number>', 'the notification’s number')
    .requiredOption('--reveal', 'print it decrypted: it may hold a token or personal data')
    .description('print a pushed notification as received')
    .action(async (text: string, _flags: object, self: Command) => {
      const number = numberOf(text);
      const settings = offlineSettings(self);
      await withApp(settings, async ({ database, now }) => {
        const body = await doneBy(database.db, auditEventOf(self, number), now(), async (trx) => {
          const found = await notificationBody(trx, settings.secretKeys, number);
          if (found === undefined) throw unknownNumber(text);
          if (found !== null) return found;
          throw new UsageError(`what notification ${text} carried was forgotten with its application.`);
        });
        print(self, { document: { number, body }, text: body });
      });
    });
}

function addApplyCommand(notifications: Command): void {
  withBy(notifications.command('apply'))
    .argument('<number>', 'a notification that needs a person')
    .option('--note <text>', 'how it is known to be the result; kept with it')
    .description(
      'apply a notification that changed nothing, once the platform has confirmed that it is the result',
    )
    .addHelpText(
      'after',
      '\nIt replaces any earlier result. The token of an approval is stored encrypted, in place of an earlier one of the ' +
        '\nsame merchant; no copying needed.\n\nExample:\n  daybook notifications apply 7 --note "asked the platform, case 4711"',
    )
    .action(async (text: string, { note }: { readonly note?: string }, self: Command) => {
      const number = numberOf(text);
      if (note?.trim() === '') throw new UsageError('--note is empty; say how it is known.');
      const { secretKeys } = offlineSettings(self);
      await withApp(offlineSettings(self), async ({ database: { db }, now }) => {
        const said = { number, note: note?.trim() ?? null };
        const at = now();
        await adoptSecretKey(db, secretKeys);
        const applied = await doneBy(db, auditEventOf(self, number, said.note ?? undefined), at, (trx) =>
          applyNotification(trx, said, { secretKeys, now: at }),
        );
        print(self, { document: { ...applied, note: said.note }, text: appliedText(applied) });
      });
    });
}

const appliedText = ({ number, kind, merOrderNo, standing, merchantNo }: AppliedNotification): string =>
  lines(
    `notification ${number} is applied: the ${kind === 'onboarding' ? 'application' : 'registration'} with merOrderNo ` +
      `${merOrderNo} is ${standing}`,
    merchantNo !== null && `merchant ${merchantNo} is known, its token stored encrypted`,
  );

function addResolveCommand(notifications: Command): void {
  withBy(notifications.command('resolve'))
    .argument('<number>', 'the notification’s number')
    .requiredOption('--note <text>', 'what was done about it; kept with it')
    .description('close a notification that a person has cleared up; it changes nothing else')
    .action(async (text: string, { note }: { readonly note: string }, self: Command) => {
      const number = numberOf(text);
      if (note.trim() === '') throw new UsageError('--note is empty; say what was done about it.');
      await withApp(offlineSettings(self), async ({ database, now }) => {
        await doneBy(database.db, auditEventOf(self, number, note.trim()), now(), async (trx) => {
          if (await resolveNotification(trx, { number, note: note.trim(), now: now() })) return;
          throw new UsageError(
            `no notification ${text} needs a person; \`daybook notifications\` lists those that do.`,
          );
        });
        print(self, { document: { number, note: note.trim() }, text: `notification ${text} is resolved` });
      });
    });
}

function numberOf(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw unknownNumber(text);
  return Number(text);
}

const unknownNumber = (text: string): UsageError =>
  new UsageError(`${text} is no notification’s number; \`daybook notifications --all\` lists them.`);

function listText(
  rows: readonly NotificationRow[],
  counts: Readonly<Record<string, number>>,
  times: Times,
): string {
  const all = Object.entries(counts).map(([outcome, count]) => `${count} ${outcome}`);
  return lines(
    rows.length === 0
      ? 'no notification needs a person'
      : table(
          ['>no', '?kind', 'merOrderNo', 'received', '~outcome', '~why'],
          rows.map((row) => [
            row.number,
            row.kind,
            row.merOrderNo,
            times.at(row.receivedAt),
            row.outcome ?? 'not processed yet',
            row.resolvedAt === null ? row.reason : `resolved: ${row.note ?? ''}`,
          ]),
        ),
    rows.length > 0 && times.note,
    rows.length === ROWS_MAX && `only the newest ${counted(ROWS_MAX, 'notification')} are shown`,
    all.length > 0 && `kept in all: ${all.join(', ')}`,
  );
}
