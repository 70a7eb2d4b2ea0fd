/** The setting of workers. */

import { read, setting, settingsGroup } from '../../settings/setting.ts';
import { STORE } from '../../store/settings.ts';
import { oneOf } from '../../settings/values/scalars.ts';

export const queueSettings = settingsGroup(
  {
    DAYBOOK_WORKERS: setting(
      oneOf(['none', 'queue']).default('none'),
      "Who does what is due. none: 'daybook schedule' itself. queue: it puts the ledger's work on a queue in the database, one job a merchant, and 'daybook worker' processes do it, on as many machines as you like. Needs a database server; run 'daybook migrate' after setting it, then the files of sql/roles (all but migrate.sql) again.",
      { example: 'queue' },
    ),
  },
  {
    value: (own) => own,
    rules: ({ workers }, given) => ({
      // The embedded database belongs to one process.
      'DATABASE_URL is required where DAYBOOK_WORKERS is queue: workers share a server':
        workers === 'queue' && read(STORE, given).url === undefined,
    }),
    uses: ({ workers }) => [['DAYBOOK_WORKERS', workers === 'queue', 'the queue of workers']],
  },
);
