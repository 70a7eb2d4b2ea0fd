/** The known paths, in memory. A genuine post need not wait for a query behind the posts of unknown senders. */
import { newestKnownPaths, type NotifyPath } from '../store/notifications/known-paths.ts';
import type { Kysely } from 'kysely';
import type { DB } from '../store/engine/schema.ts';

/** The most paths of each kind in memory. Older ones are queried when a post arrives. */
const PATHS_HELD_MAX = 50_000;
/** They are read again after this time, so that paths that ended drop out. */
const PATHS_READ_EVERY_MS = 60_000;

export interface KnownPaths {
  /** False does not mean unknown: the database has to be asked. */
  readonly has: (path: NotifyPath) => boolean;
  readonly add: (path: NotifyPath) => void;
  /** Reads them now. Never rejects: a path that is not in memory is queried. */
  readonly read: () => Promise<void>;
}

export interface KnownPathsDeps {
  readonly db: Kysely<DB>;
  readonly now: () => Date;
  readonly clock: () => number;
}

export function createKnownPaths({ db, now, clock }: KnownPathsDeps): KnownPaths {
  let held = new Set<string>();
  let readAtMs = Number.NEGATIVE_INFINITY;
  const read = async (): Promise<void> => {
    readAtMs = clock();
    try {
      held = new Set((await newestKnownPaths(db, PATHS_HELD_MAX, now())).map(nameOf));
    } catch {
      // The database cannot be reached: what is in memory stays until the next read.
    }
  };
  return {
    has: (path) => {
      if (clock() - readAtMs >= PATHS_READ_EVERY_MS) void read();
      return held.has(nameOf(path));
    },
    add: (path) => {
      if (held.size < 2 * PATHS_HELD_MAX) held.add(nameOf(path));
    },
    read,
  };
}

export const nameOf = ({ kind, notifyHash }: NotifyPath): string => `${kind}:${notifyHash}`;
