/** Files packed as a ZIP, as a stream. */
import { PassThrough, Readable } from 'node:stream';
import type { ReadStreamOptions } from 'yazl';

export interface ZippedFile {
  readonly name: string;
  readonly options: Partial<ReadStreamOptions> & { readonly mtime: Date };
  /** A stream is asked for when its turn comes, after the file before it was read to its end. */
  readonly content: Buffer | (() => AsyncIterable<Uint8Array>);
}

/** An instant that tells its fields in UTC, so that the machine's zone does not get into a ZIP. */
class UtcDate extends Date {
  override getFullYear = (): number => this.getUTCFullYear();
  override getMonth = (): number => this.getUTCMonth();
  override getDate = (): number => this.getUTCDate();
  override getHours = (): number => this.getUTCHours();
  override getMinutes = (): number => this.getUTCMinutes();
}

/** The next file is asked for once the one before it was read to its end. Fails with what that, or reading a file, throws. */
export async function* zipped(
  files: Iterable<ZippedFile> | AsyncIterable<ZippedFile>,
): AsyncGenerator<Uint8Array> {
  const { ZipFile } = await import('yazl');
  const zip = new ZipFile();
  const output = new PassThrough();
  let source: Readable | null = null;
  const stopped = Promise.withResolvers<'stopped'>();
  zip.outputStream.pipe(output);
  const fail = (error: Error): void => void output.destroy(error);
  zip.on('error', fail);
  /** Settles when the file was read to its end. */
  const addStream = (
    name: string,
    options: Partial<ReadStreamOptions>,
    content: () => AsyncIterable<Uint8Array>,
  ) =>
    new Promise<void>((read) => {
      zip.addReadStreamLazy(name, options, (take) => {
        source = Readable.from(content(), { objectMode: false })
          .once('error', fail)
          .once('close', () => read());
        take(null, source);
      });
    });
  const addAll = async (): Promise<void> => {
    for await (const { name, options: given, content } of files) {
      const options = { ...given, mtime: new UtcDate(given.mtime) };
      if (Buffer.isBuffer(content)) zip.addBuffer(content, name, options);
      else if ((await Promise.race([addStream(name, options, content), stopped.promise])) === 'stopped')
        return;
    }
    zip.end();
  };
  addAll().catch(fail);
  try {
    yield* output;
  } finally {
    stopped.resolve('stopped');
    (source as Readable | null)?.destroy();
  }
}
