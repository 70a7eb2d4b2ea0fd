/**
 * Collects everything for the download of a month, merchant by merchant: what is published, and which days are open.
 */
import type { Kysely } from 'kysely';
import { accountsOf, type Chosen } from '../ledger/account-filter.ts';
import { daysFromTo } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { readWhole, type ObjectStore } from '../objects/object-store.ts';
import { listAccountDays } from '../store/account-days.ts';
import { firstDays } from '../store/account-ends.ts';
import type { DB } from '../store/engine/schema.ts';
import { manifestOfDay, type ManifestRow } from '../store/statements/stored-files.ts';
import { listStatements, summariesOfDay, type StatementRow } from '../store/statements/statements.ts';
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
  const { db, objects, format } = sources;
  const byDay = await publishedByDay(db, merchantNo, month, currencies);
  const accounts = await accountMonths(db, merchantNo, month, currencies, byDay);
  const files: MonthFile[] = [];
  for (const [day, rows] of byDay) {
    const statements = currentOf(rows);
    if (format.name === CSV.name)
      files.push(...(await dayFiles(sources, merchantNo, day, statements, currencies === null)));
    else files.push(...statements.map((row) => fileInFormat(objects, row, format)));
  }
  return { accounts, files };
}

type PublishedByDay = ReadonlyMap<BusinessDay, readonly StatementRow[]>;

const publishedByDay = async (
  db: Kysely<DB>,
  merchantNo: string,
  { from, to }: Month,
  currencies: Chosen,
): Promise<PublishedByDay> =>
  Map.groupBy(
    await listStatements(db, { ...accountsOf(merchantNo, currencies), fromDay: from, toDay: to }),
    ({ day }) => day,
  );

/** The same without the files: what was published of each account, and which days are open. Three statements. */
export async function accountMonths(
  db: Kysely<DB>,
  merchantNo: string,
  month: Month,
  currencies: Chosen,
  published?: PublishedByDay,
): Promise<AccountMonth[]> {
  const filter = { ...accountsOf(merchantNo, currencies), fromDay: month.from, toDay: month.to };
  const [byDay, known, first] = await Promise.all([
    published ?? publishedByDay(db, merchantNo, month, currencies),
    listAccountDays(db, filter),
    firstDays(db, merchantNo, currencies),
  ]);
  const current = [...byDay.values()].flatMap((rows) => currentOf(rows));
  const due = new Set(
    known
      .filter((row) => row.publish_due || row.revision === null)
      .map(({ currency, day }) => `${currency} ${day}`),
  );
  return [...first]
    .filter(([, day]) => day <= month.to)
    .map(([currency, firstDay]): AccountMonth => {
      const statements = current.filter((row) => row.currency === currency);
      const days = new Set(statements.map(({ day }) => day));
      const openDays = daysFromTo(firstDay > month.from ? firstDay : month.from, month.to).filter(
        (day) => !days.has(day) || due.has(`${currency} ${day}`),
      );
      return { merchantNo, currency, statements, openDays };
    });
}

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
