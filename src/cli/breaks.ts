/** `breaks`: where a balance does not follow from the entry before it, and `breaks resolve`. */
import type { Command } from 'commander';
import { UsageError } from '../run/exit-codes.ts';
import { listBreaks, resolveBreak, type BreakRow } from '../store/breaks.ts';
import { offlineSettings, tell, withHouse } from './context.ts';
import { deedOf, doneBy, withBy } from './deeds.ts';
import { breakText, breakTexts } from './run-text.ts';
import { counted, lines } from './text.ts';
import { timesOf, type Times } from './times.ts';

const closedText = (row: BreakRow, times: Times): string =>
  `\n${breakText(row, times.zone)}\n  ${row.status} ${times.at(row.closed_at)}` +
  (row.note === null ? '' : `: ${row.note}`);

export function addBreaksCommand(program: Command): void {
  const breaks = program
    .command('breaks')
    .description('open breaks of the balance chain, each explained')
    .option('--all', 'healed and resolved ones too')
    .addHelpText('after', '\nExamples:\n  daybook breaks\n  daybook breaks resolve 7 --note "fee, case 4711"')
    .action(async ({ all }: { readonly all?: boolean }, self: Command) => {
      const settings = offlineSettings(self);
      const times = timesOf(settings);
      await withHouse(settings, async ({ database }) => {
        const rows = await listBreaks(database.db, { all: all ?? false });
        tell(self, {
          document: rows,
          text:
            rows.length === 0
              ? 'no open break'
              : lines(
                  counted(rows.length, 'break'),
                  ...breakTexts(
                    rows.filter(({ status }) => status === 'open'),
                    times.zone,
                  ).map((text) => `\n${text}`),
                  ...rows.filter(({ status }) => status !== 'open').map((row) => closedText(row, times)),
                  `\n${times.note}`,
                ),
        });
      });
    });
  withBy(breaks.command('resolve'))
    .argument('<id>', 'the break’s number')
    .requiredOption('--note <text>', 'why it is no longer open; kept with it')
    .description('close a break that a person has cleared up')
    .action(async (id: string, { note }: { readonly note: string }, self: Command) => {
      if (!/^\d{1,15}$/.test(id))
        throw new UsageError(`${id} is no break’s number; \`daybook breaks\` lists them.`);
      if (note.trim() === '') throw new UsageError('--note is empty; say why the break is resolved.');
      await withHouse(offlineSettings(self), async ({ database, now }) => {
        const row = await doneBy(database.db, deedOf(self, id, note.trim()), now(), async (trx) => {
          const resolved = await resolveBreak(trx, Number(id), note.trim(), now());
          if (resolved !== undefined) return resolved;
          throw new UsageError(`no open break has the number ${id}; \`daybook breaks\` lists them.`);
        });
        tell(self, { document: row, text: `break ${id} is resolved` });
      });
    });
}
