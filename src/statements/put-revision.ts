/** Stores a new revision's bytes under a number of its own, whatever an earlier try or an older database left there. */
import {
  ObjectExists,
  readWhole,
  type Digest,
  type ObjectContent,
  type ObjectStore,
} from '../objects/object-store.ts';
import { fileOf } from './keys.ts';
import { parseManifest, type Manifest } from './manifest.ts';

export const CSV_CONTENT_TYPE = 'text/csv; charset=utf-8; header=present';

/** The published manifest, or null where there is none that can be read. */
export async function readManifest(objects: ObjectStore, key: string): Promise<Manifest | null> {
  const bytes = await readWhole(objects, key);
  return bytes === null ? null : parseManifest(bytes.toString('utf8'));
}

/** Revisions of a file that a manifest names, published whether or not this database knows of them. */
const publishedIn = (manifest: Manifest | null, file: string): boolean =>
  manifest !== null &&
  [
    ...manifest.statements.flatMap((statement) => [statement, ...statement.superseded]),
    ...(manifest.summary === null ? [] : [manifest.summary, ...manifest.summary.superseded]),
  ].some((published) => published.file === file);

/**
 * Writes `content` as revision `revision`. Finding the same bytes there is an earlier try come true. Other bytes there
 * are either an aborted try's, which no row and no manifest names: they are replaced; or a published file's that this
 * database has forgotten (restored from a backup, say): they stay, and the next number is taken.
 */
export async function putRevision(options: {
  readonly objects: ObjectStore;
  /** First number that no row has. */
  readonly revision: number;
  readonly keyOf: (revision: number) => string;
  readonly manifestKey: string;
  readonly content: ObjectContent;
  /** Throws where this run may write no more; asked right before anything is replaced. */
  readonly assertMayWrite: () => Promise<void>;
}): Promise<Digest & { readonly revision: number; readonly key: string }> {
  const { objects, keyOf, content } = options;
  for (let revision = options.revision; ; revision += 1) {
    const key = keyOf(revision);
    try {
      const digest = await objects.put(key, content, { ifAbsent: true, contentType: CSV_CONTENT_TYPE });
      return { ...digest, revision, key };
    } catch (error) {
      if (!(error instanceof ObjectExists)) throw error;
    }
    if (publishedIn(await readManifest(objects, options.manifestKey), fileOf(key))) continue;
    await options.assertMayWrite();
    return { ...(await objects.put(key, content, { contentType: CSV_CONTENT_TYPE })), revision, key };
  }
}
