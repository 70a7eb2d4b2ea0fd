/** An account's days during a pass: as the pass has made them, or else as they are stored. */
import type { Kysely } from 'kysely';
import { addDays } from '../ledger/business-day.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import {
  accountDaysAround,
  dayBefore,
  FIRST_DAY,
  LAST_DAY,
  type DayFigures,
  type DaysAround,
} from '../store/account-days.ts';
import type { DB } from '../store/engine/schema.ts';

export interface KnownDays {
  /** The day as stored, whatever the pass made of it. */
  readonly stored: (day: BusinessDay) => Promise<DayFigures | undefined>;
  readonly storedBefore: (day: BusinessDay) => Promise<DayFigures | undefined>;
  /** First stored day after `day`. */
  readonly storedAfter: (day: BusinessDay) => Promise<DayFigures | undefined>;
  /** The last day before `day`, as the pass made it, else as stored. */
  readonly before: (day: BusinessDay) => Promise<DayFigures | undefined>;
  /** The first day after `day`, as the pass made it, else as stored. */
  readonly after: (day: BusinessDay) => Promise<DayFigures | undefined>;
  readonly put: (figures: DayFigures) => void;
}

/** `read`: stored days that were read already. */
export function createKnownDays(db: Kysely<DB>, account: Account, read: DaysAround | null = null): KnownDays {
  /** What the pass made, in order of days. */
  const made: DayFigures[] = [];
  let ahead = read;

  const readFrom = async (from: BusinessDay) => (ahead = await accountDaysAround(db, account, from));
  const around = async (day: BusinessDay) =>
    ahead !== null && ahead.from <= day && day <= ahead.to ? ahead : readFrom(day);

  const stored = async (day: BusinessDay) => (await around(day)).days.find((one) => one.day === day);

  const storedAfter = async (day: BusinessDay) => {
    const found = (await around(day)).days.find((one) => one.day > day);
    if (found !== undefined || ahead!.to === LAST_DAY) return found;
    const next = addDays(ahead!.to, 1);
    return (await readFrom(next)).days.find((one) => one.day >= next);
  };

  const storedBefore = async (day: BusinessDay) => {
    const found = (await around(day)).days.findLast((one) => one.day < day);
    return found !== undefined || ahead!.from === FIRST_DAY ? found : dayBefore(db, account, ahead!.from);
  };

  const before = async (day: BusinessDay) => {
    const fromStore = await storedBefore(day);
    const fromPass = made.findLast((one) => one.day < day);
    if (fromStore === undefined || fromPass === undefined) return fromPass ?? fromStore;
    return fromPass.day >= fromStore.day ? fromPass : fromStore;
  };

  const after = async (day: BusinessDay) => {
    const fromStore = await storedAfter(day);
    const fromPass = made.find((one) => one.day > day);
    if (fromStore === undefined || fromPass === undefined) return fromPass ?? fromStore;
    return fromPass.day <= fromStore.day ? fromPass : fromStore;
  };

  const put = (figures: DayFigures): void => {
    const at = made.findLastIndex((one) => one.day <= figures.day);
    made.splice(made[at]?.day === figures.day ? at : at + 1, made[at]?.day === figures.day ? 1 : 0, figures);
  };

  return { stored, storedBefore, storedAfter, before, after, put };
}
