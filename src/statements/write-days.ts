/**
 * Publishes days of one merchant in an order that survives a crash after any step: files, then rows, then manifests, then
 * marks. One transaction stores the rows of all days once their files are verified. A file without a row is written again
 * under the same name. Days that are not marked as published stay due: the next run finds them unchanged, and writes the
 * manifest where it is missing. A run may also be frozen (suspended) in any step while another one takes over: see
 * docs/decisions/publishing.md.
 */
import pLimit, { type LimitFunction } from 'p-limit';
import type { BusinessDay } from '../ledger/entry.ts';
import type { ChainedManifest, PastOfDay } from '../store/statements/past-of-days.ts';
import type { StatementRow, SummaryRow } from '../store/statements/statements.ts';
import type { StoredRow } from '../store/statements/stored-files.ts';
import { StatementMisfit } from './day-content.ts';
import { explainedOf, type Explained, currentOf } from './summary.ts';
import { fileOf, dayPrefix, manifestKey } from '../verify/names.ts';
import { signatureKey } from './keys.ts';
import type { OtherFormats } from './recorded-manifest.ts';
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
import {
  recordPublished,
  recordSettled,
  type RaisedDay,
  type SettledDay,
} from '../store/statements/record-published.ts';
import { writeTransaction } from '../store/engine/write-transaction.ts';

export interface DayToWrite {
  readonly merchantNo: string;
  readonly day: BusinessDay;
  readonly past: PastOfDay;
  /** All are proven and over. Without any, only the manifest is checked. */
  readonly accounts: readonly Prepared[];
}

/** What was written of a day so far; its manifest is not. */
interface DayFiles extends DayToWrite {
  readonly written: readonly WrittenStatement[];
  readonly misfits: readonly { readonly currency: string; readonly why: string }[];
  /** Currencies whose statement is as the account now stands, with or without a new revision. */
  readonly fine: readonly string[];
  readonly statements: readonly StatementRow[];
  readonly current: readonly StatementRow[];
  readonly explained: Explained;
  readonly summary: Written<SummaryRow> | null;
}

/** Writes the day's new statements and then its summary. Throws what the store and the fence throw. */
async function writeFiles(
  of: DayToWrite,
  atOnce: LimitFunction,
  options: PublishDayOptions,
): Promise<DayFiles> {
  const { merchantNo, day, past, accounts } = of;
  // All are waited for, so that no upload is still running when a failure is thrown.
  const settled = await Promise.allSettled(
    accounts.map((account) => atOnce(() => newRevision(account, options))),
  );
  const misfits: DayFiles['misfits'][number][] = [];
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
  const explained = await explainedOf(options.db, merchantNo, options.zone, current);
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
  /** By account day, the version of days that new revisions of earlier days made due. */
  readonly raised: Map<string, number>;
}

export const nothingLatest = (): Latest => ({ statements: new Map(), manifest: null, raised: new Map() });

