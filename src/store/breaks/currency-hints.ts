/**
 * Finds breaks whose entry was booked to another currency of the merchant: an entry there fits exactly where
 * something is missing here.
 */
import { sql, type Kysely } from 'kysely';
import { plain } from '../../ledger/chain/break-patterns.ts';
import type { HintedRow, Hints } from './hinted-row.ts';
import type { DB } from '../engine/schema.ts';

/** Most pairs of breaks whose entries are looked at. More pairs mean that something else is wrong. */
const PAIRS_MAX = 1_000;

/**
 * Two breaks of different accounts. At `gap` something is missing. The entry after `into` starts from the balance at
 * which `gap` begins, so it may be the missing one.
 */
interface Pair {
  readonly gap: HintedRow;
  readonly into: HintedRow;
}

/** Hints for those of a merchant's breaks that an entry in another currency explains. */
export async function hintsAcrossCurrencies(
  db: Kysely<DB>,
  merchantNo: string,
  rows: readonly HintedRow[],
): Promise<Hints> {
  const hints: Hints = new Map();
  const pairs = pairsOf(rows);
  const entries = await entriesBehind(db, merchantNo, pairs);
  const behind = new Map(rows.map((row) => [row.after_batch_no, row]));
  for (const { gap, into } of pairs) {
    const entry = entries.get(into.before_batch_no);
    if (entry?.currency !== into.currency || plain(entry.balance) !== plain(gap.found_balance)) continue;
    if (entry.booked_ms < gap.begin_ms || entry.booked_ms > gap.end_ms) continue;
    const out = behind.get(entry.batch_no);
    for (const { id } of out === undefined ? [gap, into] : [gap, into, out]) {
      hints.set(id, { hint: 'in-another-currency', hintBatchNo: entry.batch_no });
    }
  }
  return hints;
}

function pairsOf(rows: readonly HintedRow[]): Pair[] {
  const currencies = [...Map.groupBy(rows, ({ currency }) => currency)];
  const pairs: Pair[] = [];
  for (const [currency, intos] of currencies) {
    const starting = Map.groupBy(intos, ({ found_balance: balance }) => plain(balance));
    for (const gap of rows.filter((row) => row.currency !== currency)) {
      for (const into of starting.get(plain(gap.expected_balance)) ?? []) {
        pairs.push({ gap, into });
        if (pairs.length === PAIRS_MAX) return pairs;
      }
    }
  }
  return pairs;
}

async function entriesBehind(db: Kysely<DB>, merchantNo: string, pairs: readonly Pair[]) {
  const batchNos = [...new Set(pairs.map(({ into }) => into.before_batch_no))];
  if (batchNos.length === 0) return new Map<string, never>();
  const rows = await db
    .selectFrom('ledger_entry')
    .select(['batch_no', 'currency', 'balance', 'booked_ms'])
    .where('merchant_no', '=', merchantNo)
    .where('batch_no', '=', sql<string>`ANY (${batchNos}::text[])`)
    .where('vanished_at', 'is', null)
    .execute();
  return new Map(rows.map((row) => [row.batch_no, row]));
}
