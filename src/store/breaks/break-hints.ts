/**
 * Works out the hints of stored breaks. A hint depends on all breaks of the merchant and on the entries next to each.
 */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { Chosen } from '../../ledger/account-filter.ts';
import { explainTogether } from '../../ledger/chain/break-patterns.ts';
import type { Explanation } from '../../ledger/chain/break-scene.ts';
import { isAmountsSwapped, neighbourHint } from '../../ledger/chain/hints.ts';
import type { QuarantinedReader } from '../../ledger/chain/quarantined-entries.ts';
import { ofMerchants } from '../account-filter.ts';
import { lastClosing } from '../account-days.ts';
import { arrayLiteral } from '../engine/array-literal.ts';
import { hintsAcrossCurrencies } from './currency-hints.ts';
import type { HintedRow, Hints } from './hinted-row.ts';
import { hintsOfEvidence, joinLeft } from './evidence-hints.ts';
import type { DB } from '../engine/schema.ts';

/** Most breaks of a merchant that are checked for hints. Where there are more, hints no longer help. */
const HINTED_BREAKS_MAX = 10_000;

/** Of these merchants, those with a break that has not healed, in order. */
export async function merchantsWithBreaks(db: Kysely<DB>, merchants: Chosen): Promise<string[]> {
  const rows = await db
    .selectFrom('continuity_break')
    .select('merchant_no')
    .distinct()
    .where('status', '<>', 'healed')
    .where(ofMerchants(merchants))
    .orderBy('merchant_no')
    .execute();
  return rows.map((row) => row.merchant_no);
}

/**
 * Works out the hints of all breaks of a merchant, and returns those that differ from the stored ones. In this order:
 *
 * - Breaks that known changes explain: an entry vanished, was amended, or came and cannot be read.
 * - Breaks with one common cause, over all days of an account: an entry that is shown a day late makes two breaks.
 * - The others, by the amounts of the entries next to them.
 * - Breaks whose entry lies in another currency of the merchant.
 *
 * Hints depend only on what is stored now. So the same breaks get the same hints, in whatever order they were found.
 */
export async function hintsToChange(
  db: Kysely<DB>,
  merchantNo: string,
  minorUnitsOf: (currency: string) => number | null,
  readQuarantined: QuarantinedReader = () => ({ currency: null, nets: [] }),
): Promise<Hints> {
  const rows = await rowsOfMerchant(db, merchantNo);
  const hints: Hints = new Map();
  const evidence = await hintsOfEvidence(db, merchantNo, rows, readQuarantined);
  for (const [currency, own] of Map.groupBy(rows, (row) => row.currency)) {
    const minorUnits = minorUnitsOf(currency);
    const figures = own.map((row) => ({
      afterBatchNo: row.after_batch_no,
      beforeBatchNo: row.before_batch_no,
      expectedBalance: row.expected_balance,
      foundBalance: row.found_balance,
      missingNet: row.missing_net,
    }));
    const closing = await lastClosing(db, { merchantNo, currency });
    const known = indexed(own, evidence.explained);
    for (const [index, explanation] of explainTogether(figures, { minorUnits, closing, known }))
      hints.set(own[index]!.id, explanation);
    await addByNeighbours(db, { rows: own, hints, minorUnits });
  }
  const others = rows.filter(({ id }) => !evidence.explained.has(id));
  for (const [id, explanation] of await hintsAcrossCurrencies(db, merchantNo, others))
    hints.set(id, explanation);
  joinLeft(rows, hints, evidence.left);
  for (const [id, explanation] of evidence.perhaps)
    if (MISSING_ENTRY_HINTS.includes(hints.get(id)!.hint)) hints.set(id, explanation);
  const isOther = ({ id, hint, hint_batch_no: batchNo }: HintedRow): boolean => {
    const found = hints.get(id);
    return found !== undefined && (found.hint !== hint || found.hintBatchNo !== batchNo);
  };
  return new Map(rows.filter(isOther).map(({ id }) => [id, hints.get(id)!]));
}

/** Hints that say an entry never came. A known change in the span of the break is the likelier cause. */
const MISSING_ENTRY_HINTS: readonly Explanation['hint'][] = ['unexplained', 'amount-off'];

/** The hints of an account's breaks, by the position of each break in `own`. */
const indexed = (own: readonly HintedRow[], hints: Hints): ReadonlyMap<number, Explanation> =>
  new Map(own.flatMap(({ id }, index) => (hints.has(id) ? [[index, hints.get(id)!] as const] : [])));

