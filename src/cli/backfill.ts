/** `backfill`: historical days, read slice by slice in addition to the nightly run. */
import type { Command } from 'commander';
import type { Logger } from 'pino';
import type { PlatformApp } from '../run/app.ts';
import { backfillStatuses, beginBackfill, cancelBackfill, type BackfillStatus } from '../run/backfills.ts';
import { chosenMerchants, merchantsNotRead } from '../run/chosen-merchants.ts';
import { backfillText, failureTexts, leftName, notReadLines } from '../run/status-text.ts';
import { doBackfill, type RequestEnd } from '../run/requests.ts';
import { EXIT, mostSevere, Interrupted, UsageError, type ExitCode } from '../run/verdict/exit-codes.ts';
import {
  answer,
  collect,
  platformSettings,
  print,
  stopSignal,
  troubleLog,
  withBy,
  withPlatform,
} from './context.ts';
import { idFlag, merchantsOf, rangeOf } from './flags.ts';
import { lines, listTable, timesOf, type Times } from './output/text.ts';

interface BackfillFlags {
  readonly from?: string;
  readonly to?: string;
  readonly merchant: readonly string[];
  readonly now?: boolean;
}

const HELP = `
It is recorded and cut into slices of a month. \`daybook schedule\` does them one by one whenever none of its jobs is due, or
\`daybook worker\` where there are workers; the nightly run does not wait for them. Done slices stay done, even if a process is killed.
\`daybook status\` shows its progress. With --now it ends by the rule of \`daybook run\`: what stands open of its merchants counts.

Examples:
  daybook backfill --from 2024-01-01 --to 2025-12-31
  daybook backfill --now                # what is left of all of them, in this process
  daybook backfill list
  daybook backfill cancel 3`;

export function backfillCommand(backfill: Command): void {
  backfill
    .option('--from <day>', 'first day, YYYY-MM-DD; weekends and holidays are days like others')
    .option('--to <day>', 'last day, included; it has to be over (default: yesterday)')
    .option('--merchant <no>', 'only this merchant (may be repeated)', collect, [])
    .option('--now', 'do the slices here, until none is left; without --from those of all open backfills')
    .addHelpText('after', HELP)
    .action(async (flags: BackfillFlags, self: Command) => {
      const { from, to, merchant, now } = flags;
      const isNew = from !== undefined || to !== undefined || merchant.length > 0 || now !== true;
      await withPlatform(platformSettings(self), (app, log) =>
        isNew ? begin(app, log, flags, self) : goOn(app, log, self),
      );
    });
  backfill
    .command('list')
    .description('all backfills: days done, days left, and how long that takes')
    .action((_flags: object, self: Command) =>
      answer(self, async ({ db, times, now }) => {
        const all = await backfillStatuses(db, { zone: times.zone, now: now() });
        return { document: all, text: all.length === 0 ? 'no backfill yet' : listText(all, times) };
      }),
    );
  withBy(backfill.command('cancel'))
    .argument('<id>', 'the backfill’s number, as `daybook backfill list` shows it')
    .description('give up what is left of a backfill; what was read stays')
    .action((text: string, _flags: object, self: Command) => {
      const unknown = `no open backfill has the number ${text}; \`daybook backfill list\` shows them.`;
      const id = idFlag(text, unknown);
      return answer(self, async ({ recorded }) => {
        await recorded({ subject: id }, async (trx, at) => {
          if (!(await cancelBackfill(trx, id, at))) throw new UsageError(unknown);
        });
        return { document: { id, cancelled: true }, text: `backfill ${text} is cancelled` };
      });
    });
}

async function begin(app: PlatformApp, log: Logger, flags: BackfillFlags, self: Command): Promise<void> {
  const { db } = app.database;
  if (flags.from === undefined) throw new UsageError('say from which day with --from YYYY-MM-DD.');
  const range = rangeOf(flags, app.settings.platform.timeZone, app.now())!;
  const asked = merchantsOf(flags);
  const merchants = (await chosenMerchants(app, asked)).map(({ merchantNo }) => merchantNo);
  const notRead = asked === null ? await merchantsNotRead(app.settings, db) : [];
  const signal = stopSignal();
  const zone = app.settings.platform.timeZone;
  const id = await beginBackfill({ ...range, merchants }, { db, now: app.now, zone });
  const ended = flags.now === true ? await workHere(app, log, id, signal) : NOT_BEGUN;
  const [status] = await backfillStatuses(db, clockOf(app), { id });
  const times = timesOf(app.settings);
  const by = app.settings.workers === 'queue' ? 'daybook worker' : 'daybook schedule';
  print(self, {
    document: status,
    text: lines(
      backfillText(status!),
      ...failureTexts(status!, times.zone),
      ...ended.notes,
      ...notReadLines(notRead),
      status!.endedAt === null && `\`${by}\` does the rest in addition to the nightly run`,
    ),
    exitCode: notRead.length === 0 ? ended.exitCode : mostSevere([ended.exitCode, EXIT.incomplete]),
  });
}

