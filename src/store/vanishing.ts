/** When it is believed that the platform took entries back, and how it is told where it is not. Pure. */
import type { Window } from '../ledger/entry.ts';

/**
 * A reading that lacks more than this share of what a window holds in a currency is more often a fault of the platform
 * than entries taken back: one after another they are seldom taken back by the half.
 */
const ABSENT_SHARE_MAX = 0.5;
/** Fewer than this are believed at once even where they are more than that share: two of three are no outage. */
const ABSENT_FEW = 3;
/** How much later a second reading, of another run, has to say the same. Outages are over, or known, by then. */
export const SECOND_READING_AFTER_MS = 3_600_000;

/**
 * Whether one reading is enough. Never where nothing would be left: a total of 0 empties no statement by itself, nor
 * does it empty a window of one entry.
 */
export function isBelievedAtOnce({
  held,
  absent,
}: {
  readonly held: number;
  readonly absent: number;
}): boolean {
  if (absent >= held) return false;
  return absent < ABSENT_FEW || absent <= held * ABSENT_SHARE_MAX;
}

export const waitingText = (
  planned: Window,
  waiting: readonly { readonly currency: string; readonly held: number; readonly absent: number }[],
): string => {
  const told = waiting.map(({ currency, held, absent }) => `${absent} of ${held} in ${currency}`).join(', ');
  return (
    `${windowText(planned)} waits for a second reading: the platform no longer held entries that are stored ` +
    `(${told}). They stay as they are until a later run, at least ${SECOND_READING_AFTER_MS / 60_000} minutes ` +
    'after the first, misses them too.'
  );
};

export const unexplainedText = (planned: Window, absent: number, nameless: number): string =>
  `${windowText(planned)} lacks ${absent} entries that are stored, and ${nameless} unreadable ` +
  `${nameless === 1 ? 'one' : 'ones'} without batchNo may be among them: which are gone cannot be told. ` +
  'Ask the platform to correct what `daybook quarantine` shows.';

const windowText = ({ beginMs, endMs }: Window): string =>
  `the window ${new Date(beginMs).toISOString()} to ${new Date(endMs).toISOString()}`;
