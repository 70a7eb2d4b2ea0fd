/** Compares the files in the object store with what the database says was published, with one listing for many days. */
import type { Kysely } from 'kysely';
import { addDays } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { DB } from '../store/engine/schema.ts';
import {
  knownDays,
  publishedDays,
  type KnownDay,
  type PublishedDays,
  type ManifestRow,
  type StoredRow,
} from '../store/statements/stored-files.ts';
import { manifestKey, dayPrefix, fileOf, merchantPrefix } from '../verify/names.ts';
import { signatureKey } from './keys.ts';
import { type ListedObject, type ObjectStore } from '../objects/object-store.ts';
import type { SigningKey } from '../ledger/signature.ts';
import type { StatementRow, SummaryRow } from '../store/statements/statements.ts';
import { sha256Of } from '../host/sha256.ts';
import { otherFormatsIn } from './recorded-manifest.ts';
import { isOutOfChain } from './manifest-text.ts';
import type { PublishedNow } from './publish-options.ts';
import { readManifest } from './put-revision.ts';
import { contradicts, isUnsigned, storedRow } from './write-manifest.ts';
import { currentOf, earlierOf } from './summary.ts';

/** Days that are compared together. In memory they take one row and one listed name for each file. */
const DAYS_COMPARED_AT_ONCE = 100;

/** Sorts after every key of a day, whatever its file is called. */
const LAST = '\u{10ffff}';

export type PublishedFile = { readonly day: BusinessDay; readonly key: string; readonly sha256: string } & (
  | { readonly kind: 'statement'; readonly row: StatementRow }
  | {
      readonly kind: 'other-format';
      readonly row: StatementRow;
      readonly format: string;
      /** The code that the file has for the account's currency, if it is another one. */
      readonly isoCurrency?: string | undefined;
      /** The revisions before it, oldest first. */
      readonly earlier: readonly StatementRow[];
    }
  | { readonly kind: 'summary'; readonly row: SummaryRow }
  | { readonly kind: 'signature'; readonly row: ManifestRow }
  | { readonly kind: 'manifest'; readonly row: ManifestRow }
);

export type Damage = 'missing' | 'altered';

export interface DamagedFile {
  readonly file: PublishedFile;
  readonly damage: Damage;
}

/** A day that was published before the database kept rows of manifests. */
export type UnrecordedDay = Pick<PublishedDays, 'statements' | 'summaries'> & { readonly day: BusinessDay };

interface Comparison {
  readonly files: number;
  /** Files that are missing or hold other bytes, by day. The manifest is the last one of its day. */
  readonly damaged: readonly DamagedFile[];
  readonly unrecorded: readonly UnrecordedDay[];
  /** Manifests without a signature, and where all is read also those whose signature of our key does not fit. */
  readonly unsigned: readonly ManifestRow[];
  /** Manifests whose signature was recorded, and never put into the store: a run was cut short before it. */
  readonly unput: readonly ManifestRow[];
  /** Manifests that are to be made anew, at the end of the chain. */
  readonly outOfChain: readonly ManifestRow[];
  /** Files that were read in full because their etag was new, and that were right: storing this saves reading them again. */
  readonly proven: readonly StoredRow[];
}

interface CompareOptions {
  readonly db: Kysely<DB>;
  readonly objects: ObjectStore;
  readonly merchantNo: string;
  readonly fromDay: BusinessDay;
  readonly toDay: BusinessDay;
  readonly readsAll?: boolean;
  readonly signingKey?: SigningKey | null;
  /** What was read back and is not recorded yet. Its new days are left out, unless `readsAll`. */
  readonly publishedNow?: PublishedNow;
}

/**
 * Compares a merchant's published days `fromDay` to `toDay`, some days at a time. A file whose size and etag are
 * still those that were last read back counts as unchanged, unless `readsAll`; any other file is read in full. Writes
 * nothing. Throws `ObjectStoreUnreachable`.
 */
