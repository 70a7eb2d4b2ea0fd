/** Random histories of imports against the rules, written a second time over plain values. */
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createCurrencies } from '../../../src/ledger/money.ts';
import { importBook } from '../../../src/plugins/books/import/import.ts';
import { readMapping } from '../../../src/plugins/books/import/mapping.ts';
import { openSource } from '../../../src/plugins/books/import/sources.ts';
import { rowsOf, type Database } from '../../../src/store/engine/database.ts';
import { emptyTables, freshDatabase, freshEmbedded, hasEmbedded } from '../../support/database.ts';

interface Row {
  readonly number: number;
  readonly day: number;
  /** Null: it cannot be read. */
  readonly amount: number | null;
}
interface Import {
  readonly rows: readonly Row[];
  readonly coversNothing: boolean;
  readonly range: readonly [number, number] | null;
}

const row = fc.record({
  number: fc.integer({ min: 1, max: 8 }),
  day: fc.integer({ min: 1, max: 6 }),
  amount: fc.option(fc.integer({ min: -2, max: 2 }), { freq: 6 }),
});
const history = fc.array(
  fc.record({
    rows: fc.array(row, { maxLength: 8 }),
    coversNothing: fc.boolean(),
    range: fc.option(
      fc
        .tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 6 }))
        .map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const),
    ),
  }),
  { minLength: 1, maxLength: 6 },
);

interface Held {
  day: number;
  amount: number;
  version: number;
  isGone: boolean;
}
interface Open {
  readonly number: number;
  readonly span: readonly [number, number] | null;
  readonly content: string;
}

/** What the book is after an import; `null` where it is refused. */
function after(
  book: ReadonlyMap<number, Held>,
  open: readonly Open[],
  { rows, coversNothing, range }: Import,
) {
  const readable = rows.filter(
    ({ amount }, at) =>
      amount !== null &&
      rows.findIndex((one) => one.amount !== null && one.number === rows[at]!.number) === at,
  );
  if (rows.length > 0 && readable.length === 0) return null;
  const next = new Map([...book].map(([number, held]) => [number, { ...held }]));
  for (const { number, day, amount } of readable) {
    const held = next.get(number);
    if (held === undefined) next.set(number, { day, amount: amount!, version: 1, isGone: false });
    else {
      const isSame = held.day === day && held.amount === amount;
      next.set(number, { day, amount: amount!, version: held.version + (isSame ? 0 : 1), isGone: false });
    }
  }
  const days = readable.map(({ day }) => day);
  const found = range ?? (days.length === 0 ? null : ([Math.min(...days), Math.max(...days)] as const));
  const span = coversNothing ? null : found;
  const numbers = new Set(rows.map(({ number }) => number));
  for (const [number, held] of next)
    if (span !== null && held.day >= span[0] && held.day <= span[1] && !numbers.has(number))
      held.isGone = true;
  const content = JSON.stringify(rows);
  const read = new Set(readable.map(({ number }) => number));
  const left = open.filter(
    (one) =>
      !read.has(one.number) &&
      one.content !== content &&
      !(span !== null && one.span !== null && span[0] <= one.span[0] && span[1] >= one.span[1]),
  );
  const fresh = rows
    .filter((one) => !readable.includes(one))
    .map(({ number }) => ({ number, span, content }));
  return { book: next, open: [...left, ...fresh] };
}

const dayText = (day: number): string => `2026-03-0${day}`;
const textOf = (rows: readonly Row[]): string =>
  [
    'no,day,amount',
    ...rows.map(({ number, day, amount }) => `${number},${dayText(day)},${amount ?? 'x'}`),
    '',
  ].join('\n');

async function imports({ db }: Database, { rows, coversNothing, range }: Import): Promise<boolean> {
  const mapping = readMapping(
    `merchant: M1\nformat: csv\ncurrency: EUR\ncovers: ${coversNothing ? 'nothing' : 'days'}\ncolumns: {number: no, booked: day, amount: amount}\n`,
    'map.yaml',
  );
  const stdin = Readable.from([Buffer.from(textOf(rows))]);
  const [from, to] = range === null ? [] : range.map(dayText);
  return importBook(db, {
    ...{
      mapping,
      from,
      to,
      isDryRun: false,
      now: () => new Date('2026-05-01T00:00:00Z'),
      signal: new AbortController().signal,
    },
    source: openSource(mapping, { path: '-', env: {}, stdin, isInsecureAllowed: false }),
    zones: { own: 'UTC', platform: 'UTC' },
    currencies: createCurrencies({}),
    auditEvent: { by: 'Ada', command: 'books import', subject: 'M1 books' },
    onProgress: () => undefined,
  }).then(
    () => true,
    (error: unknown) => {
      expect(String(error)).toMatch(/no row of stdin can be read/);
      return false;
    },
  );
}

