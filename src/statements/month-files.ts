/**
 * Collects everything for the download of a month, merchant by merchant: what is published, and which days are open.
 */
import { Readable } from 'node:stream';
import type { Kysely } from 'kysely';
import type { Chosen } from '../ledger/account-filter.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { readWhole, type ObjectStore } from '../objects/object-store.ts';
import type { DB } from '../store/engine/schema.ts';
import { adjustmentsOf, closesOfMonth, type StoredClose } from '../store/month-close.ts';
import { manifestOfDay, type ManifestRow } from '../store/statements/stored-files.ts';
import { summariesOfDay, type StatementRow } from '../store/statements/statements.ts';
import { accountMonths } from './account-months.ts';
import { fetchInFormat, fetchStatement, StatementDamaged } from './fetch.ts';
import { CSV } from './formats/csv.ts';
import type { StatementFormat } from './formats/format.ts';
import { dayPrefix, fileOf, manifestFileBeside, manifestKey, nameIn, SIGNATURE_EXTENSION } from './keys.ts';
import { otherFormatsIn, type OtherFormats } from './manifest.ts';
import type { AccountMonth, Month } from './month.ts';
import { isUnsigned } from './sign-manifest.ts';
import { currentOf } from './summary.ts';

/** A file of the download. It keeps its key of the store, so that `verify` finds all files in the same layout. */
export interface MonthFile {
  readonly key: string;
  readonly publishedAt: Date;
  /** Throws `StatementDamaged` if the store does not hold what was published. */
  readonly read: () => AsyncIterable<Uint8Array>;
}

export interface MerchantMonth {
  readonly accounts: readonly AccountMonth[];
  readonly files: readonly MonthFile[];
}

export interface MonthSources {
  readonly db: Kysely<DB>;
  readonly objects: ObjectStore;
  /** CSV: everything as it lies in the store. Any other: the statements alone, made from their CSV. */
  readonly format: StatementFormat;
}

/** One merchant's month, of its accounts in these currencies. */
export async function merchantMonth(
  sources: MonthSources,
  merchantNo: string,
  month: Month,
  currencies: Chosen,
): Promise<MerchantMonth> {
  const { objects, format } = sources;
  const { accounts, byDay } = await accountMonths(sources.db, merchantNo, month, currencies);
  const files: MonthFile[] = [];
  for (const [day, rows] of byDay) {
    const statements = currentOf(rows);
    if (format.name === CSV.name)
      files.push(...(await dayFiles(sources, merchantNo, day, statements, currencies === null)));
    else files.push(...statements.map((row) => fileInFormat(objects, row, format)));
  }
  const closes = await closesOfMonth(sources.db, merchantNo, month.name);
  if (format.name === CSV.name && currencies === null) files.push(...closes.flatMap(closeFiles));
  const last = closes.at(-1);
  if (last === undefined) return { accounts, files };
  const filter = { merchants: [merchantNo], month: month.name };
  const adjusted = Map.groupBy(await adjustmentsOf(sources.db, filter), ({ currency }) => currency);
  return {
    accounts: accounts.map((account) => ({
      ...account,
      closed: last.number,
      adjustedDays: (adjusted.get(account.currency) ?? []).map(({ day }) => day),
    })),
    files,
  };
}

/** The file of a close and its signature, as they were made. */
const closeFiles = ({ objectKey, content, signature, closedAt }: StoredClose): MonthFile[] =>
  [
    { key: objectKey, text: content },
    ...(signature === null ? [] : [{ key: objectKey + SIGNATURE_EXTENSION, text: signature }]),
  ].map(({ key, text }) => ({
    key,
    publishedAt: closedAt,
    read: () => Readable.from([Buffer.from(text)]),
  }));

const fileInFormat = (objects: ObjectStore, row: StatementRow, format: StatementFormat): MonthFile => ({
  key: nameIn(format, row.object_key),
  publishedAt: row.published_at,
  read: () => fetchInFormat(objects, row, format),
});

/** The files in other formats that the day's manifest lists of the statements. */
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

/**
 * A day's statements and its manifest, with its signature. If only some currencies are asked for, a copy of both lies
 * beside each statement.
 */
async function dayFiles(
  sources: MonthSources,
  merchantNo: string,
  day: BusinessDay,
  statements: readonly StatementRow[],
  isWhole: boolean,
): Promise<MonthFile[]> {
  const { db, objects } = sources;
  const recorded = await manifestOfDay(db, merchantNo, day);
  const published = [
    ...statements.map((row) => fileInFormat(objects, row, CSV)),
    ...otherFormatFiles(sources, recorded, day, statements),
  ];
  const publishedAt = new Date(Math.max(...published.map((file) => file.publishedAt.getTime())));
  /** The manifest under this name, and its signature. */
  const manifestAs = (name: string): MonthFile[] => {
    const isSigned = recorded !== undefined && !isUnsigned(recorded);
    return ['', ...(isSigned ? [SIGNATURE_EXTENSION] : [])].map((extension) => ({
      key: name + extension,
      publishedAt,
      read: () => wholeFile(objects, manifestKey(merchantNo, day) + extension),
    }));
  };
  if (!isWhole) {
    const beside = statements.flatMap(({ object_key }) => {
      const at = object_key.lastIndexOf('/') + 1;
      return manifestAs(object_key.slice(0, at) + manifestFileBeside(object_key.slice(at)));
    });
    return [...published, ...beside];
  }
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
    ...manifestAs(manifestKey(merchantNo, day)),
  ];
}

async function* wholeFile(objects: ObjectStore, key: string): AsyncGenerator<Uint8Array> {
  const bytes = await readWhole(objects, key);
  if (bytes !== null) yield bytes;
  else
    throw new StatementDamaged(
      `${objects.location}: ${key} is missing; \`daybook publish --repair\` writes it again.`,
    );
}
