/** Small days are held in memory: the entries of several of them are read in one statement. */
import type { Kysely } from 'kysely';
import { dayWindow } from '../ledger/business-day.ts';
import { entriesIn } from '../ledger/chain/figures.ts';
import type { Account, BusinessDay, LedgerEntry } from '../ledger/entry.ts';
import { daysTogetherWith, type DaysTogether } from '../store/account-days.ts';
import type { DB } from '../store/engine/schema.ts';
import type { DueAccountDay, DueAccounts } from '../store/statements/due-batch.ts';
import type { EntriesOfDay } from '../store/statements/first-due.ts';
import { entriesOfDays } from '../store/statements/entries-of-days.ts';

/** Most entries of the days held at once: a few megabytes with the files made of them. */
const HELD_ENTRIES_MAX = 4_000;

/** Account days whose entries were read already. */
export interface HeldDays {
  /** Undefined for a day that is not held. */
  readonly together: (account: Account, day: BusinessDay) => DaysTogether | undefined;
  readonly entries: (account: Account, day: BusinessDay) => readonly LedgerEntry[] | undefined;
}

/** Some of a merchant's due days. */
export interface Portion {
  readonly days: readonly DueAccounts[];
  /** Null for one day that is too large to be held: its entries are read while its files are written. */
  readonly held: HeldDays | null;
}

/** Days of one merchant to hand out. */
interface DaysToHold {
  readonly db: Kysely<DB>;
  readonly zone: string;
  readonly merchantNo: string;
  readonly days: readonly DueAccounts[];
  /** Entries that were read with the days, complete account days. */
  readonly known?: readonly EntriesOfDay[] | undefined;
}

/** Hands out the days in order: as many small days together as can be held, a large day alone. */
export async function* portionsOf(of: DaysToHold): AsyncGenerator<Portion> {
  const { db, days } = of;
  let small: DueAccounts[] = [];
  let together = new Map<string, DaysTogether>();
  let entries = 0;
  const portion = async (): Promise<Portion> => {
    const held = await hold(of, together);
    const portion = { days: small, held };
    small = [];
    together = new Map();
    entries = 0;
    return portion;
  };
  for (const day of days) {
    const own = await togetherOf(db, day.accounts);
    const count = [...own.values()].reduce((sum, one) => sum + entriesOf(one), 0);
    if (small.length > 0 && entries + count > HELD_ENTRIES_MAX) yield await portion();
    if (count > HELD_ENTRIES_MAX) {
      yield { days: [day], held: null };
      continue;
    }
    small.push(day);
    for (const [key, one] of own) together.set(key, one);
    entries += count;
  }
  if (small.length > 0) yield await portion();
}

const keyOf = ({ currency }: Pick<Account, 'currency'>, day: BusinessDay): string => `${day} ${currency}`;

async function togetherOf(
  db: Kysely<DB>,
  accounts: readonly DueAccountDay[],
): Promise<Map<string, DaysTogether>> {
  const found = new Map<string, DaysTogether>();
  for (const due of accounts)
    found.set(keyOf(due.account, due.day), await daysTogetherWith(db, due.account, due));
  return found;
}

const entriesOf = ({ days }: DaysTogether): number => days.reduce((sum, day) => sum + entriesIn(day), 0);

async function hold(
  { db, zone, merchantNo, known = [] }: DaysToHold,
  together: ReadonlyMap<string, DaysTogether>,
): Promise<HeldDays> {
  const entries = new Map(known.map((one) => [keyOf(one, one.day), one.entries]));
  const wanted = new Map(
    [...together.values()].flatMap(({ days }) =>
      days.map(({ currency, day }) => [
        keyOf({ currency }, day),
        { currency, day, window: dayWindow(day, zone) },
      ]),
    ),
  );
  const unread = [...wanted].filter(([key]) => !entries.has(key));
  const read = await entriesOfDays(
    db,
    merchantNo,
    unread.map(([, one]) => one),
  );
  for (const [nth, [key]] of unread.entries()) entries.set(key, read[nth]!);
  return {
    together: (account, day) => together.get(keyOf(account, day)),
    entries: (account, day) => entries.get(keyOf(account, day)),
  };
}
