/** Statements in an S3 bucket (AWS, Ceph, MinIO and the like): the twin of directory.ts. */
import type { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  paginateListObjectsV2,
  S3Client,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { isLoopback } from '../host/addresses.ts';
import {
  digestOf,
  type KeyRange,
  type ListedObject,
  type ObjectStore,
  ObjectStoreRefused,
  type ObjectStoreSettings,
} from './object-store.ts';
import {
  bareEtag,
  objectAt,
  rootOf,
  type Bucket,
  isListingUnknown,
  isMissing,
  isTimedOut,
  s3Refusal,
  s3Unreachable,
  type S3Place,
  md5Of,
  nothingSeen,
  type Md5,
} from './s3-server.ts';
import { abortUploads } from './s3-parts.ts';
import { putObject } from './s3-write.ts';

const LIST_PAGE_KEYS = 1_000;

/**
 * Objects are streamed in parts; a failed upload is aborted, so that no part stays. What was written is read back and
 * hashed, unless it was sent in one piece to a server known to compare checksums. `If-None-Match` and `If-Match` stop late writes where the
 * server knows them. Nothing relies on them: a survey shows late writes all the same.
 */
export function createS3Store(client: S3Client, place: S3Place, md5: Md5 = md5Of): ObjectStore {
  const bucket: Bucket = { client, place };
  const seen = nothingSeen();

  const store: ObjectStore = {
    location: `s3://${place.bucket}${place.prefix === '' ? '' : `/${place.prefix}`}`,

    check: () => checkBucket(bucket),

    put: (key, content, options = {}) => putObject({ bucket, store, seen, md5 }, key, content, options),

    get: async (key) => (await openObject(bucket, key))?.bytes ?? null,

    digest: async (key) => {
      const opened = await openObject(bucket, key);
      return opened === null ? null : { ...(await digestOf(opened.bytes)), etag: opened.etag };
    },

    head: async (key) => {
      const found = await ifThere(bucket, client.send(new HeadObjectCommand(objectAt(bucket, key))));
      return found && { bytes: found.ContentLength ?? 0, etag: bareEtag(found.ETag) };
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

/** What a call brings of an object; null where there is no such object. */
async function ifThere<Found>({ place }: Bucket, call: Promise<Found>): Promise<Found | null> {
  try {
    return await call;
  } catch (error) {
    if (isMissing(error)) return null;
    throw s3Unreachable(place, error);
  }
}

async function openObject(bucket: Bucket, key: string) {
  const asked = objectAt(bucket, key);
  const found = await ifThere(bucket, bucket.client.send(new GetObjectCommand(asked)));
  if (found === null) return null;
  const rest = async (from: number): Promise<Readable | null> => {
    const range = { Range: `bytes=${from}-`, IfMatch: found.ETag };
    const { Body, ContentRange } = await bucket.client.send(new GetObjectCommand({ ...asked, ...range }));
    return ContentRange?.startsWith(`bytes ${from}-`) === true ? (Body as Readable) : null;
  };
  const bytes = readBody(found.Body as Readable, found.ETag === undefined ? noRest : rest, bucket.place);
  return { bytes, etag: bareEtag(found.ETag) };
}

const noRest = (): Promise<null> => Promise.resolve(null);

async function* surveyBucket(
  bucket: Bucket,
  start: string,
  { after, through }: KeyRange,
): AsyncGenerator<ListedObject> {
  const { client, place } = bucket;
  const root = rootOf(bucket);
  const startAfter = after === undefined ? {} : { StartAfter: root + after };
  const asked = { Bucket: place.bucket, Prefix: root + start, ...startAfter };
  try {
    for await (const { Contents = [] } of paginateListObjectsV2({ client, pageSize: LIST_PAGE_KEYS }, asked))
      for (const { Key = '', Size = 0, ETag } of Contents) {
        const key = Key.slice(root.length);
        if (through !== undefined && key > through) return;
        if (key !== '') yield { key, bytes: Size, etag: bareEtag(ETag) };
      }
  } catch (error) {
    throw s3Unreachable(place, error);
  }
}

/** A body that is cut short is read on from there with `rest`, which gives null where the server cannot. */
async function* readBody(
  first: Readable,
  rest: (from: number) => Promise<Readable | null>,
  place: S3Place,
): AsyncGenerator<Uint8Array> {
  let body = first;
  let read = 0;
  for (let tries = 1; ; tries += 1) {
    let cut: unknown;
    try {
      for await (const chunk of body as AsyncIterable<Uint8Array>) {
        read += chunk.byteLength;
        yield chunk;
      }
      return;
    } catch (error) {
      cut = error;
    } finally {
      body.destroy();
    }
    const isGivenUp = tries === TRIES_MAX || isTimedOut(cut);
    const next = isGivenUp ? null : await rest(read).catch(() => null);
    if (next === null) throw s3Unreachable(place, cut);
    body = next;
  }
}

/** How often a call is tried. The SDK waits in between, longer each time and by chance. */
export const TRIES_MAX = 5;
const CONNECT_TIMEOUT_MS = 5_000;
/** A try ends after this time without a byte sent or received. A server that never answers costs 5 tries, 100 s. */
export const IDLE_TIMEOUT_MS = 20_000;
/** The SDK demands a region; servers other than AWS mostly ignore it. */
const REGION_BEHIND_ENDPOINT = 'us-east-1';

export function openBucket(url: URL, settings: ObjectStoreSettings): ObjectStore {
  const prefix = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, '');
  const endpoint = endpointOf(settings.env);
  const client = new S3Client(clientConfig(settings));
  if (settings.allowInsecure?.includes('statements') !== true) {
    if (endpoint !== undefined) assertProtected(endpoint);
    keepProtected(client);
  }
  return createS3Store(client, { bucket: url.host, prefix, endpoint: endpoint ?? 'AWS' });
}

function assertProtected(endpoint: string): void {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : null;
  if (url?.protocol !== 'http:' || isLoopback(url.hostname)) return;
  throw new ObjectStoreRefused(
    `statements would go to ${url.host} by plain http, and could be read and changed on the way: use its https endpoint, ` +
      'or answer for it with DAYBOOK_ALLOW_INSECURE=statements.',
  );
}

/** The SDK may take an endpoint from a profile's file, which is not read here. So every request is checked. */
function keepProtected(client: S3Client): void {
  client.middlewareStack.add(
    (next) => (handed) => {
      const { request } = handed as { readonly request?: unknown };
      const { protocol = '', hostname = '' } = (request ?? {}) as { protocol?: string; hostname?: string };
      assertProtected(`${protocol}//${hostname}`);
      return next(handed);
    },
    { step: 'finalizeRequest', name: 'keepProtected', priority: 'high' },
  );
}

const endpointOf = (env: ObjectStoreSettings['env']): string | undefined =>
  (env.AWS_ENDPOINT_URL_S3 ?? '') || (env.AWS_ENDPOINT_URL ?? '') || undefined;

function clientConfig({ s3ForcePathStyle, idleTimeoutMs, env }: ObjectStoreSettings): S3ClientConfig {
  const endpoint = endpointOf(env);
  const region =
    (env.AWS_REGION ?? '') ||
    (env.AWS_DEFAULT_REGION ?? '') ||
    (endpoint === undefined ? undefined : REGION_BEHIND_ENDPOINT);
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  const sessionToken = env.AWS_SESSION_TOKEN;
  return {
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    ...(accessKeyId && secretAccessKey
      ? { credentials: { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) } }
      : {}),
    forcePathStyle: s3ForcePathStyle ?? endpoint !== undefined,
    // Older servers do not know the SDK's checksum trailers. AWS does, and buckets with Object Lock demand them.
    ...(endpoint === undefined || env.AWS_REQUEST_CHECKSUM_CALCULATION !== undefined
      ? {}
      : { requestChecksumCalculation: 'WHEN_REQUIRED', responseChecksumValidation: 'WHEN_REQUIRED' }),
    maxAttempts: TRIES_MAX,
    // Resolved once for each kind of call, which is a part of its cost. So all of it is added before the first call.
    cacheMiddleware: true,
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: idleTimeoutMs ?? IDLE_TIMEOUT_MS,
    },
  };
}
