/** Opens a bucket of S3 or of a server that speaks its protocol. */
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { isLoopback } from '../host/loopback.ts';
import { ObjectStoreRefused, type ObjectStore, type ObjectStoreSettings } from './object-store.ts';
import { createS3Store } from './s3.ts';

/** How often a call is tried. The SDK waits in between, longer each time and by chance. */
export const TRIES_MAX = 5;
const CONNECT_TIMEOUT_MS = 5_000;
/** A try ends after this time without a byte sent or received. A server that never answers costs 5 tries, 100 s. */
export const IDLE_TIMEOUT_MS = 20_000;
/** The SDK demands a region; servers other than AWS mostly ignore it. */
const REGION_BEHIND_ENDPOINT = 'us-east-1';

/** Opens the bucket that `s3://bucket/prefix` names, as `openObjectStore` does. */
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

/** Throws `ObjectStoreRefused` for plain http to another machine. */
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
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: idleTimeoutMs ?? IDLE_TIMEOUT_MS,
    },
  };
}
