/**
 * Publishes days of one merchant: revisions of the accounts that changed, the summaries, and last the manifests.
 *
 * Objects of several days are written side by side. One statement stores the rows of all days once the objects are
 * verified; the manifests follow, and then one transaction says that the days are published; it may be one of the
 * caller's for many merchants. A crash may come after any step. A file without a row is written again under the same
 * name. Days that are not said to be published stay due: the next run finds them unchanged, and writes the manifest where
 * it is missing. A run may also be frozen (suspended) in any step while another run takes over: see
 * docs/decisions/publishing.md.
 */
import pLimit from 'p-limit';
import type { BusinessDay } from '../ledger/entry.ts';
import type { AccountOnDay } from '../store/statements/openings.ts';
import type { PastOfDay } from '../store/statements/past-of-days.ts';
import { recordSettled, recordUnderLease, type SettledDay } from '../store/statements/record-published.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import type { ManifestRow, StoredRow } from '../store/statements/stored-files.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';
import {
  manifestOf,
  writeFiles,
  type DayFiles,
  type DayToWrite,
  type Latest,
  type Misfit,
} from './day-files.ts';
import { hasBreaks, isStillExplained } from './explained.ts';
import { dayPrefix, manifestKey, signatureKey } from './keys.ts';
import type { LeftOutFormat } from './other-formats.ts';
import { leaseFence, type PublishDayOptions } from './publish-options.ts';
import { writeManifest } from './write-manifest.ts';

/** Days and files that are written at once. They are small and in memory. */
const AT_ONCE_MAX = 8;
/** Accounts of a large day that are written at once; each upload holds a few parts in memory. */
const LARGE_AT_ONCE_MAX = 3;

export interface WrittenDay {
  readonly day: BusinessDay;
  /** New revisions. */
  readonly rows: readonly StatementRow[];
  /** Currencies that are published as they now stand, with or without a new revision. */
  readonly fine: readonly string[];
  readonly current: readonly StatementRow[];
  readonly misfits: readonly Misfit[];
  /** Formats that cannot hold a new revision. */
  readonly leftOut: readonly LeftOutFormat[];
}

export interface WrittenDays {
  /** Days that are done, in order. */
  readonly done: readonly WrittenDay[];
  /** The next published day after each new revision, where it is not done here. Its manifest names that revision. */
  readonly next: readonly AccountOnDay[];
  /** What kept the other days from being published; null if all are done. */
  readonly failure: { readonly error: unknown } | null;
}

/**
 * Publishes what differs from the current revisions, for days of one merchant in order. A misfit keeps its own account
 * from being published, and no other. A day that fails keeps later days from being published, and does not undo earlier
 * ones. Throws `LeaseLost`, `StoreUnreachable` and `ObjectStoreUnreachable` where nothing could be done.
 */
export async function writeDays(
  days: readonly DayToWrite[],
  latest: Latest,
  options: PublishDayOptions,
): Promise<WrittenDays> {
  const atOnce = pLimit(AT_ONCE_MAX);
  await prepareFolders(days, options);
  const accountsAtOnce = pLimit(options.held == null ? LARGE_AT_ONCE_MAX : AT_ONCE_MAX);
  const made = await Promise.allSettled(
    days.map((day) => atOnce(() => writeFiles(day, accountsAtOnce, options))),
  );
  const failed = made.findIndex(({ status }) => status === 'rejected');
  const files = made
    .slice(0, failed === -1 ? undefined : failed)
    .flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const named = files
    // Where all accounts are misfits, the day stays as it is.
    .filter(({ accounts, fine }) => accounts.length === 0 || fine.length > 0)
    .map((day) => ({ ...day, manifest: manifestOf(day, latest, options) }));
  for (const { day } of named) options.publishedNow?.touch(day);
  const next = await record(named, options);
  for (const day of next) options.publishedNow?.takeBack(day);
  const put = await putManifests(named, options);
  const stored = new Map<DayFiles, readonly StoredRow[]>();
  for (const [nth, result] of put.entries())
    if (result.status === 'fulfilled') stored.set(named[nth]!, result.value);
  await settle(stored, options);
  for (const { day, past } of stored.keys()) if (isNew(past)) options.publishedNow?.addNewDay(day);

  const rejected = [...made, ...put].find((result) => result.status === 'rejected');
  const done = files.flatMap((day): WrittenDay[] => {
    const own = named.find((one) => one.day === day.day);
    if (own !== undefined && !stored.has(own)) return [];
    const { fine, misfits, current } = day;
    const leftOut = day.written.flatMap((one) => one.leftOut);
    return [{ day: day.day, rows: day.written.map(({ row }) => row), fine, current, misfits, leftOut }];
  });
  return {
    done,
    next: next.filter(
      ({ account: { currency }, day }) => !done.some((one) => one.day === day && one.fine.includes(currency)),
    ),
    failure: rejected === undefined ? null : { error: rejected.reason },
  };
}

