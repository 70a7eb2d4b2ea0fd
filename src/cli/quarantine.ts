/** `quarantine`: what came as an entry and could not be read as one, with its raw text and the reason. */
import type { Command } from 'commander';
import { listQuarantine } from '../store/amendments.ts';
import { offlineSettings, tell, withHouse } from './context.ts';
import { counted, lines } from './text.ts';

const RAW_SHOWN_MAX = 300;

export function addQuarantineCommand(program: Command): void {
  program
    .command('quarantine')
    .description('entries that break the platform’s own contract, kept as they came')
    .option('--all', 'also those the platform no longer sends')
    .action(async ({ all }: { readonly all?: boolean }, self: Command) => {
      await withHouse(offlineSettings(self), async ({ database }) => {
        const rows = await listQuarantine(database.db, { all: all ?? false });
        tell(self, {
          document: rows,
          text:
            rows.length === 0
              ? 'nothing is quarantined'
              : lines(
                  counted(rows.length, 'quarantined entry', 'quarantined entries'),
                  ...rows.map((row) =>
                    lines(
                      `\n${row.id}: merchant ${row.merchant_no}, batch no ${row.batch_no ?? 'none'}${row.occurrences === 1 ? '' : `, ${row.occurrences} times`}: ${row.reason}`,
                      `  ${row.raw.slice(0, RAW_SHOWN_MAX)}${row.raw.length > RAW_SHOWN_MAX ? ' ... (whole with --json)' : ''}`,
                      row.released_at !== null && `  no longer sent since ${row.released_at.toISOString()}`,
                    ),
                  ),
                ),
        });
      });
    });
}
