/** Opens the object store that STATEMENTS_URL names. */
import { fileURLToPath } from 'node:url';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { isLoopback } from '../host/loopback.ts';
import { createDirectoryStore } from './directory.ts';
import { ObjectStoreRefused, type ObjectStore } from './object-store.ts';
import { createS3Store } from './s3.ts';

/** Tries of one call, the SDK's backoff with jitter between them. */
export const TRIES_MAX = 5;
const CONNECT_TIMEOUT_MS = 5_000;
/** Without a byte either way. All tries together: a server that swallows what it is sent holds a run up for 100 s. */
export const IDLE_TIMEOUT_MS = 20_000;
/** Custom endpoints rarely care, and the SDK insists. */
const REGION_BEHIND_ENDPOINT = 'us-east-1';

export interface ObjectStoreSettings {
  /** `s3://bucket/prefix` or `file:///folder`. */
  readonly statementsUrl: string;
  /** Null: true where an endpoint is set. */
  readonly s3ForcePathStyle: boolean | null;
  /** With `statements` in it an endpoint on another machine may be spoken to by plain http. */
  readonly allowInsecure?: readonly string[];
  /** `IDLE_TIMEOUT_MS` unless told. */
  readonly idleTimeoutMs?: number;
  /** Endpoint, region and credentials as the AWS SDK names them; what is not here it looks up by itself. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Opens without connecting: call `check` before relying on it. Throws `ObjectStoreRefused` for a URL it cannot use. */
export function openObjectStore(settings: ObjectStoreSettings): ObjectStore {
  const url = URL.canParse(settings.statementsUrl) ? new URL(settings.statementsUrl) : null;
  if (url?.protocol === 'file:' && url.host === '') return createDirectoryStore(fileURLToPath(url));
  if (url?.protocol === 's3:' && url.host !== '') {
    const prefix = decodeURIComponent(url.pathname).replace(/^\/+|\/+$/g, '');
    const endpoint = endpointOf(settings.env);
    const client = new S3Client(clientConfig(settings));
    if (settings.allowInsecure?.includes('statements') !== true) {
      if (endpoint !== undefined) assertProtected(endpoint);
      keepProtected(client);
    }
    return createS3Store(client, {
      bucket: url.host,
      prefix,
      endpoint: endpoint ?? 'AWS',
    });
  }
  throw new ObjectStoreRefused(
    `STATEMENTS_URL '${settings.statementsUrl}' names no object store: write s3://bucket/prefix or file:///folder.`,
  );
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

/** The SDK may find an endpoint in a profile's file, which nobody here reads: so each request is looked at. */
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
    // Gateways of some age do not know the SDK's checksum trailers; AWS does, and buckets with Object Lock ask for them.
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
