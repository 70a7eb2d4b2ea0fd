/**
 * The download of a month: collects what is published of a merchant, with the days that are open, and packs the files of
 * all merchants into one ZIP. Each file is proven while it is packed.
 */
import { closesWithFiles } from './files.ts';
import type { Kysely } from 'kysely';
import pLimit from 'p-limit';
import type { Chosen } from '../ledger/account-filter.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { MerchantNames } from '../ledger/names.ts';
import { bytesOf, firstBytes, readObject, type ObjectStore } from '../objects/object-store.ts';
import type { DB } from '../store/engine/schema.ts';
import { namesOfMerchant } from '../store/names.ts';
import { summariesOfDay, type StatementRow } from '../store/statements/statements.ts';
import { manifestOfDay, type ManifestRow } from '../store/statements/stored-files.ts';
import { inForce, type ClosesOfMonth } from './closes.ts';
import { fetchStatement, inFormat, StatementDamaged } from '../statements/fetch.ts';
import { CSV } from '../statements/formats/csv.ts';
import { FormatTooSmall, type StatementFormat } from '../statements/formats/format.ts';
import {
  dayPrefix,
  fileOf,
  manifestFileNextTo,
  manifestKey,
  SIGNATURE_EXTENSION,
  WITHDRAWN,
} from '../verify/names.ts';
import { nameIn, overviewName } from '../statements/keys.ts';
import { otherFormatsIn, zoneIn } from '../statements/recorded-manifest.ts';
import { accountMonths, monthCsv, type AccountMonth, type ListedMonth, type Month } from './month.ts';
import { openDaysOf, type OpenDay } from './open-days.ts';
import { currentOf } from '../statements/summary.ts';
import { isUnsigned } from '../statements/write-manifest.ts';
import { zipped, type ZippedFile } from '../statements/zipped.ts';

/** A file of the download. It keeps its key of the store, so that `verify` finds all files in the same layout. */
export interface MonthFile {
  readonly key: string;
  readonly publishedAt: Date;
  /** Throws `StatementDamaged` if the store does not hold what was published. */
  readonly read: () => AsyncIterable<Uint8Array>;
  /** It is of what the file before it turns out to be, so it is not read ahead of that. */
  readonly isOfFileBefore?: true;
  /** Its published CSV with the manifest, where `read` may throw `FormatTooSmall`. */
  readonly instead?: Pick<MonthFile, 'key' | 'read'> & { readonly background: readonly MonthFile[] };
}

interface MerchantMonth {
  readonly accounts: readonly ListedMonth[];
  readonly files: readonly MonthFile[];
}

interface MonthSources {
  readonly db: Kysely<DB>;
  readonly objects: ObjectStore;
  /**
   * CSV: everything as it lies in the store. Any other: the statements, each with a manifest next to it where it was
   * published so, else made from its CSV.
   */
  readonly format: StatementFormat;
  readonly now: () => Date;
}

/** Days whose manifest and summary are asked for side by side. */
const DAYS_AT_ONCE = 4;

export async function merchantMonth(
  sources: MonthSources,
  merchantNo: string,
  month: Month,
  currencies: Chosen,
): Promise<MerchantMonth> {
  const { db, format } = sources;
  const found = await accountMonths(db, merchantNo, month, currencies);
  const names = await namesOfMerchant(db, merchantNo);
  const atOnce = pLimit(DAYS_AT_ONCE);
  const days = await Promise.all(
    [...found.byDay].map(([day, rows]) =>
      atOnce(() => filesOfDay(sources, { merchantNo, day, rows, names }, currencies === null)),
    ),
  );
  const files = days.flatMap((one) => one.files);
  const zone = days.findLast((one) => one.zone !== undefined)?.zone ?? null;
  const accounts = await withOpenDays(sources, month, found.accounts, zone);
  const closed = await closesWithFiles(db, merchantNo, month.name);
  const last = inForce(closed.closes);
  if (closed.closes.length === 0) return { accounts, files };
  if (format.name === CSV.name && currencies === null) files.push(...closed.files.map(closeFile));
  if (last === undefined) return { accounts, files };
  const adjusted = Map.groupBy(closed.adjustments, ({ currency }) => currency);
  return {
    accounts: accounts.map((account) => ({
      ...account,
      closed: last.number,
      adjustedDays: (adjusted.get(account.currency) ?? []).map(({ day }) => day),
    })),
    files,
  };
}

