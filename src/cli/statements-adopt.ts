/** `statements adopt`: takes over a store that another database wrote. */
import type { Command } from 'commander';
import { EXIT } from '../run/verdict/exit-codes.ts';
import { underLeasesAsNeeded } from '../run/leases.ts';
import { adoptStore, type AdoptReport } from '../statements/adopt.ts';
import { recordAuditEvent } from '../store/audit.ts';
import { thisHolder } from '../host/process-identity.ts';
import { offlineSettings, stopSignal, print, withApp } from './context.ts';
import { auditEventOf, withBy } from './audit-events.ts';
import { counted } from './output/text.ts';
import { createProgressLine } from './output/progress-line.ts';

const LEFT_SHOWN_MAX = 20;

export function addStatementsAdoptCommand(statements: Command): void {
  withBy(statements.command('adopt'))
    .description(
      'take over a store whose statements another database published, and go on with their revisions',
    )
    .action(async (_flags: object, self: Command) => {
      const settings = offlineSettings(self);
      const { signingKey } = settings;
      await withApp(settings, async ({ database, objects, now }) => {
        const { db } = database;
        const line = createProgressLine();
        const report = await underLeasesAsNeeded(
          { db, holder: thisHolder(), signal: stopSignal() },
          (leaseOf, signal) =>
            adoptStore({
              ...{ db, leaseOf, objects, now, signal, signingKey },
              onDay: ({ days, statements: count }) => line.show({ stage: 'adopt', days, statements: count }),
            }),
        ).finally(() => line.clear());
        await recordAuditEvent(db, auditEventOf(self, objects.location), now());
        print(self, {
          document: { store: objects.location, ...report },
          text: adoptText(report, objects.location),
          exitCode: report.left.length > 0 || report.forked > 0 ? EXIT.needsPerson : EXIT.done,
        });
      });
    });
}

function adoptText(
  { formerOwner, days, statements, closes, left, forked }: AdoptReport,
  location: string,
): string {
  const from = formerOwner === null ? '' : `, which database ${formerOwner} owned`;
  return [
    `${location}${from}, is this database’s now: ${days} days checked, ${statements} revisions taken over` +
      (closes === 0 ? '' : `, and ${counted(closes, 'close')} of months`),
    ...left.slice(0, LEFT_SHOWN_MAX).map(({ key, why }) => `not taken over: ${key}: ${why}`),
    ...(left.length > LEFT_SHOWN_MAX ? [`and ${left.length - LEFT_SHOWN_MAX} more`] : []),
    ...(left.length > 0
      ? ['the next run publishes these days anew, under revisions above those that lie there']
      : []),
    ...(forked > 0
      ? [
          `${counted(forked, 'manifest')} of another branch of the chain, as two databases went on from the same one: ` +
            '`daybook publish --repair` makes each anew at the end of the chain',
        ]
      : []),
  ].join('\n');
}
