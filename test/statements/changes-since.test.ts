/** What is booked and a file of changes make what is published, whatever came, went or was amended in between. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LedgerEntry } from '../../src/ledger/entry.ts';
import { addAmounts, compareAmounts } from '../../src/ledger/money.ts';
import { createDirectoryStore } from '../../src/objects/directory.ts';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import { closeMonth } from '../../src/months/close.ts';
import { frozenBy } from '../../src/months/files.ts';
import { changesBetween, monthChanges } from '../../src/months/changes-since.ts';
import { fetchInFormat } from '../../src/statements/fetch.ts';
import { STATEMENT_FORMATS } from '../../src/statements/formats/all.ts';
import type { StatementFormat } from '../../src/statements/formats/format.ts';
import { monthOf } from '../../src/months/month.ts';
import type { Database } from '../../src/store/engine/database.ts';
import { listStatements, type StatementRow } from '../../src/store/statements/statements.ts';
import { emptyTables, freshDatabase } from '../support/database.ts';
import { accountEntries, type Line } from '../support/ledger-entries.ts';
import { readCamt, readCsv, readMt940, type ReadFile } from '../support/read-statements.ts';
import { MERCHANT, openBook, ZONE } from './book.ts';
import { bytesOf } from './days.ts';

const DAYS = ['2026-03-01', '2026-03-02', '2026-03-03'];
const MARCH = monthOf('2026-03')!;
const TYPES = ['PAY', 'Größe, "x"', '=1+1', ''];
const READERS: Readonly<Record<string, (text: string) => ReadFile>> = {
  ...{ csv: readCsv, camt053: readCamt, mt940: readMt940 },
};
const FORMATS = STATEMENT_FORMATS.filter(({ holdsChanges }) => holdsChanges);

let database: Database;
let folder: string;
beforeAll(async () => {
  database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), 'daybook-changes-'));
});
afterAll(async () => {
  await database.close();
  await rm(folder, { recursive: true });
});

const ledgers = fc
  .array(fc.tuple(fc.nat(DAYS.length * 86_400 - 1), fc.constantFrom(100, 250, -100, 100_000, 1)), {
    ...{ minLength: 1, maxLength: 12 },
  })
  .map((lines) => lines.sort((a, b) => a[0] - b[0]).map(([at, cents]): Line => [spelled(at), cents]));
const spelled = (at: number): string =>
  new Date(Date.UTC(2026, 2, 1) + at * 1_000).toISOString().slice(0, 19).replace('T', ' ');

/** One night: what the platform hides, and what it says otherwise than before. */
const nights = fc.array(
  fc.record({
    hidden: fc.array(fc.nat(11), { maxLength: 4 }),
    retyped: fc.option(fc.tuple(fc.nat(11), fc.constantFrom(...TYPES)), { nil: null }),
    turned: fc.option(fc.nat(11), { nil: null }),
    movedFrom: fc.option(fc.nat(11), { nil: null }),
  }),
  { minLength: 2, maxLength: 4 },
);

test('the formats that hold changes are those that ERPs import', () => {
  expect(FORMATS.map(({ name }) => name)).toEqual(Object.keys(READERS));
});

