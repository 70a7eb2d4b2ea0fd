/** Publishes all account days that are due and proven, oldest first, and says why the others are withheld. */
import type { AccountFilter } from '../ledger/account-filter.ts';
import { daysFromTo } from '../ledger/business-day.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import type { DayFilter } from '../store/account-days.ts';
import { createLeaseAsker } from '../store/engine/lease-asker.ts';
import { dueBatch, firstDueBatch, type DueBatch, type DueDay } from '../store/statements/due-batch.ts';
import { countDueDays } from '../store/statements/due-days.ts';
import { firstDueOf, type FirstDue } from '../store/statements/first-due.ts';
import type { AccountOnDay, DaysOfAccounts } from '../store/statements/openings.ts';
import { nothingLatest } from './day-files.ts';
import { daysToCheck, openingMismatches, type OpeningMismatch } from './openings.ts';
import type { LeftOutFormat } from './other-formats.ts';
import { askedDays, pastOf } from './past.ts';
import { publishBatch, type BatchProgress } from './publish-batch.ts';
import type { PublishDayOptions } from './publish-options.ts';
import { accountKey, changedOnly, type ChangedFrom, type WithheldDay } from './withheld.ts';
import { writeDays } from './write-days.ts';

export type { WithheldDay } from './withheld.ts';

/** Likely days that are read together with what is due. */
const LIKELY_DUE_MAX = 64;

/** Manifests that are checked together. */
const REFRESHED_AT_ONCE = 32;

export interface PublishOptions extends PublishDayOptions {
  /** Whose days are published. */
  readonly accounts: AccountFilter;
  readonly fromDay?: BusinessDay;
  readonly toDay?: BusinessDay;
  /** Days that are probably due: where one merchant is published, they are read with fewer statements. */
  readonly likelyDue?: { readonly from: BusinessDay; readonly to: BusinessDay };
  /** Days whose openings are checked even if none of them is due. */
  readonly answersFor?: DaysOfAccounts;
  readonly onProgress?: (progress: { readonly daysDone: number; readonly days: number }) => void;
  /** Called after some days with what was done so far; a later failure does not undo it. */
  readonly onDay?: (soFar: PublishReport) => void;
}

/** A new revision. */
export interface PublishedStatement {
  readonly account: Account;
  readonly day: BusinessDay;
  readonly revision: number;
  /** Relative to STATEMENTS_URL. */
  readonly key: string;
  /** Why it replaces the revision before; null for the first one. */
  readonly reason: string | null;
}

export interface PublishReport {
  readonly published: readonly PublishedStatement[];
  /** How many account days were due and did not need a new revision. */
  readonly unchanged: number;
  readonly withheld: readonly WithheldDay[];
  /**
   * Days that do not open on the closing of the published day before. Checked are the due days, those of
   * `answersFor`, and the published day after each.
   */
  readonly unlinked: readonly OpeningMismatch[];
  /** Formats that cannot hold a new revision, so that it was published without; left out if there are none. */
  readonly leftOut?: readonly LeftOutFormat[];
}

/**
 * Publishes what is due. If bytes and figures are those of the current revision, the day counts as unchanged and
 * nothing is uploaded. Two kinds of days are withheld:
 *
 * - If entries of an account changed and are not reconciled yet: the day of the first such change and all later days.
 * - If the stored entries of a day do not give its figures: this day and later ones. It is put on the list of changed
 *   days, so that the next reconcile makes its figures anew.
 *
 * May be repeated after any crash and then gives the same revisions and the same bytes. Throws
 * `ObjectStoreUnreachable`, `LeaseLost`, `StoreUnreachable`, or the signal's reason. What was published before that
 * stays as it is.
 */
export async function publishDays(given: PublishOptions): Promise<PublishReport> {
  const options = { ...given, asksLease: given.asksLease ?? createLeaseAsker(given.db) };
  const { db, signal, zone } = options;
  const filter: DayFilter = { ...options.accounts, fromDay: options.fromDay, toDay: options.toDay };
  const { known, ...first } = await firstDue(filter, options);
  const changed: ChangedFrom = new Map(first.changed.map((one) => [accountKey(one.account), one] as const));
  const progress: Progress = { rows: [], withheld: [], fine: [], leftOut: [], next: [], daysDone: 0 };
  let days: number | null = null;
  for await (const batch of batchesOf(first.batch, filter, progress, options)) {
    signal.throwIfAborted();
    days ??= batch.isLast ? batch.days.length : await countDueDays(db, filter);
    const { daysDone } = progress;
    options.onProgress?.({ daysDone, days: Math.max(days, daysDone + batch.days.length) });
    try {
      await publishBatch(batch, changed, progress, batch === first.batch ? { ...options, known } : options);
    } finally {
      progress.daysDone += batch.days.length;
      options.onDay?.({ ...reportOf(progress), unlinked: [] });
    }
  }
  progress.withheld.push(...changedOnly(changed, progress.withheld, options));
  await refreshManifests(progress, options);
  options.onProgress?.({ daysDone: progress.daysDone, days: progress.daysDone });
  const touched = [...daysToCheck(progress.fine), ...progress.withheld];
  const within = options.answersFor ?? null;
  return { ...reportOf(progress), unlinked: await openingMismatches(db, touched, { within, zone }) };
}