interface DayRows {
  readonly merchantNo: string;
  readonly day: BusinessDay;
  readonly rows: readonly StatementRow[];
  readonly names: MerchantNames | undefined;
}

/** The day's files, and the zone that its manifest names; undefined where no manifest is recorded. */
async function filesOfDay(
  sources: MonthSources,
  { merchantNo, day, rows, names }: DayRows,
  isComplete: boolean,
): Promise<{ readonly files: readonly MonthFile[]; readonly zone: string | null | undefined }> {
  const { db, objects, format } = sources;
  const statements = currentOf(rows);
  const recorded = await manifestOfDay(db, merchantNo, day);
  const sheets = statements.map((row): { file: MonthFile; background: readonly MonthFile[] } => {
    const { isPublished, read } = inFormat(objects, row, format, { recorded, ofDay: rows, names });
    const { object_key: key, published_at: publishedAt } = row;
    const file = { key: nameIn(format, key), publishedAt, read };
    const background = manifestAs(sources, { merchantNo, day, recorded }, publishedAt, keyNextTo(key));
    if (isPublished) return { file, background };
    const instead = { key, read: () => fetchStatement(objects, row), background };
    return { file: format.holdsEveryDay === true ? file : { ...file, instead }, background: [] };
  });
  const ofDay = { merchantNo, day, statements, recorded, sheets: sheets.map(({ file }) => file) };
  return {
    files:
      format.name === CSV.name
        ? await dayFiles(sources, ofDay, isComplete)
        : sheets.flatMap(({ file, background }) => [file, ...background]),
    zone: recorded && zoneIn(recorded),
  };
}

export interface KnownMonth {
  readonly accounts: readonly ListedMonth[];
  /** All revisions, by day, currency and number. */
  readonly byDay: ReadonlyMap<BusinessDay, readonly StatementRow[]>;
  /** As the last day's manifest names it. */
  readonly zone: string | null;
}

/** The merchant's accounts in these currencies with their days that are open, without any file. */
export async function listedMonth(
  sources: Pick<MonthSources, 'db' | 'now'>,
  merchantNo: string,
  month: Month,
  currencies: Chosen,
): Promise<KnownMonth> {
  const { accounts, byDay } = await accountMonths(sources.db, merchantNo, month, currencies);
  const last = [...byDay.keys()].at(-1);
  const recorded = last === undefined ? undefined : await manifestOfDay(sources.db, merchantNo, last);
  const zone = recorded === undefined ? null : zoneIn(recorded);
  return { accounts: await withOpenDays(sources, month, accounts, zone), byDay, zone };
}

/** Where no manifest names the zone of the days, those without a current statement are all that is known to be open. */
async function withOpenDays(
  { db, now }: Pick<MonthSources, 'db' | 'now'>,
  month: Month,
  accounts: readonly AccountMonth[],
  zone: string | null,
): Promise<ListedMonth[]> {
  const open =
    zone === null
      ? null
      : Map.groupBy(await openDaysOf(db, month, accounts, { zone, now: now() }), ({ currency }) => currency);
  return accounts.map(({ unpublished, ...account }) => ({
    ...account,
    openDays: open === null ? unpublished : daysIn(open.get(account.currency) ?? []),
  }));
}

const daysIn = (openDays: readonly OpenDay[]): BusinessDay[] => [...new Set(openDays.map(({ day }) => day))];

const closeFile = ({ key, text, closedAt }: ClosesOfMonth['files'][number]): MonthFile => ({
  ...{ key, publishedAt: closedAt, read: () => bytesOf(Buffer.from(text)) },
});

function otherFormatFiles(
  { objects }: MonthSources,
  { merchantNo, day, recorded, statements }: PublishedDay,
): MonthFile[] {
  const listed = recorded && otherFormatsIn(recorded);
  return statements.flatMap(({ object_key, published_at: publishedAt }) =>
    (listed?.get(fileOf(object_key)) ?? []).map(({ file, sha256 }): MonthFile => {
      const key = dayPrefix(merchantNo, day) + file;
      return { key, publishedAt, read: () => fetchStatement(objects, { object_key: key, sha256 }) };
    }),
  );
}

