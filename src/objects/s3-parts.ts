/** Sends an object to an S3 bucket in parts, and aborts uploads that do not come to their end. */
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  UploadPartCommand,
  type CompletedPart,
  type ListMultipartUploadsCommandOutput,
  type PutObjectCommandInput,
  type S3Client,
  type UploadPartCommandOutput,
} from '@aws-sdk/client-s3';
import { ObjectDenied, ObjectStoreUnreachable } from './object-store.ts';
import { isTimedOut, objectAt, rootOf, whereIs, type Bucket } from './s3-server.ts';

export const PART_BYTES = 8 * 1024 * 1024;

export interface PartLimits {
  /** Of every part but the last. S3 demands 5 MiB. */
  readonly partBytes: number;
  /** So many are sent at a time. */
  readonly inFlightMax: number;
  /** S3 takes no more. */
  readonly partsMax: number;
  /** Where the server left a call unanswered, the abort waits no longer than this. */
  readonly lastAbortMs: number;
}

/** Two parts in flight, one being filled, and the first one: an upload holds about 48 MiB. 10,000 parts are 80 GB. */
export const PART_LIMITS: PartLimits = {
  partBytes: PART_BYTES,
  inFlightMax: 2,
  partsMax: 10_000,
  lastAbortMs: 5_000,
};

/** The condition is asked when the upload is completed. */
export type PutInParts = Pick<PutObjectCommandInput, 'ContentType' | 'IfNoneMatch' | 'IfMatch'>;

/** An upload that was begun. */
interface Upload {
  readonly bucket: Bucket;
  readonly key: string;
  readonly id: { readonly Bucket: string; readonly Key: string; readonly UploadId: string | undefined };
}

/**
 * Sends the bytes in parts, and reads them only as fast as parts are sent. The upload is begun before the first byte is
 * read, so that a later holder of the lease finds it (`Fence`). If anything fails it is aborted, and the first failure is
 * thrown: the SDK's error, that of `bytes`, or `ObjectDenied` if there are more parts than S3 takes.
 */
export async function sendParts(
  bucket: Bucket,
  key: string,
  { ContentType, ...condition }: PutInParts,
  bytes: AsyncIterable<Uint8Array>,
  limits: PartLimits = PART_LIMITS,
): Promise<void> {
  const { client } = bucket;
  const object = objectAt(bucket, key);
  let upload: Upload | null = null;
  try {
    const begin = { ...object, ContentType, ...(await checksumOf(client)) };
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(begin));
    upload = { bucket, key, id: { ...object, UploadId } };
    const Parts = await sendEach(upload, bytes, limits);
    const end = { ...upload.id, ...condition, MultipartUpload: { Parts } };
    await client.send(new CompleteMultipartUploadCommand(end));
  } catch (error) {
    await abortFailed({ bucket, key, upload, error }, limits);
    throw error;
  }
}

/** The SDK gives each part a checksum unless only required ones are asked for. S3 has to know which one from the begin. */
const checksumOf = async ({ config }: S3Client) =>
  (await config.requestChecksumCalculation()) === 'WHEN_SUPPORTED'
    ? ({ ChecksumAlgorithm: 'CRC32' } as const)
    : {};

/** Ends when no part is in flight any more, also after a failure: a part that arrives after the abort would stay. */
async function sendEach(
  upload: Upload,
  bytes: AsyncIterable<Uint8Array>,
  { partBytes, inFlightMax, partsMax }: PartLimits,
): Promise<CompletedPart[]> {
  const sent: CompletedPart[] = [];
  const failures: unknown[] = [];
  const inFlight = new Set<Promise<void>>();
  let parts = 0;
  const start = (body: Uint8Array): void => {
    const index = parts;
    parts += 1;
    const sending = sendPart(upload, index + 1, body)
      .then((part) => void (sent[index] = part))
      .catch((error: unknown) => void failures.push(error))
      .finally(() => inFlight.delete(sending));
    inFlight.add(sending);
  };
  try {
    for await (const body of partsOf(bytes, partBytes)) {
      if (inFlight.size === inFlightMax) await Promise.race(inFlight);
      if (failures.length > 0) break;
      if (parts === partsMax) throw tooLarge(upload, partsMax * partBytes);
      start(body);
    }
  } catch (error) {
    failures.push(error);
  }
  await Promise.all(inFlight);
  if (failures.length > 0) throw failures[0];
  return sent;
}

const tooLarge = ({ bucket: { place }, key }: Upload, bytesMax: number): Error =>
  new ObjectDenied(
    `${whereIs(place)}: ${key} is larger than ${bytesMax} bytes, the most that S3 takes in parts.`,
  );

/** The bytes in parts of this size; the last one has what is left. */
export async function* partsOf(
  bytes: AsyncIterable<Uint8Array>,
  partBytes: number,
): AsyncGenerator<Uint8Array> {
  let part = Buffer.allocUnsafe(partBytes);
  let filled = 0;
  for await (const chunk of bytes) {
    for (let from = 0; from < chunk.byteLength;) {
      const taken = chunk.subarray(from, from + partBytes - filled);
      part.set(taken, filled);
      filled += taken.byteLength;
      from += taken.byteLength;
      if (filled < partBytes) continue;
      yield part;
      part = Buffer.allocUnsafe(partBytes);
      filled = 0;
    }
  }
  if (filled > 0) yield part.subarray(0, filled);
}

async function sendPart(
  { bucket: { client, place }, key, id }: Upload,
  PartNumber: number,
  Body: Uint8Array,
): Promise<CompletedPart> {
  const stored = await client.send(new UploadPartCommand({ ...id, PartNumber, Body }));
  if (!stored.ETag) {
    throw new ObjectStoreUnreachable(
      `${whereIs(place)}: it gave no ETag for part ${PartNumber} of ${key}, without which the upload cannot be ` +
        `completed: check what removes the header on the way.`,
    );
  }
  return { PartNumber, ETag: stored.ETag, ...checksumsIn(stored) };
}

const checksumsIn = ({
  ChecksumCRC32,
  ChecksumCRC32C,
  ChecksumSHA1,
  ChecksumSHA256,
}: UploadPartCommandOutput) => ({
  ...{ ChecksumCRC32, ChecksumCRC32C, ChecksumSHA1, ChecksumSHA256 },
});

interface Failed {
  readonly bucket: Bucket;
  readonly key: string;
  /** Null if it was not known to have begun. */
  readonly upload: Upload | null;
  readonly error: unknown;
}

/**
 * The abort may fail too, or the answer to the begin of an upload was lost: therefore the listing is asked as well. A
 * server that did not answer is asked for the abort only, and not for long: the next run aborts what is left there.
 */
async function abortFailed(
  { bucket, key, upload, error }: Failed,
  { lastAbortMs }: PartLimits,
): Promise<void> {
  const isSilent = isTimedOut(error);
  const patience = isSilent ? { abortSignal: AbortSignal.timeout(lastAbortMs) } : {};
  if (upload !== null) {
    await bucket.client.send(new AbortMultipartUploadCommand(upload.id), patience).catch(() => undefined);
  }
  if (!isSilent) await abortUploads(bucket, key).catch(() => undefined);
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