/** Does what is left of all open backfills, the oldest first. */
async function goOn(app: PlatformApp, log: Logger, self: Command): Promise<void> {
  const { db } = app.database;
  const signal = stopSignal();
  const ends: HereEnded[] = [];
  const open = (await backfillStatuses(db, clockOf(app), { isOpen: true })).map(({ id }) => id).reverse();
  for (const id of open) if (!signal.aborted) ends.push(await workHere(app, log, id, signal));
  const all = (await backfillStatuses(db, clockOf(app))).filter(({ id }) => open.includes(id));
  const times = timesOf(app.settings);
  print(self, {
    document: all,
    text:
      all.length === 0
        ? 'no backfill is open'
        : lines(
            ...all.flatMap((one) => [backfillText(one), ...failureTexts(one, times.zone)]),
            ...new Set(ends.flatMap(({ notes }) => notes)),
          ),
    exitCode: signal.aborted ? EXIT.incomplete : mostSevere(ends.map((one) => one.exitCode)),
  });
}

interface HereEnded {
  readonly exitCode: ExitCode;
  /** Why it is not 0. */
  readonly notes: readonly string[];
}

const NOT_BEGUN: HereEnded = { exitCode: EXIT.done, notes: [] };

const clockOf = ({ settings, now }: PlatformApp) => ({
  zone: settings.platform.timeZone,
  now: now(),
});

/** Does the slices in this process, showing how far it is. 4 if some are left, else as the runs of its merchants ended. */
async function workHere(app: PlatformApp, log: Logger, id: number, signal: AbortSignal): Promise<HereEnded> {
  const { db } = app.database;
  const terminal = process.stderr.isTTY ? process.stderr : null;
  const lastOf = new Map<string, RequestEnd>();
  const onSlice = async (end: RequestEnd): Promise<void> => {
    lastOf.set(end.merchantNo, end);
    if (terminal === null) return;
    const [status] = await backfillStatuses(db, clockOf(app), { id });
    const { daysDone, daysLeft, leftMs } = status!;
    const all = (daysDone + daysLeft).toLocaleString('en');
    terminal.write(
      `\r\u001b[Kday ${daysDone.toLocaleString('en')} of ${all}, time left: ${leftName(leftMs)}`,
    );
  };
  try {
    const atOnce = app.settings.merchantsAtOnce;
    await doBackfill(app, id, { atOnce, signal, onSlice }, { onTrouble: troubleLog(log) });
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
  } finally {
    terminal?.write('\r\u001b[K');
  }
  const [status] = await backfillStatuses(db, clockOf(app), { id });
  const notes = [...lastOf.values()].flatMap(({ reasons }) => reasons.map(({ what }) => what));
  return { exitCode: status!.exitCode ?? EXIT.incomplete, notes };
}

const stateOf = ({ endedAt, isCancelled }: BackfillStatus): string =>
  endedAt === null ? 'open' : isCancelled ? 'cancelled' : 'done';

const listText = (backfills: readonly BackfillStatus[], times: Times): string =>
  lines(
    listTable(backfills, {
      backfill: ({ id }) => id,
      days: ({ from, to }) => `${from} to ${to}`,
      '>merchants': ({ merchants }) => merchants,
      state: stateOf,
      '>days done': ({ daysDone }) => daysDone,
      '>days left': ({ daysLeft }) => daysLeft,
      'time left': ({ endedAt, leftMs }) => (endedAt === null ? leftName(leftMs) : ''),
      '?>failing': ({ failing }) => failing,
      '?asked for': ({ requestedAt }) => times.at(requestedAt),
    }),
    ...backfills.flatMap((one) => failureTexts(one, times.zone)),
    `\n${times.note}`,
  );
