/** Stores how a run ended for each of its merchants. */
import { sql, type Kysely, type Transaction } from 'kysely';
import { storableText } from '../ledger/text.ts';
import { ofMerchants } from './account-filter.ts';
import { arrayLiteral } from './engine/array-literal.ts';
import type { DB, JsonObject } from './engine/schema.ts';

/** The end of one merchant's part of a run. */
export interface MerchantEndRow {
  readonly merchantNo: string;
  readonly exitCode: number;
  /** Whether the merchant's ledger was read. */
  readonly reads: boolean;
  readonly figures: object;
}

/** Records ends, all in one statement. An end that is recorded already is replaced. */
export async function recordMerchantEnds(
  trx: Transaction<DB>,
  ends: readonly MerchantEndRow[],
  run: { readonly runId: number; readonly holder: string; readonly now: Date },
): Promise<void> {
  if (ends.length === 0) return;
  const column = (value: (end: MerchantEndRow) => string | number) => arrayLiteral(ends.map(value));
  await sql`
    INSERT INTO run_merchant (merchant_no, run_id, state, exit_code, reads, holder, figures, finished_at)
    SELECT ended.merchant_no, ${run.runId}::bigint, 'ended', ended.exit_code, ended.reads, ${run.holder}, ended.figures,
      ${run.now}::timestamptz
    FROM unnest(
      ${column(({ merchantNo }) => merchantNo)}::text[], ${column(({ exitCode }) => exitCode)}::integer[],
      ${column(({ reads }) => String(reads))}::boolean[], ${column(({ figures }) => storableJson(figures))}::jsonb[]
    ) AS ended (merchant_no, exit_code, reads, figures)
    ON CONFLICT (merchant_no, run_id) DO UPDATE
      SET state = excluded.state, exit_code = excluded.exit_code, reads = excluded.reads, holder = excluded.holder,
        figures = excluded.figures, finished_at = excluded.finished_at`.execute(trx);
}

/** JSON without characters that cannot be stored. */
export const storableJson = (figures: object): string =>
  JSON.stringify(figures, (_, value: unknown) => (typeof value === 'string' ? storableText(value) : value));

/** The merchants for which a run of this slot has ended well. */
export async function merchantsDoneInSlot(
  db: Kysely<DB>,
  job: string,
  slot: string,
): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('run_merchant')
    .innerJoin('run', 'run.id', 'run_merchant.run_id')
    .select('merchant_no')
    .distinct()
    .where('run.slot', '=', slot)
    .where('run.command', '=', job)
    .where('run_merchant.exit_code', 'in', [0, 3])
    .execute();
  return new Set(rows.map((row) => row.merchant_no));
}

/** How many of these merchants' ledgers each of the runs has read. Runs that read none of them are left out. */
export async function countRead(
  db: Kysely<DB>,
  runs: readonly number[],
  merchants: readonly string[],
): Promise<ReadonlyMap<number, number>> {
  if (runs.length === 0) return new Map();
  const rows = await db
    .selectFrom('run_merchant')
    .select(['run_id', (eb) => eb.fn.countAll<number>().as('count')])
    .where(ofMerchants(merchants))
    .where('run_id', '=', sql<number>`ANY (${[...runs]}::bigint[])`)
    .where('reads', '=', true)
    .groupBy('run_id')
    .execute();
  return new Map(rows.map((row) => [row.run_id, row.count]));
}

/** How a run ended for one of its merchants. */
export interface MerchantEnd {
  readonly merchantNo: string;
  readonly state: 'waiting' | 'ended';
  readonly exitCode: number | null;
  readonly holder: string | null;
  readonly figures: JsonObject;
  readonly finishedAt: Date | null;
}

/** How a run ended for its merchants, in order of merchants. `notWell`: only those not done or not done well. */
export async function merchantEnds(
  db: Kysely<DB>,
  runId: number,
  { notWell = false, limit }: { readonly notWell?: boolean; readonly limit?: number } = {},
): Promise<MerchantEnd[]> {
  const rows = await db
    .selectFrom('run_merchant')
    .select([
      'merchant_no as merchantNo',
      'state',
      'exit_code as exitCode',
      'holder',
      'figures',
      'finished_at as finishedAt',
    ])
    .where('run_id', '=', runId)
    .$if(notWell, (query) => query.where(sql<boolean>`exit_code IS DISTINCT FROM 0`))
    .orderBy('merchant_no')
    .$if(limit !== undefined, (query) => query.limit(limit!))
    .execute();
  return rows as MerchantEnd[];
}

/** How the run ended for this merchant; undefined if it is none of the run's. */
export async function merchantEnd(
  db: Kysely<DB>,
  runId: number,
  merchantNo: string,
): Promise<Pick<MerchantEnd, 'state' | 'exitCode'> | undefined> {
  const row = await db
    .selectFrom('run_merchant')
    .select(['state', 'exit_code as exitCode'])
    .where('run_id', '=', runId)
    .where('merchant_no', '=', merchantNo)
    .executeTakeFirst();
  return row as Pick<MerchantEnd, 'state' | 'exitCode'> | undefined;
}

/** How many merchants the run is not done for, and the first few of them. */
export async function undoneInRun(
  db: Kysely<DB>,
  runId: number,
): Promise<{ readonly count: number; readonly merchants: readonly string[] }> {
  const { rows } = await sql<{ merchantNo: string; count: number }>`
    SELECT merchant_no AS "merchantNo", count(*) OVER () AS count FROM run_merchant
    WHERE run_id = ${runId} AND state = 'ended' AND exit_code NOT IN (0, 3)
    ORDER BY merchant_no LIMIT 5`.execute(db);
  return { count: rows[0]?.count ?? 0, merchants: rows.map(({ merchantNo }) => merchantNo) };
}
