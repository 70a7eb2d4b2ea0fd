/** Publishes all account days that are due and proven, oldest first, and says why the others are withheld. */
import type { AccountFilter } from '../ledger/account-filter.ts';
import { dayWindow } from '../ledger/business-day.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { wallSecond, wallSpan } from '../ledger/wall-time.ts';
import { subtractWindows } from '../ledger/window.ts';
import { type DayFilter } from '../store/account-days.ts';
import { earliestChangedDays, markChangedDays } from '../store/changed-days.ts';
import { publishedDaysAfter, type AccountOnDay, type DaysOfAccounts } from '../store/statements/openings.ts';
import { countDueDays, dueCurrencies, nextDueDay, type DueDay } from '../store/statements/due-days.ts';
import { certifiedWindows } from '../store/windows.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { unlinkedOpenings, type UnlinkedOpening } from './openings.ts';
import { publishDay, refreshManifest, type Misfit } from './publish-day.ts';
import type { PublishDayOptions } from './publish-options.ts';

export interface PublishOptions extends PublishDayOptions {
  /** Whose days are published. */
  readonly accounts: AccountFilter;
  readonly fromDay?: BusinessDay;
  readonly toDay?: BusinessDay;
  /** Days whose openings are checked even if none of them is due. */
  readonly answersFor?: DaysOfAccounts;
  readonly onProgress?: (progress: { readonly daysDone: number; readonly days: number }) => void;
  /** Called after each day with what was done so far; a later failure does not undo it. */
  readonly onDay?: (soFar: PublishReport) => void;
}

const SPANS_NAMED_MAX = 3;

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

/** An account day that is due and cannot be published yet. */
export interface WithheldDay {
  readonly account: Account;
  readonly day: BusinessDay;
  /** `misfit`: its stored entries do not give its figures. */
  readonly cause: 'not-over' | 'not-reconciled' | 'uncertified' | 'misfit';
  /** A sentence for a person. */
  readonly why: string;
}

