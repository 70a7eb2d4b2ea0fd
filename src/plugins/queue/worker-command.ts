/** `worker`: takes merchants from the queue, and does the work on them. */
import { InvalidArgumentError, type Command } from 'commander';
import type { Logger } from 'pino';
import { platformSettings } from '../../cli/context.ts';
import { keepRunning } from '../../cli/keep-running.ts';
import { messageOf } from '../../ledger/text.ts';
import { runDeps, type PlatformApp } from '../../run/app.ts';
import { SliceWorker } from '../../run/backfill/slice-worker.ts';
import { withRepeats } from '../../run/repeats.ts';
import { EXIT, type ExitCode } from '../../run/verdict/exit-codes.ts';
import { doSlices, enqueueBackfills } from './backfills.ts';
import { finishQueuedRun, finishWaitingRuns } from './end-run.ts';
import { sendJoined } from './jobs.ts';
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
        (app, log, signal) =>
          withRepeats(app, log, signal, () =>
            workOnQueue(app, log, { atOnce: atOnce ?? app.settings.merchantsAtOnce, untilEmpty, signal }),
          ),
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
    const worker = new SliceWorker(app, { onTrouble });
    log.info({ atOnce }, 'worker began');
    await keepWorking<ExitCode>(queue, {
      atOnce,
      work: async (job, jobSignal) => {
        if (job.lane === 'backfill')
          return doSlices(job, { worker, db: queue.db, now: app.now, signal: jobSignal });
        const exitCode = await night.doMerchant(job, jobSignal);
        if (await finishQueuedRun(job.runId, deps)) log.info({ run: job.runId }, 'run ended');
        return exitCode;
      },
      endAbandoned: async () => {
        await sendJoined(queue);
        for (const run of await finishWaitingRuns(deps)) log.info({ run }, 'run ended');
        await enqueueBackfills(queue, { now: app.now, zone: app.settings.platform.timeZone });
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