/** `latest` has what was written of earlier days, and gets what is current on this one. */
function manifestOf(
  { merchantNo, day, past, written, statements, current, explained, summary }: DayFiles,
  latest: Latest,
  options: PublishDayOptions,
): ReturnType<typeof nextManifest> {
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

interface WrittenDay extends Pick<DayFiles, 'day' | 'fine' | 'current' | 'misfits'> {
  readonly rows: readonly StatementRow[];
  readonly leftOut: readonly LeftOutFormat[];
}

interface WrittenDays {
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
  const files = await putFiles(days, options);
  const named = files.done
    // Where all accounts are misfits, the day stays as it is.
    .filter(({ accounts, fine }) => accounts.length === 0 || fine.length > 0)
    .map((day) => ({ ...day, manifest: manifestOf(day, latest, options) }));
  const next = await recordRows(named, options);
  const manifests = await putManifests(named, options);
  await markPublished(manifests.stored, latest.raised, options);
  for (const one of next) latest.raised.set(accountDayOf(one), one.version);

  const undone = new Set(named.filter((day) => !manifests.stored.has(day)).map(({ day }) => day));
  const done = files.done
    .filter(({ day }) => !undone.has(day))
    .map(({ written, ...own }): WrittenDay => ({
      ...own,
      rows: written.map(({ row }) => row),
      leftOut: written.flatMap(({ leftOut }) => leftOut),
    }));
  const isDone = ({ account, day }: AccountOnDay): boolean =>
    done.some((one) => one.day === day && one.fine.includes(account.currency));
  return { done, next: next.filter((one) => !isDone(one)), failure: files.failure ?? manifests.failure };
}

type Failure = WrittenDays['failure'];

const failureIn = (results: readonly PromiseSettledResult<unknown>[]): Failure => {
  const rejected = results.find((result) => result.status === 'rejected');
  return rejected === undefined ? null : { error: rejected.reason };
};

/** Files of the days up to the first that fails. */
async function putFiles(
  days: readonly DayToWrite[],
  options: PublishDayOptions,
): Promise<{ readonly done: readonly DayFiles[]; readonly failure: Failure }> {
  const fence = leaseFence(options);
  const atOnce = pLimit(AT_ONCE_MAX);
  // Before the first write, so that a run that was frozen (suspended) cannot finish its own there.
  await Promise.all(
    days.map(({ merchantNo, day }) =>
      atOnce(() => options.objects.discardUnfinished(dayPrefix(merchantNo, day), fence)),
    ),
  );
  const accountsAtOnce = pLimit(options.held == null ? LARGE_AT_ONCE_MAX : AT_ONCE_MAX);
  const made = await Promise.allSettled(
    days.map((day) => atOnce(() => writeFiles(day, accountsAtOnce, options))),
  );
  const done: DayFiles[] = [];
  for (const result of made) {
    if (result.status === 'rejected') break;
    done.push(result.value);
  }
  return { done, failure: failureIn(made) };
}

type NamedFiles = DayFiles & { readonly manifest: ReturnType<typeof nextManifest> };

/** Stores the rows of all days, and what their manifests have to be. Returns the next days of the new revisions. */
async function recordRows(
  days: readonly NamedFiles[],
  { db, lease, publishedNow }: PublishDayOptions,
): Promise<readonly RaisedDay[]> {
  const written = days.flatMap((day) => day.written);
  const summaries = days.flatMap(({ summary }) => summary ?? []);
  const manifests = days.filter(({ manifest }) => manifest.isNew).map(({ manifest }) => manifest.row);
  if (written.length === 0 && summaries.length === 0 && manifests.length === 0) return [];
  const rows = {
    statements: written.map(({ row }) => row),
    summaries: summaries.map(({ row }) => row),
    unreported: written.filter(({ isRevised }) => isRevised).map(({ row }) => row),
    stored: [...written, ...written.flatMap((one) => one.otherFormats), ...summaries].map(
      ({ stored }) => stored,
    ),
    manifests,
  };
  const next = await writeTransaction(db, lease, (trx) => recordPublished(trx, days[0]!.merchantNo, rows));
  for (const day of next) publishedNow?.takeBack(day);
  return next;
}

async function putManifests(
  days: readonly NamedFiles[],
  options: PublishDayOptions,
): Promise<{ readonly stored: ReadonlyMap<DayFiles, readonly StoredRow[]>; readonly failure: Failure }> {
  const atOnce = pLimit(AT_ONCE_MAX);
  const fence = leaseFence(options);
  const put = await Promise.allSettled(
    days.map(({ merchantNo, day, manifest, past }) => {
      const now = options.publishedNow?.stored;
      const known = {
        manifest: now?.get(manifestKey(merchantNo, day)) ?? past.storedManifest,
        signature: now?.get(signatureKey(merchantNo, day)) ?? past.storedSignature,
      };
      return atOnce(() => writeManifest(manifest.row, known, fence, options));
    }),
  );
  const stored = put.flatMap((result, nth) =>
    result.status === 'fulfilled' ? [[days[nth]!, result.value] as const] : [],
  );
  return { stored: new Map(stored), failure: failureIn(put) };
}

/** Each account day by the version that was read: one that a person changed meanwhile stays due. */
async function markPublished(
  written: ReadonlyMap<DayFiles, readonly StoredRow[]>,
  raised: Latest['raised'],
  { db, lease, publishedNow }: PublishDayOptions,
): Promise<void> {
  if (written.size === 0) return;
  const settled = [...written.keys()].flatMap((files) => settledOf(files, raised));
  const stored = [...written.values()].flat();
  if (publishedNow === undefined)
    await writeTransaction(db, lease, (trx) => recordSettled(trx, stored, settled));
  else publishedNow.add(settled, stored);
  for (const { day, past } of written.keys()) if (isNew(past)) publishedNow?.newDays.add(day);
}

const isNew = ({ statements, summaries, manifest }: PastOfDay): boolean =>
  statements.length === 0 && summaries.length === 0 && manifest === undefined;

/** A day that an earlier one of this run made due is written after that, so its manifest names the revision. */
const settledOf = ({ fine, accounts }: DayFiles, raised: Latest['raised']): SettledDay[] =>
  accounts
    .filter(({ account }) => fine.includes(account.currency))
    .map(({ account, day, version }) => {
      const now = raised.get(accountDayOf({ account, day }));
      return { account, day, version: now === version + 1 ? now : version };
    });

const accountDayOf = ({ account: { currency }, day }: AccountOnDay): string => `${day} ${currency}`;
