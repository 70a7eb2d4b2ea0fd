/** Observation of a process: metrics if they have an address, traces if OTEL_* is set. */
import { messageOf } from '../ledger/text.ts';
import type { Logger } from 'pino';
import { observationSlot, type ProcessMetrics, type Traces } from '../web/observation.ts';
import type { PlatformApp } from '../run/app.ts';
import { UNOBSERVED, type Observer } from '../run/active-run.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';

/** Failures of sending traces are logged this often at most. */
const SHOWN_EVERY_MS = 60_000;

/** The traces of this process; null where nothing asks for them. Throws `UsageError`. */
export async function tracesOf(log: Logger, version: string): Promise<Traces | null> {
  const { env } = process;
  const observing = observationSlot.part();
  if (observing === null || !(await observing.asksTraces(env))) return null;
  let reportedMs = Number.NEGATIVE_INFINITY;
  const onProblem = (problem: string): void => {
    if (performance.now() - reportedMs < SHOWN_EVERY_MS) return;
    reportedMs = performance.now();
    log.warn({ problem }, 'traces could not be sent');
  };
  return observing.openTraces({ env, version, onProblem });
}

/** The metrics of this process; null where they have no address. */
export const metricsOf = async ({
  healthListen,
}: Pick<SettingsWithoutPlatform, 'healthListen'>): Promise<ProcessMetrics | null> =>
  healthListen === null ? null : ((await observationSlot.part()?.createMetrics()) ?? null);

export const observerOf = (metrics: ProcessMetrics | null, traces: Traces | null): Observer => ({
  ...UNOBSERVED,
  ...metrics?.observer,
  ...(traces && { trace: traces.trace }),
});

/**
 * Does `work` while `/healthz`, `/readyz` and `/metrics` are answered where DAYBOOK_HEALTH_LISTEN says; without it just
 * the work. An address that cannot be listened on is reported in the log, as the work matters more.
 */
export async function withHealthPort(
  { app, log, metrics, signal }: HealthPort,
  work: () => Promise<void>,
): Promise<void> {
  const { healthListen } = app.settings;
  if (metrics === null || healthListen === null) return work();
  const { listenForHealth } = await import('../web/server.ts');
  const { createReadiness } = await import('../web/readiness.ts');
  const open = async () => {
    const db = app.database.reserve(HEALTH_CONNECTIONS);
    const { secretKeys } = app.settings;
    const listener = await listenForHealth(healthListen, {
      readiness: createReadiness({ db, secretKeys, needsKeys: false, signal }),
      metrics: metrics.page({ settings: app.settings, db, now: app.now }),
      onRefusal: (event) => log.debug(event, 'refused'),
    });
    log.info({ url: listener.url }, 'health checks and metrics');
    return () => listener.close();
  };
  const close = await open().catch((error: unknown) => {
    log.error({ problem: messageOf(error) }, 'no health checks');
    return null;
  });
  try {
    await work();
  } finally {
    await close?.();
  }
}

/** One for a scrape, and one for a health check meanwhile. */
export const HEALTH_CONNECTIONS = 2;

export interface HealthPort {
  readonly app: PlatformApp;
  readonly log: Logger;
  readonly metrics: ProcessMetrics | null;
  /** Aborted once the process is stopping. */
  readonly signal: AbortSignal;
}
