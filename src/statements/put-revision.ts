/** Stores a new revision's bytes under a number of its own, whatever an earlier try or an older database left there. */
import {
  ObjectExists,
  ObjectStoreUnreachable,
  readObject,
  type Fence,
  type ObjectContent,
  type ObjectStore,
  type StoredDigest,
} from '../objects/object-store.ts';
import { CSV } from './formats/csv.ts';
import { fileOf } from '../verify/names.ts';
import { parseManifest, type Manifest } from '../verify/manifest.ts';

/** If an object changes this often between reading and writing it, something else writes it as well. */
const REPLACE_TRIES_MAX = 5;

/** The published manifest, or null where there is none that can be read. */
export async function readManifest(objects: ObjectStore, key: string): Promise<Manifest | null> {
  const bytes = await readObject(objects, key);
  return bytes === null ? null : parseManifest(bytes.toString('utf8'));
}

/**
 * Replaces whatever lies under the key, each attempt on the condition that the object is still the one it saw. So in a
 * store that obeys conditions, a delayed write cannot replace what a later run wrote. Throws `ObjectStoreUnreachable`
 * if the object keeps changing, and what the fence throws.
 */
export async function putReplacing(
  objects: ObjectStore,
  key: string,
  content: ObjectContent,
  options: { readonly fence: Fence; readonly contentType: string; readonly isFollowed?: boolean },
): Promise<StoredDigest> {
  for (let tries = 1; tries <= REPLACE_TRIES_MAX; tries += 1) {
    const found = await objects.head(key);
    const condition = found === null ? { ifAbsent: true } : found.etag === null ? {} : { ifEtag: found.etag };
    try {
      return await objects.put(key, content, { ...options, ...condition });
    } catch (error) {
      if (!(error instanceof ObjectExists)) throw error;
    }
  }
  throw new ObjectStoreUnreachable(
    `${objects.location}: ${key} changed ${REPLACE_TRIES_MAX} times while it was being written: see what else writes ` +
      `there, and run again.`,
  );
}

/** Revisions of a file that a manifest names, published whether or not this database knows of them. */
const publishedIn = (manifest: Manifest, file: string): boolean =>
  [
    ...manifest.statements.flatMap((statement) => [statement, ...statement.superseded]),
    ...(manifest.summary === null ? [] : [manifest.summary, ...manifest.summary.superseded]),
  ].some((published) => published.file === file);

/**
 * Writes `content` as revision `revision`. If the same bytes are there already, an earlier attempt has written them.
 * Other bytes may be left over from an aborted attempt: no row and no manifest names them, and they are replaced. Or
 * they are a published file that this database does not know, for example because it was restored from a backup: they
 * stay, and the next number is taken.
 */
export async function putRevision(options: {
  readonly objects: ObjectStore;
  /** First number that no row has. */
  readonly revision: number;
  readonly keyOf: (revision: number) => string;
  readonly manifestKey: string;
  readonly content: ObjectContent;
  readonly fence: Fence;
  /** Called where the store's manifest names a file of that number which no row has. May throw: nothing is written then. */
  readonly onPublished: (manifest: Manifest) => Promise<void> | void;
  /** Another file of the day is written before a row names this one. */
  readonly isFollowed: boolean;
}): Promise<StoredDigest & { readonly revision: number; readonly key: string }> {
  const { objects, keyOf, content, fence, isFollowed } = options;
  const put = { fence, isFollowed, contentType: CSV.contentType };
  for (let revision = options.revision; ; revision += 1) {
    const key = keyOf(revision);
    try {
      return { ...(await objects.put(key, content, { ...put, ifAbsent: true })), revision, key };
    } catch (error) {
      if (!(error instanceof ObjectExists)) throw error;
    }
    const manifest = await readManifest(objects, options.manifestKey);
    if (manifest !== null && publishedIn(manifest, fileOf(key))) {
      await options.onPublished(manifest);
      continue;
    }
    return { ...(await putReplacing(objects, key, content, put)), revision, key };
  }
}
