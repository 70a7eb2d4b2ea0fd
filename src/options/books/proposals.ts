/**
 * What may belong together among the entries that no rule matched. It is worked out of the entries that are unmatched now, so it
 * is never out of date.
 */
import { addDays } from '../../ledger/business-day.ts';
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import { addAmounts, compareAmounts, subtractAmounts } from '../../ledger/money.ts';
import { type Db, rowsOf } from '../../store/engine/database.ts';
import { MATCH_RULES } from '../../ledger/own-books.ts';
import { SUM_CANDIDATES_MAX, sumsOf } from './sums.ts';
import { NAMING } from './work-rows.ts';
import type { MatchEntry, MatchRule, MatchRules, Proposal } from '../../ledger/own-books.ts';

/** Most unmatched entries that are read, the oldest first. */
const ENTRIES_MAX = 2_000;
/** Most answers that a proposal names. */
const ANSWERS_MAX = 10;
const MS_A_DAY = 86_400_000;
const SEVERAL = 'Several answers fit, so it is not certain which entries belong together.';

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
  readonly rule: MatchRule;
  readonly entries: readonly Unmatched[];
  readonly reason: string;
}

/**
 * What may belong together, with an entry of these days. Entries that a stronger rule proposes are in no proposal of a weaker one, but
 * for pairs of equal amounts that something else explains as well.
 */
export async function proposals(db: Db, asked: ProposalsAsked): Promise<Proposal[]> {
  const { merchantNo, currency, from, to, rules } = asked;
  const unmatched = await unmatchedEntries(db, asked);
  const free = unmatched.filter(({ named }) => named === null);
  const alike = pairsOf(free, rules.days, (ledger, own) => ledger.amount === own.amount).map((entries) => ({
    ...{ rule: 'near-day' as const, entries },
    reason: 'An entry of them fits with others as well, so it is not certain that these belong together.',
  }));
  const uncertain = new Set(connected(alike).flatMap((group) => (group.length > 1 ? entriesOf(group) : [])));
  const unlike = free.filter((entry) => !uncertain.has(entry));
  const sums = rules.rules.includes('sum') ? bySum(unlike, rules) : [];
  const inSums = new Set(entriesOf(sums));
  const others = unlike.filter((entry) => !inSums.has(entry));
  const tolerance = rules.rules.includes('tolerance') ? rules.tolerances.get(currency) : undefined;
  const fees = tolerance === undefined ? [] : byTolerance(others, rules.days, tolerance);
  return connected([...byReference(unmatched), ...alike, ...sums, ...fees])
    .map((answers): Proposal => {
      const [{ rule, reason }] = answers as [Answer];
      return {
        ...{ merchantNo, currency, rule, reason: answers.length > 1 ? SEVERAL : reason },
        entries: entriesOf(answers).map(shown),
        candidates: answers.slice(0, ANSWERS_MAX).map(({ entries }) => entries.map(shown)),
      };
    })
    .toSorted((a, b) => MATCH_RULES.indexOf(a.rule) - MATCH_RULES.indexOf(b.rule))
    .filter(({ entries }) => entries.some(({ day }) => day >= from && day <= to));
}

const shown = ({ side, number, book, day, amount, reference, type }: Unmatched): MatchEntry => ({
  ...{ side, number, book, day, amount, reference, type },
});

const entriesOf = (answers: readonly Answer[]): Unmatched[] =>
  [...new Set(answers.flatMap(({ entries }) => entries))].toSorted(
    (a, b) => a.day.localeCompare(b.day) || b.side.localeCompare(a.side) || a.number.localeCompare(b.number),
  );

/** The unmatched entries around the days, and those of any day that references join with them. */
const unmatchedEntries = (db: Db, { merchantNo, currency, from, to, rules: { days } }: ProposalsAsked) =>
  rowsOf(db)<Unmatched>`
    WITH near AS (
      SELECT * FROM book_match_entry WHERE (merchant_no, currency) = (${merchantNo}, ${currency}) AND match_id IS NULL
        AND day BETWEEN ${addDays(from, -2 * days)}::date AND ${addDays(to, 2 * days)}::date ORDER BY day, batch_no, book_entry_id LIMIT ${ENTRIES_MAX}
    ), names AS (
      SELECT batch_no FROM near WHERE named IS NOT NULL AND batch_no IS NOT NULL UNION SELECT unnest(named) FROM near
    ), joined AS (
      SELECT entry.* FROM names JOIN book_match_entry AS entry ON entry.merchant_no = ${merchantNo} AND entry.batch_no = names.batch_no
      UNION SELECT entry.* FROM names AS named CROSS JOIN ${NAMING}
      JOIN book_match_entry AS entry ON entry.book_entry_id = own.id WHERE own.merchant_no = ${merchantNo}
    )
    SELECT CASE WHEN own.id IS NULL THEN 'ledger' ELSE 'book' END AS side, coalesce(own.number, entry.batch_no) AS number, own.book, entry.day,
      entry.currency, trim_scale(entry.amount) AS amount, coalesce(own.reference, '') AS reference,
      coalesce(own.type, ledger.transaction_type, '') AS type, entry.named
    FROM (SELECT * FROM near UNION SELECT * FROM joined WHERE match_id IS NULL AND named IS NOT NULL) AS entry
    LEFT JOIN book_entry AS own ON own.id = entry.book_entry_id
    LEFT JOIN ledger_entry AS ledger ON ledger.merchant_no = entry.merchant_no AND ledger.batch_no = entry.batch_no
    ORDER BY entry.day, entry.batch_no, own.number`;

