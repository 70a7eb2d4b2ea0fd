/** `quarantine`: lists received entries that could not be read, with their raw text and the reason. */
import type { Command } from 'commander';
import { UsageError } from '../run/verdict/exit-codes.ts';
import { acknowledgeUnreadable, listQuarantine } from '../store/quarantine.ts';
import { offlineSettings, print, withApp, auditEventOf, doneBy, withBy } from './context.ts';
import { counted, line, lines } from './output/text.ts';
import { timesOf } from './output/times.ts';

const RAW_SHOWN_MAX = 300;

export function addQuarantineCommand(program: Command): void {
  const quarantine = program
    .command('quarantine')
    .description('received entries that could not be read, or were not requested; stored as received')
    .option('--all', 'also those the platform no longer sends, and those acknowledged')
    .addHelpText(
      'after',
      '\nEach needs attention until the platform corrects it, or until it is acknowledged.\n\n' +
        'Examples:\n  daybook quarantine\n  daybook quarantine acknowledge 7 --note "booked by hand, case 4711"',
    )
    .action(async ({ all }: { readonly all?: boolean }, self: Command) => {
      const settings = offlineSettings(self);
      const times = timesOf(settings);
      await withApp(settings, async ({ database }) => {
        const rows = await listQuarantine(database.db, { merchants: null, all: all ?? false });
        print(self, {
          document: rows,
          text:
            rows.length === 0
              ? 'nothing is quarantined'
              : lines(
                  counted(rows.length, 'quarantined entry', 'quarantined entries'),
                  ...rows.map((row) =>
                    lines(
                      line`\n${row.id}: merchant ${row.merchant_no}, batch no ${row.batch_no ?? 'none'}${row.occurrences === 1 ? '' : `, ${row.occurrences} times`}: ${row.reason}`,
                      line`  ${row.raw.slice(0, RAW_SHOWN_MAX)}${row.raw.length > RAW_SHOWN_MAX ? ' ... (complete with --json)' : ''}`,
                      row.released_at !== null && `  no longer sent since ${times.at(row.released_at)}`,
                      row.acknowledged_at !== null &&
                        line`  acknowledged ${times.at(row.acknowledged_at)}: ${row.note ?? ''}`,
                    ),
                  ),
                  `\n${times.note}`,
                ),
        });
      });
    });
  withBy(quarantine.command('acknowledge'))
    .argument('<id>', 'the quarantine number, as `daybook quarantine` shows it')
    .requiredOption('--note <text>', 'why it needs no more attention; stored with it')
    .description('record that an unreadable entry needs no more attention; it stays in quarantine')
    .action(async (id: string, { note }: { readonly note: string }, self: Command) => {
      const unknown = `no open quarantined entry has the number ${id}; \`daybook quarantine\` lists them.`;
      if (!/^\d{1,15}$/.test(id)) throw new UsageError(unknown);
      if (note.trim() === '') throw new UsageError('--note is empty; give a reason for the acknowledgement.');
      await withApp(offlineSettings(self), async ({ database, now }) => {
        await doneBy(database.db, auditEventOf(self, Number(id), note.trim()), now(), async (trx) => {
          if (!(await acknowledgeUnreadable(trx, Number(id), note.trim(), now())))
            throw new UsageError(unknown);
        });
        print(self, {
          document: { id: Number(id), acknowledged: true },
          text: `entry ${id} is acknowledged`,
        });
      });
    });
}
