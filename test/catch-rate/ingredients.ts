/** Finds which honest habits a history truly has: in its books, and in what the platform answered. */
import { addDays, dayOf } from '../../src/ledger/business-day.ts';
import type { Booking } from './books.ts';
import type { Lies } from './platform.ts';
import type { Scene } from './form.ts';

const BURST_MIN = 3;
const SWEPT_DAYS_MIN = 3;
const QUIET_DAYS_MIN = 3;

/** The habits that the books have, of entries up to the last day that was read. */
export function booksIngredients(
  books: readonly Booking[],
  { zone, days }: Scene,
  read: { readonly first: string; readonly last: string },
): string[] {
  const dayIn = ({ stampMs }: Booking): string => dayOf(stampMs, zone);
  const accounts = [...Map.groupBy(books, ({ currency }) => currency).values()].filter(
    (own) => dayIn(own[0]!) <= read.last,
  );
  const seconds = accounts.flatMap((own) => [...Map.groupBy(own, ({ stampMs }) => stampMs).values()]);
  const hasPair = (of: readonly Booking[]): boolean =>
    of.some(({ net }, at) => of.slice(at + 1).some((other) => other.net === -net));
  const sweptDays = (own: readonly Booking[]): number =>
    [...Map.groupBy(own, dayIn).values()].filter((day) => day.at(-1)!.balance === 0).length;
  const quietFrom = addDays(read.last, 1 - QUIET_DAYS_MIN);
  const found: Record<string, boolean> = {
    'burst in one second': seconds.some((of) => of.length >= BURST_MIN),
    'equal pair in one second': seconds.some(hasPair),
    'daily sweeps to zero': accounts.some((own) => sweptDays(own) >= SWEPT_DAYS_MIN),
    'new currency': accounts.some((own) => dayIn(own[0]!) > days[0]! && dayIn(own[0]!) > read.first),
    'quiet account': accounts.some(
      (own) => !own.some((one) => dayIn(one) >= quietFrom && dayIn(one) <= read.last),
    ),
  };
  return Object.keys(found).filter((name) => found[name]);
}

/** The same platform, which adds `name` to `met` when a reply of it is another than that of one without the habit. */
export const noticing = (lies: Lies, name: string, met: Set<string>): Lies => ({
  ...lies,
  ...(lies.reply !== undefined && {
    reply: (honest, call, at, ask) => {
      try {
        const reply = lies.reply!(honest, call, at, ask);
        if (reply.total !== honest.total) met.add(name);
        return reply;
      } catch (error) {
        met.add(name);
        throw error;
      }
    },
  }),
});
