/** Writes objects to an S3 bucket, in one piece or in parts, and conditionally. */
import { PutObjectCommand, type PutObjectCommandInput } from '@aws-sdk/client-s3';
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
import { PART_BYTES, sendParts, type PutInParts } from './s3-parts.ts';
import {
  bareEtag,
  objectAt,
  type Bucket,
  isConditionFailed,
  isConditionUnknown,
  isMissing,
  s3Unreachable,
  ETAG_FORMS,
  NO_ETAG_FORM,
  noteSecond,
  putMislabelled,
  refusesSecond,
  type Md5,
  type ServerSeen,
} from './s3-server.ts';

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
  const params: PutInParts = {
    ContentType: contentType ?? 'application/octet-stream',
    ...(ifAbsent === true ? { IfNoneMatch: '*' } : {}),
    ...(ifEtag === undefined ? {} : ETAG_FORMS[writing.seen.etagForm]!(ifEtag)),
  };
  const { bytes, rest } = await firstBytes(source.stream, PART_BYTES);
  if (rest === null) return sendAtOnce(writing, { ...objectAt(writing.bucket, key), ...params, Body: bytes });
  try {
    // Not every server that knows the condition knows it at the end of an upload in parts.
    if (ifAbsent === true && writing.seen.keepsFirst && (await writing.store.head(key)) !== null)
      return 'there';
    await sendParts(writing.bucket, key, params, joined(bytes, rest));
  } finally {
    await rest.return?.();
  }
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
