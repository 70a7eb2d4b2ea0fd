/** `migrate`: brings the database to this version. */
import type { Command } from 'commander';
import { installQueue, QUEUE_SCHEMA } from '../queue/queue.ts';
import { openDatabase } from '../store/engine/connection.ts';
import { migrate } from '../store/engine/migrations.ts';
import { MIGRATION_WAITS } from '../store/engine/retry.ts';
import { offlineSettings, print } from './context.ts';
import { lines } from './output/text.ts';

export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('bring the database to this version; repeating it does nothing')
    .addHelpText(
      'after',
      '\nWith DAYBOOK_WORKERS=queue it also makes the tables of the queue; run the files of sql/roles (all but migrate.sql) again afterwards.',
    )
    .action(async (_flags: object, self: Command) => {
      const settings = offlineSettings(self);
      const database = await openDatabase({ ...settings, waits: MIGRATION_WAITS });
      try {
        const applied = await migrate(database.db);
        if (settings.workers === 'queue' && (await installQueue(database.db))) applied.push(QUEUE_SCHEMA);
        print(self, {
          document: { applied },
          text:
            applied.length === 0
              ? 'the database is at this version'
              : lines('applied:', ...applied.map((name) => `  ${name}`)),
        });
      } finally {
        await database.close();
      }
    });
}
