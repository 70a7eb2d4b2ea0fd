/** Keeps an eye on the platform's clock while windows are read: none may reach into what is not settled there. */
import type { LedgerReader } from '../platform/ledger-reader.ts';
import type { Asked } from './certificate.ts';
import type { PlatformClock } from './platform-clock.ts';
import { PlatformBehind } from './sync-report.ts';

export interface Settling {
  readonly reader: LedgerReader;
  readonly now: () => Date;
  readonly settleDelayMs?: number;
}

/** What is settled by a clock that is so far behind ours. */
export const settledByMs = ({ now, settleDelayMs = 0 }: Settling, behindMs: number): number =>
  now().getTime() - behindMs - settleDelayMs;

/**
 * Looks at the platform's clock in each reply, before anything is made of it. Rejects with `PlatformBehind` as soon as
 * one shows that a window asked for reaches beyond what is settled there.
 */
export function watchedReader(
  options: Settling,
  asked: readonly Asked[],
  platformClock: PlatformClock,
): LedgerReader {
  const lastMs = Math.max(...asked.map(({ window }) => window.endMs));
  return {
    page: async (query, signal) => {
      const page = await options.reader.page(query, signal);
      const isFurther = platformClock.note(page.clock);
      if (isFurther && lastMs > settledByMs(options, platformClock.behindMs())) throw new PlatformBehind();
      return page;
    },
  };
}