export async function* compareFiles(options: CompareOptions): AsyncGenerator<Comparison> {
  const { publishedNow, readsAll = false } = options;
  const isLeftOut = (day: BusinessDay): boolean => !readsAll && publishedNow?.newDays.has(day) === true;
  let { fromDay, toDay } = options;
  while (fromDay <= toDay && isLeftOut(fromDay)) fromDay = addDays(fromDay, 1);
  while (fromDay <= toDay && isLeftOut(toDay)) toDay = addDays(toDay, -1);
  for (let from = fromDay; from <= toDay; from = addDays(from, DAYS_COMPARED_AT_ONCE)) {
    const through = addDays(from, DAYS_COMPARED_AT_ONCE - 1);
    yield await compareDays({ ...options, fromDay: from, toDay: through < toDay ? through : toDay });
  }
}

async function compareDays(options: CompareOptions): Promise<Comparison> {
  const { db, objects, merchantNo, fromDay, toDay, readsAll = false } = options;
  const days = { merchantNo, fromDay, toDay };
  const named = readsAll ? null : await knownDays(db, days);
  if (named?.length === 0) return NOTHING_COMPARED;
  const listed = new Map<string, ListedObject>();
  const range = { after: dayPrefix(merchantNo, fromDay), through: dayPrefix(merchantNo, toDay) + LAST };
  for await (const object of objects.survey(merchantPrefix(merchantNo), range))
    listed.set(object.key, object);
  const files = named === null ? null : filesIfUnchanged(named, listed, options);
  if (files !== null) return { ...NOTHING_COMPARED, files };
  return compareListed(options, listed, await publishedDays(db, days));
}

/** How many files there are, if each is as it was last read back and no day needs more; otherwise null. */
function filesIfUnchanged(
  days: readonly KnownDay[],
  listed: ReadonlyMap<string, ListedObject>,
  { merchantNo, publishedNow, signingKey = null }: CompareOptions,
): number | null {
  let files = 0;
  for (const { day, statements, summaries, manifest, signature, isSpecial, stored } of days) {
    if (manifest === null || isSpecial || (signingKey !== null && isUnsigned({ signature }))) return null;
    const read = new Map(stored.map(([key, ...as]) => [key, as]));
    const isUnchanged = ([key, sha256]: readonly [string, string]): boolean => {
      const now = publishedNow?.stored.get(key);
      const [readSha, bytes, etag] =
        now === undefined ? (read.get(key) ?? []) : [now.sha256, now.byte_count, now.etag];
      const there = listed.get(key);
      files += 1;
      return (
        there !== undefined &&
        there.etag !== null &&
        readSha === sha256 &&
        there.bytes === bytes &&
        there.etag === etag
      );
    };
    const signed: [string, string][] =
      signature === null ? [] : [[signatureKey(merchantNo, day), sha256Of(signature)]];
    if (![...statements, ...summaries, manifest, ...signed].every(isUnchanged)) return null;
  }
  return files;
}

async function compareListed(
  options: CompareOptions,
  listed: ReadonlyMap<string, ListedObject>,
  published: PublishedDays,
): Promise<Comparison> {
  const { merchantNo } = options;
  const { statements, summaries, manifests } = published;
  const files = [
    ...statements.map((row): PublishedFile => ({ kind: 'statement', ...about(row) })),
    ...filesInOtherFormats(merchantNo, published),
    ...summaries.map((row): PublishedFile => ({ kind: 'summary', ...about(row) })),
    ...manifests.flatMap(signatureOf),
    ...manifests.map((row): PublishedFile => ({ kind: 'manifest', ...about(row) })),
  ].sort((a, b) => (a.day === b.day ? 0 : a.day < b.day ? -1 : 1));
  const known = new Map([...published.stored, ...(options.publishedNow?.stored ?? [])]);
  const damaged: DamagedFile[] = [];
  const proven: StoredRow[] = [];
  const unput: ManifestRow[] = [];
  for (const file of files) {
    const damage = await damageOf(options, file, listed.get(file.key), known.get(file.key), proven);
    if (damage === null) continue;
    const wasPut = damage !== 'missing' || known.has(file.key);
    if (file.kind === 'signature' && !wasPut) unput.push(file.row);
    else damaged.push({ file, damage });
  }
  return {
    ...{ files: files.length, damaged, unput, proven },
    unrecorded: unrecordedDays(published),
    unsigned: manifests.filter((row) => isUnsigned(row) || isWronglySigned(row, options)),
    outOfChain: manifests.filter(isOutOfChain),
  };
}

