/** Which merchants a night was missed for. The one place that alerts ask for this. */
import { sql, type Kysely } from 'kysely';
import { NAMED_MAX } from '../../alerts/alert.ts';
import { activeWith } from '../../store/fleet-counts.ts';
import type { DB } from '../../store/engine/schema.ts';
import { instantOfSlot, lastSlot, nextTime } from '../schedule/due.ts';
import { NIGHT } from './at-end.ts';

/** A night may end so long after its time. */
const LATE_AFTER_MS = 2 * 3_600_000;
/** So long ahead is searched for the longest time between two nights, and at so many nights at least and at most. */
const CHECKED_PERIOD_MS = 8 * 24 * 3_600_000;
const SLOTS_CHECKED_MIN = 8;
const SLOTS_CHECKED_MAX = 1_200;

/**
 * How old the last good reading may be: the longest time between two nights of this cron expression, of the last two
 * and those of the next week, and two hours.
 */
export function oldestMs(nightly: string, zone: string, now: Date): number {
  const slotBefore = (at: Date): Date => instantOfSlot(lastSlot(nightly, zone, at), zone);
  let at = slotBefore(new Date(slotBefore(now).getTime() - 1));
  let longestMs = 0;
  for (let nights = 0; nights < SLOTS_CHECKED_MAX; nights += 1) {
    if (nights >= SLOTS_CHECKED_MIN && at.getTime() - now.getTime() > CHECKED_PERIOD_MS) break;
    const next = nextTime(nightly, zone, at);
    longestMs = Math.max(longestMs, next.getTime() - at.getTime());
    at = next;
  }
  return longestMs + LATE_AFTER_MS;
}

export interface Missed {
  readonly count: number;
  /** The first few. */
  readonly merchants: readonly string[];
  /** The end of the good reading that is longest ago; null if nothing was missed. */
  readonly lastGoodAt: Date | null;
}

/**
 * The active merchants, and `own`, whose last good reading ended longer ago than that, and that were not enabled since.
 * Left out are those that were never read well, and those that a later night failed for, as long as failed nights stand:
 * that is reported. One jump along task_good for each merchant, in one statement.
 */
export async function missedRuns(
  db: Kysely<DB>,
  own: readonly string[],
  { now, maxAgeMs }: { readonly now: Date; readonly maxAgeMs: number },
): Promise<Missed> {
  const limit = new Date(now.getTime() - maxAgeMs);
  const { rows } = await sql<Missed>`
    WITH late AS (
      SELECT asked.merchant_no, last.finished_at AS at
      FROM (${activeWith(own)}) AS asked CROSS JOIN LATERAL (
        SELECT read.run_id, read.finished_at FROM task AS read
        WHERE read.merchant_no = asked.merchant_no AND read.reads AND read.exit_code IN (0, 3)
        ORDER BY read.run_id DESC LIMIT 1
      ) AS last
      WHERE last.finished_at < ${limit}
        AND NOT EXISTS (
          SELECT FROM merchant WHERE merchant.merchant_no = asked.merchant_no AND merchant.enabled_at >= ${limit}
        )
        AND NOT (EXISTS (SELECT FROM alert_condition WHERE name = ${NIGHT}) AND EXISTS (
          SELECT FROM task AS failed
          WHERE failed.kind = 'run' AND failed.merchant_no = asked.merchant_no AND failed.run_id > last.run_id
            AND failed.exit_code NOT IN (0, 3) AND failed.finished_at >= ${limit}
        ))
    )
    SELECT count(*) AS count, min(at) AS "lastGoodAt",
      coalesce((array_agg(merchant_no ORDER BY merchant_no))[1:${sql.lit(NAMED_MAX)}], '{}') AS merchants
    FROM late`.execute(db);
  return rows[0]!;
}
