/** Recognizes timestamps that lost their seconds from some time on. */

/** Fewer timestamps in a row may end on a complete minute by chance. */
const ROW_MIN = 8;
/** A row that is likelier than this, if the full minutes among all timestamps came in any order, proves nothing. */
const CHANCE_MAX = 1e-4;
/** Of more timestamps the newest ones are kept. */
const TIMES_MAX = 1_000;

export interface FullMinutes {
  readonly count: number;
  /** The first of them, as the platform writes it. */
  readonly from: string;
}

export interface TimesSeen {
  readonly add: (bookedAt: readonly string[]) => void;
  /** The newest timestamps, if they end in :00 and those before did not; else null. */
  readonly fullMinutes: () => FullMinutes | null;
}

export function createTimesSeen(): TimesSeen {
  let times = new Set<string>();
  return {
    add: (bookedAt) => {
      for (const one of bookedAt) times.add(one);
      if (times.size > 2 * TIMES_MAX) times = new Set([...times].sort().slice(-TIMES_MAX));
    },
    fullMinutes: () => fullMinutesIn([...times].sort()),
  };
}

/**
 * A ledger that books on full minutes now and then had many of them before, or long rows; one that books at fixed times has few
 * times of day. Entries of one second count once.
 */
function fullMinutesIn(times: readonly string[]): FullMinutes | null {
  const rows = [0];
  for (const time of times) {
    if (time.endsWith(':00')) rows.push(rows.pop()! + 1);
    else rows.push(0);
  }
  const count = rows.pop()!;
  const before = times.length - count;
  if (count < ROW_MIN || before < ROW_MIN || Math.max(...rows) > count / 2) return null;
  if (new Set(times.slice(before).map((time) => time.slice(-'00:00:00'.length))).size < ROW_MIN) return null;
  const full = rows.reduce((sum, row) => sum + row, count);
  let chance = 1;
  for (let nth = 0; nth < count; nth += 1) chance *= (full - nth) / (times.length - nth);
  if (chance > CHANCE_MAX) return null;
  return { count, from: times[before]! };
}
