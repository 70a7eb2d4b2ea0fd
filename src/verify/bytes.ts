/** Streams of bytes on their way to a check: their size, their SHA-256, and a limit to what is held in memory. */
import { createHash } from 'node:crypto';

/** Size of some bytes, and their SHA-256 in lower-case hex. */
export interface Digest {
  readonly bytes: number;
  readonly sha256: string;
}

export const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** The same bytes; `digest` is valid once they were read to their end. */
export function hashed(source: AsyncIterable<Uint8Array>) {
  const hash = createHash('sha256');
  let bytes = 0;
  async function* pass(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      hash.update(chunk);
      bytes += chunk.byteLength;
      yield chunk;
    }
  }
  return { stream: pass(), digest: (): Digest => ({ bytes, sha256: hash.copy().digest('hex') }) };
}

/** Of a stream, read once. */
export async function digestOf(source: AsyncIterable<Uint8Array>): Promise<Digest> {
  const { stream, digest } = hashed(source);
  while ((await stream.next()).done !== true);
  return digest();
}

/** All bytes; null where there are more than `bytesMax`, of which no more are read. */
export async function collectedUpTo(
  source: AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<Buffer | null> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.length;
    if (bytes > bytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
