/** `worker`: takes merchants from the queue, and does the work on them. */
import { InvalidArgumentError, type Command } from 'commander';
import type { Logger } from 'pino';
import { platformSettings } from '../../cli/context.ts';
import { keepRunning } from '../../cli/keep-running.ts';
import { messageOf } from '../../ledger/text.ts';
import { runDeps, type PlatformApp } from '../../run/app.ts';
import { withRequests } from '../../run/requests.ts';
import { EXIT, type ExitCode } from '../../run/verdict/exit-codes.ts';
import { finishQueuedRun, finishWaitingRuns } from './end-run.ts';
import { isWaiting, sendJoined } from './jobs.ts';
import { NightWorker } from './night-worker.ts';
import { withQueue } from './queue.ts';
import { type JobEnd, keepWorking } from './worker.ts';

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
      keepRunning(
        platformSettings(self),
        (app, log, signal) => {
          const places = atOnce ?? app.settings.merchantsAtOnce;
          // The night goes first: backfills are done where none of its merchants waits, and in half of the places at most.
          return withRequests(
            app,
            log,
            signal,
            () => workOnQueue(app, log, { atOnce: places, untilEmpty, signal }),
            {
              atOnce: Math.max(1, Math.floor(places / 2)),
              mayBackfill: async () => !(await isWaiting(app.database.db)),
            },
          );
        },
        { purpose: 'worker' },
      ),
    );
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
    const night = new NightWorker(app, { onTrouble });
    log.info({ atOnce }, 'worker began');
    await keepWorking<ExitCode>(queue, {
      atOnce,
      work: async (job, jobSignal) => {
        const exitCode = await night.doMerchant(job, jobSignal);
        if (await finishQueuedRun(job.runId, deps)) log.info({ run: job.runId }, 'run ended');
        return exitCode;
      },
      endAbandoned: async () => {
        await sendJoined(queue);
        for (const run of await finishWaitingRuns(deps)) log.info({ run }, 'run ended');
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
  const { merchantNo, runId: run } = job;
  const level = outcome === 'failed' || outcome === 'lost' ? 'error' : result === EXIT.done ? 'info' : 'warn';
  log[outcome === 'busy' || outcome === 'given-back' ? 'info' : level](
    {
      ...{ merchantNo, run, outcome, ms: Math.round(ms) },
      ...(result !== null && { exitCode: result }),
      ...(error !== undefined && { problem: messageOf(error) }),
    },
    'job ended',
  );
}
