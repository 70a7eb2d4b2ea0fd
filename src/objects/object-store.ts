/**
 * Where statements are stored, as other modules see it: few operations, each safe to repeat, alike for S3 and a folder.
 */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { digestOf, hashed, type Digest } from '../verify/bytes.ts';

export { digestOf, type Digest };

export interface ListedObject {
  /** Relative to the store's root. */
  readonly key: string;
  readonly bytes: number;
  /** Changes whenever the bytes change; null if the store gives none. */
  readonly etag: string | null;
}

/** The digest of what is stored, with the etag that the store gives those bytes. */
export type StoredDigest = Digest & Pick<ListedObject, 'etag'>;

/**
 * Stops a writer that was frozen and lost its lease meanwhile from finishing its write.
 *
 * It is asked when all bytes are written and the object has no name yet. A later holder calls `discardUnfinished`. Then
 * either that finds the unfinished write and removes it, or the earlier holder asks the fence and learns of its loss.
 */
export interface Fence {
  /** Grows with every holder. */
  readonly epoch: number;
  /** Throws if another holder took over. */
  readonly assertHeld: () => Promise<void>;
}

/** Bytes, or a function that produces them anew each time an upload has to start over. */
export type ObjectContent = Uint8Array | (() => AsyncIterable<Uint8Array>);

export interface PutOptions {
  /**
   * Never replace an object. One with the same bytes counts as written, as it may be from an earlier try; one with
   * other bytes throws `ObjectExists`.
   */
  readonly ifAbsent?: boolean;
  /**
   * Replace only the object with this etag. If another object is there, the same bytes count as written, and other
   * bytes throw `ObjectExists`. A server that does not know the condition replaces any object.
   */
  readonly ifEtag?: string;
  /**
   * Another object is written next to this one before anything refers to it. In a folder, the name is then safe from a
   * power cut only once that one is written.
   */
  readonly isFollowed?: boolean;
  /** For browsers that open the object directly. */
  readonly contentType?: string;
  readonly fence?: Fence;
}

export interface KeyRange {
  /** Only keys after this one. */
  readonly after?: string;
  /** Only keys up to this one, itself included. */
  readonly through?: string;
}

/** A store of objects by key. Keys are relative to the root of the store, with `/` between their parts. */
export interface ObjectStore {
  readonly location: string;
  /**
   * Proves that objects can be listed and written, and leaves nothing behind. Throws `ObjectStoreRefused` if a setting
   * has to be changed, and `ObjectStoreUnreachable` if trying again may help.
   */
  readonly check: () => Promise<void>;
  /**
   * Writes an object completely or not at all, verifies it, and returns the digest of what is stored. Throws
   * `ObjectStoreUnreachable`, `ObjectExists`, and the errors of the content and the fence.
   */
  readonly put: (key: string, content: ObjectContent, options?: PutOptions) => Promise<StoredDigest>;
  /** The bytes of an object; null if there is none. */
  readonly get: (key: string) => Promise<AsyncIterable<Uint8Array> | null>;
  /** The digest of an object, for which all of it is read; null if there is none. */
  readonly digest: (key: string) => Promise<StoredDigest | null>;
  /** Size and etag, without reading the object; null if there is none. */
  readonly head: (key: string) => Promise<Omit<ListedObject, 'key'> | null>;
  /** Objects whose keys start with `prefix`, in order, with size and etag. One call brings a page of keys. */
  readonly survey: (prefix: string, range?: KeyRange) => AsyncIterable<ListedObject>;
  /**
   * Removes unfinished writes under `prefix`: those of writers that were killed, and of one that is frozen, which then
   * cannot finish. To be called before the first write there. What was begun under the fence's epoch or later stays; a
   * store that cannot know asks the fence first, and throws what it throws.
   */
  readonly discardUnfinished: (prefix: string, fence: Fence) => Promise<void>;
}

/** The store cannot be reached, or does not hold what was written; trying again may help. */
export class ObjectStoreUnreachable extends ExpectedError {
  override readonly name = 'ObjectStoreUnreachable';
  readonly exitCode = EXIT.incomplete;
}

/** The store did not answer any try of a call. Another call right away would wait as long again. */
export class ObjectStoreSilent extends ObjectStoreUnreachable {}

/** The store refuses the call, and will again: the object lies in an archive, for example, or may not be read. */
export class ObjectDenied extends ObjectStoreUnreachable {}

/** The store answers and refuses: settings, credentials or permissions have to be changed first. */
export class ObjectStoreRefused extends ExpectedError {
  override readonly name = 'ObjectStoreRefused';
  readonly exitCode = EXIT.usage;
}

