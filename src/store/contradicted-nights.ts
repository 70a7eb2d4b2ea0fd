/** For how many nights in a row the platform contradicted itself about a merchant's ledger. */
import { sql, type Kysely } from 'kysely';
import type { DB } from './engine/schema.ts';

/** More nights are not counted. */
const NIGHTS_MAX = 30;

/**
 * Nights before this run, by the calendar of the zone; the run's own is left out. Goes along task_of_run, from the
 * newest run.
 */
export async function contradictedNightsBefore(
  db: Kysely<DB>,
  { merchantNo, runId, zone }: { readonly merchantNo: string; readonly runId: number; readonly zone: string },
): Promise<number> {
  const { rows } = await sql<{ readonly is: boolean }>`
    WITH own AS (SELECT (started_at AT TIME ZONE ${zone})::date AS night FROM run WHERE id = ${runId}),
    recent AS (
      SELECT (run.started_at AT TIME ZONE ${zone})::date AS night, coalesce((m.figures->>'contradictions')::int, 0) AS count
      FROM task AS m JOIN run ON run.id = m.run_id
      WHERE m.kind = 'run' AND m.merchant_no = ${merchantNo} AND m.run_id < ${runId} AND m.reads AND run.is_night IS NOT FALSE
      ORDER BY m.run_id DESC LIMIT ${NIGHTS_MAX}
    )
    SELECT max(count) > 0 AS is FROM recent, own WHERE recent.night < own.night
    GROUP BY recent.night ORDER BY recent.night DESC`.execute(db);
  const steady = rows.findIndex(({ is }) => !is);
  return steady === -1 ? rows.length : steady;
}