const stored = async ({ db }: Database) => ({
  book: await rowsOf(
    db,
  )`SELECT number, day, amount::int AS amount, version, withdrawn_import_id IS NOT NULL AS "isGone",
    coalesce(jsonb_array_length(earlier), 0) AS earlier FROM book_entry ORDER BY number`,
  open: await rowsOf(db)`SELECT number FROM book_unreadable WHERE answered_import_id IS NULL ORDER BY number`,
});

const databases: { readonly name: string; readonly open: () => Promise<Database> }[] = [
  { name: 'a server', open: freshDatabase },
  ...(hasEmbedded ? [{ name: 'the embedded database', open: freshEmbedded }] : []),
];

const LAST_DAY = 6;
/** What the book holds in the end, and files of its days in some order that together have all days; before them, anything. */
const ending = fc.record({
  before: history,
  truth: fc.uniqueArray(
    fc.record({
      number: fc.integer({ min: 1, max: 8 }),
      day: fc.integer({ min: 1, max: LAST_DAY }),
      amount: fc.integer({ min: -2, max: 2 }),
    }),
    { selector: ({ number }) => number, minLength: 1 },
  ),
  cuts: fc.uniqueArray(fc.integer({ min: 1, max: LAST_DAY - 1 }), { maxLength: 3 }),
  overlap: fc.integer({ min: 0, max: 2 }),
  order: fc.infiniteStream(fc.nat()),
});

/** Files with all rows of some days each. Neighbours share `overlap` days. */
function filesOf(truth: readonly Row[], cuts: readonly number[], overlap: number): Import[] {
  const ends = [...cuts, LAST_DAY].sort((a, b) => a - b);
  return ends.map((end, at) => {
    const range = [Math.max(1, (ends[at - 1] ?? 0) + 1 - overlap), end] as const;
    return {
      range,
      coversNothing: false,
      rows: truth.filter(({ day }) => day >= range[0] && day <= range[1]),
    };
  });
}

const held = ({ db }: Database) =>
  rowsOf(
    db,
  )`SELECT number, day, currency, amount::int AS amount, reference_keys, booked_at, type, note FROM book_entry
    WHERE withdrawn_import_id IS NULL ORDER BY number`;

for (const { name, open } of databases) {
  let database: Database;
  beforeAll(async () => {
    database = await open();
  });
  afterAll(() => database.close());

  it(`on ${name}: after any imports the book is what the rules say, and the last one again changes nothing`, async () => {
    await fc.assert(
      fc.asyncProperty(history, async (all) => {
        await emptyTables(database.db);
        let known: { readonly book: ReadonlyMap<number, Held>; readonly open: readonly Open[] } = {
          book: new Map(),
          open: [],
        };
        for (const one of [...all, all.at(-1)!]) {
          const next = after(known.book, known.open, one);
          expect(await imports(database, one)).toBe(next !== null);
          known = next ?? known;
          const { book, open: openRows } = await stored(database);
          expect(book).toEqual(
            [...known.book]
              .sort(([a], [b]) => a - b)
              .map(([number, { day, ...held }]) => ({
                ...{ number: String(number), day: dayText(day), ...held, earlier: held.version - 1 },
              })),
          );
          expect(openRows).toEqual(
            known.open
              .map(({ number }) => ({ number: String(number) }))
              .sort((a, b) => Number(a.number) - Number(b.number)),
          );
        }
      }),
      { numRuns: 15 },
    );
  });

  it(`on ${name}: files of its days in any order, whatever came before, leave the book that one file of all days makes`, async () => {
    await fc.assert(
      fc.asyncProperty(ending, async ({ before, truth, cuts, overlap, order }) => {
        await emptyTables(database.db);
        for (const one of before) await imports(database, one);
        const files = filesOf(truth, cuts, overlap).map((file) => ({ file, place: order.next().value }));
        for (const { file } of files.sort((a, b) => a.place - b.place))
          expect(await imports(database, file)).toBe(true);
        const found = await held(database);
        await emptyTables(database.db);
        await imports(database, { rows: truth, coversNothing: false, range: null });
        expect(found).toEqual(await held(database));
      }),
      { numRuns: name === 'a server' ? 25 : 8 },
    );
  });
}
