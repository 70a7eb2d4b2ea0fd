/** `prune`: deletes old records that nothing needs any more, or says first which those are. */
import type { Command } from 'commander';
import { addDays, dayOf } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { clockOf } from '../run/app.ts';
import { UsageError } from '../run/verdict/exit-codes.ts';
import { recordAuditEvent } from '../store/audit.ts';
import { openDatabase } from '../store/engine/connection.ts';
import { assertMigrated } from '../store/engine/migrations.ts';
import { MIGRATION_WAITS } from '../store/engine/retry.ts';
import { PRUNE_KEEPS_DAYS, prunableRows, pruneRows, type Pruned } from '../store/prune.ts';
import { offlineSettings, print, auditEventOf, withBy } from './context.ts';
import { counted, lines, table } from './output/text.ts';
import { dayFlag } from './range-flags.ts';

interface Flags {
  readonly before: string;
  readonly yes?: boolean;
}

export function addPruneCommand(program: Command): void {
  withBy(program.command('prune'))
    .description('delete old records of work that is over; without --yes it only counts them')
    .requiredOption('--before <day>', 'only what ended before this day began (UTC), YYYY-MM-DD')
    .option('--yes', 'delete them; only a backup can restore them')
    .addHelpText(
      'after',
      `\nThe last ${PRUNE_KEEPS_DAYS} days always stay. Never deleted, however old: entries and their earlier versions, certificates,\n` +
        'account days, breaks and what was done about them, statements, summaries and manifests, what was read back\n' +
        'from the store, notices, runs, merchants, applications, beneficiaries, and the audit. So every published day\n' +
        'can be proven, repaired and verified again.\n\n' +
        'Examples:\n  daybook prune --before 2025-01-01\n  daybook prune --before 2025-01-01 --yes --by "Ada"',
    )
    .action(async ({ before: text, yes = false }: Flags, self: Command) => {
      const settings = offlineSettings(self);
      const now = earlier(clockOf(settings)(), new Date());
      const before = prunableDay(text, now);
      const asked = { before: new Date(`${before}T00:00:00Z`), now };
      const database = await openDatabase({ ...settings, waits: MIGRATION_WAITS });
      try {
        const { db } = database;
        await assertMigrated(db);
        // Recorded first: the work takes several transactions and may be stopped between two of them.
        if (yes) await recordAuditEvent(db, auditEventOf(self, before), now);
        const rows = yes ? await pruneRows(db, asked) : await prunableRows(db, asked);
        print(self, { document: { before, deleted: yes, rows }, text: textOf(rows, before, yes) });
      } finally {
        await database.close();
      }
    });
}

/** A rehearsed time (DAYBOOK_NOW) may lie ahead. It makes nothing older than it is. */
const earlier = (a: Date, b: Date): Date => (a < b ? a : b);

/** Throws `UsageError` or `InvalidDay` for a day before which nothing may be deleted. */
function prunableDay(text: string, now: Date): BusinessDay {
  const day = dayFlag('--before', text);
  const latest = addDays(dayOf(now.getTime(), 'UTC'), -PRUNE_KEEPS_DAYS);
  if (day <= latest) return day;
  throw new UsageError(
    `--before ${day} is too young: the last ${PRUNE_KEEPS_DAYS} days stay, so ask for ${latest} or an earlier day.`,
  );
}

function textOf(rows: readonly Pruned[], before: BusinessDay, deleted: boolean): string {
  const all = rows.reduce((sum, one) => sum + one.rows, 0);
  const found = rows.filter((one) => one.rows > 0);
  if (all === 0) return `nothing that ended before ${before} may go`;
  return lines(
    table(
      ['>rows', 'table', '~what'],
      found.map((one) => [one.rows.toLocaleString('en'), one.table, one.what]),
    ),
    deleted
      ? `\n${counted(all, 'row')} deleted, all of which ended before ${before}`
      : `\n${counted(all, 'row')} may go, and nothing was deleted: \`daybook prune --before ${before} --yes\` deletes them`,
  );
}
