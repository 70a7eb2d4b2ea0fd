/** Opens the object store that STATEMENTS_URL names. */
import { fileURLToPath } from 'node:url';
import { createDirectoryStore } from './directory.ts';
import { ObjectStoreRefused, type ObjectStore, type ObjectStoreSettings } from './object-store.ts';

/**
 * Opens the store without connecting to it: call `check` before the first write. Throws `ObjectStoreRefused` if the URL
 * names no store, and for plain http to another machine. The SDK for S3 is loaded only for a bucket: it takes 40 MB and
 * a fifth of a second.
 */
export async function openObjectStore(settings: ObjectStoreSettings): Promise<ObjectStore> {
  const url = URL.canParse(settings.statementsUrl) ? new URL(settings.statementsUrl) : null;
  if (url?.protocol === 'file:' && url.host === '') return createDirectoryStore(fileURLToPath(url));
  if (url?.protocol === 's3:' && url.host !== '') {
    const { openBucket } = await import('./s3.ts');
    return openBucket(url, settings);
  }
  throw new ObjectStoreRefused(
    `STATEMENTS_URL '${settings.statementsUrl}' names no object store: write s3://bucket/prefix or file:///folder.`,
  );
}