const isNew = ({ statements, summaries, manifest }: PastOfDay): boolean =>
  statements.length === 0 && summaries.length === 0 && manifest === undefined;

/** Called before the first write. A run that was frozen (suspended) can then not finish its writes there. */
async function prepareFolders(days: readonly DayToWrite[], options: PublishDayOptions): Promise<void> {
  const fence = leaseFence(options);
  const atOnce = pLimit(AT_ONCE_MAX);
  await Promise.all(
    days.map(({ merchantNo, day }) =>
      atOnce(() => options.objects.discardUnfinished(dayPrefix(merchantNo, day), fence)),
    ),
  );
}

type NamedFiles = DayFiles & { readonly manifest: { readonly row: ManifestRow; readonly isNew: boolean } };

/** Stores the rows of all days, and what their manifests have to be. Returns the next days of the new revisions. */
async function record(
  days: readonly NamedFiles[],
  { db, lease }: PublishDayOptions,
): Promise<readonly AccountOnDay[]> {
  const written = days.flatMap((day) => day.written);
  const summaries = days.flatMap(({ summary }) => summary ?? []);
  const manifests = days.filter(({ manifest }) => manifest.isNew).map(({ manifest }) => manifest.row);
  if (written.length === 0 && summaries.length === 0 && manifests.length === 0) return [];
  return recordUnderLease(db, lease, days[0]!.merchantNo, {
    statements: written.map(({ row }) => row),
    summaries: summaries.map(({ row }) => row),
    unreported: written.filter(({ isRevised }) => isRevised).map(({ row }) => row),
    stored: [...written, ...written.flatMap((one) => one.otherFormats), ...summaries].map(
      ({ stored }) => stored,
    ),
    manifests,
  });
}

/** Writes the manifests side by side, and says of each how that ended. */
function putManifests(
  days: readonly NamedFiles[],
  options: PublishDayOptions,
): Promise<PromiseSettledResult<StoredRow[]>[]> {
  const atOnce = pLimit(AT_ONCE_MAX);
  const fence = leaseFence(options);
  return Promise.allSettled(
    days.map(({ merchantNo, day, manifest, past }) => {
      const now = options.publishedNow?.stored;
      const known = {
        manifest: now?.get(manifestKey(merchantNo, day)) ?? past.storedManifest,
        signature: now?.get(signatureKey(merchantNo, day)) ?? past.storedSignature,
      };
      return atOnce(() => writeManifest(manifest.row, known, fence, options));
    }),
  );
}

/**
 * Says that these days are published, and what was read back of their manifests. Days with breaks are not left to the
 * caller: a person may resolve a break at any time.
 */
async function settle(
  written: ReadonlyMap<DayFiles, readonly StoredRow[]>,
  { db, lease, zone, publishedNow }: PublishDayOptions,
): Promise<void> {
  const days = new Map(written);
  if (publishedNow !== undefined) {
    for (const [files, stored] of written) {
      if (hasBreaks(files)) continue;
      publishedNow.add(fineOf(files), stored);
      days.delete(files);
    }
  }
  if (days.size === 0) return;
  await writeTransaction(db, lease, async (trx) => {
    const settled: SettledDay[] = [];
    for (const files of days.keys()) {
      const { merchantNo, day, fine } = files;
      if (fine.length > 0 && (await isStillExplained(trx, merchantNo, day, zone, files)))
        settled.push(...fineOf(files));
    }
    await recordSettled(trx, [...days.values()].flat(), settled);
  });
}

const fineOf = ({ fine, accounts }: DayFiles): SettledDay[] =>
  accounts.filter(({ account }) => fine.includes(account.currency));
