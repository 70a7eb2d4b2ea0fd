/** Finds the stored days that were chained together with an account's day. */
import type { Kysely } from 'kysely';
import { chainedTogether, daysChainedBefore, type DayEnd } from '../ledger/chain/days-together.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { accountDaysUpTo, dayAfter, dayBefore, type AccountDayRow } from './account-days.ts';
import type { DB } from './engine/schema.ts';

export interface DaysTogether {
  /** In order. Nearly always there is only one. */
  readonly days: readonly AccountDayRow[];
  /** The last day before `days`; undefined where there is none. */
  readonly before: AccountDayRow | undefined;
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
  const [own, previous] = await accountDaysUpTo(db, account, day, 2);
  if (own?.day !== day) return null;
  const known = new Map<BusinessDay, AccountDayRow>([[day, own]]);
  /** For each day asked for, the day before it. The search ends when it has asked for the day before the first one. */
  const before = new Map<BusinessDay, AccountDayRow | undefined>([[day, previous]]);
  const earlier = await daysChainedBefore(day, {
    before: async (of) => {
      const row = before.has(of) ? before.get(of) : await dayBefore(db, account, of);
      before.set(of, row);
      if (row === undefined) return undefined;
      known.set(row.day, row);
      return endOf(row);
    },
    takesUp: (_, of) => Promise.resolve(!known.get(of)!.restarted),
  });
  const days = [...earlier.map((one) => known.get(one.day)!), own];
  for (let last = own; !last.clean_end;) {
    const next = await dayAfter(db, account, last.day);
    if (next === undefined || !chainedTogether(endOf(last), !next.restarted)) break;
    days.push((last = next));
  }
  return { days, before: before.get(days[0]!.day) };
}

const endOf = ({ day, clean_end: cleanEnd }: AccountDayRow): DayEnd => ({ day, cleanEnd });
