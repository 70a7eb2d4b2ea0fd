/** Publishes all account days that are due and proven, oldest first, and says why the others are withheld. */
import type { Account, BusinessDay } from '../ledger/entry.ts';
import {
  type DueAccountDay,
  type DueAccounts,
  type DueBatch,
  type AccountOnDay,
  changedFrom,
  dueBatch,
  type DueDay,
  countDueDays,
  type DaysOfAccounts,
} from '../store/statements/due-days.ts';
import { type PastOfDay, pastOfDays } from '../store/statements/past-of-days.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { StatementMisfit, portionsOf, type Portion } from './day-content.ts';
import { nothingLatest, type DayToWrite, type Latest, writeDays } from './write-days.ts';
import { prepareRevision, type Prepared, type LeftOutFormat } from './new-revisions.ts';
import {
  type PublishedDay,
  daysToCheck,
  openingMismatches,
  type OpeningMismatch,
  accountKey,
  notReconciled,
  whyWithheld,
  type ChangedFrom,
  type WithheldDay,
  changedOnly,
} from './withheld.ts';
import type { PublishDayOptions } from './publish-options.ts';
import type { AccountFilter } from '../ledger/account-filter.ts';
import type { DayFilter } from '../store/account-days.ts';
import { noteToChain } from '../store/certificates.ts';

/** What was done so far. */
interface Progress {
  readonly changed: ChangedFrom;
  readonly rows: StatementRow[];
  readonly withheld: WithheldDay[];
  /** Account days that are published as they now stand. */
  readonly fine: PublishedDay[];
  readonly leftOut: LeftOutFormat[];
  /** Published days whose manifest names a new revision and that were not checked after it. */
  readonly next: AccountOnDay[];
  daysDone: number;
}

/** Publishes the days in order. Throws like `publishDays`; `progress` then has what was done before. */
async function publishBatch(
  { merchantNo, days: asked }: DueBatch,
  progress: Progress,
  options: PublishDayOptions,
): Promise<void> {
  const all = asked.map(({ day }) => day);
  const past = await pastOfDays(options.db, merchantNo, all, options.zone);
  const days: DueAccounts[] = [];
  for (const { day, accounts } of asked) {
    const free = accounts.filter((due) => {
      const reasonNot = whyWithheld(due, past.get(day)!, progress, options);
      if (reasonNot !== null) progress.withheld.push(reasonNot);
      return reasonNot === null;
    });
    if (free.length > 0) days.push({ day, accounts: free });
  }
  const of = { merchantNo, past, latest: nothingLatest() };
  for await (const portion of portionsOf({ ...options, merchantNo, days })) {
    options.signal.throwIfAborted();
    await publishPortion(portion, of, progress, { ...options, held: portion.held });
  }
}

interface PortionOf {
  readonly merchantNo: string;
  readonly past: ReadonlyMap<string, PastOfDay>;
  readonly latest: Latest;
}

async function publishPortion(
  portion: Portion,
  { merchantNo, past, latest }: PortionOf,
  progress: Progress,
  options: PublishDayOptions,
): Promise<void> {
  const days: DayToWrite[] = [];
  for (const { day, accounts: due } of portion.days) {
    const own = past.get(day)!;
    const accounts: Prepared[] = [];
    for (const one of due) {
      const reasonNot = notReconciled(one, progress.changed);
      if (reasonNot !== null) progress.withheld.push(reasonNot);
      else {
        const prepared = await preparedOr(one, own, options);
        if (typeof prepared === 'string') await putBackMisfit(one, prepared, progress, options);
        else accounts.push(prepared);
      }
    }
    if (accounts.length > 0) days.push({ merchantNo, day, past: own, accounts });
  }
  if (days.length === 0) return;
  const { done, next, failure } = await writeDays(days, latest, options);
  for (const { day, rows, fine, misfits, current, leftOut } of done) {
    progress.rows.push(...rows);
    progress.leftOut.push(...leftOut);
    const { previous, later } = past.get(day)!;
    for (const statement of current.filter(({ currency }) => fine.includes(currency))) {
      const { currency } = statement;
      const nextTo = { previous: previous.get(currency), later: later.get(currency) };
      progress.fine.push({ account: { merchantNo, currency }, day, statement, ...nextTo });
    }
    for (const { currency, why } of misfits)
      await putBackMisfit({ account: { merchantNo, currency }, day }, why, progress, options);
  }
  progress.next.push(...next);
  if (failure !== null) throw failure.error;
}