const rowsOfMerchant = (db: Kysely<DB>, merchantNo: string): Promise<HintedRow[]> =>
  db
    .selectFrom('continuity_break')
    .select([
      'id',
      'currency',
      'after_batch_no',
      'before_batch_no',
      'expected_balance',
      'found_balance',
      'missing_net',
      'begin_ms',
      'end_ms',
      'hint',
      'hint_batch_no',
    ])
    .where('merchant_no', '=', merchantNo)
    .where('status', '<>', 'healed')
    .orderBy('currency')
    .orderBy('begin_ms')
    .orderBy('end_ms')
    .orderBy('before_batch_no')
    .limit(HINTED_BREAKS_MAX)
    .execute();

/** Adds the hints that only the amounts of the entries next to a break can give. */
async function addByNeighbours(
  db: Kysely<DB>,
  at: { readonly rows: readonly HintedRow[]; readonly hints: Hints; readonly minorUnits: number | null },
): Promise<void> {
  const { hints, minorUnits } = at;
  const asked = at.rows.filter(({ id }) => (hints.get(id)?.hint ?? 'balance-off') === 'balance-off');
  const nets = await netsAround(
    db,
    asked.map(({ id }) => id),
  );
  const swapped = new Set<string | null>();
  for (const row of asked) {
    const { before, after } = nets.get(row.id)!;
    const known = hints.get(row.id);
    if (known === undefined) {
      const earlier = { net: before, batchNo: row.after_batch_no };
      const later = { net: after, batchNo: row.before_batch_no };
      hints.set(row.id, neighbourHint(row.missing_net, earlier, later, minorUnits));
    } else if (known.hintBatchNo === row.after_batch_no && isAmountsSwapped(row.missing_net, before, after)) {
      swapped.add(known.hintBatchNo);
    }
  }
  // Two entries whose amounts are swapped leave the same breaks as one wrong balance. Only the amounts show the
  // difference.
  for (const { id } of asked) {
    const known = hints.get(id)!;
    if (known.hint === 'balance-off' && swapped.has(known.hintBatchNo)) {
      hints.set(id, { ...known, hint: 'amounts-swapped' });
    }
  }
}

/** For each break, by its id, the signed amounts of the entry before it and of the entry after it. */
async function netsAround(db: Kysely<DB>, ids: readonly number[]) {
  if (ids.length === 0) return new Map<number, { before: string | null; after: string | null }>();
  const net = (alias: string) =>
    sql<string | null>`coalesce(${sql.ref(`${alias}.credit`)}, -${sql.ref(`${alias}.debit`)})`;
  const rows = await db
    .selectFrom('continuity_break as b')
    .leftJoin('ledger_entry as earlier', (join) =>
      join
        .onRef('earlier.merchant_no', '=', 'b.merchant_no')
        .onRef('earlier.batch_no', '=', 'b.after_batch_no'),
    )
    .leftJoin('ledger_entry as later', (join) =>
      join.onRef('later.merchant_no', '=', 'b.merchant_no').onRef('later.batch_no', '=', 'b.before_batch_no'),
    )
    .select(['b.id', net('earlier').as('before'), net('later').as('after')])
    .where('b.id', '=', sql<number>`ANY (${ids}::bigint[])`)
    .execute();
  return new Map(rows.map(({ id, before, after }) => [id, { before, after }]));
}

/** Stores all hints of a merchant's breaks in one statement. */
export async function writeHints(trx: Transaction<DB>, merchantNo: string, hints: Hints): Promise<void> {
  const rows = [...hints];
  await sql`
    UPDATE continuity_break b SET hint = sent.hint, hint_batch_no = sent.batch_no
    FROM unnest(
      ${arrayLiteral(rows.map(([id]) => id))}::bigint[],
      ${arrayLiteral(rows.map(([, { hint }]) => hint))}::text[],
      ${arrayLiteral(rows.map(([, { hintBatchNo }]) => hintBatchNo))}::text[]
    ) AS sent (id, hint, batch_no)
    WHERE b.merchant_no = ${merchantNo} AND b.id = sent.id`.execute(trx);
}

/** Replaces the hints of `rows` by the stored ones, which may have been settled after the rows were read. */
export async function withHints<Row extends { readonly id: number; readonly merchant_no: string }>(
  db: Pick<Transaction<DB>, 'selectFrom'>,
  rows: readonly Row[],
): Promise<Row[]> {
  if (rows.length === 0) return [];
  const stored = await db
    .selectFrom('continuity_break')
    .select(['id', 'hint', 'hint_batch_no'])
    .where(ofMerchants([...new Set(rows.map((row) => row.merchant_no))]))
    .where('id', '=', sql<number>`ANY (${rows.map(({ id }) => id)}::bigint[])`)
    .execute();
  const byId = new Map(stored.map((row) => [row.id, row]));
  return rows.map((row) => ({ ...row, ...byId.get(row.id) }));
}
