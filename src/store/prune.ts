/**
 * What may be deleted once it is old: records of work that is over, and results of the platform whose paths are closed.
 * Nothing here is needed to prove, publish, repair or verify a day, however old the day is.
 */
import { sql, type RawBuilder } from 'kysely';
import { isPathClosed } from './notify-path.ts';
import { type Db, rowsOf } from './engine/database.ts';

/** What `before` has to be older than: paths of results live 30 days, and `status` reads back as far. */
export const PRUNE_KEEPS_DAYS = 90;

interface Prunable {
  readonly what: string;
  readonly table: 'alert' | 'event' | 'notification' | 'quarantined_entry' | 'request' | 'run_merchant';
  /** Which rows of the table, named `old`, may go. */
  readonly rows: (asked: PruneAsked) => RawBuilder<boolean>;
}

interface PruneAsked {
  readonly before: Date;
  readonly now: Date;
}

export interface Pruned extends Pick<Prunable, 'what' | 'table'> {
  readonly rows: number;
}

/** Runs whose ends of single merchants may go. The last run of each job is not among them. */
const endedRuns = ({ before }: PruneAsked): RawBuilder<unknown> => sql`
  SELECT run.id FROM run
  WHERE run.finished_at < ${before}
    AND EXISTS (SELECT FROM run later WHERE later.command = run.command AND later.id > run.id)`;

const MERCHANT_ENDS: Prunable = {
  what: 'how runs ended for each merchant, but for each merchant’s last good reading and each job’s last run',
  table: 'run_merchant',
  rows: (asked) => sql<boolean>`
    old.finished_at < ${asked.before} AND old.run_id IN (${endedRuns(asked)})
      AND EXISTS (SELECT FROM run_merchant later WHERE later.merchant_no = old.merchant_no
        AND later.run_id > old.run_id AND later.reads AND later.exit_code IN (0, 3))`,
};

/** In the order in which they are deleted: what refers to others first. */
const PRUNABLE: readonly Prunable[] = [
  MERCHANT_ENDS,
  {
    what: 'requests for days that are done or given up',
    table: 'request',
    rows: ({ before }) => sql<boolean>`old.finished_at < ${before}`,
  },
  {
    // An acknowledged one stays, with the note: where the platform sends it again, no one has to check it again.
    what: 'unreadable entries that the platform no longer sends, without acknowledgement',
    table: 'quarantined_entry',
    rows: ({ before }) => sql<boolean>`old.released_at < ${before} AND old.acknowledged_at IS NULL`,
  },
  {
    what: 'results that the platform pushed, dealt with, whose path is closed',
    table: 'notification',
    rows: ({ before, now }) => sql<boolean>`
      coalesce(old.resolved_at, old.processed_at) < ${before}
        AND (old.outcome IN ('applied', 'duplicate', 'unknown') OR old.resolved_at IS NOT NULL)
        AND ${isPathClosed(now)}`,
  },
  {
    what: 'alerts that no target waits for, with what became of them',
    table: 'alert',
    rows: ({ before }) => sql<boolean>`old.raised_at < ${before}
      AND NOT EXISTS (SELECT FROM alert_delivery WHERE alert_id = old.id AND state = 'waiting')`,
  },
  {
    // Late first statements are listed on the pages, and findings keep their days from being reported again.
    what: 'what was reported of breaks that are closed, of revised days and of changed entries',
    table: 'event',
    rows: ({ before }) => sql<boolean>`old.reported_at < ${before} AND (
      old.kind IN ('amendment', 'change') OR (old.kind = 'revision' AND old.subject NOT LIKE '% r1')
        OR (old.kind = 'new-break' AND old.subject NOT IN (SELECT id::text FROM continuity_break WHERE status = 'open')))`,
  },
];

export async function prunableRows(db: Db, asked: PruneAsked): Promise<Pruned[]> {
  const counts: Pruned[] = [];
  for (const { what, table, rows } of PRUNABLE) {
    const found = await rowsOf(db)<{ count: number }>`
      SELECT count(*) AS count FROM ${sql.table(table)} AS old WHERE ${rows(asked)}`;
    counts.push({ what, table, rows: found[0]!.count });
  }
  return counts;
}

/**
 * Deletes it, each kind in transactions of its own, so that runs next to it never wait for long. Stopped and started
 * again, it goes on where it was.
 */
export async function pruneRows(db: Db, asked: PruneAsked): Promise<Pruned[]> {
  const gone: Pruned[] = [];
  for (const prunable of PRUNABLE) {
    const { what, table } = prunable;
    const rows =
      prunable === MERCHANT_ENDS ? await pruneMerchantEnds(db, asked) : await pruned(db, prunable, asked);
    gone.push({ what, table, rows });
  }
  return gone;
}

async function pruned(
  db: Db,
  { table, rows }: Prunable,
  asked: PruneAsked,
  only: RawBuilder<boolean> = sql<boolean>`true`,
): Promise<number> {
  const { numAffectedRows } = await sql`
    DELETE FROM ${sql.table(table)} AS old WHERE ${only} AND ${rows(asked)}`.execute(db);
  return Number(numAffectedRows ?? 0n);
}

/** Run by run: there is a row for each merchant of each run, so that all together may be millions. */
async function pruneMerchantEnds(db: Db, asked: PruneAsked): Promise<number> {
  const runs = await rowsOf(db)<{ id: number }>`
    SELECT id FROM (${endedRuns(asked)}) AS ended
    WHERE EXISTS (SELECT FROM run_merchant WHERE run_id = ended.id) ORDER BY id`;
  let rows = 0;
  for (const { id } of runs) {
    rows += await pruned(db, MERCHANT_ENDS, asked, sql<boolean>`old.run_id = ${id}`);
  }
  return rows;
}
