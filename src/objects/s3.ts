/** Statements in an S3 bucket (AWS, Ceph, MinIO and their like): the twin of directory.ts. */
import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  type ListMultipartUploadsCommandOutput,
  type S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import {
  compareStored,
  digestOf,
  fenced,
  metered,
  verifyStored,
  type Digest,
  type KeyRange,
  type ListedObject,
  type MeteredStream,
  type ObjectContent,
  type ObjectStore,
  type PutOptions,
  type StoredDigest,
} from './object-store.ts';
import {
  isConditionFailed,
  isConditionUnknown,
  isListingUnknown,
  isMissing,
  isTimedOut,
  s3Refusal,
  s3Unreachable,
  type S3Place,
} from './s3-errors.ts';

/** With two parts in flight and one filling, an upload holds some 32 MiB whatever its size; 10,000 parts are 80 GB. */
const PART_BYTES = 8 * 1024 * 1024;
const PARTS_IN_FLIGHT_MAX = 2;
const LIST_PAGE_KEYS = 1_000;

/** How an etag is sent with `If-Match`: as the standard has it, as older gateways of Ceph compare it, or not at all. */
const IF_MATCH_FORMS: readonly ((etag: string) => { readonly IfMatch?: string })[] = [
  (etag) => ({ IfMatch: `"${etag}"` }),
  (etag) => ({ IfMatch: etag }),
  () => ({}),
];

/**
 * Objects are streamed in parts; a failed upload is aborted, so that no part stays. What was written is read back and
 * hashed, because gateways differ in the checksums they know. `If-None-Match` and `If-Match` stop late writes where
 * the server knows them; nothing rests on them, as a survey shows what came through all the same.
 */
