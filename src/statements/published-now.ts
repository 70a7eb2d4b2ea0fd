/** Keeps what was published of a merchant in this run and is not recorded as done yet. */
import type { BusinessDay } from '../ledger/entry.ts';
import type { AccountOnDay } from '../store/statements/openings.ts';
import type { SettledDay } from '../store/statements/record-published.ts';
import type { StoredRow } from '../store/statements/stored-files.ts';

/**
 * What `publishDays` leaves to be recorded together with others, by `recordSettled` under the merchant's lease. Until
 * then the days are due: if the process dies, the next run finds them unchanged and writes nothing.
 */
export class PublishedNow {
  readonly #settled = new Map<string, SettledDay>();
  readonly #stored = new Map<string, StoredRow>();
  readonly #newDays = new Set<BusinessDay>();
  readonly #touched = new Set<BusinessDay>();

  /** Account days that are published as they are. */
  get settled(): readonly SettledDay[] {
    return [...this.#settled.values()];
  }

  /** What was read back of their manifests, by key. */
  get stored(): ReadonlyMap<string, StoredRow> {
    return this.#stored;
  }

  /** Days that had nothing published before: each of their files was written and read back in this run. */
  get newDays(): ReadonlySet<BusinessDay> {
    return this.#newDays;
  }

  /** Days of which rows or manifests may have been written in this run. */
  get touched(): ReadonlySet<BusinessDay> {
    return this.#touched;
  }

  has(one: AccountOnDay): boolean {
    return this.#settled.has(keyOf(one));
  }

  add(days: readonly SettledDay[], stored: readonly StoredRow[]): void {
    for (const one of days) this.#settled.set(keyOf(one), one);
    for (const row of stored) this.#stored.set(row.object_key, row);
  }

  addNewDay(day: BusinessDay): void {
    this.#newDays.add(day);
  }

  touch(day: BusinessDay): void {
    this.#touched.add(day);
  }

  /** The account's day is due again, as a revision before it was published after it. */
  takeBack(one: AccountOnDay): void {
    this.#settled.delete(keyOf(one));
  }

  /** All of it is recorded. */
  clear(): void {
    this.#settled.clear();
    this.#stored.clear();
    this.#newDays.clear();
    this.#touched.clear();
  }

  /** What was read back under this key is recorded. */
  isRecorded(key: string): void {
    this.#stored.delete(key);
  }
}

const keyOf = ({ account: { merchantNo, currency }, day }: AccountOnDay): string =>
  JSON.stringify([merchantNo, currency, day]);
