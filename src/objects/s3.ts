/** Statements in an S3 bucket (AWS, Ceph, MinIO and their like): the twin of directory.ts. */
import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  type S3Client,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import {
  compareStored,
  digestOf,
  metered,
  verifyStored,
  type Digest,
  type MeteredStream,
  type ObjectContent,
  type ObjectStore,
  type PutOptions,
} from './object-store.ts';
import {
  isConditionFailed,
  isConditionUnknown,
  isMissing,
  s3Refusal,
  s3Unreachable,
  type S3Place,
} from './s3-errors.ts';

/** With two parts in flight and one filling, an upload holds some 32 MiB whatever its size; 10,000 parts are 80 GB. */
const PART_BYTES = 8 * 1024 * 1024;
const PARTS_IN_FLIGHT_MAX = 2;
const LIST_PAGE_KEYS = 1_000;

/**
 * Objects are streamed in parts; a failed upload is aborted, so that no part stays. What was written is read back and
 * hashed, because gateways differ in the checksums they know. `If-None-Match` guards new objects where the server
 * knows it; nothing rests on it.
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
        },
        partSize: PART_BYTES,
        queueSize: PARTS_IN_FLIGHT_MAX,
      }).done();
    } finally {
      body.destroy();
    }
    return source.digest();
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

    put: async (key: string, content: ObjectContent, options: PutOptions = {}): Promise<Digest> => {
      // Asked first as well, because not every server knows the condition.
      if (options.ifAbsent === true && (await store.head(key)) !== null) {
        return compareStored(store, key, content);
      }
      const source = metered(content);
      try {
        return await verifyStored(store, key, await upload(key, source, options));
      } catch (error) {
        const contentError = source.sourceError();
        if (contentError !== undefined) throw contentError;
        // A retried call may meet the object its first try made.
        if (options.ifAbsent === true && isConditionFailed(error)) return compareStored(store, key, content);
        if (options.ifAbsent === true && isConditionUnknown(error)) {
          return store.put(key, content, { ...options, ifAbsent: false });
        }
        throw s3Unreachable(place, error);
      }
    },

    get: async (key: string) => {
      try {
        const { Body } = await client.send(new GetObjectCommand(at(key)));
        return readBody(Body as Readable, place);
      } catch (error) {
        if (isMissing(error)) return null;
        throw s3Unreachable(place, error);
      }
    },

    digest: async (key: string) => {
      const stream = await store.get(key);
      return stream === null ? null : digestOf(stream);
    },

    head: async (key: string) => {
      try {
        const { ContentLength } = await client.send(new HeadObjectCommand(at(key)));
        return { bytes: ContentLength ?? 0 };
      } catch (error) {
        if (isMissing(error)) return null;
        throw s3Unreachable(place, error);
      }
    },

    list: async function* (start: string) {
      let continuation: string | undefined;
      do {
        const page = await attempt(() =>
          client.send(
            new ListObjectsV2Command({
              Bucket: bucket,
              Prefix: root + start,
              MaxKeys: LIST_PAGE_KEYS,
              ...(continuation === undefined ? {} : { ContinuationToken: continuation }),
            }),
          ),
        );
        for (const { Key } of page.Contents ?? []) if (Key !== undefined) yield Key.slice(root.length);
        continuation = page.NextContinuationToken;
      } while (continuation !== undefined);
    },
  };
  return store;
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
