/** Writes objects to an S3 bucket: in one piece or in parts, conditional writes, and aborting unfinished uploads. */
import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  type ListMultipartUploadsCommandOutput,
  type PutObjectCommandInput,
  type S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import {
  firstBytes,
  joined,
  compareStored,
  fenced,
  metered,
  verifyStored,
  type MeteredStream,
  type ObjectContent,
  type ObjectStore,
  type PutOptions,
  type StoredDigest,
} from './object-store.ts';
import {
  bareEtag,
  objectAt,
  rootOf,
  type Bucket,
  isConditionFailed,
  isConditionUnknown,
  isMissing,
  isTimedOut,
  s3Unreachable,
  ETAG_FORMS,
  NO_ETAG_FORM,
  noteSecond,
  putMislabelled,
  refusesSecond,
  type Md5,
  type ServerSeen,
} from './s3-server.ts';

/** Two parts in flight, one being filled, and the first one: an upload holds about 48 MiB. 10,000 parts are 80 GB. */
const PART_BYTES = 8 * 1024 * 1024;
const PARTS_IN_FLIGHT_MAX = 2;

interface Writing {
  readonly bucket: Bucket;
  readonly store: ObjectStore;
  readonly seen: ServerSeen;
  readonly md5: Md5;
}

/** Writes an object and makes sure of it: `put` of an `ObjectStore`. */
export async function putObject(
  writing: Writing,
  key: string,
  content: ObjectContent,
  options: PutOptions,
): Promise<StoredDigest> {
  const { store, seen } = writing;
  // Not every server knows the condition.
  if (options.ifAbsent === true && !seen.keepsFirst && (await store.head(key)) !== null) {
    return compareStored(store, key, content);
  }
  const source = metered(fenced(content, options.fence));
  let sent: Sent | 'there';
  try {
    sent = await send(writing, key, source, options);
  } catch (error) {
    const contentError = source.sourceError();
    if (contentError !== undefined) throw contentError;
    return settleFailed(writing, error, key, content, options);
  }
  if (sent === 'there') return compareStored(store, key, content);
  const written = source.digest();
  if (sent.etag !== null) return { ...written, etag: sent.etag };
  const { learn } = sent;
  try {
    const stored = await verifyStored(store, key, written, options.fence);
    if (learn !== undefined) await options.fence?.assertHeld();
    await learn?.(stored.etag);
    return stored;
  } catch (error) {
    // Leaves it to the next object, as this one was not read back.
    if (learn !== undefined) seen.isAsked = false;
    throw error;
  }
}

interface Sent {
  /** The etag if the server vouches for what it stored, else null. */
  readonly etag: string | null;
  /** Sees what can be learned of the server, given the etag that was read back. */
  readonly learn?: (stored: string | null) => Promise<void>;
}

/** Sends the content in one piece, or in parts if it is large. `there`: an object is there already, and nothing was sent. */
async function send(
  writing: Writing,
  key: string,
  source: MeteredStream,
  { contentType, ifAbsent, ifEtag }: PutOptions,
): Promise<Sent | 'there'> {
  const params = {
    ...objectAt(writing.bucket, key),
    ContentType: contentType ?? 'application/octet-stream',
    ...(ifAbsent === true ? { IfNoneMatch: '*' } : {}),
    ...(ifEtag === undefined ? {} : ETAG_FORMS[writing.seen.etagForm]!(ifEtag)),
  };
  const { bytes, rest } = await firstBytes(source.stream, PART_BYTES);
  if (rest === null) return sendAtOnce(writing, { ...params, Body: bytes });
  // Not every server that knows the condition knows it at the end of an upload in parts.
  if (ifAbsent === true && writing.seen.keepsFirst && (await writing.store.head(key)) !== null) {
    await rest.return?.();
    return 'there';
  }
  await sendParts(writing.bucket, key, params, joined(bytes, rest));
  return { etag: null };
}

