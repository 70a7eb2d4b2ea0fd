/** `audit`: lists who showed, settled, resolved or downloaded what. */
import type { Command } from 'commander';
import { listAuditEvents } from '../store/audit.ts';
import { offlineSettings, print, withApp } from './context.ts';
import { lines, table } from './output/text.ts';
import { timesOf } from './output/times.ts';

const ROWS_MAX = 1_000;

export function addAuditCommand(program: Command): void {
  program
    .command('audit')
    .description(
      `who did what by hand: downloads, resolutions, closes, revealed secrets; newest first, up to ${ROWS_MAX}`,
    )
    .action(async (_flags: object, self: Command) => {
      const settings = offlineSettings(self);
      const times = timesOf(settings);
      await withApp(settings, async ({ database }) => {
        const auditEvents = await listAuditEvents(database.db, ROWS_MAX);
        print(self, {
          document: auditEvents.map(({ at, by_whom, command, subject, note }) => ({
            at,
            by: by_whom,
            command,
            subject,
            note,
          })),
          text:
            auditEvents.length === 0
              ? 'nothing on record yet'
              : lines(
                  table(
                    ['at', 'by', 'did', '~with', '~note'],
                    auditEvents.map((row) => [
                      times.at(row.at),
                      row.by_whom,
                      row.command,
                      row.subject,
                      row.note,
                    ]),
                  ),
                  times.note,
                  auditEvents.length === ROWS_MAX && `only the newest ${ROWS_MAX} are shown`,
                ),
        });
      });
    });
}
