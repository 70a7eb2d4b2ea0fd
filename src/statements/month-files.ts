/**
 * Collects everything for the download of a month, merchant by merchant: what is published, and which days are open.
 */
import type { Kysely } from 'kysely';
import pLimit from 'p-limit';
import type { Chosen } from '../ledger/account-filter.ts';
import { filesOfClose } from './close.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { bytesOf, readObject, type ObjectStore } from '../objects/object-store.ts';
import type { DB } from '../store/engine/schema.ts';
import { adjustmentsOf, closesOfMonth, type StoredClose } from '../store/month-close.ts';
import { manifestOfDay, type ManifestRow } from '../store/statements/stored-files.ts';
import { summariesOfDay, type StatementRow } from '../store/statements/statements.ts';
import { accountMonths, type AccountMonth, type Month, type ListedMonth } from './month.ts';
import { fetchStatement, StatementDamaged } from './fetch.ts';
import { inFormat } from './fetch-in-format.ts';
import { CSV } from './formats/csv.ts';
import type { StatementFormat } from './formats/format.ts';
import {
  dayPrefix,
  fileOf,
  manifestFileNextTo,
  manifestKey,
  nameIn,
  SIGNATURE_EXTENSION,
  WITHDRAWN,
} from './keys.ts';
import { otherFormatsIn, zoneIn, type OtherFormats } from './manifest.ts';
import { openDaysOf } from './open-days.ts';
import { isUnsigned } from './write-manifest.ts';
import { currentOf } from './summary.ts';
import { PDF } from './formats/pdf.ts';
import { monthOverview, type OverviewAsked, monthPdf } from './month-pdf.ts';

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
  const atOnce = pLimit(DAYS_AT_ONCE);
  const days = await Promise.all(
    [...found.byDay].map(([day, rows]) =>
      atOnce(() => filesOfDay(sources, { merchantNo, day, rows }, currencies === null)),
    ),
  );
  const files = days.flatMap((one) => one.files);
  const zone = days.findLast((one) => one.zone !== undefined)?.zone ?? null;
  const accounts = await withOpenDays(sources, month, found.accounts, zone);
  const closes = await closesOfMonth(db, merchantNo, month.name);
  if (format.name === CSV.name && currencies === null) files.push(...closes.flatMap(closeFiles));
  const last = closes.at(-1);
  if (last === undefined) return { accounts, files };
  const filter = { merchants: [merchantNo], month: month.name };
  const adjusted = Map.groupBy(await adjustmentsOf(db, filter), ({ currency }) => currency);
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
}

interface Sheet {
  readonly file: MonthFile;
  readonly background: readonly MonthFile[];
}

/** The day's files, and the zone that its manifest names; undefined where no manifest is recorded. */
async function filesOfDay(
  sources: MonthSources,
  { merchantNo, day, rows }: DayRows,
  isComplete: boolean,
): Promise<{ readonly files: readonly MonthFile[]; readonly zone: string | null | undefined }> {
  const { db, objects, format } = sources;
  const statements = currentOf(rows);
  const recorded = await manifestOfDay(db, merchantNo, day);
  const sheets = statements.map((row): Sheet => {
    const { isPublished, read } = inFormat(objects, row, format, { recorded, ofDay: rows });
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

/** Where no manifest names the zone of the days, those without a current statement are all that is known to be open. */
async function withOpenDays(
  { db, now }: MonthSources,
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
    openDays: open === null ? unpublished : (open.get(account.currency) ?? []).map(({ day }) => day),
  }));
}

const closeFiles = (close: StoredClose): MonthFile[] =>
  filesOfClose(close)
    .toReversed()
    .map(({ key, text }) => ({
      ...{ key, publishedAt: close.closedAt, read: () => bytesOf(Buffer.from(text)) },
    }));

function otherFormatFiles(
  { objects }: MonthSources,
  recorded: ManifestRow | undefined,
  day: BusinessDay,
  statements: readonly StatementRow[],
): MonthFile[] {
  const listed: OtherFormats = recorded === undefined ? new Map() : otherFormatsIn(recorded);
  return statements.flatMap(({ object_key, published_at: publishedAt }) =>
    (listed.get(fileOf(object_key)) ?? []).map(({ file, sha256 }): MonthFile => {
      const key = dayPrefix(recorded!.merchant_no, day) + file;
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
async function dayFiles(
  sources: MonthSources,
  { merchantNo, day, statements, recorded, sheets }: PublishedDay,
  isComplete: boolean,
): Promise<MonthFile[]> {
  const { db, objects } = sources;
  const published = [...sheets, ...otherFormatFiles(sources, recorded, day, statements)];
  const publishedAt = new Date(Math.max(...published.map((file) => file.publishedAt.getTime())));
  const manifest = (name: string) => manifestAs(sources, { merchantNo, day, recorded }, publishedAt, name);
  if (!isComplete) return [...published, ...statements.flatMap((row) => manifest(keyNextTo(row.object_key)))];
  const summary = (await summariesOfDay(db, merchantNo, day)).at(-1);
  return [
    ...published,
    ...(summary === undefined
      ? []
      : [
          {
            key: summary.object_key,
            publishedAt: summary.published_at,
            read: () => fetchStatement(objects, summary),
          },
        ]),
    ...manifest(manifestKey(merchantNo, day)),
  ];
}

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
  return isUnsigned(recorded)
    ? [manifest]
    : [
        manifest,
        {
          key: name + SIGNATURE_EXTENSION,
          read: () => bytesOf(Buffer.from(signature ?? WITHDRAWN)),
          isOfFileBefore: true,
        },
      ];
}

async function* entireFile(objects: ObjectStore, key: string): AsyncGenerator<Uint8Array> {
  const bytes = await readObject(objects, key);
  if (bytes !== null) yield bytes;
  else
    throw new StatementDamaged(
      `${objects.location}: ${key} is missing; \`daybook publish --repair\` writes it again.`,
    );
}

export const monthPdfName = ({ name }: Month, merchantNo: string): string =>
  `month-${name}-${merchantNo}.pdf`;

/** The overview is read when its turn comes. Where nothing was published there are no files. */
export async function monthDownload(sources: MonthSources, asked: OverviewAsked): Promise<MerchantMonth> {
  const { merchantNo, month, currencies, now } = asked;
  const found = await merchantMonth(sources, merchantNo, month, currencies);
  if (sources.format.name !== PDF.name || found.files.length === 0) return found;
  async function* read(): AsyncGenerator<Uint8Array> {
    yield* monthPdf((await monthOverview(sources.db, asked))!);
  }
  const overview = { key: monthPdfName(month, merchantNo), publishedAt: now(), read };
  return { ...found, files: [overview, ...found.files] };
}
