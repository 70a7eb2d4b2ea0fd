/**
 * What may belong together among the entries that no rule matched. It is worked out of the entries that are unmatched now, so it
 * is never out of date.
 */
import { sql, type RawBuilder } from 'kysely';
import { addDays } from '../../ledger/business-day.ts';
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import { addAmounts, compareAmounts, subtractAmounts } from '../../ledger/money.ts';
import { arrayLiteral, type Db, rowsOf } from '../../store/engine/database.ts';
import { SUM_CANDIDATES_MAX, sumsOf } from './sums.ts';
import type { MatchEntry, MatchRule, MatchRules, Proposal } from '../../ledger/own-books.ts';

/** Most unmatched entries that are read, the oldest first. */
const ENTRIES_MAX = 2_000;
/** Most answers that a proposal names. */
const ANSWERS_MAX = 10;
const MS_A_DAY = 86_400_000;

export interface ProposalsAsked extends Account {
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly rules: MatchRules;
}

/** An unmatched entry, and the batch numbers that it names; null where no reference holds it back. */
interface Unmatched extends MatchEntry {
  readonly currency: string;
  readonly named: readonly string[] | null;
}

/** An answer that a rule finds, with why it is not a match. */
interface Answer {
  readonly entries: readonly Unmatched[];
  readonly reason: string;
}

/** What may belong together, with an entry of these days. Entries that a stronger rule proposes are in no proposal of a weaker one. */
export async function proposals(db: Db, asked: ProposalsAsked): Promise<Proposal[]> {
  const { merchantNo, currency, from, to, rules } = asked;
  const unmatched = await unmatchedEntries(db, asked);
  const proposed: Proposal[] = [];
  const take = (rule: MatchRule, answers: readonly Answer[]): void => {
    for (const group of connected(answers)) {
      const entries = [...new Set(group.flatMap((answer) => answer.entries))].toSorted(inOrder);
      const candidates = group.slice(0, ANSWERS_MAX).map((answer) => answer.entries.map(shown));
      const reason = group.length > 1 ? severalReason(rule) : group[0]!.reason;
      proposed.push({ merchantNo, currency, rule, reason, entries: entries.map(shown), candidates });
      for (const entry of entries) free.delete(entry);
    }
  };
  const free = new Set(unmatched.filter(({ named }) => named === null));
  take('reference', byReference(unmatched.filter(({ named }) => named !== null)));
  take('near-day', byAmount([...free], rules.days));
  if (rules.rules.includes('sum')) take('sum', bySum([...free], rules));
  const tolerance = rules.tolerances.get(currency);
  if (rules.rules.includes('tolerance') && tolerance !== undefined)
    take('tolerance', byTolerance([...free], rules.days, tolerance));
  return proposed.filter(({ entries }) => entries.some(({ day }) => day >= from && day <= to));
}

const shown = ({ side, number, book, day, amount, reference, type }: Unmatched): MatchEntry => ({
  ...{ side, number, book, day, amount, reference, type },
});

const inOrder = (a: Unmatched, b: Unmatched): number =>
  a.day.localeCompare(b.day) || b.side.localeCompare(a.side) || a.number.localeCompare(b.number);

/** The unmatched entries around the days, and those of any day that references join with them. */
async function unmatchedEntries(
  db: Db,
  { merchantNo, currency, from, to, rules: { days } }: ProposalsAsked,
): Promise<Unmatched[]> {
  const read = (isChosen: RawBuilder<unknown>) => rowsOf(db)<Unmatched>`
    SELECT CASE WHEN own.id IS NULL THEN 'ledger' ELSE 'book' END AS side, coalesce(own.number, entry.batch_no) AS number, own.book, entry.day,
      entry.currency, entry.amount, coalesce(own.reference, '') AS reference, coalesce(own.type, ledger.transaction_type, '') AS type, entry.named
    FROM book_match_entry AS entry LEFT JOIN book_entry AS own ON own.id = entry.book_entry_id
    LEFT JOIN ledger_entry AS ledger ON ledger.merchant_no = entry.merchant_no AND ledger.batch_no = entry.batch_no
    WHERE entry.merchant_no = ${merchantNo} AND entry.match_id IS NULL AND ${isChosen}
    ORDER BY entry.day, entry.batch_no, own.number LIMIT ${ENTRIES_MAX}`;
  const near = await read(sql`entry.currency = ${currency}
    AND entry.day BETWEEN ${addDays(from, -2 * days)}::date AND ${addDays(to, 2 * days)}::date`);
  const numbers = new Set(
    near.flatMap(({ side, number, named }) =>
      named === null ? [] : side === 'ledger' ? [number] : [...named],
    ),
  );
  if (numbers.size === 0) return near;
  const all = arrayLiteral([...numbers]);
  const joined =
    await read(sql`entry.named IS NOT NULL AND (entry.batch_no = ANY (${all}::text[]) OR entry.book_entry_id IN (
    SELECT id FROM book_entry WHERE merchant_no = ${merchantNo} AND reference_keys && ${all}::text[] AND reference_keys <> '{}'
      AND withdrawn_import_id IS NULL))`);
  const known = new Set(near.map(keyOf));
  return [...near, ...joined.filter((entry) => !known.has(keyOf(entry)))];
}

const keyOf = ({ side, book, number }: MatchEntry): string => JSON.stringify([side, book, number]);

