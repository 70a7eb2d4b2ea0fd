/** What is said of each row of an own book is true of it, and the command writes what `books import` reads. */
import { readFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dayOf } from '../../../src/ledger/business-day.ts';
import { toScaled } from '../../../src/ledger/money.ts';
import { bookedEntries, generateLedger } from '../../../src/plugins/sandbox/ledger.ts';
import { FAULT_NAMES, ownBook, ownBookCsv, type Truth } from '../../../src/plugins/sandbox/own-books.ts';
import { scenarioSchema } from '../../../src/plugins/sandbox/scenario.ts';
import { daybook } from '../../cli/daybook.ts';

const ZONE = 'Asia/Shanghai';
const FEE_MAX = 50;
const NOW_MS = Date.parse('2026-03-20T00:00:00Z');

const scenario = (seed: number, planted: readonly object[] = []) =>
  scenarioSchema.parse({
    ...{ seed, timeZone: ZONE, from: '2026-03-02', to: '2026-03-09', entriesPerDay: 12, planted },
    merchants: [{ merchantNo: 'SBX-1', token: 'made-up', currencies: ['USD', 'JPY'] }],
  });

const EVEN = Object.fromEntries(FAULT_NAMES.map((fault) => [fault, 1 / (FAULT_NAMES.length + 1)]));

const made = (seed: number, references = 0.5) => {
  const entries = bookedEntries(generateLedger(scenario(seed), 'SBX-1', ['USD', 'JPY']), NOW_MS);
  const book = ownBook(entries, { seed: `${seed}`, zone: ZONE, references, feeMax: FEE_MAX, shares: EVEN });
  const rowOf = new Map(book.rows.map((row) => [row.number, row]));
  const entryOf = new Map(entries.map((entry) => [entry.batchNo, entry]));
  const decimals = (currency: string) => (currency === 'JPY' ? 0 : 2);
  /** The units and days of both sides. */
  const sides = ({ rows, entries: numbers }: Truth) => ({
    own: rows.map((number) => {
      const { amount, currency, booked } = rowOf.get(number)!;
      return { units: toScaled(amount, decimals(currency)), day: booked.slice(0, 10) };
    }),
    there: numbers.map((number) => {
      const { units, bookedMs } = entryOf.get(number)!;
      return { units, day: dayOf(bookedMs, ZONE) };
    }),
  });
  return { entries, book, sides };
};

const sum = (side: readonly { readonly units: bigint }[]): bigint =>
  side.reduce((total, { units }) => total + units, 0n);

/** What has to hold of both sides, by fault. */
const LAWS: Readonly<
  Record<Truth['fault'], (sides: ReturnType<ReturnType<typeof made>['sides']>) => boolean>
> = {
  none: ({ own, there }) =>
    own.length === 1 && sum(own) === sum(there) && own[0]!.day === there[0]!.day && there.length === 1,
  missing: ({ own, there }) => own.length === 0 && there.length === 1,
  unpaid: ({ own, there }) => own.length === 1 && there.length === 0,
  doubled: ({ own, there }) => own.length === 1 && (there.length === 0 || sum(own) === sum(there)),
  swapped: ({ own, there }) => own.length === 1 && sum(own) === -sum(there),
  fee: ({ own, there }) => sum(own) > sum(there) && sum(own) - sum(there) <= BigInt(FEE_MAX),
  late: ({ own, there }) => sum(own) === sum(there) && own[0]!.day !== there[0]!.day,
  merged: ({ own, there }) =>
    own.length >= 2 && own.length <= 6 && there.length === 1 && sum(own) === sum(there),
  split: ({ own, there }) =>
    there.length >= 2 && there.length <= 6 && own.length === 1 && sum(own) === sum(there),
  amended: ({ own, there }) => (sum(own) - sum(there)) ** 2n > BigInt(FEE_MAX) ** 2n,
};

