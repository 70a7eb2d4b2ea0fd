/**
 * What may belong together among the entries that no rule matched. It is worked out of the entries that are unmatched now, so it
 * is never out of date. Each answer has a name, under which it is accepted as long as its entries are as they were.
 */
import { sha256Of } from '../../host/sha256.ts';
import { addDays, isDay } from '../../ledger/business-day.ts';
import type { Account } from '../../ledger/entry.ts';
import { canonicalAmount, compareAmounts, createCurrencies, subtractAmounts } from '../../ledger/money.ts';
import { MATCH_RULES, sumsOfSides, type MatchEntry, type MatchRules } from '../../ledger/own-books.ts';
import type { MatchRule, Proposal, Proposed, ProposedAsked } from '../../ledger/own-books.ts';
import type { DayRange } from '../../run/range.ts';
import { type Db, rowsOf } from '../../store/engine/database.ts';
import { ENTRY, ENTRY_ROWS, openCounts } from './open.ts';
import { SUM_CANDIDATES_MAX, sumsOf } from './sums.ts';
import { NAMING } from './work-rows.ts';

/** Most unmatched entries that are read, the oldest first. */
const ENTRIES_MAX = 2_000;
/** Most answers that a proposal names. */
const ANSWERS_MAX = 10;
const FINGERPRINT_CHARACTERS = 10;
const ANSWER = /^([A-Z]{3})\/(\d{4}-\d{2}-\d{2})\/[0-9a-f]{10}$/;
const MS_A_DAY = 86_400_000;
const ALIKE = 'An entry of them fits with others as well, so it is not certain that these belong together.';
const SEVERAL = 'Several answers fit, so it is not certain which entries belong together.';

type Asked = Account & DayRange & Pick<ProposedAsked, 'rules'>;

/** What may belong together among the merchant's unmatched entries, with answers that can be accepted. */
export async function proposedOf(db: Db, asked: ProposedAsked): Promise<Proposed[]> {
  const { merchantNo, rules, today } = asked;
  const found: Proposed[] = [];
  for (const { currency, oldest } of await openCounts(db, [merchantNo])) {
    const [from, to] = [asked.from ?? oldest, asked.to ?? addDays(today, rules.days)];
    if (from !== null && currency === (asked.currency ?? currency))
      found.push(...(await answered(db, { merchantNo, currency, from, to, rules })));
  }
  return found;
}

/** The entries of an answer, and the type of their difference where it is within the tolerance. Null where there is no such answer now. */
export async function answerEntries(db: Db, merchantNo: string, id: string, rules: MatchRules) {
  const [, currency = '', day = ''] = ANSWER.exec(id) ?? [];
  if (!isDay(day)) return null;
  for (const { rule, answers } of await answered(db, { merchantNo, currency, from: day, to: day, rules })) {
    const answer = answers.find((one) => one.id === id);
    if (answer === undefined) continue;
    const { ledger = [], book: own = [] } = Object.groupBy(answer.entries, ({ side }) => side);
    const type = rule === 'tolerance' ? (rules.tolerances.get(currency)?.type ?? null) : null;
    return { entries: { ledger: ledger.map(({ number }) => number), own }, type };
  }
  return null;
}

const answered = async (db: Db, asked: Asked): Promise<Proposed[]> =>
  (await proposals(db, asked)).map(({ candidates, ...proposal }) => ({
    ...proposal,
    answers: candidates.map((entries) => ({ id: answerId(proposal, entries), entries })),
  }));

function answerId({ merchantNo, currency }: Account, entries: readonly MatchEntry[]): string {
  const texts = entries.map((one) => JSON.stringify([one.side, one.book, one.number, one.day, one.amount]));
  const [first] = entries.map(({ day }) => day).toSorted();
  const fingerprint = sha256Of(JSON.stringify([merchantNo, currency, ...texts.toSorted()]));
  return `${currency}/${first}/${fingerprint.slice(0, FINGERPRINT_CHARACTERS)}`;
}

/** An unmatched entry, and the batch numbers that it names; null where no reference holds it back. */
interface Unmatched extends MatchEntry {
  readonly currency: string;
  readonly named: readonly string[] | null;
}

/** Entries that a rule finds, with why they are not a match. */
interface Fit extends Pick<Proposal, 'rule' | 'reason'> {
  readonly entries: readonly Unmatched[];
}

/**
 * What may belong together, with an entry of these days. Entries that a stronger rule proposes are in no proposal of a weaker one, but
 * for pairs of equal amounts that something else explains as well.
 */
export async function proposals(db: Db, asked: Asked): Promise<Proposal[]> {
  const { merchantNo, currency, from, to, rules } = asked;
  const unmatched = await unmatchedEntries(db, asked);
  const free = unmatched.filter(({ named }) => named === null);
  const alike = pairsOf('near-day', free, rules.days, (ledger, own) => (ledger === own ? ALIKE : null));
  const uncertain = new Set(connected(alike).flatMap((group) => (group.length > 1 ? entriesOf(group) : [])));
  const unlike = free.filter((entry) => !uncertain.has(entry));
  const sums = bySum(unlike, rules);
  const inSums = new Set(entriesOf(sums));
  const others = unlike.filter((entry) => !inSums.has(entry));
  return connected([...byReference(unmatched), ...alike, ...sums, ...byTolerance(others, rules, currency)])
    .map((fits): Proposal => {
      const [{ rule, reason }] = fits as [Fit];
      const entries = entriesOf(fits);
      const answers = rule === 'reference' ? [{ entries }] : fits.slice(0, ANSWERS_MAX);
      const why = fits.length > 1 ? SEVERAL : reason;
      return {
        ...{ merchantNo, currency, rule, entries: entries.map(shown) },
        candidates: answers.map((one) => one.entries.map(shown)),
        reason: rule === 'reference' ? referenceReason(entries, fits.length) : why,
      };
    })
    .toSorted((a, b) => MATCH_RULES.indexOf(a.rule) - MATCH_RULES.indexOf(b.rule))
    .filter(({ entries }) => entries.some(({ day }) => day >= from && day <= to));
}

