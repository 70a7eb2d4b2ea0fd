/** The hints of stored breaks, which depend on every break of the account and on the entries beside each. */
import { sql, type Kysely, type Transaction } from 'kysely';
import type { Chosen } from '../../ledger/account-filter.ts';
import { explainTogether, type Explanation } from '../../ledger/chain/break-patterns.ts';
import { isAmountsSwapped, neighbourHint } from '../../ledger/chain/hints.ts';
import type { QuarantinedReader } from '../../ledger/chain/quarantined-entries.ts';
import { ofMerchants } from '../account-filter.ts';
import { lastClosing } from '../account-days.ts';
import { arrayLiteral } from '../engine/array-literal.ts';
import { hintsAcrossCurrencies } from './currency-hints.ts';
import { hintsOfQuarantine } from './quarantine-hints.ts';
import type { DB } from '../engine/schema.ts';

/** Breaks of a merchant looked at for hints; one with more is past being explained by hints. */
const HINTED_BREAKS_MAX = 10_000;

/** What hints look at of a stored break. */
export interface HintedRow {
  readonly id: number;
  readonly currency: string;
  readonly after_batch_no: string | null;
  readonly before_batch_no: string;
  readonly expected_balance: string;
  readonly found_balance: string;
  readonly missing_net: string;
  readonly begin_ms: number;
  readonly end_ms: number;
  readonly hint: string;
  readonly hint_batch_no: string | null;
}

/** Hints by the break's id. */
export type Hints = Map<number, Explanation>;

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
 * The hints of a merchant's breaks that are to change: first of those that an entry in quarantine explains; then of breaks
 * that have one cause together, over all days of an account and against the merchant's other accounts (an entry shown a
 * day late, or in another currency); of the others, by the entries beside them. They rest on nothing but what is stored now, so that the same breaks get the same hints, in
 * whatever order they were found.
 */
export async function hintsToChange(
  db: Kysely<DB>,
  merchantNo: string,
  minorUnitsOf: (currency: string) => number | null,
  readQuarantined: QuarantinedReader = () => ({ currency: null, nets: [] }),
): Promise<Hints> {
  const rows = await rowsOfMerchant(db, merchantNo);
  const hints: Hints = new Map();
  const quarantine = await hintsOfQuarantine(db, merchantNo, rows, readQuarantined);
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
    const known = indexed(own, quarantine.explained);
    for (const [index, explanation] of explainTogether(figures, { minorUnits, closing, known }))
      hints.set(own[index]!.id, explanation);
    await addByNeighbours(db, { rows: own, hints, minorUnits });
  }
  const others = rows.filter(({ id }) => !quarantine.explained.has(id));
  for (const [id, explanation] of await hintsAcrossCurrencies(db, merchantNo, others))
    hints.set(id, explanation);
  for (const [id, explanation] of quarantine.perhaps)
    if (MISSING_ENTRY_HINTS.includes(hints.get(id)!.hint)) hints.set(id, explanation);
  const isOther = ({ id, hint, hint_batch_no: batchNo }: HintedRow): boolean => {
    const found = hints.get(id);
    return found !== undefined && (found.hint !== hint || found.hintBatchNo !== batchNo);
  };
  return new Map(rows.filter(isOther).map(({ id }) => [id, hints.get(id)!]));
}

/** Hints that speak of an entry that did not come: one that came, and could not be read, is likelier. */
const MISSING_ENTRY_HINTS: readonly Explanation['hint'][] = ['unexplained', 'amount-off'];

/** Hints of an account's breaks by their place among them. */
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

/** Adds what only the amounts beside a break tell. */
async function addByNeighbours(
  db: Kysely<DB>,
  at: { readonly rows: readonly HintedRow[]; readonly hints: Hints; readonly minorUnits: number | null },
): Promise<void> {
  const { hints, minorUnits } = at;
  const asked = at.rows.filter(({ id }) => (hints.get(id)?.hint ?? 'balance-off') === 'balance-off');
  const nets = await netsBeside(
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
  // Two amounts that are swapped look like one balance that is off, but for the amounts.
  for (const { id } of asked) {
    const known = hints.get(id)!;
    if (known.hint === 'balance-off' && swapped.has(known.hintBatchNo)) {
      hints.set(id, { ...known, hint: 'amounts-swapped' });
    }
  }
}

/** By id of the break, the signed amounts of the entries on both sides of it. */
async function netsBeside(db: Kysely<DB>, ids: readonly number[]) {
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

/** Writes hints; one statement for all of them. */
export async function writeHints(trx: Transaction<DB>, hints: Hints): Promise<void> {
  const rows = [...hints];
  await sql`
    UPDATE continuity_break b SET hint = sent.hint, hint_batch_no = sent.batch_no
    FROM unnest(
      ${arrayLiteral(rows.map(([id]) => id))}::bigint[],
      ${arrayLiteral(rows.map(([, { hint }]) => hint))}::text[],
      ${arrayLiteral(rows.map(([, { hintBatchNo }]) => hintBatchNo))}::text[]
    ) AS sent (id, hint, batch_no)
    WHERE b.id = sent.id`.execute(trx);
}

/** Gives breaks just found the hints that were written since. */
export async function withHints<Row extends { readonly id: number }>(
  db: Pick<Transaction<DB>, 'selectFrom'>,
  rows: readonly Row[],
): Promise<Row[]> {
  if (rows.length === 0) return [];
  const stored = await db
    .selectFrom('continuity_break')
    .select(['id', 'hint', 'hint_batch_no'])
    .where('id', '=', sql<number>`ANY (${rows.map(({ id }) => id)}::bigint[])`)
    .execute();
  const byId = new Map(stored.map((row) => [row.id, row]));
  return rows.map((row) => ({ ...row, ...byId.get(row.id) }));
}