describe('a merchant’s own book, made from a ledger', () => {
  it('has each row and each entry in one truth, and each fault is what it is called', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000_000 }), (seed) => {
        const { entries, book, sides } = made(seed);
        const numbers = (of: (truth: Truth) => readonly string[]) => book.truth.flatMap(of).sort();
        expect(numbers(({ rows }) => rows)).toEqual(book.rows.map(({ number }) => number).sort());
        expect(numbers((truth) => truth.entries)).toEqual(entries.map(({ batchNo }) => batchNo).sort());
        for (const truth of book.truth) {
          seen.add(truth.fault);
          if (!LAWS[truth.fault](sides(truth))) expect.fail(`${JSON.stringify(truth)} is not ${truth.fault}`);
        }
      }),
      { numRuns: 25 },
    );
    expect([...seen].sort()).toEqual(Object.keys(LAWS).sort());
  });

  it('is the same for the same seed, and another for another one', () => {
    expect(made(3).book).toEqual(made(3).book);
    expect(made(3).book).not.toEqual(made(4).book);
  });

  it.each([
    [1, (named: number, all: number) => named > 0.9 * all],
    [0, (named: number) => named === 0],
  ])('has the batch number in the share %d of its references', (references, holds) => {
    const { book } = made(5, references);
    const plain = book.truth.filter(({ fault }) => fault === 'none');
    const rows = new Map(book.rows.map((row) => [row.number, row]));
    const named = plain.filter((truth) => rows.get(truth.rows[0]!)!.reference.includes(truth.entries[0]!));
    expect(holds(named.length, plain.length)).toBe(true);
  });

  it('is written as CSV that has its rows', () => {
    const { book } = made(6);
    expect(parse(ownBookCsv(book), { columns: true })).toEqual(book.rows);
  });

  it('has nothing of entries that the platform never shows, not yet, no more, or not as an entry', () => {
    const at = (nth: number) => ({ merchant: 'SBX-1', currency: 'USD', day: '2026-03-03', nth });
    const planted = scenario(7, [
      { what: 'missing', ...at(1) },
      { what: 'late', ...at(2), appears: '2026-04-01T00:00:00Z' },
      { what: 'vanished', ...at(3), at: '2026-03-10T00:00:00Z' },
      { what: 'malformed', ...at(4) },
    ]);
    const all = generateLedger(planted, 'SBX-1', ['USD']);
    const shown = bookedEntries(all, NOW_MS);
    expect(shown).toHaveLength(all.length - 4);
  });
});

describe('daybook sandbox books', () => {
  it('writes the book, its mapping and what is true, and says how to go on', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'daybook-own-books-'));
    try {
      const { code, stdout } = await daybook(
        ['sandbox', 'books', join(folder, 'new'), '--seed', '9', '--json'],
        {},
      );
      expect(code).toBe(0);
      const { rows, csv, map, truth } = JSON.parse(stdout) as Record<
        'rows' | 'csv' | 'map' | 'truth',
        string
      >;
      const read = parse<{ readonly number: string }>(await readFile(csv, 'utf8'), { columns: true });
      expect(read).toHaveLength(Number(rows));
      expect(await readFile(map, 'utf8')).toContain('merchant: "SANDBOX-10001"');
      const known = (JSON.parse(await readFile(truth, 'utf8')) as Truth[]).flatMap((one) => one.rows);
      expect(known.sort()).toEqual(read.map(({ number }) => number).sort());
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it.each([
    [['--references', '2'], '--references 2 is no share; write a number from 0 to 1, like 0.5.'],
    [['--references', ''], '--references  is no share'],
    [['--merchant', 'M-NO'], 'the scenario has no merchant M-NO; --merchant can be SANDBOX-10001'],
  ])('ends with 2 at %s and says what can be written', async (flags, problem) => {
    const ended = await daybook(['sandbox', 'books', '/nowhere', ...flags], {});
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining(problem) as string });
  });
});
