/** A line to the platform whose time is virtual: so many calls at once, each so many ms, measured without waiting. */
import pLimit from 'p-limit';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';

export interface VirtualLine {
  readonly reader: LedgerReader;
  readonly elapsedMs: () => number;
  readonly inFlightMost: () => number;
}

/** Time moves on to the next reply whenever nothing else is left to do. */
export function virtualLine(
  reader: LedgerReader,
  options: { latencyMs: number; concurrency: number },
): VirtualLine {
  const inLine = pLimit(options.concurrency);
  const due: { readonly atMs: number; readonly reply: () => void }[] = [];
  let nowMs = 0;
  let most = 0;
  let isTicking = false;
  const tick = () => {
    const next = due.shift();
    if (next === undefined) {
      isTicking = false;
      return;
    }
    nowMs = next.atMs;
    next.reply();
    setTimeout(tick);
  };
  const travel = () =>
    new Promise<void>((resolve) => {
      due.push({ atMs: nowMs + options.latencyMs, reply: resolve });
      if (!isTicking) {
        isTicking = true;
        setTimeout(tick);
      }
    });
  return {
    reader: {
      page: (query, signal) =>
        inLine(async () => {
          most = Math.max(most, inLine.activeCount);
          const page = await reader.page(query, signal);
          await travel();
          return page;
        }),
    },
    elapsedMs: () => nowMs,
    inFlightMost: () => most,
  };
}