/** Answers that share an entry are one decision. In order of their answers. */
function connected(answers: readonly Answer[]): Answer[][] {
  const groupOf = new Map<Unmatched, Answer[]>();
  const groups = new Set<Answer[]>();
  for (const answer of answers) {
    const joined = new Set(
      answer.entries.flatMap((entry) => [groupOf.get(entry) ?? []].filter((one) => one.length > 0)),
    );
    const group = [...[...joined].flat(), answer];
    for (const before of joined) groups.delete(before);
    groups.add(group);
    for (const { entries } of group) for (const entry of entries) groupOf.set(entry, group);
  }
  return [...groups];
}

/** Each own entry with what it names; one answer for all that name the same. */
function byReference(unmatched: readonly Unmatched[]): Answer[] {
  const entries = unmatched.filter(({ named }) => named !== null);
  const named = new Map(entries.map((entry) => [entry.side === 'ledger' ? entry.number : entry, entry]));
  const links = entries
    .filter(({ side }) => side === 'book')
    .map((own): Answer => ({
      ...{ rule: 'reference', reason: '' },
      entries: [own, ...(own.named ?? []).flatMap((number) => named.get(number) ?? [])],
    }));
  return connected(links).map((group) => {
    const all = entriesOf(group);
    return { rule: 'reference', entries: all, reason: referenceReason(all, group.length) };
  });
}

function referenceReason(entries: readonly Unmatched[], owns: number): string {
  const currencies = new Set(entries.map(({ currency }) => currency));
  if (currencies.size > 1)
    return `The reference joins accounts in ${[...currencies].toSorted().join(' and ')}.`;
  if (owns > 1 && entries.length - owns > 1)
    return 'Several own entries name several entries of the ledger, so their sums cannot be compared one by one.';
  const difference = entries.reduce(
    (sum, { side, amount }) => (side === 'ledger' ? addAmounts(sum, amount) : subtractAmounts(sum, amount)),
    '0',
  );
  return `The reference agrees, and the ledger less the book is ${difference} ${entries[0]!.currency}.`;
}

const apartDays = (a: Unmatched, b: Unmatched): number =>
  Math.abs(Date.parse(a.day) - Date.parse(b.day)) / MS_A_DAY;

/** Pairs of both sides that satisfy a condition, the nearest days first. */
function pairsOf(
  entries: readonly Unmatched[],
  days: number,
  agrees: (ledger: Unmatched, own: Unmatched) => boolean,
): [Unmatched, Unmatched][] {
  const { ledger = [], book = [] } = Object.groupBy(entries, ({ side }) => side);
  return ledger
    .flatMap((one) => book.map((own): [Unmatched, Unmatched] => [one, own]))
    .filter(([one, own]) => agrees(one, own) && apartDays(one, own) <= days)
    .toSorted((a, b) => apartDays(...a) - apartDays(...b));
}

function bySum(entries: readonly Unmatched[], { days, sumEntriesMax }: MatchRules): Answer[] {
  const some = entries.filter(({ amount }) => compareAmounts(amount, '0') !== 0);
  return some.flatMap((target) => {
    const others = some.filter((other) => other.side !== target.side && apartDays(other, target) <= days);
    if (others.length < 2 || others.length > SUM_CANDIDATES_MAX) return [];
    const amounts = others.map(({ amount }) => amount);
    return (sumsOf(target.amount, amounts, sumEntriesMax) ?? []).map(({ places }) => ({
      rule: 'sum' as const,
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
    const isFee = compareAmounts(difference, '0') > 0 && compareAmounts(difference, max) <= 0;
    return isFee && Math.sign(Number(own)) === Math.sign(Number(ledger));
  }).map((entries) => ({
    ...{ rule: 'tolerance' as const, entries },
    reason: `They differ by ${subtractAmounts(entries[1].amount, entries[0].amount)}, within the tolerance for a ${type}; an entry of them fits elsewhere as well.`,
  }));
