/** Plays one case: stores its ledger, imports and matches its book as `daybook books` does, and holds the result against the truth. */
import { Readable } from 'node:stream';
import { addDays, dayOf } from '../../../../src/ledger/business-day.ts';
import { fromScaled, toScaled, createCurrencies } from '../../../../src/ledger/money.ts';
import { bookFigures } from '../../../../src/plugins/books/figures.ts';
import { importBook } from '../../../../src/plugins/books/import/import.ts';
import { readMapping } from '../../../../src/plugins/books/import/mapping.ts';
import { openSource } from '../../../../src/plugins/books/import/sources.ts';
import { matchBooks } from '../../../../src/plugins/books/match.ts';
import { proposals } from '../../../../src/plugins/books/proposals.ts';
import { ownBookCsv, ownBookMap, type Truth } from '../../../../src/plugins/sandbox/own-books.ts';
import { minorUnitsOf } from '../../../../src/plugins/sandbox/scenario.ts';
import type { Db } from '../../../../src/store/engine/database.ts';
import { storeEntries } from '../../../../src/store/store-entries.ts';
import { drawCase, ledgerEntries, oracleRules, piecesOf, type Case } from './case.ts';
import { answersOf, type Piece } from './oracle.ts';
import { matchesOf, type StoredMatch } from './store.ts';

const NOW = new Date('2026-05-01T00:00:00Z');
/** More decimals than any currency of a case has. */
const SCALE = 3;

export type Ending = 'matched' | 'proposed' | 'open' | 'wrong';

/** What became of one truth. */
export interface JudgedTruth {
  readonly fault: Truth['fault'];
  readonly ending: Ending;
  /** The rules have one answer for it, and it is this truth. */
  readonly hasAnswer: boolean;
}

interface Coincidence {
  readonly rule: string;
  readonly numbers: string;
  /** The faults of its entries. */
  readonly faults: string;
}

export interface Played {
  readonly seed: number;
  readonly nth: number;
  readonly truths: readonly JudgedTruth[];
  /** What must not be: a match with another explanation, one that was missed, a day whose figures do not explain themselves. */
  readonly problems: readonly string[];
  /** Wrong matches that are the only explanation there is by the rules. */
  readonly coincidences: readonly Coincidence[];
}

const textOf = (numbers: readonly string[]): string => [...numbers].sort().join(' ');

export const playCase = async (db: Db, seed: number, nth: number): Promise<Played> => ({
  ...{ seed, nth },
  ...(await judged(db, await prepareCase(db, seed, nth))),
});

/** Stores, imports and matches the case of a number. */
export async function prepareCase(db: Db, seed: number, nth: number): Promise<Case> {
  const one = drawCase(seed, nth);
  const { merchantNo, rules } = one;
  const batch = { merchantNo, runId: 1, now: NOW, entries: ledgerEntries(one) };
  await db.transaction().execute((trx) => storeEntries(trx, batch));
  await importOwn(db, one);
  await matchBooks(db, { merchantNo, rules, now: NOW });
  return one;
}

/** What became of a case. */
export async function judged(db: Db, one: Case): Promise<Omit<Played, 'seed' | 'nth'>> {
  const { merchantNo, zone, book } = one;
  const matches = await matchesOf(db, merchantNo);
  const pieces = piecesOf(one);
  const answers = new Set(
    answersOf(pieces, oracleRules(one), startOf(pieces)).map((answer) =>
      textOf(answer.pieces.map(({ number }) => number)),
    ),
  );
  const found = new Set(matches.map(({ numbers }) => textOf(numbers)));
  const true_ = new Set(book.truth.map(({ rows, entries }) => textOf([...rows, ...entries])));
  const faultOf = new Map(
    book.truth.flatMap(({ fault, rows, entries }) => [...rows, ...entries].map((number) => [number, fault])),
  );
  const proposed = await proposedNumbers(db, one);
  const matched = new Set(matches.flatMap(({ numbers }) => numbers));
  const endingOf = ({ rows, entries }: Truth): Ending => {
    const numbers = [...rows, ...entries];
    if (rows.length > 0 && entries.length > 0 && found.has(textOf(numbers))) return 'matched';
    if (numbers.some((number) => matched.has(number))) return 'wrong';
    return numbers.some((number) => proposed.has(number)) ? 'proposed' : 'open';
  };
  return {
    truths: book.truth.map((truth) => ({
      fault: truth.fault,
      ending: endingOf(truth),
      hasAnswer: answers.has(textOf([...truth.rows, ...truth.entries])),
    })),
    problems: [
      ...[...found].filter((text) => !answers.has(text)).map((text) => `has another explanation: ${text}`),
      ...[...answers].filter((text) => !found.has(text)).map((text) => `has one explanation: ${text}`),
      ...(await figureProblems(db, one, { pieces, matches })),
      ...overlaps(matches),
    ].map((problem) => `${merchantNo} ${zone}: ${problem}`),
    coincidences: matches
      .filter(({ numbers }) => answers.has(textOf(numbers)) && !true_.has(textOf(numbers)))
      .map(({ rule, numbers }) => ({
        ...{ rule, numbers: textOf(numbers) },
        faults: numbers
          .map((number) => faultOf.get(number)!)
          .sort()
          .join(' and '),
      })),
  };
}

