/** Opens the queue for commands that work with it. */
import { openQueue, type Queue } from '../queue/queue.ts';
import type { App } from '../run/app.ts';
import { UsageError } from '../run/verdict/exit-codes.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';

/**
 * Opens the queue for `work`, and always closes it. `supervises` is for workers. Throws `UsageError` if DAYBOOK_WORKERS is
 * not `queue`, and what `openQueue` throws.
 */
export async function withQueue<Result>(
  {
    database,
    settings,
  }: Pick<App, 'database'> & { readonly settings: Pick<SettingsWithoutPlatform, 'workers'> },
  { supervises, onProblem }: { readonly supervises: boolean; readonly onProblem: (error: unknown) => void },
  work: (queue: Queue) => Promise<Result>,
): Promise<Result> {
  if (settings.workers !== 'queue') {
    throw new UsageError(
      'there is no queue: DAYBOOK_WORKERS is none, so the schedule does the work itself. Set it to queue and run ' +
        '`daybook migrate` to have workers.',
    );
  }
  const queue = await openQueue(database.db, { supervises, onProblem });
  try {
    return await work(queue);
  } finally {
    await queue.close();
  }
}
