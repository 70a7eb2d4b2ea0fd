/**
 * Makes sure that a store of statements has one owner: the database whose rows name them. A mark in the store names
 * that database, so that another one does not publish over statements that it does not know.
 */
import type { Kysely } from 'kysely';
import {
  ObjectExists,
  ObjectStoreRefused,
  readText,
  type Fence,
  type ObjectStore,
} from '../objects/object-store.ts';
import { databaseIdentity } from '../store/installation.ts';
import type { DB } from '../store/engine/schema.ts';
import { newestStatements } from '../store/statements/statements.ts';
import { MERCHANTS_PREFIX, STORE_MARK_KEY } from './keys.ts';
import { MANIFEST_CONTENT_TYPE } from './write-manifest.ts';
import * as z from 'zod';

const FORMAT = 'daybook-store/1';
/** In a store without a mark so many known statements are searched for: an older version may have published them. */
const KNOWN_FILES_TRIED_MAX = 5;

const markSchema = z.object({ format: z.literal(FORMAT), database: z.uuid(), since: z.iso.datetime() });

type StoreMark = z.infer<typeof markSchema>;

/** The statements in the store belong to another database. Nothing was written. */
export class StoreOwnedByAnother extends ObjectStoreRefused {}

interface OwnerOptions {
  readonly db: Kysely<DB>;
  readonly objects: ObjectStore;
}

/** The mark; `unreadable` if it cannot be read; null if there is none. Throws `ObjectStoreUnreachable`. */
export async function readStoreMark(objects: ObjectStore): Promise<StoreMark | 'unreadable' | null> {
  const text = await readText(objects, STORE_MARK_KEY);
  if (text === null) return null;
  try {
    return markSchema.parse(JSON.parse(text));
  } catch {
    return 'unreadable';
  }
}

export function markContent(database: string, since: Date): Buffer {
  const mark: StoreMark = { format: FORMAT, database, since: since.toISOString() };
  return Buffer.from(`${JSON.stringify(mark, null, 2)}\n`);
}

/**
 * Whether this database may publish here. `ours`: the mark says so. `unclaimed`: there is no mark, and the store is
 * empty or holds what this database published before there were marks. Writes nothing. Throws `StoreOwnedByAnother`
 * and `ObjectStoreUnreachable`.
 */
export async function storeOwner({ db, objects }: OwnerOptions): Promise<'ours' | 'unclaimed'> {
  const database = await databaseIdentity(db);
  const mark = await readStoreMark(objects);
  const another = (how: string): StoreOwnedByAnother =>
    new StoreOwnedByAnother(
      `${objects.location}${how} If ${database} is to continue with the files there, run \`daybook statements adopt\` once.`,
    );
  if (mark === 'unreadable')
    throw another(`: ${STORE_MARK_KEY} does not say which database these statements belong to.`);
  if (mark !== null) {
    if (mark.database === database) return 'ours';
    throw another(
      ` belongs to the daybook database ${mark.database}, since ${mark.since}; this database is ` +
        `${database}. If that one is still in use, correct STATEMENTS_URL or DATABASE_URL.`,
    );
  }
  if ((await isEmpty(objects)) || (await holdsOurs(db, objects))) return 'unclaimed';
  throw another(
    ` holds statements that this database (${database}) did not publish. If they are another ` +
      `daybook's, correct STATEMENTS_URL or DATABASE_URL.`,
  );
}

/** Throws what `storeOwner` throws, also if another database was faster. */
export async function claimStore(
  options: OwnerOptions & { readonly fence: Fence; readonly now: () => Date },
): Promise<void> {
  if ((await storeOwner(options)) === 'ours') return;
  const { db, objects, fence, now } = options;
  const content = markContent(await databaseIdentity(db), now());
  try {
    await objects.put(STORE_MARK_KEY, content, { ifAbsent: true, fence, contentType: MANIFEST_CONTENT_TYPE });
  } catch (error) {
    if (!(error instanceof ObjectExists)) throw error;
  }
  // A store without conditional writes lets the later of two writers win. So the mark is read again, and it decides.
  await storeOwner(options);
}

async function isEmpty(objects: ObjectStore): Promise<boolean> {
  for await (const { key } of objects.survey(MERCHANTS_PREFIX)) return key === '';
  return true;
}

async function holdsOurs(db: Kysely<DB>, objects: ObjectStore): Promise<boolean> {
  for (const { object_key: key, sha256 } of await newestStatements(db, KNOWN_FILES_TRIED_MAX)) {
    if ((await objects.digest(key))?.sha256 === sha256) return true;
  }
  return false;
}
