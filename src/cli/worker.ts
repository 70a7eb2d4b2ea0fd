/** `worker`: takes one merchant after another from the queue, as long as it runs. */
import { InvalidArgumentError, type Command } from 'commander';
import type { Logger } from 'pino';
import { type JobEnd, keepWorking } from '../queue/worker.ts';
import { runDeps, type PlatformApp } from '../run/app.ts';
import { enqueueBackfills } from '../run/run.ts';
import { finishQueuedRun, finishWaitingRuns } from '../run/run-end.ts';
import { TaskWorker } from '../run/task-worker.ts';
import { EXIT, type ExitCode } from '../run/verdict/exit-codes.ts';
import { withAlerting } from './alerting.ts';
import { platformSettings, stopSignal, withPlatform } from './context.ts';
import { metricsOf, withHealthPort } from './observed.ts';
import { withQueue } from './jobs.ts';

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

export function addWorkerCommand(program: Command): void {
  program
    .command('worker')
    .description(
      'do one merchant’s work after another from the queue, until SIGTERM or Ctrl-C; on as many machines as you like',
    )
    .option('--at-once <n>', 'merchants side by side (default: DAYBOOK_MERCHANTS_AT_ONCE)', countOf)
    .option('--until-empty', 'end when no job is waiting or at work, in any worker')
    .addHelpText(
      'after',
      '\nNeeds DAYBOOK_WORKERS=queue: then `daybook schedule` puts what is due on the queue. On SIGTERM or Ctrl-C it finishes ' +
        'what it can and gives the rest back.',
    )
    .action(async ({ atOnce, untilEmpty = false }: WorkerFlags, self: Command) => {
      const settings = platformSettings(self);
      const metrics = await metricsOf(settings);
      await withPlatform(
        settings,
        async (app, log) => {
          const signal = stopSignal();
          await withHealthPort({ app, log, metrics, signal }, () =>
            withAlerting(app, log, () =>
              workOnQueue(app, log, { atOnce: atOnce ?? settings.merchantsAtOnce, untilEmpty, signal }),
            ),
          );
        },
        { metrics },
      );
    });
}

interface WorkOptions {
  readonly atOnce: number;
  readonly untilEmpty: boolean;
  readonly signal: AbortSignal;
}

async function workOnQueue(
  app: PlatformApp,
  log: Logger,
  { atOnce, untilEmpty, signal }: WorkOptions,
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

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

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
