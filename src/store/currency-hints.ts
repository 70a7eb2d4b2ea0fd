/** Entries that stand in one currency of a merchant and fit exactly where another one breaks. */
import { sql, type Transaction } from 'kysely';
import { plain } from '../ledger/break-patterns.ts';
import type { Account } from '../ledger/entry.ts';
import type { HintedRow, Hints } from './break-hints.ts';
import type { DB } from './schema.ts';

/** Breaks of a merchant's other accounts looked at, and pairs whose entries are: beyond, something else is the matter. */
const OTHER_BREAKS_MAX = 10_000;
const PAIRS_MAX = 1_000;

interface OwnedRow extends HintedRow {
  readonly currency: string;
}

/** A break where something is missing, and one of another account into an entry that starts from the same balance. */
interface Pair {
  readonly gap: OwnedRow;
  readonly into: OwnedRow;
}

/** Hints of the account's breaks, `own`, and of its merchant's others that have one cause with them. */
export async function hintsAcrossCurrencies(
  trx: Transaction<DB>,
  account: Account,
  own: readonly HintedRow[],
): Promise<{ readonly hints: Hints; readonly rows: readonly HintedRow[] }> {
  const rows = await breaksOfOthers(trx, account);
  const hints: Hints = new Map();
  if (rows.length === 0) return { hints, rows };
  const mine = own.map((row) => ({ ...row, currency: account.currency }));
  const pairs = [...pairsOf(mine, rows), ...pairsOf(rows, mine)].slice(0, PAIRS_MAX);
  const entries = await entriesBehind(trx, account.merchantNo, pairs);
  const behind = new Map([...mine, ...rows].map((row) => [row.after_batch_no, row]));
  for (const { gap, into } of pairs) {
    const entry = entries.get(into.before_batch_no);
    if (entry?.currency !== into.currency || plain(entry.balance) !== plain(gap.found_balance)) continue;
    if (entry.booked_ms < gap.begin_ms || entry.booked_ms > gap.end_ms) continue;
    const out = behind.get(entry.batch_no);
    for (const { id } of out === undefined ? [gap, into] : [gap, into, out]) {
      hints.set(id, { hint: 'in-another-currency', hintBatchNo: entry.batch_no });
    }
  }
  // What was told of a pair before, and is one no more.
  for (const { id, hint } of rows) {
    if (hint === 'in-another-currency' && !hints.has(id))
      hints.set(id, { hint: 'unexplained', hintBatchNo: null });
  }
  return { hints, rows };
}

function pairsOf(gaps: readonly OwnedRow[], others: readonly OwnedRow[]): Pair[] {
  const starting = Map.groupBy(others, ({ found_balance: balance }) => plain(balance));
  return gaps.flatMap((gap) =>
    (starting.get(plain(gap.expected_balance)) ?? []).map((into) => ({ gap, into })),
  );
}

const breaksOfOthers = (trx: Transaction<DB>, { merchantNo, currency }: Account): Promise<OwnedRow[]> =>
  trx
    .selectFrom('continuity_break')
    .selectAll()
    .where('merchant_no', '=', merchantNo)
    .where('currency', '<>', currency)
    .where('status', '<>', 'healed')
    .orderBy('id', 'desc')
    .limit(OTHER_BREAKS_MAX)
    .execute();

async function entriesBehind(trx: Transaction<DB>, merchantNo: string, pairs: readonly Pair[]) {
  const batchNos = [...new Set(pairs.map(({ into }) => into.before_batch_no))];
  if (batchNos.length === 0) return new Map<string, never>();
  const rows = await trx
    .selectFrom('ledger_entry')
    .select(['batch_no', 'currency', 'balance', 'booked_ms'])
    .where('merchant_no', '=', merchantNo)
    .where('batch_no', '=', sql<string>`ANY (${batchNos}::text[])`)
    .where('vanished_at', 'is', null)
    .execute();
  return new Map(rows.map((row) => [row.batch_no, row]));
}