/** What is due first; for one merchant, together with what publishing it needs. */
async function firstDue(
  filter: DayFilter,
  { db, accounts, likelyDue, zone }: PublishOptions,
): Promise<Pick<FirstDue, 'changed' | 'batch'> & { readonly known?: FirstDue }> {
  const [merchantNo, ...others] = accounts.merchants ?? [];
  if (
    likelyDue === undefined ||
    merchantNo === undefined ||
    others.length > 0 ||
    accounts.currencies !== null
  )
    return firstDueBatch(db, filter);
  const days = daysFromTo(likelyDue.from, likelyDue.to).slice(0, LIKELY_DUE_MAX);
  const known = await firstDueOf(db, merchantNo, filter, askedDays(merchantNo, days, zone));
  return { changed: known.changed, batch: known.batch, known };
}

interface Progress extends BatchProgress {
  daysDone: number;
}

const reportOf = ({ rows, fine, withheld, leftOut }: Progress) => ({
  published: rows.map((row) => ({
    account: { merchantNo: row.merchant_no, currency: row.currency },
    day: row.day,
    revision: row.revision,
    key: row.object_key,
    reason: row.reason,
  })),
  unchanged: fine.length - rows.length,
  withheld: [...withheld],
  ...(leftOut.length === 0 ? {} : { leftOut: [...leftOut] }),
});

/**
 * The due days in order. Publishing a day may make the account's next published day due: where that lies before the end
 * of its batch, it comes in a batch of its own after it.
 */
async function* batchesOf(
  first: DueBatch | null,
  filter: DayFilter,
  { next, withheld }: Progress,
  { db, publishedNow }: PublishOptions,
): AsyncGenerator<DueBatch> {
  for (let batch = first; batch !== null;) {
    const { merchantNo } = batch;
    const last: DueDay = { merchantNo, day: batch.days.at(-1)!.day };
    let found = next.length;
    yield batch;
    let { isLast } = batch;
    while (next.length > found) {
      const newlyDue = next
        .slice(found)
        .filter((one) => isWithin(filter, one.day) && publishedNow?.has(one) !== true);
      found = next.length;
      if (newlyDue.some(({ day }) => day > last.day)) isLast = false;
      const held = new Set(withheld.map(accountDayOf));
      const passed = newlyDue.filter((one) => one.day <= last.day && !held.has(accountDayOf(one)));
      const extra = passed.length === 0 ? null : await dueBatch(db, filter, { of: passed });
      if (extra !== null) yield extra;
    }
    batch = isLast ? null : await dueBatch(db, filter, { after: last });
  }
}

const isWithin = ({ fromDay, toDay }: DayFilter, day: BusinessDay): boolean =>
  (fromDay === undefined || day >= fromDay) && (toDay === undefined || day <= toDay);

/**
 * A manifest names the statement before it. So the manifests of later days that did not change themselves are updated
 * to name the new revision.
 */
async function refreshManifests({ fine, next }: Progress, options: PublishOptions): Promise<void> {
  const done = new Set(fine.map(placeOf));
  const left = next.filter((one) => !done.has(placeOf(one)));
  for (const [merchantNo, own] of Map.groupBy(left, ({ account }) => account.merchantNo)) {
    const days = [...new Set(own.map(({ day }) => day))].sort();
    for (let at = 0; at < days.length; at += REFRESHED_AT_ONCE) {
      const some = days.slice(at, at + REFRESHED_AT_ONCE);
      const past = await pastOf(options.db, merchantNo, some, options.zone);
      const toWrite = some.map((day) => ({ merchantNo, day, past: past.get(day)!, accounts: [] }));
      const { failure } = await writeDays(toWrite, nothingLatest(), options);
      if (failure !== null) throw failure.error;
    }
  }
}

const accountDayOf = ({ account, day }: AccountOnDay): string => `${day} ${accountKey(account)}`;

const placeOf = ({ account: { merchantNo }, day }: AccountOnDay): string => JSON.stringify([merchantNo, day]);
