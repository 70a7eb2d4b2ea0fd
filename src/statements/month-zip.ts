/** Packs a month into one ZIP, and proves each file while it is packed. */
import { PassThrough, Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { monthCsv, type AccountMonth, type Month } from './month.ts';
import type { MonthFile } from './month-files.ts';

/** The ZIP as a stream. Each file is read when its turn comes. Fails with what reading a file throws. */
export async function* zippedMonth(
  month: Month,
  accounts: readonly AccountMonth[],
  files: readonly MonthFile[],
): AsyncGenerator<Uint8Array> {
  const zip = new ZipFile();
  const output = new PassThrough();
  zip.outputStream.pipe(output);
  const fail = (error: Error): void => void output.destroy(error);
  zip.on('error', fail);
  const last = new Date(Math.max(...files.map(({ publishedAt }) => publishedAt.getTime())));
  zip.addBuffer(Buffer.from(monthCsv(month, accounts)), `month-${month.name}.csv`, { mtime: last });
  for (const { key, publishedAt, read } of files) {
    zip.addReadStreamLazy(key, { mtime: publishedAt }, (take) =>
      take(null, Readable.from(read()).once('error', fail)),
    );
  }
  zip.end();
  yield* output;
}