async function sendAtOnce(
  { bucket: { client }, seen, md5 }: Writing,
  put: PutObjectCommandInput & { readonly Body: Uint8Array },
): Promise<Sent> {
  if (put.IfNoneMatch === undefined || seen.isAsked) {
    const checksum = seen.checksBytes ? { ContentMD5: md5(put.Body)! } : {};
    const { ETag } = await client.send(new PutObjectCommand({ ...put, ...checksum }));
    return { etag: seen.checksBytes ? bareEtag(ETag) : null };
  }
  seen.isAsked = true;
  try {
    const mislabelled = await putMislabelled(client, put, md5);
    const reported = mislabelled === 'stored' ? null : await client.send(new PutObjectCommand(put));
    const etag = bareEtag(reported?.ETag);
    const learn = async (stored: string | null) => {
      seen.checksBytes = mislabelled === 'refused' && etag !== null && etag === stored;
      noteSecond(seen, await refusesSecond(client, put));
    };
    return { etag: null, learn };
  } catch (error) {
    seen.isAsked = false;
    throw error;
  }
}

async function sendParts(
  bucket: Bucket,
  key: string,
  params: Omit<PutObjectCommandInput, 'Body'>,
  bytes: AsyncIterable<Uint8Array>,
): Promise<void> {
  const body = Readable.from(bytes, { objectMode: false });
  const sender = rememberingFailure(bucket.client);
  try {
    await new Upload({
      client: sender.client,
      params: { ...params, Body: body },
      partSize: PART_BYTES,
      queueSize: PARTS_IN_FLIGHT_MAX,
    }).done();
  } catch (error) {
    // The uploader's own abort may have failed too, or the answer to the begin of an upload was lost. If the server
    // does not answer at all, do not wait again: the next run aborts what is left there.
    const cause = sender.failure() ?? error;
    if (!isTimedOut(cause)) await abortUploads(bucket, key).catch(() => undefined);
    throw cause;
  } finally {
    body.destroy();
  }
}

/**
 * The uploader ends its source as soon as one part fails, and may throw the error of the other part that waits for that
 * source. The first failed call is the cause.
 */
function rememberingFailure(client: S3Client): { client: S3Client; failure: () => Error | null } {
  let failed: Error | null = null;
  const send = async (command: Parameters<S3Client['send']>[0]): Promise<unknown> => {
    try {
      return await client.send(command);
    } catch (error) {
      failed ??= error as Error;
      throw error;
    }
  };
  return { client: Object.create(client, { send: { value: send } }) as S3Client, failure: () => failed };
}

/** After an upload failed: writes again another way if its condition was the reason. Throws what else it was. */
async function settleFailed(
  { bucket, store, seen }: Writing,
  error: unknown,
  key: string,
  content: ObjectContent,
  options: PutOptions,
): Promise<StoredDigest> {
  const { ifEtag, ifAbsent = false } = options;
  const isRefused = isConditionFailed(error) || (ifEtag !== undefined && isMissing(error));
  if (ifEtag !== undefined && isRefused && seen.etagForm < NO_ETAG_FORM) {
    // The server refused the etag that the object has: it compares another form.
    if ((await store.head(key))?.etag === ifEtag) {
      seen.etagForm += 1;
      return store.put(key, content, options);
    }
  }
  // The SDK may have sent the call twice, and the second one met the object of the first.
  if ((ifAbsent || ifEtag !== undefined) && isRefused) return compareStored(store, key, content);
  if (ifAbsent && isConditionUnknown(error)) {
    return store.put(key, content, { ...options, ifAbsent: false });
  }
  if (ifEtag !== undefined && isConditionUnknown(error)) {
    seen.etagForm = NO_ETAG_FORM;
    return store.put(key, content, options);
  }
  throw s3Unreachable(bucket.place, error);
}

/** Aborts every unfinished upload whose key begins with `start`. Throws the error of the SDK. */
export async function abortUploads(bucket: Bucket, start: string): Promise<void> {
  const { client, place } = bucket;
  let marker: { readonly KeyMarker?: string; readonly UploadIdMarker?: string } | null = {};
  while (marker !== null) {
    const page: ListMultipartUploadsCommandOutput = await client.send(
      new ListMultipartUploadsCommand({ Bucket: place.bucket, Prefix: rootOf(bucket) + start, ...marker }),
    );
    for (const { Key, UploadId } of page.Uploads ?? []) {
      await client.send(new AbortMultipartUploadCommand({ Bucket: place.bucket, Key, UploadId }));
    }
    marker =
      page.IsTruncated === true && page.NextKeyMarker !== undefined
        ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker ?? '' }
        : null;
  }
}
