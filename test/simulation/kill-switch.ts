/**
 * Imitates a process that dies in the middle of its work, inside the test's own process. From the chosen operation
 * on, database, object store and platform all refuse. An open transaction is rolled back, as the server would do.
 */
import type { Kysely, KyselyPlugin } from 'kysely';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import type { LedgerReader } from '../../src/platform/ledger-reader.ts';
import type { DB } from '../../src/store/engine/schema.ts';

export const KILLED_AT = ['database', 'objects', 'platform'] as const;

export interface Kill {
  readonly on: (typeof KILLED_AT)[number];
  /** The number of the operation of that kind, from 0. */
  readonly at: number;
  /** If true, it dies after the operation is done, but before the caller gets the result. */
  readonly done: boolean;
}

class Killed extends Error {
  override readonly name = 'Killed';
  constructor() {
    super('the process is dead');
  }
}

export interface KillSwitch {
  readonly isDead: () => boolean;
  readonly database: (db: Kysely<DB>) => Kysely<DB>;
  readonly objects: (store: ObjectStore) => ObjectStore;
  readonly reader: (reader: LedgerReader) => LedgerReader;
}

/** Null: it never dies. */
export function createKillSwitch(kill: Kill | null): KillSwitch {
  let dead = false;
  let left = kill?.at ?? -1;
  const begin = (on: Kill['on']): boolean => {
    if (dead) throw new Killed();
    if (kill?.on !== on || left-- !== 0) return false;
    if (!kill.done) end();
    return true;
  };
  const end = (): never => {
    dead = true;
    throw new Killed();
  };
  const around =
    <Args extends unknown[], Result>(on: Kill['on'], work: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      const last = begin(on);
      const result = await work(...args);
      return last || dead ? end() : result;
    };
  const lastQueries = new WeakSet();
  const plugin: KyselyPlugin = {
    transformQuery: ({ node, queryId }) => {
      if (begin('database')) lastQueries.add(queryId);
      return node;
    },
    transformResult: ({ result, queryId }) =>
      lastQueries.has(queryId) || dead ? end() : Promise.resolve(result),
  };
  return {
    isDead: () => dead,
    database: (db) => (kill === null ? db : db.withPlugin(plugin)),
    objects: (store) =>
      kill === null
        ? store
        : {
            location: store.location,
            check: around('objects', store.check),
            put: around('objects', store.put),
            get: async (key) => {
              // A stream that is opened and never read would stay open. So the process dies before it is opened, or
              // after it is read.
              if (begin('objects')) end();
              return store.get(key);
            },
            digest: around('objects', store.digest),
            head: around('objects', store.head),
            survey: (prefix, range) => {
              begin('objects');
              return store.survey(prefix, range);
            },
            discardUnfinished: around('objects', store.discardUnfinished),
          },
    reader: (reader) => (kill === null ? reader : { page: around('platform', reader.page) }),
  };
}
