/** The queue of merchants: `worker` does what is on it, `jobs` shows it and sends back the jobs that were given up. */
import { messageOf } from '../ledger/text.ts';
import { InvalidArgumentError, type Command } from 'commander';
import type { Logger } from 'pino';
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
import { type JobEnd, keepWorking } from '../queue/worker.ts';
import { alertsOf } from '../run/alerts.ts';
import { runDeps, type App, type PlatformApp } from '../run/app.ts';
import { enqueueBackfills } from '../run/run.ts';
import { finishQueuedRun, finishWaitingRuns } from '../run/run-end.ts';
import { TaskWorker } from '../run/task-worker.ts';
import { EXIT, UsageError, type ExitCode } from '../run/verdict/exit-codes.ts';
import type { Settings, SettingsWithoutPlatform } from '../settings/settings.ts';
import { answer, platformSettings, stopSignal, withBy, withPlatform, type PlatformWork } from './context.ts';
import { metricsOf, withHealthPort } from './observed.ts';
import { counted, lines, listTable, table, type Times } from './output/text.ts';

const AT_ONCE_MAX = 1_000;

function countOf(text: string): number {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > AT_ONCE_MAX)
    throw new InvalidArgumentError(`write an integer from 1 to ${AT_ONCE_MAX}.`);
  return count;
}

interface WorkerFlags {
  readonly atOnce?: number;
  readonly untilEmpty?: boolean;
}

export function workerCommand(command: Command): void {
  command
    .option('--at-once <n>', 'merchants side by side (default: DAYBOOK_MERCHANTS_AT_ONCE)', countOf)
    .option('--until-empty', 'end when no job is waiting or at work, in any worker')
    .addHelpText(
      'after',
      '\nNeeds DAYBOOK_WORKERS=queue: then `daybook schedule` puts what is due on the queue. On SIGTERM or Ctrl-C it finishes ' +
        'what it can and gives the rest back.',
    )
    .action(({ atOnce, untilEmpty = false }: WorkerFlags, self: Command) =>
      keepRunning(platformSettings(self), (app, log, signal) =>
        workOnQueue(app, log, { atOnce: atOnce ?? app.settings.merchantsAtOnce, untilEmpty, signal }),
      ),
    );
}

/** Does `work` until SIGTERM or Ctrl-C, while health checks and metrics are answered and alerts are sent. */
export async function keepRunning(
  settings: Settings,
  work: (app: PlatformApp, log: Logger, signal: AbortSignal) => Promise<void>,
  {
    onFailure = null,
    onEnd,
  }: Pick<PlatformWork, 'onFailure'> & { readonly onEnd?: (log: Logger) => void } = {},
): Promise<void> {
  const metrics = await metricsOf(settings);
  const alerts = await alertsOf(settings);
  const observed = async (app: PlatformApp, log: Logger): Promise<void> => {
    const signal = stopSignal();
    await withHealthPort({ app, log, metrics, signal }, () =>
      alerts === null ? work(app, log, signal) : alerts.withAlerting(app, log, () => work(app, log, signal)),
    );
    onEnd?.(log);
  };
  await withPlatform(settings, observed, { metrics, onFailure });
}

async function workOnQueue(
  app: PlatformApp,
  log: Logger,
  {
    atOnce,
    untilEmpty,
    signal,
  }: { readonly atOnce: number; readonly untilEmpty: boolean; readonly signal: AbortSignal },
): Promise<void> {
  const onProblem = (error: unknown): void =>
    log.error({ problem: messageOf(error) }, 'the queue failed for a moment');
  await withQueue(app, { supervises: true, onProblem }, async (queue) => {
    const deps = runDeps(app, signal);
    const onTrouble = (merchantNo: string, error: unknown): void =>
      log.debug({ merchantNo, problem: messageOf(error) }, 'a stage failed');
    const worker = new TaskWorker(app, { onTrouble });
    log.info({ atOnce }, 'worker began');
    await keepWorking<ExitCode>(queue, {
      atOnce,
      work: async (job, jobSignal) => {
        if (job.lane === 'backfill') return worker.doSlices(queue, job, jobSignal);
        const exitCode = await worker.doQueued(job, jobSignal);
        if (await finishQueuedRun(job.runId, deps)) log.info({ run: job.runId }, 'run ended');
        return exitCode;
      },
      endAbandoned: async () => {
        for (const run of await finishWaitingRuns(deps)) log.info({ run }, 'run ended');
        await enqueueBackfills(queue, app.now());
      },
      onEnd: (end) => logEnd(log, end),
      onProblem,
      signal,
      untilEmpty,
    });
    log.info('worker ended');
  });
}

function logEnd(log: Logger, { job, outcome, result, error, ms }: JobEnd<ExitCode>): void {
  const { merchantNo, runId: run, lane } = job;
  const level = outcome === 'failed' || outcome === 'lost' ? 'error' : result === EXIT.done ? 'info' : 'warn';
  log[outcome === 'busy' || outcome === 'given-back' ? 'info' : level](
    {
      ...{ merchantNo, run, lane, outcome, ms: Math.round(ms) },
      ...(result !== null && { exitCode: result }),
      ...(error !== undefined && { problem: messageOf(error) }),
    },
    'job ended',
  );
}

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
      '?queue': ({ lane }) => lane,
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

/**
 * Opens the queue for `work`, and always closes it. `supervises` is for workers. Throws `UsageError` if DAYBOOK_WORKERS is
 * not `queue`, and what `openQueue` throws.
 */
export async function withQueue<Result>(
  {
    database,
    settings,
  }: Pick<App, 'database'> & { readonly settings: Pick<SettingsWithoutPlatform, 'workers'> },
  options: Parameters<typeof openQueue>[1],
  work: (queue: Queue) => Promise<Result>,
): Promise<Result> {
  if (settings.workers !== 'queue') {
    throw new UsageError(
      'there is no queue: DAYBOOK_WORKERS is none, so the schedule does the work itself. Set it to queue and run ' +
        '`daybook migrate` to have workers.',
    );
  }
  const queue = await openQueue(database.db, options);
  try {
    return await work(queue);
  } finally {
    await queue.close();
  }
}

/** How commands open the queue that do none of its work. */
const NOT_WORKING = { supervises: false, onProblem: () => undefined };
