/**
 * A queue to the platform with a virtual clock: a number of calls at once, each of a given duration, measured without
 * waiting.
 */
import { createRequestQueue } from '../../src/platform/request-queue.ts';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';
import { virtualTime } from '../support/virtual-time.ts';

export interface VirtualLine {
  readonly reader: LedgerReader;
  readonly elapsedMs: () => number;
  readonly inFlightMost: () => number;
}

/** The transport's own queue, with a clock that jumps to the next reply whenever there is nothing else to do. */
export function virtualLine(
  reader: LedgerReader,
  options: { latencyMs: number; concurrency: number },
): VirtualLine {
  const time = virtualTime(0);
  const queue = createRequestQueue(options.concurrency, null, time);
  let inFlight = 0;
  let most = 0;
  return {
    reader: {
      page: async (query, signal) => {
        const caller = { owner: query.merchant.merchantNo, rank: query.window.beginMs };
        const leave = await queue.enter(caller, signal);
        most = Math.max(most, (inFlight += 1));
        try {
          const page = await reader.page(query, signal);
          await time.sleep(options.latencyMs);
          return page;
        } finally {
          inFlight -= 1;
          leave(true);
        }
      },
    },
    elapsedMs: () => time.clock(),
    inFlightMost: () => most,
  };
}