export class ObjectExists extends Error {
  override readonly name = 'ObjectExists';
  readonly key: string;
  constructor(key: string) {
    super(`another object is already stored as ${key}`);
    this.key = key;
  }
}

export async function* bytesOf(content: ObjectContent): AsyncGenerator<Uint8Array> {
  if (typeof content === 'function') yield* content();
  else yield content;
}

const sameDigest = (a: Digest, b: Digest): boolean => a.bytes === b.bytes && a.sha256 === b.sha256;

/** A stream that hashes the bytes on their way, and remembers if its source failed. */
export interface MeteredStream {
  readonly stream: AsyncIterable<Uint8Array>;
  /** Valid once the stream has ended. */
  readonly digest: () => Digest;
  /** What the source threw. It separates an error of the content from an error of the upload. */
  readonly sourceError: () => Error | undefined;
}

export function metered(content: ObjectContent): MeteredStream {
  const { stream, digest } = hashed(bytesOf(content));
  let failure: Error | undefined;
  async function* pass(): AsyncGenerator<Uint8Array> {
    try {
      yield* stream;
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      throw failure;
    }
  }
  return { stream: pass(), digest, sourceError: () => failure };
}

/** The content, at whose end the fence is asked. */
export const fenced = (content: ObjectContent, fence: Fence | undefined): ObjectContent =>
  fence === undefined
    ? content
    : async function* () {
        yield* bytesOf(content);
        await fence.assertHeld();
      };

export async function readObject(store: ObjectStore, key: string): Promise<Buffer | null> {
  const stream = await store.get(key);
  return stream === null ? null : collected(stream);
}

export const readText = async (store: ObjectStore, key: string): Promise<string | null> =>
  (await readObject(store, key))?.toString('utf8') ?? null;

export async function collected(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** If the connection is cut while reading back, that says nothing about what is stored: it is read again. */
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
 * Reads an object back. Throws `ObjectStoreUnreachable` if it is not what was written, and what the fence throws.
 *
 * The fence is only asked about an object that differs. An object that is as written needs no question: its row is stored by a
 * transaction that checks the lease, and a lease that is held then was held all the time since it was taken.
 */
export async function verifyStored(
  store: ObjectStore,
  key: string,
  written: Digest,
  fence?: Fence,
): Promise<StoredDigest> {
  const found = await readBack(store, key);
  if (found !== null && sameDigest(found, written)) return found;
  // Other bytes may be from a holder who took over in between: then the lost lease is the error.
  await fence?.assertHeld();
  throw new ObjectStoreUnreachable(
    `${store.location}: ${key} was written with ${written.bytes} bytes (SHA-256 ${written.sha256}) and reads back ` +
      (found === null ? 'as missing' : `with ${found.bytes} bytes (SHA-256 ${found.sha256})`) +
      `. Nothing was published from it; check the store and run again.`,
  );
}

/** Ends a conditional write that found an object: one with the same bytes counts as written. Throws `ObjectExists`. */
export const compareStored = async (store: ObjectStore, key: string, content: ObjectContent) =>
  foundAs(store, key, await digestOf(bytesOf(content)));

export async function foundAs(store: ObjectStore, key: string, written: Digest): Promise<StoredDigest> {
  const found = await readBack(store, key);
  if (found !== null && sameDigest(found, written)) return found;
  throw new ObjectExists(key);
}

export interface ObjectStoreSettings {
  readonly statementsUrl: string;
  /** Null: true if an endpoint is set, else false. */
  readonly s3ForcePathStyle: boolean | null;
  /** If it holds `statements`, an endpoint on another machine may be called by plain http. */
  readonly allowInsecure?: readonly string[];
  readonly idleTimeoutMs?: number;
  /** Endpoint, region and credentials, under the names of the AWS SDK. It searches elsewhere for what is missing here. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The begin of a stream, more than `enough` bytes of it, and what follows; null if nothing does. */
export async function firstBytes(
  stream: AsyncIterable<Uint8Array>,
  enough: number,
): Promise<{ readonly bytes: Buffer; readonly rest: AsyncIterator<Uint8Array> | null }> {
  const rest = stream[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  for (let held = 0; held <= enough; held += chunks.at(-1)!.byteLength) {
    const next = await rest.next();
    if (next.done === true) return { bytes: Buffer.concat(chunks), rest: null };
    chunks.push(next.value);
  }
  return { bytes: Buffer.concat(chunks), rest };
}

/** The complete stream again. A reader that stops also stops the rest. */
export async function* joined(
  begin: Uint8Array,
  rest: AsyncIterator<Uint8Array> | null,
): AsyncGenerator<Uint8Array> {
  try {
    yield begin;
    if (rest !== null) yield* { [Symbol.asyncIterator]: () => rest };
  } finally {
    await rest?.return?.();
  }
}