interface PublishedDay {
  readonly merchantNo: string;
  readonly day: BusinessDay;
  readonly statements: readonly StatementRow[];
  readonly sheets: readonly MonthFile[];
  readonly recorded: ManifestRow | undefined;
}

/**
 * A day's statements and its manifest, with its signature. If only some currencies are asked for, a copy of both lies
 * next to each statement.
 */
async function dayFiles(sources: MonthSources, of: PublishedDay, isComplete: boolean): Promise<MonthFile[]> {
  const { merchantNo, day, statements } = of;
  const published = [...of.sheets, ...otherFormatFiles(sources, of)];
  const publishedAt = lastOf(published);
  const manifest = (name: string) => manifestAs(sources, of, publishedAt, name);
  if (!isComplete) return [...published, ...statements.flatMap((row) => manifest(keyNextTo(row.object_key)))];
  const summary = (await summariesOfDay(sources.db, merchantNo, day)).at(-1);
  if (summary !== undefined) {
    const read = () => fetchStatement(sources.objects, summary);
    published.push({ key: summary.object_key, publishedAt: summary.published_at, read });
  }
  return [...published, ...manifest(manifestKey(merchantNo, day))];
}

const lastOf = (files: readonly MonthFile[]): Date =>
  new Date(Math.max(...files.map(({ publishedAt }) => publishedAt.getTime())));

function keyNextTo(statement: string): string {
  const at = statement.lastIndexOf('/') + 1;
  return statement.slice(0, at) + manifestFileNextTo(statement.slice(at));
}

function manifestAs(
  { db, objects }: MonthSources,
  { merchantNo, day, recorded }: Pick<PublishedDay, 'merchantNo' | 'day' | 'recorded'>,
  publishedAt: Date,
  name: string,
): MonthFile[] {
  return recorded === undefined
    ? [{ key: name, publishedAt, read: () => entireFile(objects, manifestKey(merchantNo, day)) }]
    : recordedManifest(db, recorded, name).map((file) => ({ ...file, publishedAt }));
}

/**
 * The recorded manifest and its signature, which lie in the store one after the other when they are replaced. The row is
 * read when the manifest's turn comes, as those of a entire month are large, and the signature is of the same row.
 */
function recordedManifest(
  db: Kysely<DB>,
  recorded: ManifestRow,
  name: string,
): Omit<MonthFile, 'publishedAt'>[] {
  let { signature } = recorded;
  async function* content(): AsyncGenerator<Uint8Array> {
    const row = (await manifestOfDay(db, recorded.merchant_no, recorded.day))!;
    signature = row.signature;
    yield Buffer.from(row.content);
  }
  const manifest = { key: name, read: content };
  if (isUnsigned(recorded)) return [manifest];
  const read = () => bytesOf(Buffer.from(signature ?? WITHDRAWN));
  return [manifest, { key: name + SIGNATURE_EXTENSION, read, isOfFileBefore: true }];
}

async function* entireFile(objects: ObjectStore, key: string): AsyncGenerator<Uint8Array> {
  const bytes = await readObject(objects, key);
  if (bytes === null)
    throw new StatementDamaged(
      `${objects.location}: ${key} is missing; \`daybook publish --repair\` writes it again.`,
    );
  yield bytes;
}

/** With its overview, if the format makes one, which is read when its turn comes. Where nothing was published there are no files. */
export async function monthDownload(
  sources: MonthSources,
  merchantNo: string,
  month: Month,
  currencies: Chosen,
): Promise<MerchantMonth> {
  const { db, format, now } = sources;
  const found = await merchantMonth(sources, merchantNo, month, currencies);
  if (format.month === undefined || found.files.length === 0) return found;
  async function* read(): AsyncGenerator<Uint8Array> {
    yield* (await format.month!(db, { merchantNo, month: month.name, currencies, now }))!;
  }
  const overview = { key: overviewName(format, month.name, merchantNo), publishedAt: now(), read };
  return { ...found, files: [overview, ...found.files] };
}

