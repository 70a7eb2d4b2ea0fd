/** Where statements go, as the rest sees it: few operations, all safe to repeat, alike for S3 and a directory. */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { createHash } from 'node:crypto';

/** What an object holds: its size and the SHA-256 of its bytes, lower-case hex. */
export interface Digest {
  readonly bytes: number;
  readonly sha256: string;
}

/** A digest read back from the store, with the store's own mark of those bytes; null where it gives none. */
export interface StoredDigest extends Digest {
  readonly etag: string | null;
}

/** An object as a listing shows it. */
export interface ListedObject {
  /** Relative to the store's root. */
  readonly key: string;
  readonly bytes: number;
  /** Changes whenever the bytes do; null where the store gives none. */
  readonly etag: string | null;
}

/**
 * Keeps a writer that was frozen, and taken over meanwhile, from finishing its write. Asked when the bytes are ready
 * and the object is still to get its name, so that a later holder who calls `discardUnfinished` finds either the
 * unfinished write, or a holder that knows itself replaced.
 */
export interface Fence {
  /** Grows with every holder. */
  readonly epoch: number;
  /** Throws where another holder took over. */
  readonly assertHeld: () => Promise<void>;
}

/** Bytes at hand, or a way to produce them as often as an upload has to start over. */
export type ObjectContent = Uint8Array | (() => AsyncIterable<Uint8Array>);

export interface PutOptions {
  /**
   * Leave an object that is there alone. One with the same bytes counts as written (it may be our own earlier try);
   * other bytes throw `ObjectExists`.
   */
  readonly ifAbsent?: boolean;
  /**
   * Replace only the object that has this etag. Finding the same bytes counts as written; other bytes throw
   * `ObjectExists`. A server that does not know the condition replaces whatever is there.
   */
  readonly ifEtag?: string;
  /** For browsers that open the object directly. */
  readonly contentType?: string;
  readonly fence?: Fence;
}

/** Which keys of a prefix to list; both ends may be left open. */
export interface KeyRange {
  /** Only keys behind this one. */
  readonly after?: string;
  /** Only keys up to this one. */
  readonly through?: string;
}

/** Keys are relative to the store's root, with `/` between their parts. */
export interface ObjectStore {
  /** For people: `s3://bucket/prefix` or `file:///folder`. */
  readonly location: string;
  /**
   * Proves that objects can be listed and written, leaving nothing behind. Throws `ObjectStoreRefused` where a
   * setting has to be mended, `ObjectStoreUnreachable` where trying again may help.
   */
  readonly check: () => Promise<void>;
  /**
   * Writes an object whole or not at all, reads it back, and returns what was found. Throws `ObjectStoreUnreachable`,
   * `ObjectExists`, and what the content or the fence throws.
   */
  readonly put: (key: string, content: ObjectContent, options?: PutOptions) => Promise<StoredDigest>;
  /** The object's bytes, or null where there is none. */
  readonly get: (key: string) => Promise<AsyncIterable<Uint8Array> | null>;
  /** Reads the object whole for its digest, or null where there is none. */
  readonly digest: (key: string) => Promise<StoredDigest | null>;
  /** Size and etag without reading, or null where there is none. */
  readonly head: (key: string) => Promise<Omit<ListedObject, 'key'> | null>;
  /** Keys that start with `prefix`, in order. */
  readonly list: (prefix: string) => AsyncIterable<string>;
  /** Objects whose keys start with `prefix`, in order, with size and etag: one call for a page of keys. */
  readonly survey: (prefix: string, range?: KeyRange) => AsyncIterable<ListedObject>;
  /**
   * Removes what killed writers left half-written under `prefix`, and with it what a frozen one would need to finish.
   * Only for the holder of the lease, before its own writes there; what was begun under `epoch` or later stays.
   */
  readonly discardUnfinished: (prefix: string, epoch: number) => Promise<void>;
}

/** The store cannot be reached, or lost what it was given; trying again may help. */
export class ObjectStoreUnreachable extends ExpectedError {
  override readonly name = 'ObjectStoreUnreachable';
  readonly exitCode = EXIT.incomplete;
}

