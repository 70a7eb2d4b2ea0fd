/** Reads a merchant's manifests with their places in its chain, and takes some out of it. */
import type { Kysely, Transaction } from 'kysely';
import { sql } from 'kysely';
import type { BusinessDay } from '../../ledger/entry.ts';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { DB } from '../engine/schema.ts';

/** Rows that are read together. Each has the text of a manifest. */
const READ_TOGETHER = 200;

export interface ChainRow {
  readonly day: BusinessDay;
  readonly sha256: string;
  /** Null for one that is not in the chain. */
  readonly place: number | null;
  readonly content: string;
}

/** By day. */
export async function* manifestRows(db: Kysely<DB>, merchantNo: string): AsyncGenerator<ChainRow> {
  for (let after: BusinessDay | null = null; ;) {
    let query = db
      .selectFrom('statement_manifest')
      .select(['day', 'sha256', 'place', 'content'])
      .where('merchant_no', '=', merchantNo)
      .orderBy('day')
      .limit(READ_TOGETHER);
    if (after !== null) query = query.where('day', '>', after);
    const rows: ChainRow[] = await query.execute();
    yield* rows;
    if (rows.length < READ_TOGETHER) return;
    after = rows.at(-1)!.day;
  }
}

/** Their texts stay, with the places that they name. */
export const takeOutOfChain = (trx: Transaction<DB>, merchantNo: string, days: readonly BusinessDay[]) =>
  trx
    .updateTable('statement_manifest')
    .set({ place: null })
    .where('merchant_no', '=', merchantNo)
    .where('day', '=', sql<string>`ANY (${arrayLiteral(days)}::date[])`)
    .execute();
