/** The known paths in memory, so that a genuine push waits for no look-up behind those of strangers. */
import { newestKnownPaths, type NotifyPath } from '../store/notifications/known-paths.ts';
import type { Kysely } from 'kysely';
import type { DB } from '../store/engine/schema.ts';

/** Paths of each kind held; older ones are looked up when they are posted to. */
const PATHS_HELD_MAX = 50_000;
/** Read again after this long, so that paths that ended are let go. */
const PATHS_READ_EVERY_MS = 60_000;

export interface KnownPaths {
  /** False says nothing yet: the database has to be asked. */
  readonly has: (path: NotifyPath) => boolean;
  readonly add: (path: NotifyPath) => void;
  /** Reads them now. Never rejects: what is not held is looked up. */
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
      // The database is away: those held stay, and the next read comes in its time.
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
