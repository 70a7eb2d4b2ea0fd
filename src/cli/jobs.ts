/** `jobs`: what is on the queue for workers, which jobs were given up, and how to send those back. */
import type { Command } from 'commander';
import {
  waitAgain,
  countDeadLetters,
  deadLetters,
  laneCounts,
  type DeadLetter,
  type LaneCounts,
  redrive,
  type Redriven,
} from '../queue/jobs.ts';
import { type Queue, openQueue } from '../queue/queue.ts';
import type { App } from '../run/app.ts';
import { UsageError } from '../run/verdict/exit-codes.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import { auditEventOf, doneBy, withBy, offlineSettings, print, withApp } from './context.ts';
import { counted, lines, table } from './output/text.ts';
import { timesOf, type Times } from './output/times.ts';

const SHOWN = 100;

export function addJobsCommand(program: Command): void {
  const jobs = program.command('jobs').description('the queue of merchants for `daybook worker`');
  jobs
    .command('list')
    .description('how many jobs wait and are at work, and the jobs that were given up')
    .action(async (_flags: object, self: Command) => {
      const times = timesOf(offlineSettings(self));
      await withOpenQueue(self, async ({ db }) => {
        const lanes = await laneCounts(db);
        const letters = await deadLetters(db, { limit: SHOWN });
        const given = await countDeadLetters(db);
        print(self, {
          document: { lanes, givenUpCount: given, givenUp: letters },
          text: lines(lanesText(lanes, times), '', lettersText(letters, given, times), `\n${times.note}`),
        });
      });
    });
  withBy(jobs.command('redrive'))
    .option('--merchant <no>', 'only the jobs of this merchant')
    .description(
      'send jobs that were given up back to the queue; their runs are open again until they are done',
    )
    .action(async ({ merchant }: { readonly merchant?: string }, self: Command) => {
      await withOpenQueue(self, async (queue, { now }) => {
        const auditEvent = auditEventOf(self, merchant ?? 'all');
        const sent = await doneBy(queue.db, auditEvent, now(), async (trx) => {
          const redriven = await redrive(queue, trx, merchant === undefined ? undefined : [merchant]);
          if (redriven.sent.length + redriven.kept.length === 0) throw new UsageError(noneGivenUp(merchant));
          await waitAgain(trx, redriven.sent);
          return redriven;
        });
        print(self, { document: sent, text: redrivenText(sent) });
      });
    });
}

const withOpenQueue = async (
  self: Command,
  work: (queue: Queue, app: App) => Promise<void>,
): Promise<void> => {
  const settings = offlineSettings(self);
  await withApp(settings, (app) =>
    withQueue({ ...app, settings }, { supervises: false, onProblem: () => undefined }, (queue) =>
      work(queue, app),
    ),
  );
};

const noneGivenUp = (merchant: string | undefined): string =>
  `no job ${merchant === undefined ? '' : `of merchant ${merchant} `}was given up; \`daybook jobs list\` shows the queue.`;

const lanesText = (lanes: readonly LaneCounts[], times: Times): string =>
  table(
    ['queue', '>waiting', '>at work', 'waiting since'],
    lanes.map(({ lane, waiting, active, oldest }) => [lane, waiting, active, times.at(oldest)]),
  );

function lettersText(letters: readonly DeadLetter[], count: number, times: Times): string {
  if (count === 0) return 'no job was given up';
  return lines(
    `${counted(count, 'job was', 'jobs were')} given up; \`daybook jobs redrive\` retries them once the cause is fixed:`,
    table(
      ['merchant', '>run', '?queue', '?>attempts', '?given up', '~why'],
      letters.map(({ merchantNo, runId, lane, attempts, givenUpAt, problem }) => [
        ...[merchantNo, runId, lane, attempts, times.at(givenUpAt), problem],
      ]),
    ),
    count > letters.length && `and ${count - letters.length} more`,
  );
}

const redrivenText = ({ sent, kept }: Redriven): string =>
  lines(
    sent.length > 0 &&
      `${counted(sent.length, 'job is', 'jobs are')} on the queue again: ${sent
        .slice(0, SHOWN)
        .map(({ merchantNo, runId }) => `${merchantNo} of run ${runId}`)
        .join(', ')}`,
    kept.length > 0 &&
      `${counted(kept.length, 'job stays', 'jobs stay')} given up, as another job of the merchant has to be done first: ` +
        'run the same command again then',
  );

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
