/** The files of a merchant's day: new revisions of its statements, its summary, and the manifest that they call for. */
import pLimit, { type LimitFunction } from 'p-limit';
import type { BusinessDay } from '../ledger/entry.ts';
import type { ChainedManifest, PastOfDay } from '../store/statements/past-of-days.ts';
import type { StatementRow, SummaryRow } from '../store/statements/statements.ts';
import type { ManifestRow, StoredRow } from '../store/statements/stored-files.ts';
import { StatementMisfit } from './day-content.ts';
import { explainedOf, type Explained, currentOf, hasBreaks, isStillExplained } from './summary.ts';
import { fileOf, dayPrefix, manifestKey, signatureKey } from './keys.ts';
import type { OtherFormats } from './manifest.ts';
import { chained } from './manifest-text.ts';
import {
  newRevision,
  newSummary,
  type Prepared,
  type Written,
  type WrittenStatement,
  type LeftOutFormat,
} from './new-revisions.ts';
import { type PublishDayOptions, leaseFence } from './publish-options.ts';
import { nextManifest, writeManifest } from './write-manifest.ts';
import type { AccountOnDay } from '../store/statements/due-days.ts';
import { recordSettled, recordUnderLease, type SettledDay } from '../store/statements/record-published.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';

export interface Misfit {
  readonly currency: string;
  readonly why: string;
}

export interface DayToWrite {
  readonly merchantNo: string;
  readonly day: BusinessDay;
  readonly past: PastOfDay;
  /** All are proven and over. Without any, only the manifest is checked. */
  readonly accounts: readonly Prepared[];
}

/** What was written of a day so far; its manifest is not. */
export interface DayFiles extends DayToWrite {
  readonly written: readonly WrittenStatement[];
  readonly misfits: readonly Misfit[];
  /** Currencies whose statement is as the account now stands. */
  readonly fine: readonly string[];
  readonly statements: readonly StatementRow[];
  readonly current: readonly StatementRow[];
  readonly explained: Explained;
  readonly summary: Written<SummaryRow> | null;
}

/** Writes the day's new statements and then its summary. Throws what the store and the fence throw. */
export async function writeFiles(
  of: DayToWrite,
  atOnce: LimitFunction,
  options: PublishDayOptions,
): Promise<DayFiles> {
  const { merchantNo, day, past, accounts } = of;
  // All are waited for, so that no upload is still running when a failure is thrown.
  const settled = await Promise.allSettled(
    accounts.map((account) => atOnce(() => newRevision(account, options))),
  );
  const misfits: Misfit[] = [];
  const fine: string[] = [];
  const written: WrittenStatement[] = [];
  for (const [nth, result] of settled.entries()) {
    const { currency } = accounts[nth]!.account;
    if (result.status === 'fulfilled') {
      fine.push(currency);
      if (result.value !== null) written.push(result.value);
    } else {
      if (!(result.reason instanceof StatementMisfit)) throw result.reason;
      misfits.push({ currency, why: result.reason.message });
    }
  }
  const statements = inOrder([...past.statements, ...written.map(({ row }) => row)]);
  const current = currentOf(statements);
  const explained = await explainedOf(options.db, merchantNo, day, options.zone, current);
  const summary =
    fine.length === 0
      ? null
      : await newSummary(merchantNo, day, { current, explained }, past.summaries.at(-1), options);
  return { ...of, written, misfits, fine, statements, current, explained, summary };
}

/** What the manifests of the next days name. */
export interface Latest {
  readonly statements: Map<string, StatementRow>;
  /** The manifest that was made last; null if none was. */
  manifest: ChainedManifest | null;
}

export const nothingLatest = (): Latest => ({ statements: new Map(), manifest: null });

/**
 * The manifest that the day's files call for. `latest` has what was written of earlier days, and gets what is current on
 * this one.
 */
export function manifestOf(
  { merchantNo, day, past, written, statements, current, explained, summary }: DayFiles,
  latest: Latest,
  options: PublishDayOptions,
): { readonly row: ManifestRow; readonly isNew: boolean } {
  const previous = new Map(past.previous);
  for (const { currency } of current) {
    const own = latest.statements.get(currency);
    if (own !== undefined && own.day >= (previous.get(currency)?.day ?? '')) previous.set(currency, own);
  }
  for (const row of current) latest.statements.set(row.currency, row);
  const summaries = summary === null ? past.summaries : [...past.summaries, summary.row];
  const otherFormats = newOtherFormats(written);
  const rows = { statements, summaries, explained, otherFormats };
  const lastInChain = latest.manifest ?? past.lastInChain;
  const next = nextManifest(merchantNo, day, rows, { ...past, previous, lastInChain }, options);
  if (next.isNew) latest.manifest = chained(next.row);
  return next;
}

const newOtherFormats = (written: readonly WrittenStatement[]): OtherFormats =>
  new Map(
    written
      .filter(({ otherFormats }) => otherFormats.length > 0)
      .map(({ row, otherFormats }) => [fileOf(row.object_key), otherFormats.map(({ listed }) => listed)]),
  );

const inOrder = (rows: readonly StatementRow[]): StatementRow[] =>
  rows.toSorted((a, b) =>
    a.currency === b.currency ? a.revision - b.revision : a.currency < b.currency ? -1 : 1,
  );

/** Days and files that are written at once. They are small and in memory. */
const AT_ONCE_MAX = 8;
/** Accounts of a large day that are written at once; each upload holds a few parts in memory. */
const LARGE_AT_ONCE_MAX = 3;

export interface WrittenDay {
  readonly day: BusinessDay;
  readonly rows: readonly StatementRow[];
  /** Currencies that are published as they now stand, with or without a new revision. */
  readonly fine: readonly string[];
  readonly current: readonly StatementRow[];
  readonly misfits: readonly Misfit[];
  readonly leftOut: readonly LeftOutFormat[];
}

export interface WrittenDays {
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
