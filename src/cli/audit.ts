/** `audit`: lists who showed, settled, resolved or downloaded what. */
import type { Command } from 'commander';
import { listAuditEvents } from '../store/audit.ts';
import { listCloses, type MonthClose } from '../store/month-close.ts';
import { offlineSettings, print, withApp } from './context.ts';
import { counted, lines, table } from './output/text.ts';
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
        const closes = await listCloses(database.db, { merchants: null, month: undefined });
        const despite = new Map(
          closes.map((one) => [closeName(`${one.merchantNo} ${one.month}`, one.closedAt), one]),
        );
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
                      noteText(row.note, despite.get(closeName(row.subject, row.at))),
                    ]),
                  ),
                  times.note,
                  auditEvents.length === ROWS_MAX && `only the newest ${ROWS_MAX} are shown`,
                ),
        });
      });
    });
}

const closeName = (subject: string, at: Date): string => `${subject} ${at.getTime()}`;

/** The note of an audit event, and of a close also the reason for closing with open days. */
const noteText = (note: string | null, close: MonthClose | undefined): string | null =>
  close?.despite == null
    ? note
    : `despite ${counted(close.openDays, 'open account day')}: ${close.despite}` +
      (note === null ? '' : `; note: ${note}`);
