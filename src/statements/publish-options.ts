/** Options for publishing a day, or for writing its files again. */
import type { Account, BusinessDay } from '../ledger/entry.ts';
import type { LatenessMeasured } from '../ledger/lateness.ts';
import type { Fence, ObjectStore } from '../objects/object-store.ts';
import { askLease, type Lease } from '../store/engine/lease.ts';
import type { DayContentOptions } from './day-content.ts';
import type { StatementFormat } from './formats/format.ts';
import type { SigningKey } from '../ledger/signature.ts';
import type { HeldEntries, SharedFrom } from './withheld.ts';
import type { AccountOnDay } from '../store/statements/due-days.ts';
import type { SettledDay } from '../store/statements/record-published.ts';
import type { StoredRow } from '../store/statements/stored-files.ts';

export interface SigningOptions {
  /** If left out or null, manifests are not signed. */
  readonly signingKey?: SigningKey | null;
  readonly now: () => Date;
}

/** A manifest that lay in the store, was not known to the database, and was not signed with our key. */
export interface ForeignManifest {
  readonly merchantNo: string;
  readonly day: BusinessDay;
  readonly key: string;
  readonly revision: number;
  readonly sha256: string;
}

export interface PublishDayOptions extends DayContentOptions, SigningOptions {
  readonly lease: Lease;
  readonly objects: ObjectStore;
  /** Takes what is to be recorded as done by the caller. If left out, it is recorded at once. */
  readonly publishedNow?: PublishedNow;
  readonly timeZoneTrusted?: boolean;
  readonly checked?: readonly string[];
  /** How late the merchant's entries come, for the manifest. If left out, nothing is known of it. */
  readonly lateness?: LatenessMeasured;
  /** Whether the day had been proven to have no entries: its first statement then counts as revised if it has some. If left out: never. */
  readonly comesLate?: (account: Account, day: BusinessDay) => boolean;
  /** Called where a manifest that is not ours gives way to the one that is written. */
  readonly onForeign?: (found: ForeignManifest) => void;
  /** What statements are published in next to the CSV; if left out, nothing. */
  readonly formats?: readonly StatementFormat[];
  /** Accounts that are withheld from a day on, as entries may be another merchant's. If left out: none. */
  readonly sharedFrom?: SharedFrom;
  /** What of the merchant is held, so that no published day is revised. If left out: nothing is. */
  readonly heldEntries?: HeldEntries | null;
  readonly runId: number;
}

/** Asks the database whether this run still holds the lease. */
export const leaseFence = ({ db, lease }: Pick<PublishDayOptions, 'db' | 'lease'>): Fence => ({
  epoch: lease.epoch,
  assertHeld: () => askLease(db, lease),
});

/**
 * What `publishDays` leaves to be recorded together with others, by `recordSettled` under the merchant's lease. Until
 * then the days are due: if the process dies, the next run finds them unchanged and writes nothing.
 */
export class PublishedNow {
  readonly #settled = new Map<string, SettledDay>();
  /** What was read back of the days' files, by key. */
  readonly stored = new Map<string, StoredRow>();
  /** Days that had nothing published before: each of their files was written and read back in this run. */
  readonly newDays = new Set<BusinessDay>();

  get settled(): readonly SettledDay[] {
    return [...this.#settled.values()];
  }

  has(one: AccountOnDay): boolean {
    return this.#settled.has(keyOf(one));
  }

  add(days: readonly SettledDay[], stored: readonly StoredRow[]): void {
    for (const one of days) this.#settled.set(keyOf(one), one);
    for (const row of stored) this.stored.set(row.object_key, row);
  }

  /** The account's day is due again, as a revision before it was published after it. */
  takeBack(one: AccountOnDay): void {
    this.#settled.delete(keyOf(one));
  }

  /** These are recorded by somebody else. */
  areRecorded(stored: readonly StoredRow[]): void {
    for (const { object_key: key } of stored) this.stored.delete(key);
  }

  clear(): void {
    for (const all of [this.#settled, this.stored, this.newDays]) all.clear();
  }
}

const keyOf = ({ account: { merchantNo, currency }, day }: AccountOnDay): string =>
  JSON.stringify([merchantNo, currency, day]);