/** Files that are read before their turn, so that a far store is not waited for at each. */
const AHEAD = 4;
/** A file with more bytes is not held in memory, but read again when its turn comes. */
const HELD_BYTES_MAX = 262_144;

/** A day that the format cannot hold, so that the ZIP has its CSV. */
export interface DayAsCsv {
  readonly key: string;
  readonly why: string;
}

/**
 * The ZIP as a stream. A few small files are read ahead, all others when their turn comes. A day that does not fit its
 * format is there as its CSV: `tell` gets each, and a text at the end names them. Fails with what else reading a file
 * throws.
 */
export const zippedMonth = (
  month: Month,
  accounts: readonly ListedMonth[],
  files: readonly MonthFile[],
  tell: (day: DayAsCsv) => void = () => undefined,
): AsyncGenerator<Uint8Array> => zipped(packedFiles(month, accounts, files, tell));

async function* packedFiles(
  month: Month,
  accounts: readonly ListedMonth[],
  files: readonly MonthFile[],
  tell: (day: DayAsCsv) => void,
): AsyncGenerator<ZippedFile> {
  const options = { mtime: lastOf(files) };
  const name = `month-${month.name}`;
  yield { name: `${name}.csv`, options, content: Buffer.from(monthCsv(month, accounts)) };
  const asCsv: DayAsCsv[] = [];
  for await (const { key, publishedAt, read, why, background } of readAhead(files)) {
    const own = { mtime: publishedAt };
    yield { name: key, options: own, content: read };
    for (const one of background) yield { name: one.key, options: own, content: one.read };
    if (why === null) continue;
    asCsv.push({ key, why });
    tell({ key, why });
  }
  if (asCsv.length > 0)
    yield { name: `${name}-as-csv.txt`, options, content: Buffer.from(reported(month, asCsv)) };
}

interface ReadyFile extends Pick<MonthFile, 'key' | 'publishedAt' | 'read'> {
  /** Why it is the CSV; null where it is the file that was asked for. */
  readonly why: string | null;
  readonly background: readonly MonthFile[];
}

/** The files in their order. What reading one throws is thrown when its turn comes. */
async function* readAhead(files: readonly MonthFile[]): AsyncGenerator<ReadyFile> {
  const begun: Promise<ReadyFile>[] = [];
  let next = 0;
  while (next < files.length || begun.length > 0) {
    for (; begun.length < AHEAD && next < files.length; next += 1) {
      const ready = readyFile(files[next]!);
      ready.catch(() => undefined);
      begun.push(ready);
    }
    yield await begun.shift()!;
  }
}

async function readyFile(file: MonthFile): Promise<ReadyFile> {
  const { key, publishedAt, instead } = file;
  try {
    return { key, publishedAt, read: await readSoFar(file), why: null, background: [] };
  } catch (error) {
    if (instead === undefined || !(error instanceof FormatTooSmall)) throw error;
    return { ...instead, publishedAt, why: error.message };
  }
}

/** Its bytes, or where they are many the way to them. A file that may not fit its format is read to its end. */
async function readSoFar({ read, instead, isOfFileBefore }: MonthFile): Promise<MonthFile['read']> {
  if (isOfFileBefore === true) return read;
  const { bytes, rest } = await firstBytes(read(), HELD_BYTES_MAX);
  if (rest === null) return once(bytes);
  if (instead === undefined) await rest.return?.();
  else while ((await rest.next()).done !== true);
  return read;
}

/** The bytes, which are let go when they are read: whoever packs them keeps the way to them until the end. */
function once(bytes: Buffer): () => AsyncIterable<Uint8Array> {
  let held: Buffer | null = bytes;
  return () => {
    const given = held!;
    held = null;
    return bytesOf(given);
  };
}

const reported = ({ name }: Month, days: readonly DayAsCsv[]): string =>
  [
    `Days of ${name} that do not fit the format of this download. For each, the published CSV is here instead.`,
    '',
    ...days.map(({ key, why }) => `${key}: ${why}`),
    '',
  ].join('\r\n');
