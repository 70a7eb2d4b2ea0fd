/** Opens the object store that STATEMENTS_URL names. */
import { fileURLToPath } from 'node:url';
import { createDirectoryStore } from './directory.ts';
import { ObjectStoreRefused, type ObjectStore } from './object-store.ts';

export interface ObjectStoreSettings {
  /** `s3://bucket/prefix` or `file:///folder`. */
  readonly statementsUrl: string;
  /** Null: true if an endpoint is set, else false. */
  readonly s3ForcePathStyle: boolean | null;
  /** If it holds `statements`, an endpoint on another machine may be called by plain http. */
  readonly allowInsecure?: readonly string[];
  /** `IDLE_TIMEOUT_MS` if left out. */
  readonly idleTimeoutMs?: number;
  /** Endpoint, region and credentials, under the names of the AWS SDK. It searches elsewhere for what is missing here. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Opens the store without connecting to it: call `check` before the first write. Throws `ObjectStoreRefused` if the URL
 * names no store, and for plain http to another machine. The SDK for S3 is loaded only for a bucket: it takes 40 MB and
 * a fifth of a second.
 */
export async function openObjectStore(settings: ObjectStoreSettings): Promise<ObjectStore> {
  const url = URL.canParse(settings.statementsUrl) ? new URL(settings.statementsUrl) : null;
  if (url?.protocol === 'file:' && url.host === '') return createDirectoryStore(fileURLToPath(url));
  if (url?.protocol === 's3:' && url.host !== '') {
    const { openBucket } = await import('./open-bucket.ts');
    return openBucket(url, settings);
  }
  throw new ObjectStoreRefused(
    `STATEMENTS_URL '${settings.statementsUrl}' names no object store: write s3://bucket/prefix or file:///folder.`,
  );
}
