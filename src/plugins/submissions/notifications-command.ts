/**
 * `notifications`: lists what the platform pushed and what became of it; with `process`, `show`, `apply` and
 * `resolve`.
 */
import type { Command } from 'commander';
import { EXIT, UsageError, type ExitCode } from '../../run/verdict/exit-codes.ts';
import {
  applyNotification,
  countNotifications,
  listNotifications,
  notificationBody,
  processNotifications,
  readAsOf,
  resolveNotification,
  type AppliedNotification,
  type NotificationRow,
  type ReadAs,
} from './notifications.ts';
import { NEEDS_PERSON } from '../../store/fleet-counts.ts';
import { adoptSecretKey, fingerprintKey } from '../../store/secrets/key-check.ts';
import { answer, stopSignal, withBy } from '../../cli/context.ts';
import { idFlag, textFlag } from '../../cli/flags.ts';
import { counted, line, lines, listTable, type Times } from '../../cli/output/text.ts';

/** Most rows listed, the newest first: there may be many forged posts. */
const ROWS_MAX = 1_000;

const needsPerson = ({ outcome, resolvedAt }: NotificationRow): boolean =>
  resolvedAt === null && NEEDS_PERSON.some((one) => one === outcome);

const exitCodeFor = (rows: readonly NotificationRow[]): ExitCode =>
  rows.some(needsPerson) ? EXIT.needsPerson : EXIT.done;

export function notificationsCommand(notifications: Command): void {
  notifications
    .option('--all', `every one, up to ${ROWS_MAX}`)
    .addHelpText(
      'after',
      '\nExamples:\n  daybook notifications\n  daybook notifications resolve 7 --note "asked the platform, case 4711"',
    )
    .action(({ all = false }: { readonly all?: boolean }, self: Command) =>
      answer(self, async ({ db, times }) => {
        const rows = await listNotifications(db, { all, limit: ROWS_MAX });
        const counts = await countNotifications(db);
        return {
          document: { counts, notifications: rows },
          text: listText(rows, counts, times),
          exitCode: exitCodeFor(rows),
        };
      }),
    );
  addProcessCommand(notifications);
  addShowCommand(notifications);
  addApplyCommand(notifications);
  addResolveCommand(notifications);
}

function addProcessCommand(notifications: Command): void {
  notifications
    .command('process')
    .description('process received notifications once, as `daybook serve` does continuously')
    .action((_flags: object, self: Command) =>
      answer(self, async ({ db, now, settings: { secretKeys } }) => {
        await adoptSecretKey(db, secretKeys);
        const report = await processNotifications({ db, secretKeys, now, signal: stopSignal() });
        const { outcomes, left } = report;
        const found = Object.entries(outcomes);
        return {
          document: report,
          text: lines(
            found.length === 0 && left.length === 0 && 'nothing to process',
            ...found.map(([outcome, count]) => `${count} ${outcome}`),
            ...left.map(({ number, problem }) => `${number} is left: ${problem}`),
          ),
          exitCode: left.length > 0 ? EXIT.incomplete : processedExit(Object.keys(outcomes)),
        };
      }),
    );
}

const processedExit = (outcomes: readonly string[]): ExitCode =>
  outcomes.some((outcome) => NEEDS_PERSON.some((one) => one === outcome)) ? EXIT.needsPerson : EXIT.done;

function addShowCommand(notifications: Command): void {
  withBy(notifications.command('show'))
    .argument('<number>', 'the notification’s number')
    .requiredOption('--reveal', 'print it decrypted: it may hold a token or personal data')
    .description('print a pushed notification as received')
    .action((text: string, _flags: object, self: Command) => {
      const number = numberOf(text);
      return answer(self, async ({ settings, recorded }) => {
        const { kind, body } = await recorded({ subject: number }, async (trx) => {
          const found = await notificationBody(trx, settings.secretKeys, number);
          if (found === undefined) throw new UsageError(unknownNumber(text));
          if (found.body !== null) return { ...found, body: found.body };
          throw new UsageError(`what notification ${text} carried was forgotten with its application.`);
        });
        const readAs = readAsOf(kind, body, { reveal: true });
        return { document: { number, body, readAs }, text: lines(body, ...readAsLines(readAs)) };
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
    .action((text: string, flags: { readonly note?: string }, self: Command) => {
      const number = numberOf(text);
      const note = textFlag(flags.note, 'say how it is known') ?? null;
      return answer(self, async ({ db, settings: { secretKeys }, recorded }) => {
        await adoptSecretKey(db, secretKeys);
        const digestKey = await fingerprintKey(db, 'result', secretKeys);
        const applied = await recorded({ subject: number, note }, (trx, now) =>
          applyNotification(trx, { number, note }, { secretKeys, digestKey, now }),
        );
        return { document: { ...applied, note }, text: appliedText(applied) };
      });
    });
}

const readAsLines = (readAs: ReadAs | null): string[] =>
  readAs === null
    ? []
    : [
        `read as ${readAs.written}:`,
        ...Object.entries(readAs.fields).map(([name, value]) => line`  ${name}: ${value}`),
      ];

const appliedText = (applied: AppliedNotification): string => {
  const { number, kind, merOrderNo, standing, merchantNo, readAs } = applied;
  return lines(
    `notification ${number} is applied: the ${kind === 'onboarding' ? 'application' : 'registration'} with merOrderNo ` +
      `${merOrderNo} is ${standing}`,
    merchantNo !== null && `merchant ${merchantNo} is known, its token stored encrypted`,
    ...readAsLines(readAs),
  );
};

function addResolveCommand(notifications: Command): void {
  withBy(notifications.command('resolve'))
    .argument('<number>', 'the notification’s number')
    .requiredOption('--note <text>', 'what was done about it; kept with it')
    .description('close a notification that a person has cleared up; it changes nothing else')
    .action((text: string, flags: { readonly note: string }, self: Command) => {
      const number = numberOf(text);
      const note = textFlag(flags.note, 'say what was done about it');
      return answer(self, async ({ recorded }) => {
        await recorded({ subject: number, note }, async (trx, now) => {
          if (await resolveNotification(trx, { number, note, now })) return;
          throw new UsageError(
            `no notification ${text} needs a person; \`daybook notifications\` lists those that do.`,
          );
        });
        return { document: { number, note }, text: `notification ${text} is resolved` };
      });
    });
}

const numberOf = (text: string): number => idFlag(text, unknownNumber(text));

const unknownNumber = (text: string): string =>
  `${text} is no notification’s number; \`daybook notifications --all\` lists them.`;

function listText(
  rows: readonly NotificationRow[],
  counts: Readonly<Record<string, number>>,
  times: Times,
): string {
  const all = Object.entries(counts).map(([outcome, count]) => `${count} ${outcome}`);
  return lines(
    rows.length === 0
      ? 'no notification needs a person'
      : listTable(rows, {
          '>no': ({ number }) => number,
          '?kind': ({ kind }) => kind,
          merOrderNo: ({ merOrderNo }) => merOrderNo,
          received: ({ receivedAt }) => times.at(receivedAt),
          '~outcome': ({ outcome }) => outcome ?? 'not processed yet',
          '~why': ({ resolvedAt, reason, note }) =>
            resolvedAt === null ? reason : `resolved: ${note ?? ''}`,
        }),
    rows.length > 0 && times.note,
    rows.length === ROWS_MAX && `only the newest ${counted(ROWS_MAX, 'notification')} are shown`,
    all.length > 0 && `kept in all: ${all.join(', ')}`,
  );
}
