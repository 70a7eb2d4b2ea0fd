/** `jobs`: shows what is on the queue, and sends back the jobs that were given up. */
import type { Command } from 'commander';
import { answer, withBy } from '../../cli/context.ts';
import { counted, lines, listTable, table, type Times } from '../../cli/output/text.ts';
import type { LaneCounts } from '../../run/work-queue.ts';
import { UsageError } from '../../run/verdict/exit-codes.ts';
import {
  countDeadLetters,
  deadLetters,
  laneCounts,
  redrive,
  waitAgain,
  type DeadLetter,
  type Redriven,
} from './jobs.ts';
import { withQueue } from './queue.ts';

/** How commands open the queue that do none of its work. */
const NOT_WORKING = { supervises: false, onProblem: () => undefined };

const SHOWN = 100;

export function jobsCommand(jobs: Command): void {
  jobs
    .command('list')
    .description('how many jobs wait and are at work, and the jobs that were given up')
    .action((_flags: object, self: Command) =>
      answer(self, (app) =>
        withQueue(app, NOT_WORKING, async ({ db }) => {
          const { times } = app;
          const lanes = await laneCounts(db);
          const letters = await deadLetters(db, { limit: SHOWN });
          const given = await countDeadLetters(db);
          return {
            document: { lanes, givenUpCount: given, givenUp: letters },
            text: lines(lanesText(lanes, times), '', lettersText(letters, given, times), `\n${times.note}`),
          };
        }),
      ),
    );
  withBy(jobs.command('redrive'))
    .option('--merchant <no>', 'only the jobs of this merchant')
    .description(
      'send jobs that were given up back to the queue; their runs are open again until they are done',
    )
    .action(({ merchant }: { readonly merchant?: string }, self: Command) =>
      answer(self, (app) =>
        withQueue(app, NOT_WORKING, async (queue) => {
          const sent = await app.recorded({ subject: merchant ?? 'all' }, async (trx) => {
            const redriven = await redrive(queue, trx, merchant === undefined ? undefined : [merchant]);
            if (redriven.sent.length + redriven.kept.length === 0)
              throw new UsageError(noneGivenUp(merchant));
            await waitAgain(trx, redriven.sent);
            return redriven;
          });
          return { document: sent, text: redrivenText(sent) };
        }),
      ),
    );
}

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
    listTable(letters, {
      merchant: ({ merchantNo }) => merchantNo,
      '>run': ({ runId }) => runId,
      '?>attempts': ({ attempts }) => attempts,
      '?given up': ({ givenUpAt }) => times.at(givenUpAt),
      '~why': ({ problem }) => problem,
    }),
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
