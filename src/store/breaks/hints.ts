/**
 * Works out the hints of stored breaks. A hint depends on all breaks of the merchant and on the entries next to each.
 */
import { sql } from 'kysely';
import type { Chosen } from '../../ledger/account-filter.ts';
import { explainTogether, type Explanation, plain } from '../../ledger/hints/patterns.ts';
import {
  isAmountsSwapped,
  neighbourHint,
  explainedBy,
  explaining,
  perhapsBy,
  type Evidence,
  type QuarantinedReader,
  quarantinedIn,
  type Quarantined,
} from '../../ledger/hints/evidence.ts';
import { ofMerchants } from '../account-filter.ts';
import { lastClosing } from '../account-days.ts';
import { arrayLiteral, type Db, type Trx, rowsOf } from '../engine/database.ts';
import type { BreakRow } from './breaks.ts';
import { changedEntries, type ChangedEntry } from './changed-entries.ts';
import { entriesByNumber } from '../entries.ts';
import { unreadableWithin } from '../quarantine.ts';

/** Most breaks of a merchant that are checked for hints. Where there are more, hints no longer help. */
const HINTED_BREAKS_MAX = 10_000;

export async function merchantsWithBreaks(db: Db, merchants: Chosen): Promise<string[]> {
  const rows = await rowsOf(db)<{ merchantNo: string }>`
    SELECT DISTINCT merchant_no AS "merchantNo" FROM continuity_break
    WHERE status <> 'healed' AND ${ofMerchants(merchants)} ORDER BY 1`;
  return rows.map(({ merchantNo }) => merchantNo);
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
  db: Db,
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

const HINTED_COLUMNS = [
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
] as const;

type HintedRow = Pick<BreakRow, (typeof HINTED_COLUMNS)[number]>;

const rowsOfMerchant = (db: Db, merchantNo: string): Promise<HintedRow[]> =>
  db
    .selectFrom('continuity_break')
    .select(HINTED_COLUMNS)
    .where('merchant_no', '=', merchantNo)
    .where('status', '<>', 'healed')
    .orderBy('currency')
    .orderBy('begin_ms')
    .orderBy('end_ms')
    .orderBy('before_batch_no')
    .limit(HINTED_BREAKS_MAX)
    .execute();

async function addByNeighbours(
  db: Db,
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
async function netsAround(db: Db, ids: readonly number[]) {
  const rows =
    ids.length === 0
      ? []
      : await rowsOf(db)<{ id: number; before: string | null; after: string | null }>`
          SELECT b.id, coalesce(earlier.credit, -earlier.debit) AS before, coalesce(later.credit, -later.debit) AS after
          FROM continuity_break b
          LEFT JOIN ledger_entry earlier
            ON earlier.merchant_no = b.merchant_no AND earlier.batch_no = b.after_batch_no
          LEFT JOIN ledger_entry later ON later.merchant_no = b.merchant_no AND later.batch_no = b.before_batch_no
          WHERE b.id = ANY (${arrayLiteral(ids)}::bigint[])`;
  return new Map(rows.map((row) => [row.id, row]));
}

export async function writeHints(trx: Trx, merchantNo: string, hints: Hints): Promise<void> {
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
  db: Pick<Trx, 'selectFrom'>,
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

export type Hints = Map<number, Explanation>;

/** Most quarantined entries of a merchant that are compared with its breaks. */
const QUARANTINED_MAX = 1_000;

interface EvidenceHints {
  /** Breaks whose missing amount known changes make up. */
  readonly explained: Hints;
  /** The breaks at the place that an amended entry has left. Breaks at its new place have the same cause. */
  readonly left: Hints;
  readonly perhaps: Hints;
}

type Known = ChangedEntry | Quarantined;

/** Each vanished or unreadable entry explains one break only; an amended one may explain several. */
async function hintsOfEvidence(
  db: Db,
  merchantNo: string,
  rows: readonly HintedRow[],
  read: QuarantinedReader,
): Promise<EvidenceHints> {
  const found: EvidenceHints = { explained: new Map(), left: new Map(), perhaps: new Map() };
  if (rows.length === 0) return found;
  const changed = await changedEntries(
    db,
    rows.map(({ id }) => id),
  );
  const spans = {
    beginMs: rows.reduce((least, row) => Math.min(least, row.begin_ms), Infinity),
    endMs: rows.reduce((most, row) => Math.max(most, row.end_ms), -Infinity),
  };
  const quarantined = await unreadableWithin(db, merchantNo, spans, { read, limit: QUARANTINED_MAX });
  const spent = new Set<string>();
  const explanations = new Map<number, readonly Known[]>();
  for (const row of rows) {
    const span = { beginMs: row.begin_ms, endMs: row.end_ms };
    const unreadable = quarantinedIn({ currency: row.currency, span }, quarantined);
    const known: Known[] = [...(changed.get(row.id) ?? []), ...unreadable].filter(
      (one) => !spent.has(nameOf(one)),
    );
    const explanation = explaining(row.missing_net, known);
    for (const one of explanation) if (one.kind !== 'amended') spent.add(nameOf(one));
    if (explanation.length > 0) explanations.set(row.id, explanation);
    else if (known.length > 0) found.perhaps.set(row.id, perhapsBy(known));
  }
  for (const row of rows) {
    const explanation = explanations.get(row.id);
    if (explanation === undefined || !explanation.every((one) => holdsAround(one, rows, explanations)))
      continue;
    const [only] = explanation;
    const hasLeft = explanation.length === 1 && only?.kind === 'amended' && only.hasLeft;
    (hasLeft ? found.left : found.explained).set(row.id, explainedBy(explanation));
  }
  return found;
}

/** Whether the earlier content of an amended entry closes every break next to it, not only one of them. */
const holdsAround = (
  one: Known,
  rows: readonly HintedRow[],
  explanations: ReadonlyMap<number, readonly Known[]>,
): boolean =>
  one.kind !== 'amended' ||
  one.hasLeft ||
  rows.every(
    ({ id, after_batch_no: after, before_batch_no: before }) =>
      (after !== one.batchNo && before !== one.batchNo) ||
      explanations.get(id)?.some(({ batchNo }) => batchNo === one.batchNo) === true,
  );

const nameOf = (one: (Evidence & { readonly kind: 'vanished' | 'amended' }) | Quarantined): string =>
  `${one.kind} ${one.kind === 'quarantined' ? one.id : one.batchNo}`;

/**
 * Gives the breaks at the new place of an amended entry the cause of the break at its old place. Their own hints name
 * the same entry.
 */
function joinLeft(rows: readonly HintedRow[], hints: Hints, left: Hints): void {
  const moved = new Map([...left.values()].map((explanation) => [explanation.hintBatchNo, explanation]));
  for (const { id, after_batch_no: after, before_batch_no: before } of rows) {
    const explanation = left.get(id) ?? moved.get(hints.get(id)?.hintBatchNo ?? null);
    const name = explanation?.hintBatchNo ?? null;
    if (explanation !== undefined && (left.has(id) || name === after || name === before))
      hints.set(id, explanation);
  }
}

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

async function hintsAcrossCurrencies(db: Db, merchantNo: string, rows: readonly HintedRow[]): Promise<Hints> {
  const hints = await hintsOfFirstEntries(db, merchantNo, rows);
  const pairs = pairsOf(rows);
  const entries = await entriesByNumber(db, merchantNo, [
    ...new Set(pairs.map(({ into }) => into.before_batch_no)),
  ]);
  const behind = new Map(rows.map((row) => [row.after_batch_no, row]));
  for (const { lacking, into } of pairs) {
    const entry = entries.get(into.before_batch_no);
    if (entry?.currency !== into.currency || plain(entry.balance) !== plain(lacking.found_balance)) continue;
    if (entry.bookedMs < lacking.begin_ms || entry.bookedMs > lacking.end_ms) continue;
    const out = behind.get(entry.batchNo);
    for (const { id } of out === undefined ? [lacking, into] : [lacking, into, out]) {
      hints.set(id, { hint: 'in-another-currency', hintBatchNo: entry.batchNo });
    }
  }
  return hints;
}

/**
 * An account's first entry fits whatever balance it starts from, so no break is there. It belongs to another account if it
 * fits exactly at a break of that one.
 */
async function hintsOfFirstEntries(db: Db, merchantNo: string, rows: readonly HintedRow[]): Promise<Hints> {
  if (rows.length === 0) return new Map();
  const entries = await rowsOf(db)<FirstEntry>`
    SELECT first.* FROM (SELECT DISTINCT currency FROM account_day WHERE merchant_no = ${merchantNo}) AS account
    CROSS JOIN LATERAL (
      SELECT batch_no, currency, balance, balance - coalesce(credit, -debit) AS start, booked_ms FROM ledger_entry AS e
      WHERE e.merchant_no = ${merchantNo} AND e.currency = account.currency AND e.vanished_at IS NULL
      ORDER BY booked_ms, batch_no LIMIT 1
    ) AS first`;
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
