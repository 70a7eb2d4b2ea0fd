/**
 * Publishes one merchant's day: revisions of the accounts that changed, the summary, and last the manifest.
 *
 * Each step can be the last before a crash. A file without a row is written again under the same name; rows whose
 * manifest is not in the store still are due, and the next run finds nothing changed and writes the manifest. Each step
 * can also be the one a run is frozen in until another took over: see docs/decisions/late-writes.md.
 */
import pLimit from 'p-limit';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { bytesOf, digestOf, type Fence, type ObjectStore } from '../objects/object-store.ts';
import { accountDay } from '../store/account-days.ts';
import { askLease, type Lease } from '../store/engine/lease.ts';
import {
  clearDue,
  recordStatements,
  statementsOfDay,
  summariesOfDay,
  type StatementRow,
  type SummaryRow,
} from '../store/statements/statements.ts';
import { recordManifest, recordStored, type StoredRow } from '../store/statements/stored-files.ts';
import { noteUntoldRevisions } from '../store/statements/untold-revisions.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { dayContent, isAsPublished, StatementMisfit, type DayContentOptions } from './day-content.ts';
import { explainedOf, isStillExplained, type Explained } from './explained.ts';
import { figuresOf, rowsIn } from './figures.ts';
import { STATEMENT_FORMATS } from './formats/all.ts';
import { STATEMENT_COLUMNS } from './formats/columns.ts';
import type { StatementFormat } from './formats/format.ts';
import { dayPrefix, fileOf, manifestKey, statementKey, summaryKey } from './keys.ts';
import type { OtherFormats } from './manifest.ts';
import { putOtherFormats, type WrittenFormat } from './other-formats.ts';
import { putRevision } from './put-revision.ts';
import { reasonBetween } from './revision-reason.ts';
import { nextManifest, writeManifest, storedRow } from './write-manifest.ts';
import { currentOf, summaryCsv } from './summary.ts';

/** Accounts of a day written at once; each upload holds a few parts in memory. */
const ACCOUNTS_AT_ONCE_MAX = 3;

export interface PublishDayOptions extends DayContentOptions {
  readonly lease: Lease;
  readonly objects: ObjectStore;
  /** The zone is not proven; the manifest says so. */
  readonly timeZoneTrusted?: boolean;
  /** What the run looks at beyond the days it reads, for the manifest. */
  readonly checked?: readonly string[];
  /** Whether the account's day was proven before to hold nothing; its first statement then counts as revised. Never where absent. */
  readonly comesLate?: (account: Account, day: BusinessDay) => boolean;
  /** Formats that statements come in; without it, all there are. */
  readonly formats?: readonly StatementFormat[];
  readonly runId: number;
  readonly now: () => Date;
}

/** An account whose stored entries do not say what the day's figures say; nothing of it was made current. */
export interface Misfit {
  readonly currency: string;
  readonly why: string;
}

/** A new row, and what was read back of its file. */
interface Written<Row> {
  readonly row: Row;
  readonly stored: StoredRow;
}

interface WrittenStatement extends Written<StatementRow> {
  /** The day reads otherwise than it was proven before. */
  readonly isRevised: boolean;
  readonly otherFormats: readonly WrittenFormat[];
}

/**
 * Publishes what differs from what stands; returns the new rows. All of `currencies` are proven and over. A misfit
 * keeps its own account from being published, and no other.
 */
export async function publishDay(
  merchantNo: string,
  day: BusinessDay,
  currencies: readonly string[],
  options: PublishDayOptions,
): Promise<{ readonly written: readonly StatementRow[]; readonly misfits: readonly Misfit[] }> {
  const { db, lease } = options;
  const fence = leaseFence(options);
  await fence.assertHeld();
  await options.objects.discardUnfinished(dayPrefix(merchantNo, day), lease.epoch);
  const standing = await statementsOfDay(db, merchantNo, day);
  const summaries = await summariesOfDay(db, merchantNo, day);
  const atOnce = pLimit(ACCOUNTS_AT_ONCE_MAX);
  // All are waited for, so that no upload goes on behind a failure's back.
  const settled = await Promise.allSettled(
    currencies.map((currency) => atOnce(() => newRevision({ merchantNo, currency }, day, standing, options))),
  );
  const misfits: Misfit[] = [];
  for (const [index, result] of settled.entries()) {
    if (result.status === 'fulfilled') continue;
    if (!(result.reason instanceof StatementMisfit)) throw result.reason;
    misfits.push({ currency: currencies[index]!, why: result.reason.message });
  }
  const fine = currencies.filter((currency) => !misfits.some((misfit) => misfit.currency === currency));
  if (fine.length === 0) return { written: [], misfits };
  const written = settled.flatMap((result) =>
    result.status === 'fulfilled' && result.value !== null ? [result.value] : [],
  );

  const rows = written.map(({ row }) => row);
  const all = inOrder([...standing, ...rows]);
  const current = currentOf(all);
  const explained = await explainedOf(db, merchantNo, day, options.zone, current);
  const summary = await newSummary(merchantNo, day, { current, explained }, summaries.at(-1), options);
  const allSummaries = summary === null ? summaries : [...summaries, summary.row];
  const otherFormats = newOtherFormats(written);
  const sources = { statements: all, summaries: allSummaries, explained, otherFormats };
  const manifest = await nextManifest(merchantNo, day, sources, options);
  if (rows.length > 0 || summary !== null || manifest.isNew) {
    await writeTransaction(db, lease, async (trx) => {
      await recordStatements(trx, rows, summary?.row ?? null);
      await noteUntoldRevisions(
        trx,
        written.filter(({ isRevised }) => isRevised).map(({ row }) => row),
      );
      await recordStored(
        trx,
        [
          ...written,
          ...written.flatMap((one) => one.otherFormats),
          ...(summary === null ? [] : [summary]),
        ].map(({ stored }) => stored),
      );
      if (manifest.isNew) await recordManifest(trx, manifest.row);
    });
  }
  const stored = await writeManifest(manifest.row, fence, options);
  await writeTransaction(db, lease, async (trx) => {
    await recordStored(trx, [stored]);
    if (await isStillExplained(trx, merchantNo, day, options.zone, { current, explained }))
      await clearDue(trx, merchantNo, day, fine);
  });
  return { written: rows, misfits };
}

