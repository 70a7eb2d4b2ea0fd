/**
 * Divides the connections of one pool, so that slow work of one kind never keeps another kind from the database. A share
 * has connections that nothing else takes; the rest is for whoever comes first.
 */
import type { PostgresPool, PostgresPoolClient } from 'kysely';

export interface Shares {
  /** The pool for work that needs no connections of its own. */
  readonly common: PostgresPool;
  /**
   * A pool of the same connections, which finds so many of them free of any other work and takes common ones, too. One
   * always stays common, so a small pool may give fewer, or none.
   */
  readonly reserve: (connections: number) => PostgresPool;
}

/** Connections that are counted together, as many as are in use and as many as there may be. */
interface Places {
  count: number;
  used: number;
}

interface Waiting {
  readonly reserved: Places;
  readonly begin: (places: Places) => void;
}

/** `givenUp` makes the error for who waited `waitMs` and found none free. */
export function createShares(
  pool: PostgresPool,
  {
    connectionsMax,
    waitMs,
    givenUp,
  }: { readonly connectionsMax: number; readonly waitMs: number; readonly givenUp: () => Error },
): Shares {
  const common: Places = { count: connectionsMax, used: 0 };
  const waiting = new Set<Waiting>();
  const freeFor = (reserved: Places): Places | undefined =>
    [reserved, common].find(({ count, used }) => used < count);

  const leave = (places: Places): void => {
    places.used -= 1;
    for (const one of waiting) {
      const free = freeFor(one.reserved);
      if (free === undefined) continue;
      free.used += 1;
      waiting.delete(one);
      one.begin(free);
    }
  };

  const enter = (reserved: Places): Places | Promise<Places> => {
    const free = freeFor(reserved);
    if (free !== undefined) {
      free.used += 1;
      return free;
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(one);
        reject(givenUp());
      }, waitMs);
      const one: Waiting = {
        reserved,
        begin: (places) => {
          clearTimeout(timer);
          resolve(places);
        },
      };
      waiting.add(one);
    });
  };

  const poolOf = (reserved: Places): PostgresPool => ({
    ...pool,
    connect: async () => {
      const places = await enter(reserved);
      try {
        return leaving(await pool.connect(), () => leave(places));
      } catch (error) {
        leave(places);
        throw error;
      }
    },
  });

  return {
    common: poolOf({ count: 0, used: 0 }),
    reserve: (connections) => {
      const count = Math.min(connections, common.count - 1);
      common.count -= count;
      return poolOf({ count, used: 0 });
    },
  };
}

/** The client, which calls `onLeft` when it is released. */
const leaving = (client: PostgresPoolClient, onLeft: () => void): PostgresPoolClient => ({
  ...client,
  release: (error) => {
    client.release(error);
    onLeft();
  },
});
