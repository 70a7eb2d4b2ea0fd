/**
 * Logs that calls are made again, without a line for each of many: one line for each subject, then none for a while.
 */
import type { Logger } from 'pino';
import type { Retry } from '../../platform/transport.ts';

/** For this long, further retries of the same subject are only logged at level debug. */
const QUIET_MS = 10_000;

export function createRetryLog(log: Logger, clock: () => number): (retry: Retry) => void {
  const reportedMs = new Map<string, number>();
  return (retry) => {
    const nowMs = clock();
    const isNews = nowMs - (reportedMs.get(retry.subject) ?? Number.NEGATIVE_INFINITY) >= QUIET_MS;
    if (isNews) reportedMs.set(retry.subject, nowMs);
    log[isNews ? 'warn' : 'debug'](retry, 'calling again');
  };
}
