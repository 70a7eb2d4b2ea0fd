/** Writes objects to an S3 bucket: uploads in parts, conditional writes, and aborting what is unfinished. */
import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandOutput,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import {
  compareStored,
  fenced,
  metered,
  verifyStored,
  type Digest,
  type MeteredStream,
  type ObjectContent,
  type ObjectStore,
  type PutOptions,
  type StoredDigest,
} from './object-store.ts';
import { objectAt, rootOf, type Bucket } from './s3-bucket.ts';
import { isConditionFailed, isConditionUnknown, isMissing, isTimedOut, s3Unreachable } from './s3-errors.ts';
import type { IfMatch } from './s3-if-match.ts';

/** Two parts in flight and one that fills: an upload holds about 32 MiB, whatever its size. 10,000 parts are 80 GB. */
const PART_BYTES = 8 * 1024 * 1024;
const PARTS_IN_FLIGHT_MAX = 2;

/** What writing needs: the bucket, the store for a look at what is there, and the form of `If-Match`. */
export interface Writing {
  readonly bucket: Bucket;
  readonly store: ObjectStore;
  readonly ifMatch: IfMatch;
}

/** Writes an object and reads it back: `put` of an `ObjectStore`. */
export async function putObject(
  writing: Writing,
  key: string,
  content: ObjectContent,
  options: PutOptions,
): Promise<StoredDigest> {
  const { store } = writing;
  // Looked at here too, because not every server knows the condition.
  if (options.ifAbsent === true && (await store.head(key)) !== null) {
    return compareStored(store, key, content);
  }
  const source = metered(fenced(content, options.fence));
  let written: Digest;
  try {
    written = await upload(writing, key, source, options);
  } catch (error) {
    const contentError = source.sourceError();
    if (contentError !== undefined) throw contentError;
    return settleFailed(writing, error, key, content, options);
  }
  return verifyStored(store, key, written, options.fence);
}

async function upload(
  { bucket, ifMatch }: Writing,
  key: string,
  source: MeteredStream,
  { contentType, ifAbsent, ifEtag }: PutOptions,
): Promise<Digest> {
  const body = Readable.from(source.stream, { objectMode: false });
  try {
    await new Upload({
      client: bucket.client,
      params: {
        ...objectAt(bucket, key),
        Body: body,
        ContentType: contentType ?? 'application/octet-stream',
        ...(ifAbsent === true ? { IfNoneMatch: '*' } : {}),
        ...(ifEtag === undefined ? {} : ifMatch.parameterFor(ifEtag)),
      },
      partSize: PART_BYTES,
      queueSize: PARTS_IN_FLIGHT_MAX,
    }).done();
  } catch (error) {
    // The uploader's own abort may have failed too, or the answer to the begin of an upload was lost. If the server
    // does not answer at all, nobody waits for it again: the next run aborts what is left there.
    if (!isTimedOut(error)) await abortUploads(bucket, key).catch(() => undefined);
    throw error;
  } finally {
    body.destroy();
  }
  return source.digest();
}

/** After an upload failed: writes again another way if its condition was the reason. Throws what else it was. */
async function settleFailed(
  { bucket, store, ifMatch }: Writing,
  error: unknown,
  key: string,
  content: ObjectContent,
  options: PutOptions,
): Promise<StoredDigest> {
  const { ifEtag } = options;
  const ifAbsent = options.ifAbsent === true;
  /** The server refused the etag that the object has: it compares another form. */
  const isMisunderstood = async (etag: string): Promise<boolean> =>
    ifMatch.hasOtherForm() && (await store.head(key))?.etag === etag;

  const isRefused = isConditionFailed(error) || (ifEtag !== undefined && isMissing(error));
  if (ifEtag !== undefined && isRefused && (await isMisunderstood(ifEtag))) {
    ifMatch.tryOtherForm();
    return store.put(key, content, options);
  }
  // The SDK may have sent the call twice, and the second one met the object of the first.
  if ((ifAbsent || ifEtag !== undefined) && isRefused) return compareStored(store, key, content);
  if (ifAbsent && isConditionUnknown(error)) {
    return store.put(key, content, { ...options, ifAbsent: false });
  }
  if (ifEtag !== undefined && isConditionUnknown(error)) {
    ifMatch.leaveOut();
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
