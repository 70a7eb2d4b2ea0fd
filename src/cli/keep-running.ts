/** Commands that run until they are stopped. */
import type { Logger } from 'pino';
import type { DueJob } from '../run/schedule/due.ts';
import { EXIT } from '../run/verdict/exit-codes.ts';
import { alertsOf, type Purpose } from '../run/alerts.ts';
import type { PlatformApp } from '../run/app.ts';
import { statementMailOf } from '../run/statement-mail.ts';
import type { Settings } from '../settings/settings.ts';
import { stopSignal, withPlatform } from './context.ts';
import { metricsOf, withHealthPort } from './observed.ts';

/** Does `work` until SIGTERM or Ctrl-C, while health checks and metrics are answered and alerts and statements are sent. */
export async function keepRunning(
  settings: Settings,
  work: (app: PlatformApp, log: Logger, signal: AbortSignal) => Promise<void>,
  { purpose = 'night', onEnd }: { readonly purpose?: Purpose; readonly onEnd?: (log: Logger) => void } = {},
): Promise<void> {
  const metrics = await metricsOf(settings);
  const alerts = await alertsOf(settings);
  // One process is enough: others would search for the same.
  const mail = purpose === 'night' ? await statementMailOf(settings) : null;
  const observed = async (app: PlatformApp, log: Logger): Promise<void> => {
    const signal = stopSignal();
    const mailing = (): Promise<void> =>
      mail === null ? work(app, log, signal) : mail.withMailing(app, log, () => work(app, log, signal));
    await withHealthPort({ app, log, metrics, signal }, () =>
      alerts === null ? mailing() : alerts.withAlerting(app, log, mailing, { purpose }),
    );
    onEnd?.(log);
  };
  await withPlatform(settings, observed, {
    answers: false,
    metrics,
    onFailure:
      alerts === null ? null : (own, error, log) => alerts.reportNotStarted(own, error, log, purpose),
  });
}

interface JobEnd {
  readonly run: number;
  readonly exitCode: number | null;
  readonly notes: readonly string[];
  readonly elapsedMs: unknown;
}

/** Logs how a slot of a job ended. */
export const logEnd = (log: Logger, due: DueJob, end: JobEnd): void =>
  log[end.exitCode === EXIT.done ? 'info' : 'warn']({ ...due, ...end }, 'job ended');
