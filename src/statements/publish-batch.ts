/** Publishes a batch of one merchant's due days: those that nothing holds back, some at a time. */
import type { Account } from '../ledger/entry.ts';
import { markChangedDays } from '../store/account-days.ts';
import type { DueAccountDay, DueAccounts, DueBatch } from '../store/statements/due-batch.ts';
import type { FirstDue } from '../store/statements/first-due.ts';
import type { AccountOnDay } from '../store/statements/openings.ts';
import type { PastOfDay } from '../store/statements/past-of-days.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { StatementMisfit } from './day-content.ts';
import { nothingLatest, type DayToWrite, type Latest } from './day-files.ts';
import { portionsOf, type Portion } from './held-days.ts';
import { prepareRevision, type Prepared } from './new-revisions.ts';
import type { PublishedDay } from './openings.ts';
import type { LeftOutFormat } from './other-formats.ts';
import { pastOf } from './past.ts';
import type { PublishDayOptions } from './publish-options.ts';
import { accountKey, notReconciled, whyWithheld, type ChangedFrom, type WithheldDay } from './withheld.ts';
import { writeDays } from './write-days.ts';

/** What was done of some days. */
export interface BatchProgress {
  /** New revisions. */
  readonly rows: StatementRow[];
  readonly withheld: WithheldDay[];
  /** Account days that are published as they now stand. */
  readonly fine: PublishedDay[];
  /** Formats that cannot hold a new revision. */
  readonly leftOut: LeftOutFormat[];
  /** Published days whose manifest names a new revision and that were not checked after it. */
  readonly next: AccountOnDay[];
}

/** Publishes the days in order; `known` is what was read with them. Throws like `publishDays`; `progress` then has what was done before. */
export async function publishBatch(
  batch: DueBatch,
  changed: ChangedFrom,
  progress: BatchProgress,
  { known, ...options }: PublishDayOptions & { readonly known?: FirstDue | undefined },
): Promise<void> {
  const { merchantNo } = batch;
  const days = batch.days.map(({ day }) => day);
  const unknown = days.filter((day) => known?.past.has(day) !== true);
  const past = new Map([
    ...(known?.past ?? []),
    ...(await pastOf(options.db, merchantNo, unknown, options.zone)),
  ]);
  const ready: DueAccounts[] = [];
  for (const { day, accounts } of batch.days) {
    const free = accounts.filter((due) => {
      const reasonNot = whyWithheld(due, past.get(day)!, changed, options);
      if (reasonNot !== null) progress.withheld.push(reasonNot);
      return reasonNot === null;
    });
    if (free.length > 0) ready.push({ day, accounts: free });
  }
  const latest: Latest = nothingLatest();
  for await (const portion of portionsOf({ ...options, merchantNo, days: ready, known: known?.entries })) {
    options.signal.throwIfAborted();
    await publishPortion({ merchantNo, portion, past, changed, latest }, progress, options);
  }
}

interface PortionToPublish {
  readonly merchantNo: string;
  readonly portion: Portion;
  readonly past: ReadonlyMap<string, PastOfDay>;
  readonly changed: ChangedFrom;
  readonly latest: Latest;
}

async function publishPortion(
  { merchantNo, portion, past, changed, latest }: PortionToPublish,
  progress: BatchProgress,
  options: PublishDayOptions,
): Promise<void> {
  const within = { ...options, held: portion.held };
  const putBack = async (due: AccountOnDay, why: string): Promise<void> => {
    progress.withheld.push(await putBackMisfit(due, why, changed, options));
  };
  const days: DayToWrite[] = [];
  for (const { day, accounts: due } of portion.days) {
    const own = past.get(day)!;
    const accounts: Prepared[] = [];
    for (const one of due) {
      const reasonNot = notReconciled(one, changed);
      if (reasonNot !== null) progress.withheld.push(reasonNot);
      else {
        const prepared = await preparedOr(one, own, within);
        if (typeof prepared === 'string') await putBack(one, prepared);
        else accounts.push(prepared);
      }
    }
    if (accounts.length > 0) days.push({ merchantNo, day, past: own, accounts });
  }
  if (days.length === 0) return;
  const { done, next, failure } = await writeDays(days, latest, within);
  for (const { day, rows, fine, misfits, current, leftOut } of done) {
    const accountOf = (currency: string): Account => ({ merchantNo, currency });
    progress.rows.push(...rows);
    progress.leftOut.push(...leftOut);
    const { previous, later } = past.get(day)!;
    for (const statement of current.filter(({ currency }) => fine.includes(currency))) {
      const { currency } = statement;
      const background = { previous: previous.get(currency), later: later.get(currency) };
      progress.fine.push({ account: accountOf(currency), day, statement, ...background });
    }
    for (const { currency, why } of misfits) await putBack({ account: accountOf(currency), day }, why);
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
  why: string,
  changed: ChangedFrom,
  { db, lease }: PublishDayOptions,
): Promise<WithheldDay> {
  await writeTransaction(db, lease, (trx) => markChangedDays(trx, account, [day]));
  changed.set(accountKey(account), { account, day });
  return { account, day, cause: 'misfit', why: `${why}. Run \`daybook reconcile\`, then publish again` };
}