test('entries of a revision and the changes since it are those of a later one, in each format; so of a month since its close', async () => {
  await fc.assert(
    fc.asyncProperty(ledgers, nights, fc.constantFrom(0, 0, 1), async (lines, each, closedAfter) => {
      await emptyTables(database.db);
      const store = createDirectoryStore(await mkdtemp(join(folder, 'history-')));
      const book = await openBook(database);
      const { db } = database;
      const ledger = accountEntries(500, lines);
      for (const [nth, night] of each.entries()) {
        await book.synced(shownIn(ledger, night), DAYS);
        await book.reconciled();
        await book.published(store);
        if (nth !== closedAfter) continue;
        const request = { merchantNo: MERCHANT, month: MARCH, despite: 'a test' };
        const auditEvent = { by: 'Ada', command: 'close', subject: '' };
        const options = { db, objects: store, signingKey: null, zone: ZONE, now: () => book.now };
        await closeMonth({ ...request, auditEvent }, options);
      }
      const all = await listStatements(db);
      for (const day of DAYS) {
        const ofDay = all.filter((row) => row.day === day);
        for (const before of ofDay)
          for (const after of ofDay.filter((row) => row.revision >= before.revision))
            for (const format of FORMATS) await expectLaw(store, before, after, format);
      }
      const frozen = (await frozenBy(db, MERCHANT, '2026-03', 1)) ?? [];
      for (const format of FORMATS) {
        const asked = { frozen, currencies: null };
        const changes = await monthChanges({ db, objects: store, format }, MERCHANT, MARCH, asked);
        const read = READERS[format.name]!;
        const bookedThen = await entriesOf(store, frozen.map(rowIn(all)), format);
        const files = await Promise.all(changes.map(async (one) => read(await textOf(one.read()))));
        const current = all.filter(
          (row) => !all.some((one) => one.supersedes === row.revision && one.day === row.day),
        );
        expect(
          booked(
            bookedThen,
            files.flatMap(({ entries }) => entries),
          ),
        ).toEqual((await entriesOf(store, current, format)).sort());
      }
    }),
    { numRuns: Number(process.env['DAYBOOK_LAW_RUNS'] ?? 15) },
  );
}, 300_000);

const rowIn =
  (all: readonly StatementRow[]) =>
  ({ day, revision }: Pick<StatementRow, 'day' | 'revision'>): StatementRow =>
    all.find((row) => row.day === day && row.revision === revision)!;

async function expectLaw(
  store: ObjectStore,
  before: StatementRow,
  after: StatementRow,
  format: StatementFormat,
): Promise<void> {
  const read = READERS[format.name]!;
  const changes = await changesBetween(store, before, after, { format, names: undefined });
  const delta = read(await textOf(changes.read()));
  expect(booked(await entriesOf(store, [before], format), delta.entries)).toEqual(
    (await entriesOf(store, [after], format)).sort(),
  );
  expect(delta.entries.filter(({ isReversal }) => isReversal)).toHaveLength(changes.reversed);
  if (before === after) expect(delta.entries).toEqual([]);
  expect(changes.name).toBe(
    `${MERCHANT}_USD_${after.day}.r${before.revision}-r${after.revision}.${format.extension}`,
  );
  if (format.name === 'csv') return;
  expect(delta.id).toContain(`S${before.revision}`);
  expect([delta.opening, delta.closing].map((amount) => compareAmounts(amount, '0') === 0)).toEqual(
    [before.closing, after.closing].map((amount) => compareAmounts(amount, '0') === 0),
  );
  expect(compareAmounts(delta.opening, before.closing)).toBe(0);
  expect(compareAmounts(delta.closing, after.closing)).toBe(0);
}

const textOf = async (bytes: AsyncIterable<Uint8Array>): Promise<string> =>
  (await bytesOf(bytes)).toString('utf8');

async function entriesOf(store: ObjectStore, rows: readonly StatementRow[], format: StatementFormat) {
  const texts = rows.map((row) => textOf(fetchInFormat(store, row, format, { earlier: [] })));
  return (await Promise.all(texts)).flatMap((text) =>
    READERS[format.name]!(text).entries.map(({ entry }) => entry),
  );
}

/** What an importer has booked after a file: each reversal takes back one entry that it has. */
function booked(before: readonly string[], changes: ReadFile['entries']): string[] {
  const now = [...before];
  for (const { entry, isReversal } of changes) {
    if (!isReversal) now.push(entry);
    else if (now.includes(entry)) now.splice(now.indexOf(entry), 1);
    else throw new Error(`nothing is booked that could be taken back: ${entry}`);
  }
  return now.sort();
}

type Night = typeof nights extends fc.Arbitrary<(infer One)[]> ? One : never;

const shownIn = (ledger: readonly LedgerEntry[], night: Night): LedgerEntry[] =>
  ledger
    .map((entry, at): LedgerEntry => {
      const { credit, debit } = entry;
      const sides = at === night.turned ? { credit: debit, debit: credit } : {};
      const transactionType = at === night.retyped?.[0] ? night.retyped[1] : entry.transactionType;
      const balance = at >= (night.movedFrom ?? 12) ? addAmounts(entry.balance, '10.00') : entry.balance;
      return { ...entry, ...sides, transactionType, balance };
    })
    .filter((_, at) => !night.hidden.includes(at));