/** What the account's day has to hold; a clause where its entries do not give its figures. */
async function preparedOr(
  due: DueAccountDay,
  past: PastOfDay,
  options: PublishDayOptions,
): Promise<Prepared | string> {
  try {
    return await prepareRevision(due, past, options);
  } catch (error) {
    if (!(error instanceof StatementMisfit)) throw error;
    return error.message;
  }
}

/** Puts a misfit on the list of changed days. So it is reconciled again, and no later day is published before that. */
async function putBackMisfit(
  { account, day }: AccountOnDay,
  clause: string,
  { changed, withheld }: Progress,
  { db, lease }: PublishDayOptions,
): Promise<void> {
  await writeTransaction(db, lease, (trx) => noteToChain(trx, account.merchantNo, [day]));
  changed.set(accountKey(account), { account, day });
  const why = `${clause}. Run \`daybook reconcile\`, then publish again`;
  withheld.push({ account, day, cause: 'misfit', why });
}

export type { WithheldDay } from './withheld.ts';

const REFRESHED_AT_ONCE = 32;

export interface PublishOptions extends PublishDayOptions {
  readonly accounts: AccountFilter;
  readonly fromDay?: BusinessDay;
  readonly toDay?: BusinessDay;
  /** Days whose openings are checked even if none of them is due. */
  readonly answersFor?: DaysOfAccounts;
  readonly onProgress?: (progress: { readonly daysDone: number; readonly days: number }) => void;
  /** Called after some days with what was done so far; a later failure does not undo it. */
  readonly onDay?: (soFar: PublishReport) => void;
}

interface PublishedStatement {
  readonly account: Account;
  readonly day: BusinessDay;
  readonly revision: number;
  readonly key: string;
  readonly reason: string | null;
}

export interface PublishReport {
  readonly published: readonly PublishedStatement[];
  readonly unchanged: number;
  readonly withheld: readonly WithheldDay[];
  /** Days that do not open on the closing of the published day before: among those due, those of `answersFor`, and the day after each. */
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
export async function publishDays(options: PublishOptions): Promise<PublishReport> {
  const { db, signal, zone } = options;
  const filter: DayFilter = { ...options.accounts, fromDay: options.fromDay, toDay: options.toDay };
  const changes = await changedFrom(db, filter);
  const changed: ChangedFrom = new Map(changes.map((one) => [accountKey(one.account), one]));
  const first = await dueBatch(db, filter, { after: null });
  const progress: Progress = {
    changed,
    rows: [],
    withheld: [],
    fine: [],
    leftOut: [],
    next: [],
    daysDone: 0,
  };
  let days: number | null = null;
  for await (const batch of batchesOf(first, filter, progress, options)) {
    signal.throwIfAborted();
    days ??= batch.isLast ? batch.days.length : await countDueDays(db, filter);
    const { daysDone } = progress;
    options.onProgress?.({ daysDone, days: Math.max(days, daysDone + batch.days.length) });
    try {
      await publishBatch(batch, progress, options);
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

/** Publishing a day may make the account's next published day due: where that lies before the end of its batch, it comes after it, in one of its own. */
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

/** A manifest names the statement before it, so later days that did not change themselves get one that names the new revision. */
async function refreshManifests({ fine, next }: Progress, options: PublishOptions): Promise<void> {
  const done = new Set(fine.map(placeOf));
  const left = next.filter((one) => !done.has(placeOf(one)));
  for (const [merchantNo, own] of Map.groupBy(left, ({ account }) => account.merchantNo)) {
    const days = [...new Set(own.map(({ day }) => day))].sort();
    for (let at = 0; at < days.length; at += REFRESHED_AT_ONCE) {
      const some = days.slice(at, at + REFRESHED_AT_ONCE);
      const past = await pastOfDays(options.db, merchantNo, some, options.zone);
      const toWrite = some.map((day) => ({ merchantNo, day, past: past.get(day)!, accounts: [] }));
      const { failure } = await writeDays(toWrite, nothingLatest(), options);
      if (failure !== null) throw failure.error;
    }
  }
}

const accountDayOf = ({ account, day }: AccountOnDay): string => `${day} ${accountKey(account)}`;

const placeOf = ({ account: { merchantNo }, day }: AccountOnDay): string => JSON.stringify([merchantNo, day]);
