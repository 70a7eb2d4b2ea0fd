/**
 * Which entries of a small book are one and the same, by the rules of docs/books.md and nothing else: every explanation is
 * counted out, one after the other. Slow, and written without the engine, so that a mistake of one shows against the other.
 */
import type { MatchRule } from '../../../../src/ledger/own-books.ts';

export type Side = 'ledger' | 'book';

/** An entry of either side. */
export interface Piece {
  readonly side: Side;
  /** The batch number, or the book's own number. */
  readonly number: string;
  readonly currency: string;
  /** Days since some day. */
  readonly day: number;
  /** Seconds from the beginning of the day; null where the day alone is known. */
  readonly second: number | null;
  /** In minor units, a credit above zero. */
  readonly units: number;
  /** Batch numbers in the reference, of an entry of the book. */
  readonly names: readonly string[];
}

export interface OracleRules {
  readonly rules: readonly MatchRule[];
  readonly days: number;
  readonly sumEntriesMax: number;
  /** The largest difference in minor units, by currency. */
  readonly tolerances: ReadonlyMap<string, number>;
}

export interface Answer {
  readonly rule: MatchRule;
  readonly pieces: readonly Piece[];
}

/**
 * Each match that has no other explanation, rule by rule. `startsOn`: the first day of the book; earlier entries count only with one from
 * it on.
 */
export function answersOf(given: readonly Piece[], rules: OracleRules, startsOn = -Infinity): Answer[] {
  const answers: Answer[] = [];
  let left = [...given];
  const take = (rule: MatchRule, found: readonly (readonly Piece[])[]): void => {
    for (const group of found) answers.push({ rule, pieces: group });
    const gone = new Set(found.flat());
    left = left.filter((piece) => !gone.has(piece));
  };
  for (const rule of ORDER) {
    if (rule !== 'reference') left = left.filter(({ day }) => day >= startsOn - rules.days);
    if (!rules.rules.includes(rule)) continue;
    if (rule === 'reference') {
      const groups = namedGroups(left);
      take(
        rule,
        groups.filter((group) => agrees(group, rules)),
      );
      // What is named and does not agree is for a person.
      const named = new Set(groups.flat());
      left = left.filter((piece) => !named.has(piece));
    } else if (rule === 'tolerance') {
      // An entry that is in a sum is in no fee, and makes another one with it uncertain.
      const inSums = answers.filter((answer) => answer.rule === 'sum').flatMap((answer) => answer.pieces);
      take(rule, FINDERS[rule]([...left, ...inSums], rules));
    } else take(rule, FINDERS[rule](left, rules));
  }
  const about = { answers, left, lonely: lonelyOf(left, answers, rules), rules };
  const certain = answers.filter((answer) => !isExplainedOtherwise(answer, about));
  return certain.filter((answer) => answer.pieces.some(({ day }) => day >= startsOn));
}

/** Of the entries that are left, those that have no equal one on the other side within the days. */
function lonelyOf(left: readonly Piece[], answers: readonly Answer[], rules: OracleRules): Set<Piece> {
  const matchedLate = answers
    .filter(({ rule }) => rule === 'sum' || rule === 'tolerance')
    .flatMap(({ pieces }) => pieces);
  const unlike = [...left, ...matchedLate];
  return new Set(left.filter((piece) => !hasPartner(piece, unlike, rules)));
}

/** Sums that a pair's entry completes are sought in so many ways at most, and are believed where so many more sums are possible. */
const WAYS_MAX = 20_000;
const SUMS_A_WAY = 10;

