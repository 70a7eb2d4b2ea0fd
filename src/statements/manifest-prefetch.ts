/** Reads ahead what was published of merchants that are soon compared with the store: one statement for some of them. */
import type { Kysely } from 'kysely';
import { addDays, daysFromTo } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { DB } from '../store/engine/schema.ts';
import { publishedDays, type DaysOfMerchant, type PublishedDays } from '../store/statements/stored-files.ts';
import { manifestKey, signatureKey } from './keys.ts';

/** Merchants that are read together. Not more, as what was read lies in memory until it is their turn. */
const MERCHANTS_AHEAD = 32;
/** More days of a merchant are not read ahead. */
const DAYS_AHEAD_MAX = 31;

/** Days of a merchant, both ends included. */
interface Days {
  readonly from: BusinessDay;
  readonly to: BusinessDay;
}

/** What is asked about a merchant's days to compare them. */
export const daysToAsk = (merchantNo: string, { from, to }: Days): DaysOfMerchant => ({
  ...{ merchantNo, fromDay: from, toDay: to },
  keys: daysFromTo(from, to).flatMap((day) => [manifestKey(merchantNo, day), signatureKey(merchantNo, day)]),
});

/**
 * Holds as long as the merchants' leases are held and the holder writes nothing itself: only a lease's holder changes
 * these rows.
 */
export class ManifestPrefetch {
  readonly #db: Kysely<DB>;
  /** Merchants whose turn is still to come, in order. */
  readonly #left: Map<string, Days>;
  readonly #read = new Map<string, Promise<Map<string, PublishedDays>>>();

  constructor(db: Kysely<DB>, days: Iterable<readonly [string, Days]>) {
    this.#db = db;
    this.#left = new Map([...days].filter(([, { from, to }]) => to < addDays(from, DAYS_AHEAD_MAX)));
  }

  /** What was published of these days. Null if it is not to be read ahead. */
  async take(merchantNo: string, { from, to }: Days): Promise<PublishedDays | null> {
    const days = this.#left.get(merchantNo);
    if (days === undefined || from < days.from || to > days.to) return null;
    const reading = this.#read.get(merchantNo) ?? this.#readFrom(merchantNo, days);
    this.#left.delete(merchantNo);
    this.#read.delete(merchantNo);
    const read = await reading;
    const { statements, summaries, manifests, stored } = read.get(merchantNo)!;
    read.delete(merchantNo);
    const isWithin = ({ day }: { readonly day: BusinessDay }): boolean => from <= day && day <= to;
    return {
      statements: statements.filter(isWithin),
      summaries: summaries.filter(isWithin),
      manifests: manifests.filter(isWithin),
      stored,
    };
  }

  /** The merchant's turn is over. */
  forget(merchantNo: string): void {
    this.#left.delete(merchantNo);
    const reading = this.#read.get(merchantNo);
    this.#read.delete(merchantNo);
    // If it failed, whoever asked for it is notified.
    void reading?.then((read) => read.delete(merchantNo)).catch(() => undefined);
  }

  /** Reads of this merchant and of the next ones. */
  #readFrom(merchantNo: string, days: Days): Promise<Map<string, PublishedDays>> {
    const some = [daysToAsk(merchantNo, days)];
    for (const [other, own] of this.#left) {
      if (some.length === MERCHANTS_AHEAD) break;
      if (other !== merchantNo && !this.#read.has(other)) some.push(daysToAsk(other, own));
    }
    const reading = publishedDays(this.#db, some);
    for (const one of some) this.#read.set(one.merchantNo, reading);
    // The others ask anew.
    reading.catch(() => {
      for (const one of some) this.#read.delete(one.merchantNo);
    });
    return reading;
  }
}
