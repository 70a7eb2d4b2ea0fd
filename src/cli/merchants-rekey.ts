/** `merchants rekey`: encrypts everything with the current secret key, so that older keys can be removed. */
import type { Command } from 'commander';
import { EXIT } from '../run/verdict/exit-codes.ts';
import { rekey, type RekeyReport } from '../store/secrets/rekey.ts';
import { offlineSettings, print, withApp } from './context.ts';
import { recordAuditEvent } from '../store/audit.ts';
import { auditEventOf, withBy } from './audit-events.ts';
import { counted, lines } from './output/text.ts';

/** It is a subcommand of `merchants`, because tokens are added there. */
export function addRekeyCommand(program: Command): void {
  const merchants =
    program.commands.find((command) => command.name() === 'merchants') ?? program.command('merchants');
  withBy(merchants.command('rekey'))
    .description(
      'encrypt every stored token, application, beneficiary and notification with the first secret key',
    )
    .addHelpText(
      'after',
      '\nTo change keys: put a new one in front in DAYBOOK_SECRET_KEYS, restart what runs, `daybook merchants rekey`,\n' +
        'then take away the keys it says nothing needs any more. It can be stopped and started again at any time.',
    )
    .action(async (_flags: object, self: Command) => {
      const { secretKeys, ...settings } = offlineSettings(self);
      await withApp({ ...settings, secretKeys }, async ({ database, now }) => {
        // Recorded first: the work takes many transactions and may be stopped between two of them.
        await recordAuditEvent(database.db, auditEventOf(self, secretKeys[0]?.id ?? 'no key'), now());
        const report = await rekey(database.db, secretKeys);
        print(self, {
          document: report,
          text: textOf(report),
          exitCode: report.unreadable > 0 ? EXIT.needsPerson : EXIT.done,
        });
      });
    });
}

function textOf({ keyId, rekeyed, unreadable, problems, idle }: RekeyReport): string {
  const changed = rekeyed.filter(({ count }) => count > 0);
  const unnamed = unreadable - problems.length;
  return lines(
    changed.length === 0 && `nothing to do: everything readable is encrypted with key "${keyId}"`,
    ...changed.map(
      ({ table, column, count }) => `${counted(count, 'row')} of ${table} (${column}) now under "${keyId}"`,
    ),
    unreadable > 0 && `${counted(unreadable, 'row')} left as they are:`,
    ...problems.map((problem) => `  ${problem}`),
    unnamed > 0 && `  and ${unnamed} more`,
    idle.length > 0 &&
      `nothing needs ${idle.map((id) => `"${id}"`).join(', ')} any more: it can be taken away`,
  );
}