/** Whether an entry of a pair of equal amounts is, with what no rule matched, a sum or an amount before a fee. */
function isExplainedOtherwise(
  { rule, pieces }: Answer,
  about: {
    readonly answers: readonly Answer[];
    readonly left: readonly Piece[];
    readonly lonely: ReadonlySet<Piece>;
    readonly rules: OracleRules;
  },
): boolean {
  if (!PAIRING.includes(rule)) return false;
  const { answers, left, lonely, rules } = about;
  const paired = answers
    .filter((answer) => PAIRING.includes(answer.rule))
    .flatMap((answer) => answer.pieces)
    .filter(({ units }) => units !== 0);
  const isNearTo = (one: Piece) => (other: Piece) => daysApart(one, other) <= rules.days;
  const across = (one: Piece): Piece[] =>
    left.filter((piece) => isAcross(one, piece) && isNearTo(one)(piece));
  const nonZero = (of: readonly Piece[]): Piece[] => of.filter(({ units }) => units !== 0);
  return pieces.some((piece) => {
    const isLike = ({ side, currency }: Piece): boolean => side === piece.side && currency === piece.currency;
    const isFee = (other: Piece): boolean => {
      const [own, ledger] = piece.side === 'book' ? [piece, other] : [other, piece];
      const fee = own.units - ledger.units;
      return (
        Math.sign(own.units) === Math.sign(ledger.units) &&
        fee > 0 &&
        fee <= (rules.tolerances.get(piece.currency) ?? -1)
      );
    };
    const candidates = across(piece);
    const amongThese = nonZero(candidates).length;
    if (
      rules.rules.includes('tolerance') &&
      amongThese > 0 &&
      amongThese <= CANDIDATES_MAX &&
      candidates.some((other) => lonely.has(other) && isFee(other))
    )
      return true;
    if (!rules.rules.includes('sum') || piece.units === 0) return false;
    const ofDay = paired.filter((other) => isLike(other) && other.day === piece.day).length;
    const unexplained = nonZero(candidates).filter((other) => lonely.has(other));
    const asOne = {
      from: 2,
      to: rules.sumEntriesMax,
      among: ofDay,
      target: Infinity,
      sign: Math.sign(piece.units),
    };
    return (
      (amongThese <= CANDIDATES_MAX && completes(piece.units, unexplained, asOne)) ||
      unexplained.some((target) => {
        const among = paired.filter((other) => isLike(other) && isNearTo(target)(other)).length;
        const asOneOfMany = {
          from: 1,
          to: rules.sumEntriesMax - 1,
          among,
          target: Math.abs(target.units),
          sign: Math.sign(target.units),
        };
        return (
          nonZero(across(target)).length <= CANDIDATES_MAX &&
          completes(target.units - piece.units, nonZero(across(target)), asOneOfMany)
        );
      })
    );
  });
}

interface Ways {
  readonly from: number;
  readonly to: number;
  readonly among: number;
  /** The size of what the candidates are a part of; `Infinity` if they are all of it. */
  readonly target: number;
  readonly sign: number;
}

/** Whether some of the candidates, all of one sign, add up to it; the smallest are tried first. */
function completes(
  lacking: number,
  candidates: readonly Piece[],
  { from, to, among, target, sign }: Ways,
): boolean {
  const sizes = candidates
    .map(({ units }) => units * sign)
    .filter((units) => units > 0 && units < target)
    .sort((a, b) => a - b);
  let tried = 0;
  return sizes.some((largest, at) => {
    const smaller = sizes.slice(0, at);
    const step = [...smaller, largest].reduce(gcd, target === Infinity ? 0 : target);
    const sums = [...smaller, largest].reduce((sum, units) => sum + units, 0) / step;
    for (let size = from; size <= Math.min(to, at + 1); size += 1) {
      const ways = choose(at, size - 1);
      if (tried + ways > WAYS_MAX || (tried + ways) * among * SUMS_A_WAY > sums) return false;
      tried += ways;
      const pieces = smaller.map((units) => ({ units }) as Piece);
      if (subsetsOf(pieces, lacking * sign - largest, size - 1, size - 1).length > 0) return true;
    }
    return false;
  });
}

const choose = (of: number, size: number): number =>
  size === 0 ? 1 : (choose(of - 1, size - 1) * of) / size;

const ORDER: readonly MatchRule[] = ['reference', 'same-time', 'same-day', 'near-day', 'sum', 'tolerance'];

/** Rules that pair equal amounts. */
const PAIRING: readonly MatchRule[] = ['same-time', 'same-day', 'near-day'];

