/**
 * Makes sure that a store of statements has one owner: the database whose rows name them. A mark in the store names
 * that database, so that another one does not publish over statements that it does not know. It also names the last turn:
 * each run takes one, so that of a database and its copies only the one that goes on may publish.
 */
import type { Kysely } from 'kysely';
import {
  ObjectExists,
  ObjectStoreRefused,
  readText,
  type Fence,
  type ObjectStore,
} from '../objects/object-store.ts';
import { beginTurn, databaseIdentity, endTurn } from '../store/installation.ts';
import type { DB } from '../store/engine/schema.ts';
import { newestStatements } from '../store/statements/statements.ts';
import { MERCHANTS_PREFIX, STORE_MARK_KEY } from '../verify/names.ts';
import { MANIFEST_CONTENT_TYPE } from './write-manifest.ts';
import * as z from 'zod';

const FORMAT = 'daybook-store/1';
/** In a store without a mark so many known statements are searched for: an older version may have published them. */
const KNOWN_FILES_TRIED_MAX = 5;

/** How often the mark is compared while other processes of the same database take turns. */
const COMPARED_MAX = 5;
/** How long a run trusts that the store is still its own, ms. */
const TRUSTED_MS = 60_000;

const markSchema = z.object({
  format: z.literal(FORMAT),
  database: z.uuid(),
  since: z.iso.datetime(),
  /** Left out in a mark of before there were turns. */
  turn: z.uuid().optional(),
});

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

/** `since`: when the database became the owner. */
export function markContent(database: string, since: string, turn: string): Buffer {
  const mark: StoreMark = { format: FORMAT, database, since, turn };
  return Buffer.from(`${JSON.stringify(mark, null, 2)}\n`);
}

/**
 * Whether this database may publish here. `ours`: the mark says so. `unclaimed`: there is no mark, and the store is
 * empty or holds what this database published before there were marks. Writes nothing. Throws `StoreOwnedByAnother`
 * and `ObjectStoreUnreachable`.
 */
export const storeOwner = async (options: OwnerOptions): Promise<'ours' | 'unclaimed'> =>
  (await ownMark(options)) === null ? 'unclaimed' : 'ours';

/** The mark, which names this database; null where there is none, and this database may set one. Throws what `storeOwner` throws. */
async function ownMark({ db, objects }: OwnerOptions): Promise<StoreMark | null> {
  for (let compared = 1; ; compared += 1) {
    const own = await databaseIdentity(db);
    const mark = await readStoreMark(objects);
    if (mark === null) {
      if ((await isEmpty(objects)) || (await holdsOurs(db, objects))) return null;
    } else if (mark !== 'unreadable' && mark.database === own.id) {
      if (mark.turn === undefined || own.turns.includes(mark.turn)) return mark;
      // Another process of this database may have taken a turn between the two readings.
      if (compared < COMPARED_MAX) continue;
    }
    throw refused(objects, mark, own.id);
  }
}

function refused({ location }: ObjectStore, mark: StoreMark | 'unreadable' | null, database: string) {
  const toDo = `If ${database} is to continue with the files there, run \`daybook statements adopt\` once.`;
  if (mark === 'unreadable') {
    const how = `${STORE_MARK_KEY} does not say which database these statements belong to.`;
    return new StoreOwnedByAnother(`${location}: ${how} ${toDo}`);
  }
  if (mark === null) {
    return new StoreOwnedByAnother(
      `${location} holds statements that this database (${database}) did not publish. If they are another ` +
        `daybook's, correct STATEMENTS_URL or DATABASE_URL. ${toDo}`,
    );
  }
  return new StoreOwnedByAnother(
    mark.database === database
      ? `${location} was published to by another copy of this database (${database}), and this copy does not know of it. ` +
          'If the other copy is in use, correct STATEMENTS_URL or DATABASE_URL. If this one was restored to continue, run ' +
          '`daybook statements adopt` once; the other copy is refused then.'
      : `${location} belongs to the daybook database ${mark.database}, since ${mark.since}; this database is ` +
          `${database}. If that one is still in use, correct STATEMENTS_URL or DATABASE_URL. ${toDo}`,
  );
}

/** Takes the next turn at the store. Throws what `storeOwner` throws, also if another database or copy was faster. */
export async function claimStore(
  options: OwnerOptions & { readonly fence: Fence; readonly now: () => Date },
): Promise<void> {
  const { db, objects, fence, now } = options;
  // Asked for first: where another one writes between the two readings, the write below fails.
  const { etag = null } = (await objects.head(STORE_MARK_KEY)) ?? {};
  const mark = await ownMark(options);
  // A store that knows no conditions could let a delayed write undo a later turn.
  if (mark !== null && etag === null) return;
  const { id, turn } = await beginTurn(db);
  const content = markContent(id, mark?.since ?? now().toISOString(), turn);
  const condition = mark === null ? { ifAbsent: true } : { ifEtag: etag! };
  try {
    await objects.put(STORE_MARK_KEY, content, { ...condition, fence, contentType: MANIFEST_CONTENT_TYPE });
  } catch (error) {
    if (!(error instanceof ObjectExists)) throw error;
  }
  // A store that knows no conditions lets the later of two writers win. So the mark is read again, and it decides.
  const written = await readStoreMark(objects);
  const isTaken =
    written !== null && written !== 'unreadable' && written.database === id && written.turn === turn;
  if (isTaken) await endTurn(db, turn);
  else await ownMark(options);
}

/** Asks during a long run whether the store is still this database's, at most once a minute. Throws `StoreOwnedByAnother`. */
export function watchOwner(options: OwnerOptions, nowMs: () => number = () => performance.now()) {
  let askedMs = nowMs();
  return async (): Promise<void> => {
    if (nowMs() - askedMs < TRUSTED_MS) return;
    askedMs = nowMs();
    await storeOwner(options);
  };
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
