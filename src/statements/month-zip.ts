/** Packs a month into one ZIP, and proves each file while it is packed. */
import { monthCsv, type Month, type ToldMonth } from './month.ts';
import type { MonthFile } from './month-files.ts';
import { zipped } from './zipped.ts';

/** The ZIP as a stream. Each file is read when its turn comes. Fails with what reading a file throws. */
export function zippedMonth(
  month: Month,
  accounts: readonly ToldMonth[],
  files: readonly MonthFile[],
): AsyncGenerator<Uint8Array> {
  const last = new Date(Math.max(...files.map(({ publishedAt }) => publishedAt.getTime())));
  const overview = Buffer.from(monthCsv(month, accounts));
  return zipped([
    { name: `month-${month.name}.csv`, options: { mtime: last }, content: overview },
    ...files.map(({ key, publishedAt, read }) => ({
      ...{ name: key, options: { mtime: publishedAt }, content: read },
    })),
  ]);
}