const newOtherFormats = (written: readonly WrittenStatement[]): OtherFormats =>
  new Map(
    written
      .filter(({ otherFormats }) => otherFormats.length > 0)
      .map(({ row, otherFormats }) => [fileOf(row.object_key), otherFormats.map(({ listed }) => listed)]),
  );

/** By currency, oldest revision first: as the database hands them out. */
const inOrder = (rows: readonly StatementRow[]): StatementRow[] =>
  rows.toSorted((a, b) =>
    a.currency === b.currency ? a.revision - b.revision : a.currency < b.currency ? -1 : 1,
  );

/** Asks the database whether this run still holds the lease. */
export const leaseFence = ({ db, lease }: Pick<PublishDayOptions, 'db' | 'lease'>): Fence => ({
  epoch: lease.epoch,
  assertHeld: () => askLease(db, lease),
});

/** Writes the account's statement where it differs from the one that stands; null where it does not. */
async function newRevision(
  account: Account,
  day: BusinessDay,
  standing: readonly StatementRow[],
  options: PublishDayOptions,
): Promise<WrittenStatement | null> {
  const { db, now, objects, comesLate = () => false } = options;
  const { columns = STATEMENT_COLUMNS, formats = STATEMENT_FORMATS } = options;
  const fence = leaseFence(options);
  options.signal.throwIfAborted();
  const content = () => dayContent(account, day, options);
  const current = standing.findLast((row) => row.currency === account.currency);
  const figures = (await accountDay(db, account, day))!;
  if (current !== undefined && (await isAsPublished(current, figures, content))) return null;
  const wanted = (current?.revision ?? 0) + 1;
  const stored = await putRevision({
    objects,
    revision: wanted,
    keyOf: (revision) => statementKey(account, day, revision),
    manifestKey: manifestKey(account.merchantNo, day),
    content,
    fence,
  });
  const row = {
    merchant_no: account.merchantNo,
    currency: account.currency,
    day,
    revision: stored.revision,
    sha256: stored.sha256,
    byte_count: stored.bytes,
    row_count: rowsIn(figures),
    object_key: stored.key,
    columns: columns.map(({ name }) => name).join(','),
    ...figuresOf(figures),
    published_at: now(),
    supersedes: stored.revision === 1 ? null : stored.revision - 1,
    run_id: options.runId,
  };
  const reason =
    stored.revision > wanted
      ? forgotten(stored.revision - 1)
      : current === undefined
        ? null
        : await reasonBetween(current, row, options);
  const isRevised = row.supersedes !== null || (comesLate(account, day) && rowsIn(figures) > 0);
  const statement = { ...row, reason };
  const otherFormats = await putOtherFormats(statement, { objects, fence, formats, columns });
  return { row: statement, stored: storedRow(stored.key, stored), isRevised, otherFormats };
}

const forgotten = (revision: number): string =>
  `revision ${revision} was published, and this database does not know it`;

/** Writes the day's summary where it differs from the one that stands. */
async function newSummary(
  merchantNo: string,
  day: BusinessDay,
  { current, explained }: { readonly current: readonly StatementRow[]; readonly explained: Explained },
  standing: SummaryRow | undefined,
  options: PublishDayOptions,
): Promise<Written<SummaryRow> | null> {
  const text = summaryCsv(current, explained);
  const content = Buffer.from(text);
  const { sha256 } = await digestOf(bytesOf(content));
  if (standing?.sha256 === sha256) return null;
  const stored = await putRevision({
    objects: options.objects,
    revision: (standing?.revision ?? 0) + 1,
    keyOf: (revision) => summaryKey(merchantNo, day, revision),
    manifestKey: manifestKey(merchantNo, day),
    content,
    fence: leaseFence(options),
  });
  const row = {
    merchant_no: merchantNo,
    day,
    revision: stored.revision,
    sha256: stored.sha256,
    object_key: stored.key,
    published_at: options.now(),
    content: explained.size === 0 ? null : text,
  };
  return { row, stored: storedRow(stored.key, stored) };
}

/** Makes the manifest of a day that stays as it is name the statements that now stand before it. */
export async function refreshManifest(
  merchantNo: string,
  day: BusinessDay,
  options: PublishDayOptions,
): Promise<void> {
  const { db, lease } = options;
  const statements = await statementsOfDay(db, merchantNo, day);
  const summaries = await summariesOfDay(db, merchantNo, day);
  const explained = await explainedOf(db, merchantNo, day, options.zone, currentOf(statements));
  const { row, isNew } = await nextManifest(merchantNo, day, { statements, summaries, explained }, options);
  if (!isNew) return;
  const fence = leaseFence(options);
  await fence.assertHeld();
  await options.objects.discardUnfinished(dayPrefix(merchantNo, day), lease.epoch);
  await writeTransaction(db, lease, (trx) => recordManifest(trx, row));
  const stored = await writeManifest(row, fence, options);
  await writeTransaction(db, lease, (trx) => recordStored(trx, [stored]));
}
