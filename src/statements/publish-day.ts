/**
 * Publishes one merchant's day: revisions of the accounts that changed, the summary, and last the manifest.
 *
 * A crash may come after any step. A file without a row is written again under the same name. Rows whose manifest is
 * not in the store stay due: the next run finds them unchanged and writes the manifest. A run may also be frozen
 * (suspended) in any step while another run takes over: see docs/decisions/late-writes.md.
 */
import pLimit from 'p-limit';
import type { BusinessDay } from '../ledger/entry.ts';
import {
  recordStatements,
  statementsOfDay,
  summariesOfDay,
  type StatementRow,
} from '../store/statements/statements.ts';
import { clearDue } from '../store/statements/due-days.ts';
import { recordManifest, recordStored } from '../store/statements/stored-files.ts';
import { noteUntoldRevisions } from '../store/statements/untold-revisions.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import { StatementMisfit } from './day-content.ts';
import { explainedOf, isStillExplained } from './explained.ts';
import { dayPrefix, fileOf } from './keys.ts';
import type { OtherFormats } from './manifest.ts';
import { newRevision, newSummary, type WrittenStatement } from './new-revisions.ts';
import { leaseFence, type PublishDayOptions } from './publish-options.ts';
import { nextManifest, writeManifest } from './write-manifest.ts';
import { currentOf } from './summary.ts';

/** Accounts of a day written at once; each upload holds a few parts in memory. */
const ACCOUNTS_AT_ONCE_MAX = 3;

/** An account whose stored entries do not give the day's figures. Its statement was not published. */
export interface Misfit {
  readonly currency: string;
  readonly why: string;
}

/**
 * Publishes what differs from the current revisions; returns the new rows. All of `currencies` are proven and over. A
 * misfit keeps its own account from being published, and no other.
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
  // All are waited for, so that no upload is still running when a failure is thrown.
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
      await recordStatements(trx, rows, summary === null ? [] : [summary.row]);
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

/**
 * Updates the manifest of an unchanged day: it names each account's statement before, which may have a new revision by
 * now.
 */
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
