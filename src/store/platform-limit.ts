/**
 * The platform's limit of calls a second and the waits it asked for, shared by all processes on one database. Only the
 * database's clock counts, as the clocks of hosts may differ: what goes in and out are spans of time.
 */
import { sql } from 'kysely';
import { arrayLiteral, type Db, rowsOf } from './engine/database.ts';
import { DATABASE_NOW } from './engine/lease.ts';
import { isLostOrRolledBack, retry } from './engine/retry.ts';

/** A time further ahead than this was not written by today's clock: the clock was put back since. */
const AHEAD_MAX_S = 900;
/** Each check the holds begins so long before the last one, as a slower transaction may have come after it. */
const OVERLAP_S = 10;
/** The row that says how far the rate is given away. It was never recorded, so that no check of the holds returns it. */
const RATE = 'the rate';

/** An owner that may not call for so long, from now on. */
interface Held {
  readonly owner: string;
  readonly forMs: number;
}

interface Polled {
  /** Where the next check begins, by the database's clock. */
  readonly nextFrom: string;
  readonly holds: readonly Held[];
}

/** Opens the limit for one process. It remembers which holds that process was given already. */
export function openPlatformLimit(db: Db) {
  let from = '-infinity';
  const given = ({ nextFrom, holds }: Polled): readonly Held[] => {
    from = nextFrom;
    return holds;
  };
  return {
    /**
     * Reserves the rate for `calls` calls, spaced by `spacingMs`, behind all that was reserved before. They may begin
     * after `afterMs`. Also returns what `holds` does. Throws `StoreUnreachable` if the database does not answer for a
     * while.
     */
    take: async (calls: number, spacingMs: number) => {
      const { afterMs, polled } = await retry(() => takeSlice(db, calls * spacingMs, from), {
        isPassing: isLostOrRolledBack,
      });
      return { afterMs: Math.max(0, afterMs), holds: given(polled) };
    },
    /** The holds that were reported since the last check; at first all. Throws as `take` does. */
    holds: async () => {
      const rows = await rowsOf(db)<{ polled: Polled }>`SELECT ${pollFrom(from)} AS polled`;
      return given(rows[0]!.polled);
    },
    /** Records holds. None is shortened by a later one. */
    sendHolds: (holds: readonly Held[]) => storeHolds(db, holds),
  };
}

const isAhead = sql<boolean>`(known.held_until > ${DATABASE_NOW}
  AND known.held_until < ${DATABASE_NOW} + ${AHEAD_MAX_S} * interval '1 second')`;

/** As JSON, so that it fits into one row with a slice. */
const pollFrom = (from: string) => sql<Polled>`json_build_object(
  'nextFrom', ${DATABASE_NOW} - ${OVERLAP_S} * interval '1 second',
  'holds', (
    SELECT coalesce(json_agg(json_build_object(
      'owner', owner, 'forMs', extract(epoch FROM held_until - ${DATABASE_NOW}) * 1000)), '[]')
    FROM platform_hold AS known
    WHERE recorded_at > ${from}::timestamptz AND ${isAhead}))`;

async function takeSlice(db: Db, spanMs: number, from: string) {
  const span = sql`${spanMs}::float8 * interval '1 millisecond'`;
  const rows = await rowsOf(db)<{ afterMs: number; polled: Polled }>`
    WITH taken AS (
      INSERT INTO platform_hold AS known (owner, held_until, recorded_at)
      VALUES (${RATE}, ${DATABASE_NOW} + ${span}, '-infinity')
      ON CONFLICT (owner) DO UPDATE
        SET held_until = ${span} + CASE WHEN ${isAhead} THEN known.held_until ELSE ${DATABASE_NOW} END
      RETURNING held_until)
    SELECT (extract(epoch FROM held_until - ${span} - ${DATABASE_NOW}) * 1000)::float8 AS "afterMs",
      ${pollFrom(from)} AS polled
    FROM taken`;
  return rows[0]!;
}

async function storeHolds(db: Db, holds: readonly Held[]): Promise<void> {
  // In one order, so that no two processes wait for each other.
  await sql`
    INSERT INTO platform_hold AS known (owner, held_until, recorded_at)
    SELECT owner, ${DATABASE_NOW} + for_ms * interval '1 millisecond', ${DATABASE_NOW}
    FROM unnest(
      ${arrayLiteral(holds.map(({ owner }) => owner))}::text[],
      ${arrayLiteral(holds.map(({ forMs }) => forMs))}::float8[])
      AS reported (owner, for_ms)
    ORDER BY owner
    ON CONFLICT (owner) DO UPDATE
      SET recorded_at = excluded.recorded_at, held_until = greatest(
        excluded.held_until, CASE WHEN ${isAhead} THEN known.held_until END)`.execute(db);
}