export function createS3Store(client: S3Client, place: S3Place): ObjectStore {
  const { bucket, prefix } = place;
  const root = prefix === '' ? '' : `${prefix}/`;
  const at = (key: string) => ({ Bucket: bucket, Key: root + key });

  /** Runs a call, naming bucket, endpoint and mend in whatever goes wrong. */
  const attempt = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work();
    } catch (error) {
      throw s3Unreachable(place, error);
    }
  };

  /** Which of the forms this server was seen to understand; looked for when the first one fails. */
  let ifMatchForm = 0;

  const upload = async (key: string, source: MeteredStream, options: PutOptions): Promise<Digest> => {
    const body = Readable.from(source.stream, { objectMode: false });
    try {
      await new Upload({
        client,
        params: {
          ...at(key),
          Body: body,
          ContentType: options.contentType ?? 'application/octet-stream',
          ...(options.ifAbsent === true ? { IfNoneMatch: '*' } : {}),
          ...(options.ifEtag === undefined ? {} : IF_MATCH_FORMS[ifMatchForm]!(options.ifEtag)),
        },
        partSize: PART_BYTES,
        queueSize: PARTS_IN_FLIGHT_MAX,
      }).done();
    } catch (error) {
      // The uploader's own abort may have failed as well, or an upload begun whose answer was lost. A server that says
      // nothing is not waited for once more: the next run calls off what is left there.
      if (!isTimedOut(error)) await abortUploads(key).catch(() => undefined);
      throw error;
    } finally {
      body.destroy();
    }
    return source.digest();
  };

  /** Aborts every unfinished upload under a prefix. Throws what the server says. */
  const abortUploads = async (start: string): Promise<void> => {
    let marker: { readonly KeyMarker?: string; readonly UploadIdMarker?: string } | null = {};
    while (marker !== null) {
      const page: ListMultipartUploadsCommandOutput = await client.send(
        new ListMultipartUploadsCommand({ Bucket: bucket, Prefix: root + start, ...marker }),
      );
      for (const { Key, UploadId } of page.Uploads ?? []) {
        await client.send(new AbortMultipartUploadCommand({ Bucket: bucket, Key, UploadId }));
      }
      marker =
        page.IsTruncated === true && page.NextKeyMarker !== undefined
          ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker ?? '' }
          : null;
    }
  };

  /** After a refused `If-Match`: whether the object is what it was, and the next form is to be tried. */
  const isMisunderstood = async (key: string, etag: string): Promise<boolean> => {
    if (ifMatchForm === IF_MATCH_FORMS.length - 1) return false;
    if ((await store.head(key))?.etag !== etag) return false;
    ifMatchForm += 1;
    return true;
  };

  const store: ObjectStore = {
    location: `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`,

    check: async () => {
      try {
        // A listing is signed and, unlike HeadBucket, says in words what is wrong.
        await client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: root, MaxKeys: 1 }));
        // An upload begun and called off proves that writing is allowed and leaves nothing.
        const probe = at('.daybook-write-check');
        const { UploadId } = await client.send(new CreateMultipartUploadCommand(probe));
        await client.send(new AbortMultipartUploadCommand({ ...probe, UploadId }));
      } catch (error) {
        throw s3Refusal(place, error);
      }
    },

    put: async (key: string, content: ObjectContent, options: PutOptions = {}): Promise<StoredDigest> => {
      const { ifEtag, fence } = options;
      const ifAbsent = options.ifAbsent === true;
      // Asked first as well, because not every server knows the condition.
      if (ifAbsent && (await store.head(key)) !== null) return compareStored(store, key, content);
      const source = metered(fenced(content, fence));
      let written: Digest;
      try {
        written = await upload(key, source, options);
      } catch (error) {
        const contentError = source.sourceError();
        if (contentError !== undefined) throw contentError;
        const isRefused = isConditionFailed(error) || (ifEtag !== undefined && isMissing(error));
        if (ifEtag !== undefined && isRefused && (await isMisunderstood(key, ifEtag))) {
          return store.put(key, content, options);
        }
        // A retried call may meet the object its first try made.
        if ((ifAbsent || ifEtag !== undefined) && isRefused) return compareStored(store, key, content);
        if (ifAbsent && isConditionUnknown(error)) {
          return store.put(key, content, { ...options, ifAbsent: false });
        }
        if (ifEtag !== undefined && isConditionUnknown(error)) {
          ifMatchForm = IF_MATCH_FORMS.length - 1;
          return store.put(key, content, options);
        }
        throw s3Unreachable(place, error);
      }
      return verifyStored(store, key, written, fence);
    },

    get: async (key: string) => (await open(key))?.bytes ?? null,

    digest: async (key: string) => {
      const opened = await open(key);
      return opened === null ? null : { ...(await digestOf(opened.bytes)), etag: opened.etag };
    },

    head: async (key: string) => {
      try {
        const { ContentLength, ETag } = await client.send(new HeadObjectCommand(at(key)));
        return { bytes: ContentLength ?? 0, etag: bareEtag(ETag) };
      } catch (error) {
        if (isMissing(error)) return null;
        throw s3Unreachable(place, error);
      }
    },

    list: async function* (start: string) {
      for await (const { key } of store.survey(start)) yield key;
    },

    survey: async function* (start: string, range: KeyRange = {}): AsyncGenerator<ListedObject> {
      let continuation: string | undefined;
      do {
        const page = await attempt(() =>
          client.send(
            new ListObjectsV2Command({
              Bucket: bucket,
              Prefix: root + start,
              MaxKeys: LIST_PAGE_KEYS,
              ...(range.after === undefined ? {} : { StartAfter: root + range.after }),
              ...(continuation === undefined ? {} : { ContinuationToken: continuation }),
            }),
          ),
        );
        for (const { Key, Size, ETag } of page.Contents ?? []) {
          const key = (Key ?? '').slice(root.length);
          if (range.through !== undefined && key > range.through) return;
          if (key !== '') yield { key, bytes: Size ?? 0, etag: bareEtag(ETag) };
        }
        continuation = page.NextContinuationToken;
      } while (continuation !== undefined);
    },

    discardUnfinished: async (start: string) => {
      try {
        await abortUploads(start);
      } catch (error) {
        // Servers without this listing, and credentials without the right to it, lose only the tidying up.
        if (!isListingUnknown(error)) throw s3Unreachable(place, error);
      }
    },
  };

  const open = async (key: string) => {
    try {
      const { Body, ETag } = await client.send(new GetObjectCommand(at(key)));
      return { bytes: readBody(Body as Readable, place), etag: bareEtag(ETag) };
    } catch (error) {
      if (isMissing(error)) return null;
      throw s3Unreachable(place, error);
    }
  };
  return store;
}

/** An etag without the quotes it travels in. */
const bareEtag = (etag: string | undefined): string | null =>
  etag === undefined || etag === '' ? null : etag.replaceAll('"', '');

async function* readBody(body: Readable, place: S3Place): AsyncGenerator<Uint8Array> {
  try {
    yield* body as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw s3Unreachable(place, error);
  } finally {
    body.destroy();
  }
}
