/** `migrate`: brings the database to this version. */
import type { Command } from 'commander';
import { openDatabase } from '../store/engine/connection.ts';
import { migrate } from '../store/engine/migrations.ts';
import { MIGRATION_WAITS } from '../store/engine/waits.ts';
import { offlineSettings, print } from './context.ts';
import { lines } from './output/text.ts';

export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .description('bring the database to this version; repeating it does nothing')
    .action(async (_flags: object, self: Command) => {
      const database = await openDatabase({ ...offlineSettings(self), waits: MIGRATION_WAITS });
      try {
        const applied = await migrate(database.db);
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
