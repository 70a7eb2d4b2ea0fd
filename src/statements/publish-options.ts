/** Options for publishing a day, or for writing its files again. */
import type { Account, BusinessDay } from '../ledger/entry.ts';
import type { LatenessMeasured } from '../ledger/lateness.ts';
import type { Fence, ObjectStore } from '../objects/object-store.ts';
import { askLease, type Lease } from '../store/engine/lease.ts';
import type { LeaseAsker } from '../store/engine/lease-asker.ts';
import type { DayContentOptions } from './day-content.ts';
import type { StatementFormat } from './formats/format.ts';
import type { PublishedNow } from './published-now.ts';
import type { SigningOptions } from './sign-manifest.ts';
import type { SharedFrom } from './withheld.ts';
import type { ForeignManifest } from './write-manifest.ts';

export interface PublishDayOptions extends DayContentOptions, SigningOptions {
  readonly lease: Lease;
  /** Who asks whether the lease is held, for many leases and writes at once. If left out, each question is sent alone. */
  readonly asksLease?: LeaseAsker;
  readonly objects: ObjectStore;
  /** Takes what is to be recorded as done by the caller. If left out, it is recorded at once. */
  readonly publishedNow?: PublishedNow;
  /** The zone is not proven; the manifest says so. */
  readonly timeZoneTrusted?: boolean;
  /** What the run checks beyond the days it reads, for the manifest. */
  readonly checked?: readonly string[];
  /** How late the merchant's entries come, for the manifest. If left out, nothing is known of it. */
  readonly lateness?: LatenessMeasured;
  /**
   * Whether the account's day had been proven to have no entries. Its first statement then counts as revised if it has
   * entries. If left out: never.
   */
  readonly comesLate?: (account: Account, day: BusinessDay) => boolean;
  /** Called where a manifest that is not ours gives way to the one that is written. */
  readonly onForeign?: (found: ForeignManifest) => void;
  /** What statements are published in next to the CSV; if left out, nothing. */
  readonly formats?: readonly StatementFormat[];
  /** Accounts that are withheld from a day on, as entries may be another merchant's. If left out: none. */
  readonly sharedFrom?: SharedFrom;
  readonly runId: number;
}

/** Asks the database whether this run still holds the lease. */
export const leaseFence = ({
  db,
  lease,
  asksLease = (one) => askLease(db, one),
}: Pick<PublishDayOptions, 'db' | 'lease' | 'asksLease'>): Fence => ({
  epoch: lease.epoch,
  assertHeld: () => asksLease(lease),
});