/** Answers that share an entry are one decision. In order of their answers. */
function connected(answers: readonly Answer[]): Answer[][] {
  const groupOf = new Map<Unmatched, Answer[]>();
  const groups = new Set<Answer[]>();
  for (const answer of answers) {
    const joined = new Set(
      answer.entries.map((entry) => groupOf.get(entry)).filter((group) => group !== undefined),
    );
    const group = [...[...joined].flat(), answer];
    for (const before of joined) groups.delete(before);
    groups.add(group);
    for (const { entries } of group) for (const entry of entries) groupOf.set(entry, group);
  }
  return [...groups];
}

const severalReason = (rule: MatchRule): string =>
  ({
    reference: 'The references join more entries than one answer explains.',
    'same-day': 'Several entries have this amount, so it is not certain which belong together.',
    'near-day': 'Several entries have this amount, so it is not certain which belong together.',
    sum: 'Several sums fit, so it is not certain which entries belong together.',
    tolerance:
      'Several entries differ by no more than the tolerance, so it is not certain which belong together.',
  })[rule];

/** Each own entry with what it names; one answer for all that name the same. */
function byReference(entries: readonly Unmatched[]): Answer[] {
  const ledger = new Map(
    entries.filter(({ side }) => side === 'ledger').map((entry) => [entry.number, entry]),
  );
  const links = entries.flatMap((own) =>
    own.side === 'ledger'
      ? []
      : [{ entries: [own, ...(own.named ?? []).flatMap((number) => ledger.get(number) ?? [])], reason: '' }],
  );
  return connected(links).map((group) => {
    const all = [...new Set(group.flatMap((answer) => answer.entries))].toSorted(inOrder);
    return { entries: all, reason: referenceReason(all, group.length) };
  });
}

function referenceReason(entries: readonly Unmatched[], owns: number): string {
  const currencies = new Set(entries.map(({ currency }) => currency));
  if (currencies.size > 1)
    return `The reference joins accounts in ${[...currencies].toSorted().join(' and ')}.`;
  if (owns > 1 && entries.length - owns > 1)
    return 'Several own entries name several entries of the ledger, so their sums cannot be compared one by one.';
  const sum = (side: string): string =>
    entries
      .filter((entry) => entry.side === side)
      .reduce((total, { amount }) => addAmounts(total, amount), '0');
  const difference = subtractAmounts(sum('ledger'), sum('book'));
  return `The reference agrees, and the ledger less the book is ${difference} ${entries[0]!.currency}.`;
}

const apartDays = (a: Unmatched, b: Unmatched): number =>
  Math.abs(Date.parse(a.day) - Date.parse(b.day)) / MS_A_DAY;

/** Pairs of both sides that satisfy a condition, the nearest days first. */
const pairsOf = (
  entries: readonly Unmatched[],
  days: number,
  agrees: (ledger: Unmatched, own: Unmatched) => boolean,
): [Unmatched, Unmatched][] => {
  const owns = entries.filter(({ side }) => side === 'book');
  return entries
    .filter(({ side }) => side === 'ledger')
    .flatMap((ledger) =>
      owns.flatMap((own): [Unmatched, Unmatched][] =>
        apartDays(ledger, own) <= days && agrees(ledger, own) ? [[ledger, own]] : [],
      ),
    )
    .toSorted((a, b) => apartDays(...a) - apartDays(...b));
};

const byAmount = (entries: readonly Unmatched[], days: number): Answer[] =>
  [...Map.groupBy(entries, ({ amount }) => plain(amount)).values()].flatMap((equal) =>
    pairsOf(equal, days, () => true).map((pair) => ({
      entries: pair,
      reason: `Another entry of this amount is near, so it is not certain that these belong together.`,
    })),
  );

/** Equal amounts as one text. */
const plain = (amount: string): string =>
  amount.includes('.') ? amount.replace(/0+$/, '').replace(/\.$/, '') : amount;

function bySum(entries: readonly Unmatched[], { days, sumEntriesMax }: MatchRules): Answer[] {
  const some = entries.filter(({ amount }) => compareAmounts(amount, '0') !== 0);
  return some.flatMap((target) => {
    const others = some.filter((other) => other.side !== target.side && apartDays(other, target) <= days);
    if (others.length < 2 || others.length > SUM_CANDIDATES_MAX) return [];
    const amounts = others.map(({ amount }) => amount);
    return (sumsOf(target.amount, amounts, sumEntriesMax) ?? []).map(({ places }) => ({
      entries: [target, ...places.map((place) => others[place]!)],
      reason: 'So many sums were tried that this one may agree by chance.',
    }));
  });
}

const byTolerance = (
  entries: readonly Unmatched[],
  days: number,
  { max, type }: { readonly max: string; readonly type: string },
): Answer[] =>
  pairsOf(entries, days, ({ amount: ledger }, { amount: own }) => {
    const difference = subtractAmounts(own, ledger);
    return (
      compareAmounts(difference, '0') >= 0 &&
      compareAmounts(difference, max) <= 0 &&
      Math.sign(Number(own)) === Math.sign(Number(ledger))
    );
  }).map((pair) => ({
    entries: pair,
    reason: `They differ by ${subtractAmounts(pair[1].amount, pair[0].amount)}, within the tolerance for a ${type}; an entry of them fits elsewhere as well.`,
  }));
