/** Publishes every account day that is due and proven, oldest first, and says of the others why not. */
import type { AccountFilter } from '../ledger/account-filter.ts';
import { dayWindow } from '../ledger/business-day.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { wallSecond, wallSpan } from '../ledger/wall-time.ts';
import { subtractWindows } from '../ledger/window.ts';
import { earliestChangedDays, markChangedDays, type DayFilter } from '../store/account-days.ts';
import { publishedDaysAfter, type AccountOnDay, type DaysOfAccounts } from '../store/statements/openings.ts';
import { countDueDays, dueCurrencies, nextDueDay, type DueDay } from '../store/statements/statements.ts';
import { certifiedWindows } from '../store/windows.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { unlinkedOpenings, type UnlinkedOpening } from './openings.ts';
import { publishDay, refreshManifest, type Misfit, type PublishDayOptions } from './publish-day.ts';

export interface PublishOptions extends PublishDayOptions {
  /** Whose days are published. */
  readonly accounts: AccountFilter;
  readonly fromDay?: BusinessDay;
  readonly toDay?: BusinessDay;
  /** Days the call answers for even where none of them is due: they are held against the law of openings as well. */
  readonly answersFor?: DaysOfAccounts;
  readonly onProgress?: (progress: { readonly daysDone: number; readonly days: number }) => void;
  /** Told after each day what the whole call did so far, as a failure later on takes nothing of it back. */
  readonly onDay?: (soFar: PublishReport) => void;
}

const SPANS_NAMED_MAX = 3;

/** A revision that was not there before. */
export interface PublishedStatement {
  readonly account: Account;
  readonly day: BusinessDay;
  readonly revision: number;
  /** Relative to STATEMENTS_URL. */
  readonly key: string;
  /** Why it replaces the one before; null for the first. */
  readonly reason: string | null;
}

/** An account day that is due and cannot be published yet. */
export interface WithheldDay {
  readonly account: Account;
  readonly day: BusinessDay;
  /** `misfit`: its stored entries do not say what its figures say. */
  readonly cause: 'not-over' | 'not-reconciled' | 'uncertified' | 'misfit';
  /** A sentence for a person. */
  readonly why: string;
}

export interface PublishReport {
  readonly published: readonly PublishedStatement[];
  /** Account days that were due and stand as they were published. */
  readonly unchanged: number;
  readonly withheld: readonly WithheldDay[];
  /** Of the days touched or answered for, and the published day after each: those that do not open on the closing before. */
  readonly unlinked: readonly UnlinkedOpening[];
}

/**
 * Publishes what is due. A day already published counts as unchanged when bytes and figures are the same, and nothing
 * is uploaded for it. Days at or after an account's first day with changes not reconciled yet are withheld, and so is
 * a day whose entries do not say what its figures say: it is put on the list of changed days, so that the next
 * reconciling mends it. Repeating it after any crash gives the same revisions and the same bytes. Throws
 * `ObjectStoreUnreachable`, `LeaseLost`, `StoreUnreachable`, or the signal's reason; what was published before that
 * stays, and is left alone the next time.
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
  // Asked day by day, as publishing one may make the account's next one due.
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

/** What a call did so far. */
interface Progress {
  readonly published: PublishedStatement[];
  unchanged: number;
  readonly withheld: WithheldDay[];
  /** Account days whose manifest is up to date by now, new revision or not. */
  readonly written: AccountOnDay[];
}

const reportOf = ({ published, unchanged, withheld }: Progress) => ({
  published: [...published],
  unchanged,
  withheld: [...withheld],
});

/** By account: its first day whose entries changed since its figures were made. */
type ChangedFrom = Map<string, AccountOnDay>;

const keyOf = ({ merchantNo, currency }: Account): string => JSON.stringify([merchantNo, currency]);

/** Publishes a day's accounts that nothing speaks against; those that turn out to be misfits are withheld after all. */
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

/** Puts a misfit on the list of changed days, so that it is reconciled anew and nothing after it is published before. */
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

/** Accounts with changes up to the last day asked for, none of whose days was due: what stands of them is out of date. */
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

/** Manifests name the statement before: those of later days that stay as they are must name the one that now stands. */
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
