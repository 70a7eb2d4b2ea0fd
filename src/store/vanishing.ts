/** Decides when it is believed that the platform took entries back, and words the messages for when it is not. Pure. */
import type { Window } from '../ledger/entry.ts';

/**
 * If a reading lacks more than this share of a window's entries in a currency, it is more likely that the platform
 * has a fault. When entries are really taken back, they are seldom so many at once.
 */
const ABSENT_SHARE_MAX = 0.5;
/**
 * Fewer absent entries than this are believed at once, even if they are more than that share: two of three are no
 * outage.
 */
const ABSENT_FEW = 3;
/** How much later another run has to read the same. By then outages are over, or people know of them. */
export const SECOND_READING_AFTER_MS = 3_600_000;

/**
 * Whether one reading is enough. It never is if no entry would be left in the window, even if there was only one. So
 * a total of 0 alone never empties a statement.
 *
 * ### Example
 * Of 3 stored entries, 2 absent: believed. Of 10, 5 absent: believed; 6 absent: not believed. Of 1, 1 absent: not
 * believed.
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

export const unexplainedText = (planned: Window, absent: number, wrecks: number): string =>
  `${windowText(planned)} lacks ${absent} entries that are stored, and ${wrecks} unreadable ` +
  `${wrecks === 1 ? 'one' : 'ones'} without batchNo may be among them: which are gone cannot be told. ` +
  'Ask the platform to correct what `daybook quarantine` shows.';

const windowText = ({ beginMs, endMs }: Window): string =>
  `the window ${new Date(beginMs).toISOString()} to ${new Date(endMs).toISOString()}`;
