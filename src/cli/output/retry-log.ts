/** Tells that calls are sent again without telling it for each of many: once a subject and quiet spell. */
import type { Logger } from 'pino';
import type { Retry } from '../../platform/transport.ts';

/** The same subject is not told of again for this long; level debug tells every retry. */
const QUIET_MS = 10_000;

export function createRetryLog(log: Logger, clock: () => number): (retry: Retry) => void {
  const toldMs = new Map<string, number>();
  return (retry) => {
    const nowMs = clock();
    const isNews = nowMs - (toldMs.get(retry.subject) ?? Number.NEGATIVE_INFINITY) >= QUIET_MS;
    if (isNews) toldMs.set(retry.subject, nowMs);
    log[isNews ? 'warn' : 'debug'](retry, 'calling again');
  };
}