const ledgerOf = (pieces: readonly Piece[]): Piece[] => pieces.filter(({ side }) => side === 'ledger');
const bookOf = (pieces: readonly Piece[]): Piece[] => pieces.filter(({ side }) => side === 'book');
const sumOf = (pieces: readonly Piece[]): number => pieces.reduce((sum, { units }) => sum + units, 0);
const daysApart = (a: Piece, b: Piece): number => Math.abs(a.day - b.day);
const isAcross = (a: Piece, b: Piece): boolean => a.side !== b.side && a.currency === b.currency;

/** Entries of the book with the ledger's entries that they name, each group by itself. */
function namedGroups(pieces: readonly Piece[]): Piece[][] {
  const ledger = ledgerOf(pieces);
  const groups: Set<Piece>[] = [];
  for (const own of bookOf(pieces)) {
    const named = ledger.filter(({ number }) => own.names.includes(number));
    if (named.length === 0) continue;
    const joined = new Set([own, ...named]);
    for (const group of groups.filter((one) => named.some((piece) => one.has(piece)))) {
      for (const piece of group) joined.add(piece);
      groups.splice(groups.indexOf(group), 1);
    }
    groups.push(joined);
  }
  return groups.map((group) => [...group]);
}

function agrees(group: readonly Piece[], { tolerances }: OracleRules): boolean {
  const [ledger, book] = [ledgerOf(group), bookOf(group)];
  if (ledger.length > 1 && book.length > 1) return false;
  const { currency } = group[0]!;
  if (group.some((piece) => piece.currency !== currency)) return false;
  const [there, here] = [sumOf(ledger), sumOf(book)];
  return Math.sign(there) === Math.sign(here) && Math.abs(there - here) <= (tolerances.get(currency) ?? 0);
}

/** Of the pairs, those of which neither has another partner. */
const onlyPairs = (pieces: readonly Piece[], isPair: (ledger: Piece, own: Piece) => boolean): Piece[][] => {
  const pairs = ledgerOf(pieces).flatMap((ledger) =>
    bookOf(pieces)
      .filter((own) => isPair(ledger, own))
      .map((own) => [ledger, own]),
  );
  const isOnly = (piece: Piece): boolean => pairs.filter((pair) => pair.includes(piece)).length === 1;
  return pairs.filter((pair) => pair.every(isOnly));
};

const isAlike = (a: Piece, b: Piece): boolean => a.currency === b.currency && a.units === b.units;
const isNear =
  ({ days }: OracleRules) =>
  (a: Piece, b: Piece): boolean =>
    isAcross(a, b) && isAlike(a, b) && daysApart(a, b) <= days;

const FINDERS: Readonly<
  Record<
    Exclude<MatchRule, 'reference'>,
    (pieces: readonly Piece[], rules: OracleRules) => readonly (readonly Piece[])[]
  >
> = {
  /** One on each side of a second, and each other one of the amount that is near is in such a pair, too. */
  'same-time': (pieces, rules) => {
    const pairs = onlyPairs(
      pieces,
      (a, b) =>
        isAcross(a, b) && isAlike(a, b) && a.second !== null && a.second === b.second && a.day === b.day,
    ).filter(
      (pair) =>
        pieces.filter(
          (one) => isAlike(one, pair[0]!) && one.second === pair[0]!.second && one.day === pair[0]!.day,
        ).length === 2,
    );
    const paired = new Set(pairs.flat());
    const open = pieces.filter((piece) => !paired.has(piece));
    return pairs.filter(
      ([one]) => !open.some((other) => isAlike(one!, other) && daysApart(one!, other) <= rules.days),
    );
  },
  /** One on each side of a day; none of the same amount without such a partner is near, which may have been meant as well. */
  'same-day': (pieces, rules) => {
    const pairs = onlyPairs(pieces, (a, b) => isAcross(a, b) && isAlike(a, b) && a.day === b.day);
    const paired = new Set(pairs.flat());
    const open = pieces.filter((piece) => !paired.has(piece));
    return pairs.filter(
      ([one]) => !open.some((other) => isAlike(one!, other) && daysApart(one!, other) <= rules.days),
    );
  },
  'near-day': (pieces, rules) => onlyPairs(pieces, isNear(rules)),
  sum: (pieces, rules) => {
    const { solutions, unsearched } = solutionsOf(pieces, rules);
    const ways = Map.groupBy(
      solutions.flatMap(({ group }) => group),
      (piece) => piece,
    );
    const isCertain = (piece: Piece): boolean =>
      ways.get(piece)!.length === 1 && !unsearched.has(piece) && !hasPartner(piece, pieces, rules);
    return solutions
      .filter(({ group, isChance }) => !isChance && group.every(isCertain))
      .map(({ group }) => group);
  },
  tolerance: (pieces, rules) => {
    const { solutions } = rules.rules.includes('sum') ? solutionsOf(pieces, rules) : { solutions: [] };
    const held = new Set(solutions.flatMap(({ group }) => group));
    return onlyPairs(pieces, (ledger, own) => {
      const fee = own.units - ledger.units;
      return (
        isAcross(ledger, own) &&
        daysApart(ledger, own) <= rules.days &&
        Math.sign(ledger.units) === Math.sign(own.units) &&
        fee >= 0 &&
        fee <= (rules.tolerances.get(ledger.currency) ?? -1)
      );
    }).filter((pair) => !pair.some((piece) => held.has(piece)) && pair[0]!.units !== pair[1]!.units);
  },
};