export interface PublishReport {
  readonly published: readonly PublishedStatement[];
  /** How many account days were due and did not need a new revision. */
  readonly unchanged: number;
  readonly withheld: readonly WithheldDay[];
  /**
   * Days that do not open on the closing of the published day before. Looked at are the due days, those of
   * `answersFor`, and the published day after each.
   */
  readonly unlinked: readonly UnlinkedOpening[];
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
export async function publishDays(options: PublishOptions): Promise<PublishReport> {
  const { db, signal } = options;
  const filter: DayFilter = {
    ...options.accounts,
    fromDay: options.fromDay,
    toDay: options.toDay,
  };
  const progress: Progress = { published: [], unchanged: 0, withheld: [], written: [] };
  const changed = new Map(
    (await earliestChangedDays(db, filter)).map((one) => [keyOf(one.account), one] as const),
  );
  let daysDone = 0;
  const days = await countDueDays(db, filter);
  // Asked for one by one, as publishing a day may make the account's next day due.
  let due = await nextDueDay(db, filter, null);
  while (due !== undefined) {
    signal.throwIfAborted();
    options.onProgress?.({ daysDone, days: Math.max(days, daysDone + 1) });
    const ready: string[] = [];
    for (const currency of await dueCurrencies(db, filter, due)) {
      const reasonNot = await whyWithheld(due, currency, changed, options);
      if (reasonNot === null) ready.push(currency);
      else progress.withheld.push(reasonNot);
    }
    if (ready.length > 0) await publishReady(due, ready, changed, progress, options);
    daysDone += 1;
    options.onDay?.({ ...reportOf(progress), unlinked: [] });
    due = await nextDueDay(db, filter, due);
  }
  progress.withheld.push(...notReconciled(changed, progress.withheld, options));
  await refreshManifestsAfter(progress, options);
  options.onProgress?.({ daysDone, days: daysDone });
  const touched = [...progress.written, ...progress.withheld];
  const within = options.answersFor ?? null;
  const unlinked = await unlinkedOpenings(db, touched, { within, zone: options.zone });
  return { ...reportOf(progress), unlinked };
}

/** What was done so far. */
interface Progress {
  readonly published: PublishedStatement[];
  unchanged: number;
  readonly withheld: WithheldDay[];
  /** Account days whose manifest is up to date now, with or without a new revision. */
  readonly written: AccountOnDay[];
}

const reportOf = ({ published, unchanged, withheld }: Progress) => ({
  published: [...published],
  unchanged,
  withheld: [...withheld],
});

/** For each account, the first day whose entries changed after its figures were made. */
type ChangedFrom = Map<string, AccountOnDay>;

const keyOf = ({ merchantNo, currency }: Account): string => JSON.stringify([merchantNo, currency]);

/** Publishes the accounts of a day that nothing holds back. Those that turn out to be misfits are withheld. */
async function publishReady(
  { merchantNo, day }: DueDay,
  ready: readonly string[],
  changed: ChangedFrom,
  progress: Progress,
  options: PublishOptions,
): Promise<void> {
  const { written, misfits } = await publishDay(merchantNo, day, ready, options);
  progress.published.push(
    ...written.map((row) => ({
      account: { merchantNo: row.merchant_no, currency: row.currency },
      day: row.day,
      revision: row.revision,
      key: row.object_key,
      reason: row.reason,
    })),
  );
  progress.unchanged += ready.length - misfits.length - written.length;
  const fine = ready.filter((currency) => !misfits.some((misfit) => misfit.currency === currency));
  progress.written.push(...fine.map((currency) => ({ account: { merchantNo, currency }, day })));
  for (const misfit of misfits)
    progress.withheld.push(await putBack(misfit, merchantNo, day, changed, options));
}

/** Puts a misfit on the list of changed days. So it is reconciled again, and no later day is published before that. */
async function putBack(
  { currency, why }: Misfit,
  merchantNo: string,
  day: BusinessDay,
  changed: ChangedFrom,
  { db, lease }: PublishOptions,
): Promise<WithheldDay> {
  const account = { merchantNo, currency };
  await writeTransaction(db, lease, (trx) => markChangedDays(trx, account, [day]));
  changed.set(keyOf(account), { account, day });
  return { account, day, cause: 'misfit', why: `${why}. Run \`daybook reconcile\`, then publish again` };
}

async function whyWithheld(
  { merchantNo, day }: DueDay,
  currency: string,
  changed: ChangedFrom,
  { db, zone, now }: PublishOptions,
): Promise<WithheldDay | null> {
  const account = { merchantNo, currency };
  const window = dayWindow(day, zone);
  if (now().getTime() <= window.endMs) {
    const why = `the day is not over before ${wallSecond(window.endMs + 1, zone)} (${zone})`;
    return { account, day, cause: 'not-over', why };
  }
  const changedFrom = changed.get(keyOf(account))?.day;
  if (changedFrom !== undefined && changedFrom <= day) return { account, day, ...unreconciled(changedFrom) };
  const missing = subtractWindows([window], await certifiedWindows(db, merchantNo, window, currency));
  if (missing.length === 0) return null;
  const spans = missing
    .slice(0, SPANS_NAMED_MAX)
    .map((span) => wallSpan(span, zone))
    .join(', ');
  const more = missing.length > SPANS_NAMED_MAX ? ` and ${missing.length - SPANS_NAMED_MAX} more spans` : '';
  return { account, day, cause: 'uncertified', why: `no certificate covers ${spans}${more}` };
}

const unreconciled = (changedFrom: BusinessDay) => ({
  cause: 'not-reconciled' as const,
  why: `entries of ${changedFrom} changed since the figures were made: run \`daybook reconcile\` (or \`run\`) first`,
});

/**
 * Accounts that have changed days and no due day. What is published of them is out of date, up to the last day asked
 * for.
 */
function notReconciled(
  changed: ChangedFrom,
  withheld: readonly WithheldDay[],
  { toDay, zone, now }: PublishOptions,
): WithheldDay[] {
  const told = new Set(
    withheld
      .filter(({ cause }) => cause === 'not-reconciled' || cause === 'misfit')
      .map(({ account }) => keyOf(account)),
  );
  return [...changed.values()]
    .filter(({ account, day }) => !told.has(keyOf(account)) && (toDay === undefined || day <= toDay))
    .filter(({ day }) => dayWindow(day, zone).endMs < now().getTime())
    .map(({ account, day }) => ({ account, day, ...unreconciled(day) }));
}

/**
 * A manifest names the statement before it. So the manifests of later days that did not change themselves are updated
 * to name the new revision.
 */
async function refreshManifestsAfter(
  { published, written }: Progress,
  options: PublishOptions,
): Promise<void> {
  const placeOf = (merchantNo: string, day: BusinessDay) => JSON.stringify([merchantNo, day]);
  const done = new Set(written.map(({ account, day }) => placeOf(account.merchantNo, day)));
  for (const { account, day } of await publishedDaysAfter(options.db, published)) {
    const place = placeOf(account.merchantNo, day);
    if (done.has(place)) continue;
    done.add(place);
    await refreshManifest(account.merchantNo, day, options);
  }
}
