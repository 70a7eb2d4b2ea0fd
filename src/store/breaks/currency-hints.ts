/**
 * Finds breaks whose entry was booked to another currency of the merchant: an entry there fits exactly where
 * something is missing here.
 */
import { sql, type Kysely } from 'kysely';
import { plain } from '../../ledger/chain/break-scene.ts';
import type { HintedRow, Hints } from './hinted-row.ts';
import type { DB } from '../engine/schema.ts';

/** Most pairs of breaks whose entries are checked. More pairs mean that something else is wrong. */
const PAIRS_MAX = 1_000;

/**
 * Two breaks of different accounts. At `gap` something is missing. The entry after `into` starts from the balance at
 * which `gap` begins, so it may be the missing one.
 */
interface Pair {
  readonly lacking: HintedRow;
  readonly into: HintedRow;
}

/** Hints for those of a merchant's breaks that an entry in another currency explains. */
export async function hintsAcrossCurrencies(
  db: Kysely<DB>,
  merchantNo: string,
  rows: readonly HintedRow[],
): Promise<Hints> {
  const hints = await hintsOfFirstEntries(db, merchantNo, rows);
  const pairs = pairsOf(rows);
  const entries = await entriesBehind(db, merchantNo, pairs);
  const behind = new Map(rows.map((row) => [row.after_batch_no, row]));
  for (const { lacking, into } of pairs) {
    const entry = entries.get(into.before_batch_no);
    if (entry?.currency !== into.currency || plain(entry.balance) !== plain(lacking.found_balance)) continue;
    if (entry.booked_ms < lacking.begin_ms || entry.booked_ms > lacking.end_ms) continue;
    const out = behind.get(entry.batch_no);
    for (const { id } of out === undefined ? [lacking, into] : [lacking, into, out]) {
      hints.set(id, { hint: 'in-another-currency', hintBatchNo: entry.batch_no });
    }
  }
  return hints;
}

/**
 * An account's first entry fits whatever balance it starts from, so no break is there. It belongs to another account if it
 * fits exactly at a break of that one.
 */
async function hintsOfFirstEntries(
  db: Kysely<DB>,
  merchantNo: string,
  rows: readonly HintedRow[],
): Promise<Hints> {
  if (rows.length === 0) return new Map();
  const { rows: entries } = await sql<FirstEntry>`
    SELECT first.* FROM (SELECT DISTINCT currency FROM account_day WHERE merchant_no = ${merchantNo}) AS account
    CROSS JOIN LATERAL (
      SELECT batch_no, currency, balance, balance - coalesce(credit, -debit) AS start, booked_ms FROM ledger_entry AS e
      WHERE e.merchant_no = ${merchantNo} AND e.currency = account.currency AND e.vanished_at IS NULL
      ORDER BY booked_ms, batch_no LIMIT 1
    ) AS first`.execute(db);
  const fits = (entry: FirstEntry, row: HintedRow): boolean =>
    entry.currency !== row.currency &&
    plain(entry.start) !== '0' &&
    plain(entry.start) === plain(row.expected_balance) &&
    plain(entry.balance) === plain(row.found_balance) &&
    entry.booked_ms >= row.begin_ms &&
    entry.booked_ms <= row.end_ms;
  return new Map(
    rows.flatMap((row) => {
      const entry = entries.find((one) => fits(one, row));
      if (entry === undefined) return [];
      return [[row.id, { hint: 'in-another-currency' as const, hintBatchNo: entry.batch_no }]];
    }),
  );
}

interface FirstEntry {
  readonly batch_no: string;
  readonly currency: string;
  readonly balance: string;
  readonly start: string;
  readonly booked_ms: number;
}

function pairsOf(rows: readonly HintedRow[]): Pair[] {
  const currencies = [...Map.groupBy(rows, ({ currency }) => currency)];
  const pairs: Pair[] = [];
  for (const [currency, intos] of currencies) {
    const starting = Map.groupBy(intos, ({ found_balance: balance }) => plain(balance));
    for (const lacking of rows.filter((row) => row.currency !== currency)) {
      for (const into of starting.get(plain(lacking.expected_balance)) ?? []) {
        pairs.push({ lacking, into });
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
