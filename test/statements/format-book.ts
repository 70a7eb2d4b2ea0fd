/** A book of two days in a folder, for tests of formats: published, altered, amended and made again. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import type { StatementFormat } from '../../src/statements/formats/format.ts';
import { repairFiles, type RepairReport } from '../../src/statements/repair-files.ts';
import { freshDatabase } from '../support/database.ts';
import { accountEntries } from '../support/ledger-entries.ts';
import { MERCHANT, openBook, ZONE, type Book } from './book.ts';

export const DAY = '2026-03-30';
export const NEXT = '2026-03-31';

const ENTRIES = accountEntries(100_00, [
  [`${DAY} 09:00:00`, 50_00],
  [`${DAY} 17:30:00`, -25_50],
  [`${NEXT} 08:00:00`, 10_00],
]);

export interface FormatBook {
  readonly folder: string;
  readonly store: ObjectStore;
  readonly book: Book;
  /** Where the day's file with this extension lies. */
  readonly pathOf: (extension: string, of?: { day?: string; revision?: number }) => string;
  readonly manifestOf: (day?: string) => Promise<{ readonly statements: Record<string, unknown>[] }>;
  readonly repaired: (knownFormats: readonly StatementFormat[]) => Promise<RepairReport>;
  /** The first entry of the day turns out to be of another type. */
  readonly amended: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function openFormatBook(): Promise<FormatBook> {
  const folder = await mkdtemp(join(tmpdir(), 'daybook-formats-'));
  const store = createDirectoryStore(folder);
  const book = await openBook(await freshDatabase());
  const read = async (entries: typeof ENTRIES): Promise<void> => {
    await book.synced(entries, [DAY, NEXT]);
    await book.reconciled();
  };
  await read(ENTRIES);
  const folderOf = (day: string): string => join(folder, `merchant=${MERCHANT}`, `date=${day}`);
  return {
    ...{ folder, store, book },
    pathOf: (extension, { day = DAY, revision = 1 } = {}) =>
      join(folderOf(day), `${MERCHANT}_USD_${day}.r${revision}.${extension}`),
    manifestOf: async (day = DAY) =>
      JSON.parse(await readFile(join(folderOf(day), 'manifest.json'), 'utf8')) as {
        statements: Record<string, unknown>[];
      },
    repaired: (knownFormats) =>
      repairFiles({
        ...{ db: book.database.db, lease: book.lease, objects: store, zone: ZONE, clockToleranceS: 2 },
        ...{ knownFormats, runId: 1, now: () => book.now, signal: new AbortController().signal },
        ...{ merchantNo: MERCHANT, fromDay: DAY, toDay: NEXT },
      }),
    amended: () =>
      read(ENTRIES.map((entry, at) => (at === 0 ? { ...entry, transactionType: 'FEE' } : entry))),
    close: async () => {
      await book.database.close();
      await rm(folder, { recursive: true });
    },
  };
}