/** The first day of the book. */
const startOf = (pieces: readonly Piece[]): number =>
  Math.min(...pieces.filter(({ side }) => side === 'book').map(({ day }) => day));

async function importOwn(db: Db, { merchantNo, zone, book }: Case): Promise<void> {
  const mapping = readMapping(ownBookMap(merchantNo, zone), 'own-books.yaml');
  const stdin = Readable.from([Buffer.from(ownBookCsv(book))]) as AsyncIterable<Uint8Array>;
  const report = await importBook(db, {
    mapping,
    source: openSource(mapping, { path: '-', env: {}, stdin, isInsecureAllowed: false }),
    zones: { own: zone, platform: zone },
    currencies: createCurrencies({}),
    ...{ from: undefined, to: undefined, isDryRun: false, now: () => NOW, onProgress: () => undefined },
    auditEvent: { by: 'Ada', command: 'books import', subject: merchantNo },
    signal: new AbortController().signal,
  });
  if (report.added !== book.rows.length)
    throw new Error(`${report.added} of ${book.rows.length} rows of ${merchantNo} were imported`);
}

async function proposedNumbers(db: Db, { merchantNo, rules }: Case): Promise<Set<string>> {
  const numbers = new Set<string>();
  for (const currency of rules.tolerances.keys()) {
    const asked = { merchantNo, currency, from: '2026-01-01', to: '2026-12-31', rules };
    for (const { entries } of await proposals(db, asked))
      for (const { number } of entries) numbers.add(number);
  }
  return numbers;
}

/** An entry is in one match at most. */
function overlaps(matches: readonly StoredMatch[]): string[] {
  const numbers = matches.flatMap((match) => match.numbers);
  return numbers
    .filter((number, at) => numbers.indexOf(number) < at)
    .map((number) => `${number} is matched twice`);
}

/** Where a day's figures are not those of the inputs, by sums of the test's own: ledger − own = only there − only here + differences. */
async function figureProblems(
  db: Db,
  { merchantNo, rules }: Case,
  { pieces, matches }: { readonly pieces: readonly Piece[]; readonly matches: readonly StoredMatch[] },
): Promise<string[]> {
  const problems: string[] = [];
  const matchOf = new Map(matches.flatMap((match) => match.numbers.map((number) => [number, match])));
  const dayTextOf = (day: number): string => dayOf(day * 86_400_000, 'UTC');
  for (const currency of rules.tolerances.keys()) {
    const start = startOf(pieces);
    const own = pieces.filter(
      (piece) => piece.currency === currency && (piece.day >= start || matchOf.has(piece.number)),
    );
    if (own.length === 0) continue;
    const days = own.map(({ day }) => day);
    const first = Math.min(...days);
    const last = Math.max(...days);
    const figures = await bookFigures(db, { merchantNo, currency }, dayTextOf(first), dayTextOf(last));
    const decimals = minorUnitsOf(currency);
    let shown = figures[0];
    for (let day = first; day <= last; day += 1) {
      const today = addDays(dayTextOf(first), day - first);
      shown = figures.find((one) => one.day === today) ?? shown;
      const until = own.filter((piece) => piece.day <= day);
      const isOpen = ({ number }: Piece): boolean => {
        const match = matchOf.get(number);
        return match === undefined || lastDayOf(match, own) > day;
      };
      const sum = (of: readonly Piece[]): number => of.reduce((total, { units }) => total + units, 0);
      const side = (name: Piece['side']): Piece[] => until.filter((piece) => piece.side === name);
      const [there, here] = [side('ledger'), side('book')];
      const closed = until.filter((piece) => !isOpen(piece));
      const difference =
        sum(closed.filter((piece) => piece.side === 'ledger')) -
        sum(closed.filter((piece) => piece.side === 'book'));
      const expected = {
        ledger: sum(there),
        book: sum(here),
        onlyThere: sum(there.filter(isOpen)),
        onlyHere: sum(here.filter(isOpen)),
        difference,
      };
      for (const [name, units] of Object.entries(expected)) {
        const given = shown![name as keyof typeof expected];
        if (toScaled(given, SCALE) !== toScaled(fromScaled(BigInt(units), decimals), SCALE))
          problems.push(
            `${currency} ${today}: ${name} is ${given}, and is ${fromScaled(BigInt(units), decimals)} by its entries`,
          );
      }
      const [ledger, book, only, mine, fees] = (
        ['ledger', 'book', 'onlyThere', 'onlyHere', 'difference'] as const
      ).map((name) => toScaled(shown![name], SCALE));
      if (ledger! - book! !== only! - mine! + fees!)
        problems.push(`${currency} ${today}: the difference is not explained`);
    }
  }
  return problems;
}

const lastDayOf = ({ numbers }: StoredMatch, pieces: readonly Piece[]): number =>
  Math.max(...pieces.filter(({ number }) => numbers.includes(number)).map(({ day }) => day));
