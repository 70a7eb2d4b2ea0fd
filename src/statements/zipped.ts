/** Files packed as a ZIP, as a stream. */
import { PassThrough, Readable } from 'node:stream';
import { ZipFile, type ReadStreamOptions } from 'yazl';

export interface ZippedFile {
  readonly name: string;
  readonly options: Partial<ReadStreamOptions>;
  /** A stream is asked for when its turn comes, after the file before it was read to its end. */
  readonly content: Buffer | (() => AsyncIterable<Uint8Array>);
}

/** The ZIP's bytes. Fails with what reading a file throws. */
export async function* zipped(files: readonly ZippedFile[]): AsyncGenerator<Uint8Array> {
  const zip = new ZipFile();
  const output = new PassThrough();
  let source: Readable | null = null;
  zip.outputStream.pipe(output);
  const fail = (error: Error): void => void output.destroy(error);
  zip.on('error', fail);
  for (const { name, options, content } of files) {
    if (Buffer.isBuffer(content)) zip.addBuffer(content, name, options);
    else
      zip.addReadStreamLazy(name, options, (take) => {
        source = Readable.from(content(), { objectMode: false }).once('error', fail);
        take(null, source);
      });
  }
  zip.end();
  try {
    yield* output;
  } finally {
    (source as Readable | null)?.destroy();
  }
}
