/** The checks a nightly run makes beyond the days it reads. `DAYBOOK_CHECKS` can switch each of them off. */

/**
 * - `frontier`: today's first entries must start from the balance that yesterday ended on
 * - `wide`: the total of all older days must equal the number of stored entries, and one page of them must be as stored
 * - `zone`: the newest entry must be found at its own second, before anything is written
 * - `empty`: a day without entries is reported if its weekday is usually busy
 * - `first`: an account whose first opening is not 0 is reported, as entries before it may be missing
 * - `shared`: an entry number that two merchants have is reported
 */
export const CHECKS = ['frontier', 'wide', 'zone', 'empty', 'first', 'shared'] as const;

export type Check = (typeof CHECKS)[number];

/** Whether a check is on. All checks are on if `checks` is undefined. */
export const isChecked = (check: Check, checks: readonly Check[] | undefined): boolean =>
  checks === undefined || checks.includes(check);