const CURRENCIES = createCurrencies({ CNH: 2 });

/** With the decimals of its currency; without zeros it is compared. */
const shown = ({ currency, named, ...entry }: Unmatched): MatchEntry => {
  const { amount } = canonicalAmount(entry.amount, CURRENCIES.minorUnits(currency))!;
  return { ...entry, amount };
};

const entriesOf = (fits: readonly Fit[]): Unmatched[] =>
  [...new Set(fits.flatMap(({ entries }) => entries))].toSorted(
    (a, b) => a.day.localeCompare(b.day) || b.side.localeCompare(a.side) || a.number.localeCompare(b.number),
  );

/** The unmatched entries around the days, and those of any day that references join with them. */
const unmatchedEntries = (db: Db, { merchantNo, currency, from, to, rules: { days } }: Asked) =>
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
    SELECT ${ENTRY}, trim_scale(entry.amount) AS amount, entry.named
    FROM (SELECT * FROM near UNION SELECT * FROM joined WHERE match_id IS NULL AND named IS NOT NULL) AS entry ${ENTRY_ROWS}
    ORDER BY entry.day, entry.batch_no, own.number`;

/** Those that share an entry are one decision. In the order of their first entries. */
function connected(fits: readonly Fit[]): Fit[][] {
  const groupOf = new Map<Unmatched, Fit[]>();
  for (const fit of fits) {
    const group = [...new Set(fit.entries.flatMap((entry) => groupOf.get(entry) ?? [])), fit];
    for (const { entries } of group) for (const entry of entries) groupOf.set(entry, group);
  }
  return [...new Set(groupOf.values())];
}

/** Each own entry with what it names. Those that name the same have one answer together. */
function byReference(unmatched: readonly Unmatched[]): Fit[] {
  const held = unmatched.filter(({ named }) => named !== null);
  const { ledger = [], book = [] } = Object.groupBy(held, ({ side }) => side);
  const batches = new Map(ledger.map((entry) => [entry.number, entry]));
  return book.map((own) => ({
    ...{ rule: 'reference', reason: '' },
    entries: [own, ...own.named!.flatMap((number) => batches.get(number) ?? [])],
  }));
}

function referenceReason(entries: readonly Unmatched[], owns: number): string {
  const currencies = [...new Set(entries.map(({ currency }) => currency))].toSorted();
  if (currencies.length > 1) return `The reference joins accounts in ${currencies.join(' and ')}.`;
  if (owns > 1 && entries.length - owns > 1)
    return 'Several own entries name several entries of the ledger, so their sums cannot be compared one by one.';
  const { difference } = sumsOfSides(entries);
  return `The reference agrees, and the ledger less the book is ${difference} ${currencies[0]}.`;
}

const apartDays = (a: Unmatched, b: Unmatched): number =>
  Math.abs(Date.parse(a.day) - Date.parse(b.day)) / MS_A_DAY;

/** Why a pair of these amounts may belong together; null if it does not. */
type ReasonOf = (ledger: string, own: string) => string | null;

/** Pairs of both sides for whose amounts there is a reason, the nearest days first. */
function pairsOf(rule: MatchRule, entries: readonly Unmatched[], days: number, reasonOf: ReasonOf): Fit[] {
  const { ledger = [], book = [] } = Object.groupBy(entries, ({ side }) => side);
  const pairs = ledger.flatMap((one) =>
    book.flatMap((own) => {
      const [reason, apart] = [reasonOf(one.amount, own.amount), apartDays(one, own)];
      return reason === null || apart > days ? [] : [{ rule, entries: [one, own], reason, apart }];
    }),
  );
  return pairs.toSorted((a, b) => a.apart - b.apart);
}

function bySum(entries: readonly Unmatched[], { rules, days, sumEntriesMax }: MatchRules): Fit[] {
  if (!rules.includes('sum')) return [];
  const some = entries.filter(({ amount }) => compareAmounts(amount, '0') !== 0);
  return some.flatMap((target) => {
    const others = some.filter((other) => other.side !== target.side && apartDays(other, target) <= days);
    if (others.length < 2 || others.length > SUM_CANDIDATES_MAX) return [];
    const amounts = others.map(({ amount }) => amount);
    return (sumsOf(target.amount, amounts, sumEntriesMax) ?? []).map(({ places }): Fit => ({
      ...{ rule: 'sum', entries: [target, ...places.map((place) => others[place]!)] },
      reason: 'So many sums were tried that this one may agree by chance.',
    }));
  });
}

function byTolerance(entries: readonly Unmatched[], rules: MatchRules, currency: string): Fit[] {
  const tolerance = rules.tolerances.get(currency);
  if (tolerance === undefined || !rules.rules.includes('tolerance')) return [];
  return pairsOf('tolerance', entries, rules.days, (ledger, own) => {
    const difference = subtractAmounts(own, ledger);
    const isFee = compareAmounts(difference, '0') > 0 && compareAmounts(difference, tolerance.max) <= 0;
    if (!isFee || Math.sign(Number(own)) !== Math.sign(Number(ledger))) return null;
    return `They differ by ${difference}, within the tolerance for a ${tolerance.type}; an entry of them fits elsewhere as well.`;
  });
}
