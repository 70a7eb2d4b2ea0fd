/** Finds the stored days that were chained together with an account's day. */
import type { Kysely } from 'kysely';
import { chainedTogether, daysChainedBefore } from '../ledger/chain/days-together.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { accountDaysUpTo, dayAfter, dayBefore, type DayFigures } from './account-days.ts';
import type { DB } from './engine/schema.ts';

export interface DaysTogether {
  /** In order. Nearly always there is only one. */
  readonly days: readonly DayFigures[];
  /** The last day before `days`; undefined where there is none. */
  readonly before: DayFigures | undefined;
}

/** An account's day that was read with the days next to it. */
export interface NearDays {
  readonly own: DayFigures;
  /** Undefined where there is none. */
  readonly before: DayFigures | undefined;
  readonly after: DayFigures | undefined;
}

/**
 * The day, with the days that were chained together with it; the columns `clean_end` and `restarted` say which. Null
 * where the day has no figures.
 */
export async function daysTogether(
  db: Kysely<DB>,
  account: Account,
  day: BusinessDay,
): Promise<DaysTogether | null> {
  const [own, before] = await accountDaysUpTo(db, account, day, 2);
  if (own?.day !== day) return null;
  return daysTogetherWith(db, account, {
    own,
    before,
    after: own.isOrderFinal ? undefined : await dayAfter(db, account, day),
  });
}

/** The same for a day that was read already: makes no query unless more than the days next to it are chained together. */
export async function daysTogetherWith(
  db: Kysely<DB>,
  account: Account,
  { own, before: previous, after }: NearDays,
): Promise<DaysTogether> {
  const { day } = own;
  const known = new Map<BusinessDay, DayFigures>([[day, own]]);
  /** For each day asked for, the day before it. The search ends when it has asked for the day before the first one. */
  const before = new Map<BusinessDay, DayFigures | undefined>([[day, previous]]);
  const earlier = await daysChainedBefore(day, {
    before: async (of) => {
      const row = before.has(of) ? before.get(of) : await dayBefore(db, account, of);
      before.set(of, row);
      if (row === undefined) return undefined;
      known.set(row.day, row);
      return row;
    },
    takesUp: (_, of) => Promise.resolve(!known.get(of)!.restarted),
  });
  const days = [...earlier.map((one) => known.get(one.day)!), own];
  for (let last = own; !last.isOrderFinal;) {
    const next = last === own ? after : await dayAfter(db, account, last.day);
    if (next === undefined || !chainedTogether(last, !next.restarted)) break;
    days.push((last = next));
  }
  return { days, before: before.get(days[0]!.day) };
}