const NOTHING_COMPARED: Comparison = {
  ...{ files: 0, damaged: [], unrecorded: [], unsigned: [], unput: [], outOfChain: [], proven: [] },
};

/** Searched where every file is read anyway. */
const isWronglySigned = (
  { content, signature }: ManifestRow,
  { readsAll = false, signingKey = null }: CompareOptions,
): boolean => readsAll && signingKey !== null && contradicts(signingKey, content, signature);

/** Files in other formats have no rows: the manifests list them. */
function filesInOtherFormats(merchantNo: string, published: PublishedDays): PublishedFile[] {
  return published.manifests.flatMap((manifest) => {
    const { day } = manifest;
    const listed = otherFormatsIn(manifest);
    const ofDay = published.statements.filter((row) => listed.size > 0 && row.day === day);
    return ofDay.flatMap((row) =>
      (listed.get(fileOf(row.object_key)) ?? []).map(
        ({ format, file, sha256, isoCurrency }): PublishedFile => ({
          ...{ kind: 'other-format', day, row, earlier: earlierOf(row, ofDay), format, sha256, isoCurrency },
          key: dayPrefix(merchantNo, day) + file,
        }),
      ),
    );
  });
}

function signatureOf(row: ManifestRow): PublishedFile[] {
  if (row.signature === null) return [];
  const key = signatureKey(row.merchant_no, row.day);
  return [{ kind: 'signature', row, day: row.day, key, sha256: sha256Of(row.signature) }];
}

const about = <Row extends Pick<ManifestRow, 'day' | 'object_key' | 'sha256'>>(row: Row) => ({
  ...{ day: row.day, key: row.object_key, sha256: row.sha256, row },
});

/** What is wrong with a file; null if nothing. A file that had to be read and is right is added to `proven`. */
async function damageOf(
  { objects, readsAll = false }: CompareOptions,
  { key, sha256, kind, row }: PublishedFile,
  listed: ListedObject | undefined,
  known: StoredRow | undefined,
  proven: StoredRow[],
): Promise<Damage | null> {
  if (listed === undefined) return 'missing';
  const isKnown = known?.sha256 === sha256;
  if (isKnown && known.byte_count !== listed.bytes) return 'altered';
  // In a store without etags, the size decides. A manifest is then read all the same, as it points to all other files
  // and is small; so is its signature, as all signatures have one size.
  const isRead = listed.etag === null && (kind === 'manifest' || kind === 'signature');
  if (!readsAll && isKnown && listed.etag === known.etag && !isRead) return null;
  const found = await objects.digest(key);
  if (found === null) return 'missing';
  if (found.sha256 !== sha256) return 'altered';
  const stored = storedRow(row, key, found);
  if (known === undefined || !sameStored(known, stored)) proven.push(stored);
  return null;
}

const sameStored = (a: StoredRow, b: StoredRow): boolean =>
  a.etag === b.etag && a.byte_count === b.byte_count && a.sha256 === b.sha256;

function unrecordedDays({ statements, summaries, manifests }: PublishedDays): UnrecordedDay[] {
  const recorded = new Set(manifests.map(({ day }) => day));
  const days = [...new Set(statements.map(({ day }) => day))].filter((day) => !recorded.has(day));
  return days.map((day) => ({
    day,
    statements: statements.filter((row) => row.day === day),
    summaries: summaries.filter((row) => row.day === day),
  }));
}

/** Whether a manifest in the store points to exactly the revisions that are current in the database. */
export async function pointsToCurrent(
  objects: ObjectStore,
  merchantNo: string,
  { day, statements, summaries }: UnrecordedDay,
): Promise<boolean> {
  const manifest = await readManifest(objects, manifestKey(merchantNo, day));
  if (manifest === null) return false;
  const named = (all: readonly Pick<StatementRow, 'currency' | 'sha256'>[]): string =>
    all
      .map(({ currency, sha256 }) => `${currency} ${sha256}`)
      .sort()
      .join();
  return (
    named(manifest.statements) === named(currentOf(statements)) &&
    manifest.summary?.sha256 === summaries.at(-1)?.sha256
  );
}
