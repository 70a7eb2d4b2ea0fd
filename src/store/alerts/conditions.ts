/** Lasting trouble: decides, under the row's lock, whether an alert is due. */
import { sql, type Kysely } from 'kysely';
import { arrayLiteral } from '../engine/array-literal.ts';
import { DATABASE_NOW, inMs } from '../engine/lease.ts';
import type { DB } from '../engine/schema.ts';

/** Lasting trouble is repeated after this time. */
const REMIND_AFTER_MS = 24 * 3_600_000;

export interface Condition {
  readonly name: string;
  /** Higher is graver. */
  readonly grade: number;
  /** How many it is about, such as merchants. */
  readonly count: number;
}

/**
 * Records this trouble. Returns since when if an alert is due, else null. An alert is due when it begins; when it gets
 * more severe, or at least twice as many; and once a day. Of several processes that see it, one raises the alert.
 */
export async function noteCondition(
  trx: Kysely<DB>,
  { name, grade, count }: Condition,
  now: Date,
): Promise<Date | null> {
  const { rows } = await sql<{ since: Date }>`
    INSERT INTO alert_condition AS known (name, since, reported_at, grade, count)
    VALUES (${name}, ${now}, ${now}, ${grade}, ${count})
    ON CONFLICT (name) DO UPDATE
      SET reported_at = excluded.reported_at, grade = greatest(known.grade, excluded.grade),
        count = greatest(known.count, excluded.count)
      WHERE excluded.grade > known.grade OR excluded.count >= 2 * greatest(known.count, 1)
        OR known.reported_at <= ${new Date(now.getTime() - REMIND_AFTER_MS)}
    RETURNING since`.execute(trx);
  return rows[0]?.since ?? null;
}

/** Records that a process sees this trouble now, if it was reported. */
export async function noteSeen(db: Kysely<DB>, name: string, now: Date): Promise<void> {
  await db.updateTable('alert_condition').set({ seen_at: now }).where('name', '=', name).execute();
}

/** Crosses off trouble that no process has seen since. */
export async function endUnseen(db: Kysely<DB>, name: string, since: Date): Promise<void> {
  await sql`
    DELETE FROM alert_condition WHERE name = ${name} AND coalesce(seen_at, reported_at) <= ${since}`.execute(
    db,
  );
}

/** What the watchdog checks and no run reports. */
export type WatchdogCheck = 'nights' | 'runs';

/** Whether this process is to check now: no other one began to within `everyMs`, by the database's clock. */
export async function claimWatchdogCheck(
  db: Kysely<DB>,
  what: WatchdogCheck,
  everyMs: number,
): Promise<boolean> {
  const checkedAt = sql.ref(`${what}_checked_at`);
  const { rows } = await sql`
    UPDATE installation SET ${checkedAt} = ${DATABASE_NOW} WHERE ${checkedAt} <= ${inMs(-everyMs)} RETURNING 1`.execute(
    db,
  );
  return rows.length > 0;
}

/** Records that these are over. Returns the start of the longest one; null if there was none. */
export async function endConditions(trx: Kysely<DB>, names: readonly string[]): Promise<Date | null> {
  const { rows } = await sql<{ since: Date }>`
    DELETE FROM alert_condition WHERE name = ANY (${arrayLiteral(names)}::text[]) RETURNING since`.execute(
    trx,
  );
  const times = rows.map(({ since }) => since.getTime());
  return times.length === 0 ? null : new Date(Math.min(...times));
}