/** Whether an entry of the same amount is near on the other side: then a sum is not the only explanation. */
const hasPartner = (piece: Piece, pieces: readonly Piece[], rules: OracleRules): boolean =>
  pieces.some((other) => isNear(rules)(piece, other));

interface Solution {
  readonly group: readonly Piece[];
  /** So many subsets were tried that one of them has such a sum anyway. */
  readonly isChance: boolean;
}

/** More candidates than these are not searched. */
const CANDIDATES_MAX = 30;
/** So many sums of one entry are no explanation: then all its candidates are uncertain. */
const SOLUTIONS_MAX = 200;
/** At most one subset was tried for so many possible sums. */
const SUMS_A_SUBSET = 10_000;

/** Every entry that is the sum of several of the other side, and all that has to do with an entry that was not searched. */
function solutionsOf(pieces: readonly Piece[], rules: OracleRules) {
  const solutions: Solution[] = [];
  const unsearched = new Set<Piece>();
  for (const target of pieces.filter(({ units }) => units !== 0)) {
    const candidates = pieces.filter(
      (piece) => piece.units !== 0 && isAcross(piece, target) && daysApart(piece, target) <= rules.days,
    );
    if (candidates.length > CANDIDATES_MAX) {
      for (const piece of [target, ...candidates]) unsearched.add(piece);
      continue;
    }
    const subsets = subsetsOf(candidates, target.units, rules.sumEntriesMax);
    if (subsets.length > SOLUTIONS_MAX) solutions.push({ group: [target, ...candidates], isChance: true });
    else
      for (const subset of subsets)
        solutions.push({ group: [target, ...subset], isChance: isChance(subset.length, candidates, target) });
  }
  return { solutions, unsearched };
}

function isChance(size: number, candidates: readonly Piece[], target: Piece): boolean {
  let tried = 0;
  for (let of = 2, ways = candidates.length; of <= size; of += 1) {
    ways = (ways * (candidates.length - of + 1)) / of;
    tried += ways;
  }
  const step = [target, ...candidates].reduce((divisor, { units }) => gcd(divisor, Math.abs(units)), 0);
  const sums = candidates.reduce((spread, { units }) => spread + Math.abs(units), 0) / step;
  return tried * SUMS_A_SUBSET > sums;
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/** Every subset of `least` to `most` of the entries that has the sum. Each one is tried. */
function subsetsOf(pieces: readonly Piece[], sum: number, most: number, least = 2): Piece[][] {
  const found: Piece[][] = [];
  const chosen: Piece[] = [];
  const visit = (from: number, left: number): void => {
    if (left === 0 && chosen.length >= least) found.push([...chosen]);
    if (chosen.length === most) return;
    for (let at = from; at < pieces.length; at += 1) {
      chosen.push(pieces[at]!);
      visit(at + 1, left - pieces[at]!.units);
      chosen.pop();
    }
  };
  visit(0, sum);
  return found;
}
