/** An account's days during a pass: as the pass has made them, or else as they are stored. Stored ones are read some at a time. */
import type { Kysely } from 'kysely';
import { entriesIn } from '../ledger/chain/figures.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { figuresBefore, figuresFrom, type DayFigures } from '../store/account-days.ts';
import type { DB } from '../store/engine/schema.ts';

interface KnownDay {
  readonly day: BusinessDay;
  readonly stored: DayFigures | undefined;
  made: DayFigures | undefined;
}

/** Days before the first one that are read with it: a stretch is mostly no longer. */
const DAYS_BEFORE = 8;
/** Days read at once: a long cascade makes few queries, a short one reads few rows. */
const DAYS_FROM = 50;

export class KnownDays {
  readonly #db: Kysely<DB>;
  readonly #account: Account;
  /** In order, without a gap between the days that were read. */
  readonly #days: KnownDay[] = [];
  /** Every stored day from here on was read, up to `#to`; null once there is none before or behind. */
  #from: BusinessDay | null;
  #to: BusinessDay | null;

  constructor(db: Kysely<DB>, account: Account, first: BusinessDay) {
    this.#db = db;
    this.#account = account;
    this.#from = this.#to = first;
  }

  async at(day: BusinessDay): Promise<DayFigures | undefined> {
    const one = await this.#at(day);
    return one?.made ?? one?.stored;
  }

  async stored(day: BusinessDay): Promise<DayFigures | undefined> {
    return (await this.#at(day))?.stored;
  }

  async before(day: BusinessDay): Promise<DayFigures | undefined> {
    await this.#readTo(day);
    for (;;) {
      const found = this.#days[this.#placeOf(day) - 1];
      if (found !== undefined || this.#from === null) return found?.made ?? found?.stored;
      await this.#readBefore();
    }
  }

  /** The first day with entries from this one on: only it may start with a break behind the days before. */
  async busyFrom(day: BusinessDay): Promise<DayFigures | undefined> {
    await this.#readTo(day);
    for (let place = this.#placeOf(day); ;) {
      const found = this.#days[place];
      const figures = found?.made ?? found?.stored;
      if (figures !== undefined && entriesIn(figures) > 0) return figures;
      if (found !== undefined) place += 1;
      else if (this.#to === null) return undefined;
      else {
        await this.#readOn();
        place = this.#placeOf(day);
      }
    }
  }

  async put(made: DayFigures): Promise<void> {
    const known = await this.#at(made.day);
    if (known !== undefined) known.made = made;
    else this.#days.splice(this.#placeOf(made.day), 0, { day: made.day, stored: undefined, made });
  }

  async #at(day: BusinessDay): Promise<KnownDay | undefined> {
    await this.#readTo(day);
    const found = this.#days[this.#placeOf(day)];
    return found?.day === day ? found : undefined;
  }

  /** Reads until the day is among those that were read. */
  async #readTo(day: BusinessDay): Promise<void> {
    while (this.#to !== null && day >= this.#to) await this.#readOn();
    while (this.#from !== null && day < this.#from) await this.#readBefore();
  }

  async #readOn(): Promise<void> {
    const rows = await figuresFrom(this.#db, this.#account, this.#to!, DAYS_FROM + 1);
    this.#to = rows.length > DAYS_FROM ? rows.pop()!.day : null;
    this.#days.push(...rows.map((stored) => ({ day: stored.day, stored, made: undefined })));
    this.#days.sort((a, b) => (a.day < b.day ? -1 : 1));
  }

  async #readBefore(): Promise<void> {
    const rows = await figuresBefore(this.#db, this.#account, this.#from!, DAYS_BEFORE);
    this.#from = rows.length < DAYS_BEFORE ? null : rows[0]!.day;
    this.#days.unshift(...rows.map((stored) => ({ day: stored.day, stored, made: undefined })));
  }

  /** Where the day is, or would be. */
  #placeOf(day: BusinessDay): number {
    let [low, high] = [0, this.#days.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#days[middle]!.day < day) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
