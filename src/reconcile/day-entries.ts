/** An account's entries by day. Small days are read together; of a large day memory holds a batch or two. */
import type { Kysely } from 'kysely';
import { addDays, dayWindow, shownDay } from '../ledger/business-day.ts';
import type { ChainEntry } from '../ledger/chain/chain-link.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import type { DB } from '../store/engine/schema.ts';
import { firstToChain, readAccountToChain, type FirstEntries } from '../store/entries.ts';

/** Entries of small days held at once. */
const HELD_ENTRIES_MAX = 20_000;
/** Days read together at most, where days are to be chained, and where nothing shows that they are. */
const DAYS_AHEAD_MAX = 31;
const QUIET_DAYS_AHEAD_MAX = 366;

export interface DayEntries {
  /** When the day's first entry was booked. */
  readonly firstMs: (day: BusinessDay) => Promise<number | undefined>;
  readonly read: (day: BusinessDay) => AsyncGenerator<readonly ChainEntry[]>;
}

/** `expected`: the days that are going to be chained, in order. */
export function dayEntries(
  db: Kysely<DB>,
  account: Account,
  zone: string,
  expected: readonly BusinessDay[],
): DayEntries {
  const held = new Map<BusinessDay, readonly ChainEntry[]>();
  let heldCount = 0;
  let ahead = 0;
  /** The first entries of a day that is too large to be held. */
  let large: { readonly day: BusinessDay; readonly first: FirstEntries } | null = null;

  const readUpTo = (day: BusinessDay): BusinessDay => {
    const far = addDays(day, DAYS_AHEAD_MAX);
    const last = expected.findLast((one) => one <= far) ?? day;
    if (last > day) return last;
    ahead = Math.min(2 * ahead + 1, QUIET_DAYS_AHEAD_MAX);
    return addDays(day, ahead - 1);
  };
  const load = async (day: BusinessDay): Promise<void> => {
    if (heldCount > HELD_ENTRIES_MAX) {
      held.clear();
      heldCount = 0;
    }
    const last = readUpTo(day);
    const window = { beginMs: dayWindow(day, zone).beginMs, endMs: dayWindow(last, zone).endMs };
    const first = await firstToChain(db, account, window);
    const isAll = first.entries.length < first.limit;
    let from = 0;
    for (let one = day; one <= last; one = addDays(one, 1)) {
      const { endMs } = dayWindow(one, zone);
      let to = from;
      while (to < first.entries.length && first.entries[to]!.bookedMs <= endMs) to += 1;
      if (!isAll && to === first.entries.length) {
        if (one === day) large = { day, first };
        return;
      }
      held.set(one, first.entries.slice(from, to));
      heldCount += to - from;
      from = to;
    }
  };
  const firstOf = async (day: BusinessDay): Promise<readonly ChainEntry[]> => {
    if (!held.has(day) && large?.day !== day) await load(day);
    return held.get(day) ?? large!.first.entries;
  };
  return {
    firstMs: async (day) => (await firstOf(day))[0]?.bookedMs,
    read: async function* (day) {
      const entries = await firstOf(day);
      assertDates(account, entries, zone);
      if (held.has(day)) {
        yield entries;
        return;
      }
      const { first } = large!;
      for await (const batch of readAccountToChain(db, account, dayWindow(day, zone), { first })) {
        assertDates(account, batch, zone);
        yield batch;
      }
    },
  };
}

/** Throws where an entry has another date than the clock shows at its instant: it was stored with another time zone than it is read with now. */
function assertDates(account: Account, [first]: readonly ChainEntry[], zone: string): void {
  if (first === undefined || first.bookedAt.startsWith(shownDay(first.bookedMs, zone))) return;
  throw new Error(
    `account ${account.merchantNo} ${account.currency}: entry ${first.batchNo} is booked at ${first.bookedAt}, another ` +
      `day; it was read with another time zone than ${zone}.`,
  );
}
