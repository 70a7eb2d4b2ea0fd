/** Packs a month into one ZIP, and proves each file while it is packed. */
import { firstBytes, bytesOf } from '../objects/object-store.ts';
import { FormatTooSmall } from './formats/format.ts';
import { monthCsv, type Month, type ListedMonth } from './month.ts';
import type { MonthFile } from './month-files.ts';
import { zipped, type ZippedFile } from './zipped.ts';

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
export function zippedMonth(
  month: Month,
  accounts: readonly ListedMonth[],
  files: readonly MonthFile[],
  tell: (day: DayAsCsv) => void = () => undefined,
): AsyncGenerator<Uint8Array> {
  return zipped(filesOf(month, accounts, files, tell));
}

async function* filesOf(
  month: Month,
  accounts: readonly ListedMonth[],
  files: readonly MonthFile[],
  tell: (day: DayAsCsv) => void,
): AsyncGenerator<ZippedFile> {
  const last = { mtime: new Date(Math.max(...files.map(({ publishedAt }) => publishedAt.getTime()))) };
  yield {
    name: `month-${month.name}.csv`,
    options: last,
    content: Buffer.from(monthCsv(month, accounts)),
  };
  const asCsv: DayAsCsv[] = [];
  for await (const { key, publishedAt, read, why, background } of readAhead(files)) {
    const options = { mtime: publishedAt };
    yield { name: key, options, content: read };
    for (const one of background) yield { name: one.key, options, content: one.read };
    if (why === null) continue;
    asCsv.push({ key, why });
    tell({ key, why });
  }
  if (asCsv.length > 0)
    yield {
      name: `month-${month.name}-as-csv.txt`,
      options: last,
      content: Buffer.from(reported(month, asCsv)),
    };
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
