/** Published statements that were replaced, or came late, and that no run has told yet, as the run may have been killed. */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { BusinessDay } from '../../ledger/entry.ts';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { DB } from '../engine/schema.ts';
import { SEEN_COLUMNS } from '../figures.ts';
import type { StatementRow } from './statements.ts';

/** A day that reads otherwise than it was proven before. */
export interface RevisedDay {
  readonly merchantNo: string;
  readonly currency: string;
  readonly day: BusinessDay;
  /** What was current before; null where the day had been read before and had held nothing. */
  readonly oldRevision: number | null;
  readonly revision: number;
  /** Entries in the one and in the other; 0 where there was no statement. */
  readonly oldRows: number;
  readonly rows: number;
  /** Entries, figures and verdict are the same: only where the opening was taken from is another. */
  readonly readsTheSame: boolean;
  /** What changed, as the manifest tells it; null for a day's first statement. */
  readonly reason: string | null;
  /** Of the run that published it. */
  readonly runId: number | null;
}

/** What a reader of a statement sees. */
const SAME = ['sha256', ...SEEN_COLUMNS] as const;
const sameColumn = (column: (typeof SAME)[number]) =>
  sql`${sql.ref(`old.${column}`)} = ${sql.ref(`last_one.${column}`)}`;

/** Notes revisions in the transaction that records them. */
export async function noteUntoldRevisions(
  trx: Transaction<DB>,
  rows: readonly Pick<StatementRow, 'merchant_no' | 'currency' | 'day' | 'revision'>[],
): Promise<void> {
  if (rows.length === 0) return;
  await trx
    .insertInto('untold_revision')
    .values(
      rows.map(({ merchant_no, currency, day, revision }) => ({ merchant_no, currency, day, revision })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** All that is still to be told of the merchants, by merchant, day and currency: each day once, whatever came in between. */
export async function untoldRevisions(db: Kysely<DB>, merchants: readonly string[]): Promise<RevisedDay[]> {
  if (merchants.length === 0) return [];
  const { rows } = await sql<RevisedDay>`
    WITH untold AS (
      SELECT merchant_no, currency, day, min(revision) AS first, max(revision) AS last
      FROM untold_revision WHERE merchant_no = ANY (${arrayLiteral(merchants)}::text[])
      GROUP BY merchant_no, currency, day
    )
    SELECT untold.merchant_no AS "merchantNo", untold.currency, untold.day, first_one.supersedes AS "oldRevision",
      untold.last AS revision, coalesce(old.row_count, 0) AS "oldRows", last_one.row_count AS rows, last_one.reason,
      last_one.run_id AS "runId", coalesce(${sql.join(SAME.map(sameColumn), sql` AND `)}, false) AS "readsTheSame"
    FROM untold
    JOIN statement AS first_one
      ON (first_one.merchant_no, first_one.currency, first_one.day, first_one.revision)
        = (untold.merchant_no, untold.currency, untold.day, untold.first)
    JOIN statement AS last_one
      ON (last_one.merchant_no, last_one.currency, last_one.day, last_one.revision)
        = (untold.merchant_no, untold.currency, untold.day, untold.last)
    LEFT JOIN statement AS old
      ON (old.merchant_no, old.currency, old.day, old.revision)
        = (untold.merchant_no, untold.currency, untold.day, first_one.supersedes)
    ORDER BY 1, 3, 2`.execute(db);
  return rows;
}

/** Forgets them once a run that tells them is on record. */
export async function forgetUntoldRevisions(
  trx: Transaction<DB>,
  merchants: readonly string[],
): Promise<void> {
  if (merchants.length === 0) return;
  await trx
    .deleteFrom('untold_revision')
    .where('merchant_no', 'in', [...merchants])
    .execute();
}
