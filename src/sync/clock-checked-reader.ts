/** Watches the platform's clock while windows are read: none may reach into time that is not settled there. */
import type { Window } from '../ledger/entry.ts';
import type { LedgerReader } from '../platform/ledger-reader.ts';
import type { Asked } from './certificate.ts';
import type { PlatformClock } from './platform-clock.ts';
import { PlatformBehind } from './sync-report.ts';

export interface Settling {
  readonly reader: LedgerReader;
  readonly now: () => Date;
  readonly settleDelayMs?: number;
}

/** The instant up to which all is settled, by a clock that is so far behind ours. */
export const settledByMs = ({ now, settleDelayMs = 0 }: Settling, behindMs: number): number =>
  now().getTime() - behindMs - settleDelayMs;

/**
 * Checks the platform's clock in each reply before it is used. If a reply shows that one of the windows reaches
 * beyond what is settled there, it rejects with `PlatformBehind`. From then on it also rejects each reply for such a
 * window: that call was on its way already, and must not count as read.
 */
export function clockCheckedReader(
  options: Settling,
  asked: readonly Asked[],
  platformClock: PlatformClock,
): LedgerReader {
  const lastMs = Math.max(...asked.map(({ window }) => window.endMs));
  const isOneAsked = ({ beginMs, endMs }: Window): boolean =>
    asked.some(({ window }) => window.beginMs <= beginMs && window.endMs >= endMs);
  return {
    page: async (query, signal) => {
      const page = await options.reader.page(query, signal);
      const isFurther = platformClock.note(page.clock);
      const settledMs = settledByMs(options, platformClock.behindMs());
      const span = query.bookedWithin ?? query.window;
      // While nothing shows that the platform is behind, the windows are right: they were planned by our own clock.
      const isUnsettled = platformClock.behindMs() > 0 && span.endMs > settledMs && isOneAsked(span);
      if (isUnsettled || (isFurther && lastMs > settledMs)) throw new PlatformBehind();
      return page;
    },
  };
}
