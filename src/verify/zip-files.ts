/** The files in a ZIP, as if they lay in a folder of its name. They are read where they are: nothing is unpacked to a disk. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import yauzl, { type Entry, type ZipFile } from 'yauzl';
import { counted } from '../ledger/text.ts';

/** A ZIP, or a file in it, cannot be read. Its message is for a person, and says why. */
export class UnreadableZip extends Error {
  override readonly name = 'UnreadableZip';
}

export interface ZippedFiles {
  readonly files: readonly { readonly path: string; readonly open: () => AsyncIterable<Uint8Array> }[];
  /** How many files are encrypted; they are not among `files`. */
  readonly encrypted: number;
  readonly close: () => void;
}

/** A merchant's year has some thousand files. */
const FILES_MAX = 500_000;
/** Statements shrink to a tenth or so. A ZIP that grows more than this is made to fill a machine. */
const GROWTH_MAX = 250;
/** Manifests and closes are held in memory; the largest have some megabytes. */
export const JSON_BYTES_MAX = 67_108_864;
/** As long as a path may be on a disk. What tells files apart by their names needs long for longer ones. */
const PATH_BYTES_MAX = 4_096;
/** A small ZIP may grow as it likes. */
const GROWN_BYTES_MIN = 16_777_216;

/** Throws `UnreadableZip` for one that is cut off or damaged, names a path outside of it, or is far larger than it seems. */
export async function openZip(path: string): Promise<ZippedFiles> {
  const { size } = await stat(path);
  const zip = await readable(yauzl.openPromise(path, { autoClose: false }));
  const entries: Entry[] = [];
  let bytes = 0;
  try {
    const growsMost = Math.max(GROWN_BYTES_MIN, size * GROWTH_MAX);
    for await (const entry of zip.eachEntry()) {
      bytes += entry.uncompressedSize;
      if (entries.length === FILES_MAX)
        throw new UnreadableZip(`it has more than ${counted(FILES_MAX, 'file')}`);
      if (bytes > growsMost)
        throw new UnreadableZip(`its ${size} bytes would become more than ${growsMost}, as no statements do`);
      if (entry.fileNameLength > PATH_BYTES_MAX)
        throw new UnreadableZip(`a path in it has more than ${PATH_BYTES_MAX} bytes`);
      if (/\.json$/i.test(entry.fileName) && entry.uncompressedSize > JSON_BYTES_MAX)
        throw new UnreadableZip(
          `${entry.fileName} would have ${entry.uncompressedSize} bytes, as no manifest does`,
        );
      if (!entry.fileName.endsWith('/')) entries.push(entry);
    }
  } catch (error) {
    zip.close();
    throw unreadable(error);
  }
  const open = entries.filter((entry) => !entry.isEncrypted());
  return {
    files: open.map((entry) => ({ path: join(path, entry.fileName), open: () => contentOf(zip, entry) })),
    encrypted: entries.length - open.length,
    close: () => zip.close(),
  };
}

/** The bytes of a file: as many as the ZIP says, or it throws `UnreadableZip`. */
async function* contentOf(zip: ZipFile, entry: Entry): AsyncGenerator<Uint8Array> {
  try {
    yield* await zip.openReadStreamPromise(entry);
  } catch (error) {
    throw unreadable(error);
  }
}

const readable = <Value>(value: Promise<Value>): Promise<Value> =>
  value.catch((error: unknown) => {
    throw unreadable(error);
  });

const unreadable = (error: unknown): unknown =>
  !(error instanceof Error) || error instanceof UnreadableZip
    ? error
    : new UnreadableZip(error.message.replace(/\.$/, ''), { cause: error });
