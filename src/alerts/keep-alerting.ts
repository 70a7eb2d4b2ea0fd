/** The background task of a long-lived process: sends due alerts and runs the watchdog. */
import { setTimeout as sleep } from 'node:timers/promises';

const SEND_EVERY_MS = 10_000;
/** How often the watchdog checks, for missed runs and the like. */
const WATCHDOG_EVERY_MS = 30_000;

export interface Alerting {
  /** Sends what is due. */
  readonly deliver: () => Promise<unknown>;
  /** Raises alerts that no run raises. */
  readonly runWatchdog: () => Promise<unknown>;
  /** Called with what failed. The next try comes in its time. */
  readonly onFault: (error: unknown) => void;
  readonly signal: AbortSignal;
  readonly sendEveryMs?: number;
  readonly watchdogEveryMs?: number;
}

/** Goes on until the signal aborts, and sends once more then. Never rejects. */
export async function keepAlerting({
  deliver,
  runWatchdog,
  onFault,
  signal,
  sendEveryMs = SEND_EVERY_MS,
  watchdogEveryMs = WATCHDOG_EVERY_MS,
}: Alerting): Promise<void> {
  let checkedMs = -Infinity;
  while (!signal.aborted) {
    try {
      if (performance.now() - checkedMs >= watchdogEveryMs) {
        checkedMs = performance.now();
        await runWatchdog();
      }
      await deliver();
    } catch (error) {
      onFault(error);
    }
    await sleep(sendEveryMs, undefined, { signal }).catch(() => undefined);
  }
  await deliver().catch(onFault);
}