/** It said nothing for as long as the tries of a call last: to ask again at once is to wait as long again. */
export class ObjectStoreSilent extends ObjectStoreUnreachable {}

/** The store answers and says no: settings, credentials or permissions have to be mended first. */
export class ObjectStoreRefused extends ExpectedError {
  override readonly name = 'ObjectStoreRefused';
  readonly exitCode = EXIT.usage;
}

/** Another object, with other bytes, has this key. */
export class ObjectExists extends Error {
  override readonly name = 'ObjectExists';
  readonly key: string;
  constructor(key: string) {
    super(`another object is already stored as ${key}`);
    this.key = key;
  }
}

/** A new stream over the content, from its start. */
export async function* bytesOf(content: ObjectContent): AsyncGenerator<Uint8Array> {
  if (typeof content === 'function') yield* content();
  else yield content;
}

/** Size and SHA-256 of a stream, read once. */
export async function digestOf(stream: AsyncIterable<Uint8Array>): Promise<Digest> {
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const chunk of stream) {
    hash.update(chunk);
    bytes += chunk.byteLength;
  }
  return { bytes, sha256: hash.digest('hex') };
}

export const sameDigest = (a: Digest, b: Digest): boolean => a.bytes === b.bytes && a.sha256 === b.sha256;

/** A stream that passes bytes on and knows their digest, and its source's failure, in the end. */
export interface MeteredStream {
  readonly stream: AsyncIterable<Uint8Array>;
  /** Valid once the stream has ended. */
  readonly digest: () => Digest;
  /** What the source threw, so that an upload's error can be told from its content's. */
  readonly sourceError: () => Error | undefined;
}

export function metered(content: ObjectContent): MeteredStream {
  const hash = createHash('sha256');
  let bytes = 0;
  let failure: Error | undefined;
  async function* pass(): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of bytesOf(content)) {
        hash.update(chunk);
        bytes += chunk.byteLength;
        yield chunk;
      }
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      throw failure;
    }
  }
  return {
    stream: pass(),
    digest: () => ({ bytes, sha256: hash.copy().digest('hex') }),
    sourceError: () => failure,
  };
}

/** The content, with the fence asked after its last byte. */
export const fenced = (content: ObjectContent, fence: Fence | undefined): ObjectContent =>
  fence === undefined
    ? content
    : async function* () {
        yield* bytesOf(content);
        await fence.assertHeld();
      };

/** A whole small object, such as a manifest. */
export async function readWhole(store: ObjectStore, key: string): Promise<Buffer | null> {
  const stream = await store.get(key);
  if (stream === null) return null;
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** A connection cut while reading back says nothing about what was written, so it is read again. */
const READ_BACK_TRIES_MAX = 3;

async function readBack(store: ObjectStore, key: string): Promise<StoredDigest | null> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await store.digest(key);
    } catch (error) {
      if (tries === READ_BACK_TRIES_MAX || error instanceof ObjectStoreSilent) throw error;
    }
  }
}

/**
 * Throws where what the store gives back is not what it was given. The fence is asked once more before: what is read
 * back after it was this holder's, and not what was there before another one wrote.
 */
export async function verifyStored(
  store: ObjectStore,
  key: string,
  written: Digest,
  fence?: Fence,
): Promise<StoredDigest> {
  await fence?.assertHeld();
  const found = await readBack(store, key);
  if (found !== null && sameDigest(found, written)) return found;
  // Other bytes may be those of a holder who took over in between.
  await fence?.assertHeld();
  throw new ObjectStoreUnreachable(
    `${store.location}: ${key} was written with ${written.bytes} bytes (SHA-256 ${written.sha256}) and reads back ` +
      (found === null ? 'as missing' : `with ${found.bytes} bytes (SHA-256 ${found.sha256})`) +
      `. Nothing was published from it; check the store and run again.`,
  );
}

/** Settles a conditional write that met another object: fine where the bytes are the same. Throws `ObjectExists`. */
export async function compareStored(
  store: ObjectStore,
  key: string,
  content: ObjectContent,
): Promise<StoredDigest> {
  const found = await readBack(store, key);
  if (found !== null && sameDigest(found, await digestOf(bytesOf(content)))) return found;
  throw new ObjectExists(key);
}
