/** Statements in an S3 bucket (AWS, Ceph, MinIO and the like): the twin of directory.ts. */
import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandOutput,
  type S3Client,
} from '@aws-sdk/client-s3';
import { digestOf, type KeyRange, type ListedObject, type ObjectStore } from './object-store.ts';
import { bareEtag, objectAt, rootOf, type Bucket } from './s3-bucket.ts';
import { isListingUnknown, isMissing, s3Refusal, s3Unreachable, type S3Place } from './s3-errors.ts';
import { createIfMatch } from './s3-if-match.ts';
import { md5Of, nothingSeen, type Md5 } from './s3-server.ts';
import { abortUploads, putObject } from './s3-write.ts';

const LIST_PAGE_KEYS = 1_000;

/**
 * Objects are streamed in parts; a failed upload is aborted, so that no part stays. What was written is read back and
 * hashed, unless it was sent in one piece to a server known to compare checksums. `If-None-Match` and `If-Match` stop late writes where the
 * server knows them. Nothing relies on them: a survey shows late writes all the same.
 */
export function createS3Store(client: S3Client, place: S3Place, md5: Md5 = md5Of): ObjectStore {
  const bucket: Bucket = { client, place };
  const ifMatch = createIfMatch();
  const seen = nothingSeen();

  const store: ObjectStore = {
    location: `s3://${place.bucket}${place.prefix === '' ? '' : `/${place.prefix}`}`,

    check: () => checkBucket(bucket),

    put: (key, content, options = {}) =>
      putObject({ bucket, store, ifMatch, seen, md5 }, key, content, options),

    get: async (key) => (await openObject(bucket, key))?.bytes ?? null,

    digest: async (key) => {
      const opened = await openObject(bucket, key);
      return opened === null ? null : { ...(await digestOf(opened.bytes)), etag: opened.etag };
    },

    head: async (key) => {
      try {
        const { ContentLength, ETag } = await client.send(new HeadObjectCommand(objectAt(bucket, key)));
        return { bytes: ContentLength ?? 0, etag: bareEtag(ETag) };
      } catch (error) {
        if (isMissing(error)) return null;
        throw s3Unreachable(place, error);
      }
    },

    list: async function* (start) {
      for await (const { key } of store.survey(start)) yield key;
    },

    survey: (start, range = {}) => surveyBucket(bucket, start, range),

    discardUnfinished: async (start, fence) => {
      // An upload does not say under which epoch it was begun.
      await fence.assertHeld();
      try {
        await abortUploads(bucket, start);
      } catch (error) {
        // Some servers do not have this listing, and some credentials may not use it: then nothing is tidied up.
        if (!isListingUnknown(error)) throw s3Unreachable(place, error);
      }
    },
  };
  return store;
}

async function checkBucket(bucket: Bucket): Promise<void> {
  const { client, place } = bucket;
  try {
    // A listing is signed and, unlike HeadBucket, says in words what is wrong.
    await client.send(new ListObjectsV2Command({ Bucket: place.bucket, Prefix: rootOf(bucket), MaxKeys: 1 }));
    // An upload that is begun and aborted proves that writing is allowed, and leaves nothing.
    const probe = objectAt(bucket, '.daybook-write-check');
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(probe));
    await client.send(new AbortMultipartUploadCommand({ ...probe, UploadId }));
  } catch (error) {
    throw s3Refusal(place, error);
  }
}

async function openObject(bucket: Bucket, key: string) {
  const { client, place } = bucket;
  try {
    const { Body, ETag } = await client.send(new GetObjectCommand(objectAt(bucket, key)));
    return { bytes: readBody(Body as Readable, place), etag: bareEtag(ETag) };
  } catch (error) {
    if (isMissing(error)) return null;
    throw s3Unreachable(place, error);
  }
}

async function* surveyBucket(bucket: Bucket, start: string, range: KeyRange): AsyncGenerator<ListedObject> {
  const root = rootOf(bucket);
  let continuation: string | undefined;
  do {
    const page = await listPage(bucket, start, range, continuation);
    for (const { Key, Size, ETag } of page.Contents ?? []) {
      const key = (Key ?? '').slice(root.length);
      if (range.through !== undefined && key > range.through) return;
      if (key !== '') yield { key, bytes: Size ?? 0, etag: bareEtag(ETag) };
    }
    continuation = page.NextContinuationToken;
  } while (continuation !== undefined);
}

async function listPage(
  bucket: Bucket,
  start: string,
  { after }: KeyRange,
  continuation: string | undefined,
): Promise<ListObjectsV2CommandOutput> {
  const { client, place } = bucket;
  const root = rootOf(bucket);
  try {
    return await client.send(
      new ListObjectsV2Command({
        Bucket: place.bucket,
        Prefix: root + start,
        MaxKeys: LIST_PAGE_KEYS,
        ...(after === undefined ? {} : { StartAfter: root + after }),
        ...(continuation === undefined ? {} : { ContinuationToken: continuation }),
      }),
    );
  } catch (error) {
    throw s3Unreachable(place, error);
  }
}

async function* readBody(body: Readable, place: S3Place): AsyncGenerator<Uint8Array> {
  try {
    yield* body as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw s3Unreachable(place, error);
  } finally {
    body.destroy();
  }
}
