/** Which merchants a night was missed for. The one place that alerts ask for this. */
import { sql, type Kysely } from 'kysely';
import { arrayLiteral } from '../../store/engine/array-literal.ts';
import type { DB } from '../../store/engine/schema.ts';
import { inParts } from '../many-merchants.ts';
import { nextTime } from '../schedule/due.ts';

/** A night may end so long after its time. */
const LATE_AFTER_MS = 2 * 3_600_000;
/** So many nights ahead are looked at for the longest time between two: a week. */
const NIGHTS_LOOKED_AT = 8;

/** How old the last good reading may be: the longest time between two nights of this cron expression, and two hours. */
export function oldestMs(nightly: string, zone: string, now: Date): number {
  let longestMs = 0;
  let at = nextTime(nightly, zone, now);
  for (let night = 1; night < NIGHTS_LOOKED_AT; night += 1) {
    const next = nextTime(nightly, zone, at);
    longestMs = Math.max(longestMs, next.getTime() - at.getTime());
    at = next;
  }
  return longestMs + LATE_AFTER_MS;
}

export interface Missed {
  readonly merchants: readonly string[];
  /** The end of the good reading that is longest ago; null if nothing was missed. */
  readonly lastGoodAt: Date | null;
}

/**
 * The merchants whose last good reading ended longer ago than that. One that was never read well is none of them: its
 * runs have failed, which is told.
 */
export async function missedNights(
  db: Kysely<DB>,
  merchants: readonly string[],
  { now, maxAgeMs }: { readonly now: Date; readonly maxAgeMs: number },
): Promise<Missed> {
  const late: { readonly merchantNo: string; readonly at: Date }[] = [];
  for (const some of inParts(merchants)) {
    const { rows } = await sql<{ merchantNo: string; at: Date }>`
      SELECT last.merchant_no AS "merchantNo", last.finished_at AS at
      FROM unnest(${arrayLiteral(some)}::text[]) AS asked (merchant_no) CROSS JOIN LATERAL (
        SELECT own.merchant_no, own.finished_at FROM run_merchant own
        WHERE own.merchant_no = asked.merchant_no AND own.reads AND own.exit_code IN (0, 3)
        ORDER BY own.run_id DESC LIMIT 1
      ) AS last
      WHERE last.finished_at < ${new Date(now.getTime() - maxAgeMs)}
      ORDER BY 1`.execute(db);
    late.push(...rows);
  }
  const oldest = late.reduce((least, { at }) => Math.min(least, at.getTime()), Infinity);
  return {
    merchants: late.map(({ merchantNo }) => merchantNo),
    lastGoodAt: late.length === 0 ? null : new Date(oldest),
  };
}
