/** What a nightly run looks at beyond the days it reads; each can be switched off (DAYBOOK_CHECKS). */

/**
 * - `frontier`: today's entries so far have to start where yesterday ended
 * - `wide`: the total of all older days has to be what is stored of them, and a page of them what is stored
 * - `zone`: the newest entry is found at its own second before anything is written
 * - `empty`: a day without entries where there usually are some is told
 * - `first`: a first opening that is not 0 has entries before it
 * - `shared`: no number belongs to two merchants
 */
export const CHECKS = ['frontier', 'wide', 'zone', 'empty', 'first', 'shared'] as const;

export type Check = (typeof CHECKS)[number];

/** Whether a check is on among those set; all of them are where none are named. */
export const isChecked = (check: Check, checks: readonly Check[] | undefined): boolean =>
  checks === undefined || checks.includes(check);
