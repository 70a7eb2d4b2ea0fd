/** Decides when it is believed that the platform took entries back, and words the messages for when it is not. Pure. */
import type { BusinessDay, Window } from '../ledger/entry.ts';

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
  const reported = waiting
    .map(({ currency, held, absent }) => `${absent} of ${held} in ${currency}`)
    .join(', ');
  return (
    `${windowText(planned)} waits for a second reading: the platform no longer held entries that are stored ` +
    `(${reported}). They stay as they are until a later run, at least ${SECOND_READING_AFTER_MS / 60_000} minutes ` +
    'after the first, misses them too.'
  );
};

export const unexplainedText = (planned: Window, absent: number, nameless: number): string =>
  `${windowText(planned)} lacks ${absent} entries that are stored, and ${nameless} unreadable ` +
  `${nameless === 1 ? 'one' : 'ones'} without batchNo may be among them: which are gone is unknown. ` +
  'Ask the platform to correct what `daybook quarantine` shows.';

export const heldText = (planned: Window, held: number): string =>
  `${windowText(planned)} lacks ${held} stored ${held === 1 ? 'entry' : 'entries'} of days of which too much is gone at ` +
  'once: held until they come back, or a person accepts it with `daybook amendments accept`.';

/** A day of an account of which entries are absent. */
export interface AbsentDay {
  readonly currency: string;
  readonly day: BusinessDay;
  /** How many entries are stored and have not vanished, with the absent ones. */
  readonly stored: number;
  readonly absent: number;
  /** How many of the stored ones came since the absent ones were missed first, with other contents than these. */
  readonly newcomers: number;
  /** Some of them are held already. */
  readonly isHeld: boolean;
}

/**
 * The days whose absent entries are held: no reading, however often it is repeated, makes them vanish. Those are days of
 * which no entry is left, or of several entries none but newcomers; days of an account that lack more than half of their entries together, where they are several;
 * and days that are held already, until their entries come back one and all.
 *
 * ### Example
 * A day of one entry that is absent is held. Two days of ten entries, of each six absent: both are held. One such day
 * waits for a second reading.
 */
export function heldDays<Day extends AbsentDay>(days: readonly Day[]): Day[] {
  const byAccount = Map.groupBy(days, ({ currency }) => currency);
  return [...byAccount.values()].flatMap((own) => {
    const sum = (figure: 'stored' | 'absent') => own.reduce((total, one) => total + one[figure], 0);
    const areMost =
      own.length > 1 && sum('absent') >= ABSENT_FEW && sum('absent') > sum('stored') * ABSENT_SHARE_MAX;
    const isEmptied = ({ stored, absent, newcomers }: Day): boolean =>
      absent >= stored || (absent >= ABSENT_FEW && absent >= stored - newcomers);
    return own.filter((one) => areMost || one.isHeld || isEmptied(one));
  });
}

const windowText = ({ beginMs, endMs }: Window): string =>
  `the window ${new Date(beginMs).toISOString()} to ${new Date(endMs).toISOString()}`;
