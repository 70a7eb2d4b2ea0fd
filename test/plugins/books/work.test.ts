/** What people decide about entries of own books, by command. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { matchBooks } from '../../../src/plugins/books/match.ts';
import { bookFigures } from '../../../src/plugins/books/figures.ts';
import { daybook, type Env } from '../../cli/daybook.ts';
import { emptyTables, freshDatabase, type ServerDatabase } from '../../support/database.ts';
import {
  MERCHANT_NO,
  NOW,
  stateOf,
  vanish,
  writeBook,
  writeLedger,
  type SmallEntry,
  booksEnv,
  RULES,
} from './random-books.ts';

let database: ServerDatabase;
let env: Env;
beforeAll(async () => {
  database = await freshDatabase();
  env = { ...booksEnv(database.url), BOOKS_APPROVAL_ABOVE: '{"CNY":"1000"}' };
});
beforeEach(() => emptyTables(database.db));
afterAll(() => database.close());

const entry = (text: string): SmallEntry => {
  const [number, day, amount, ...keys] = text.split(' ');
  return { number: number!, day: Number(day), amount: amount!, keys };
};
const matched = () => matchBooks(database.db, { merchantNo: MERCHANT_NO, rules: RULES, now: NOW });
async function given(ledger: readonly string[], book: readonly string[]) {
  await writeLedger(database.db, ledger.map(entry));
  await writeBook(database.db, book.map(entry));
  await matched();
}

const books = (...args: readonly string[]) => daybook(['books', ...args], env);
async function done(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await books(...args);
  expect(code, stderr).toBe(0);
  return stdout;
}
async function refused(...args: readonly string[]): Promise<string> {
  const { code, stderr } = await books(...args);
  expect(code, stderr).toBe(2);
  return stderr;
}
const ofM1 = ['--merchant', MERCHANT_NO, '--by', 'Ada'];
const open = async (...flags: readonly string[]) =>
  JSON.parse(await done('unmatched', '--json', ...flags)) as {
    number: string;
    side: string;
    ageDays: number;
    owner: string | null;
    dueOn: string | null;
    place: string;
    matchRule: string | null;
  }[];
const openNumbers = async (...flags: readonly string[]) =>
  (await open(...flags)).map(({ side, number }) => `${side} ${number}`);
const idOf = (text: string): string => /match (\d+)/.exec(text)![1]!;

/** At the end of the last day, after the identity of each day was checked. */
async function figures(): Promise<string> {
  const account = { merchantNo: MERCHANT_NO, currency: 'CNY' };
  const all = await bookFigures(database.db, account, '2026-03-01', '2026-12-31');
  for (const { ledger, book, onlyThere, onlyHere, difference } of all)
    expect(Number(ledger) - Number(book)).toBeCloseTo(
      Number(onlyThere) - Number(onlyHere) + Number(difference),
      6,
    );
  const { onlyThere, onlyHere, difference } = all.at(-1)!;
  return [onlyThere, onlyHere, difference].map(Number).join(' ');
}

test('open entries of both sides are listed with their age, the oldest first, page by page', async () => {
  await given(['1 0 10', '2 1 20', '3 1 30'], ['1 1 20', '9 2 40']);
  expect(await openNumbers()).toEqual(['ledger 1', 'ledger 3', 'book 9']);
  expect((await open()).map(({ ageDays }) => ageDays)).toEqual([61, 60, 59]);
  expect(await openNumbers('--side', 'book')).toEqual(['book 9']);
  expect(await openNumbers('--older-than', '60')).toEqual(['ledger 1']);
  expect(await openNumbers('--from', '2026-03-02', '--to', '2026-03-02')).toEqual(['ledger 3']);
  const [first] = await open('--limit', '1');
  expect(await openNumbers('--after', first!.place)).toEqual(['ledger 3', 'book 9']);
  const text = await done('unmatched', '--limit', '2');
  expect(text).toContain('the ledger');
  expect(text).toContain('2 unmatched entries');
  expect(text).toContain('--after');
});

test('entries are matched by hand if their sums agree, and the day agrees then', async () => {
  await given(['1 0 10', '2 5 90'], ['1 20 60', '2 20 40']);
  expect(await figures()).toBe('100 100 0');
  expect(await refused('accept', ...ofM1, '--ledger', '1', '--own', '1')).toContain(
    'give the type of the difference of -50 CNY',
  );
  await done(
    'accept',
    ...ofM1,
    '--ledger',
    '1',
    '--ledger',
    '2',
    '--own',
    '1',
    '--own',
    '2',
    '--note',
    'one payout',
  );
  expect(await figures()).toBe('0 0 0');
  expect(await open()).toEqual([]);
  const { stdout } = await daybook(['audit', '--json'], env);
  expect(stdout).toContain('books accept');
  expect(stdout).toContain('one payout');
});

test('a difference is kept with its type', async () => {
  await given(['1 0 95'], ['1 20 100']);
  const id = idOf(await done('accept', ...ofM1, '--ledger', '1', '--own', '1', '--type', 'bank fee'));
  expect((await stateOf(database.db)).matches).toEqual(['by-hand -5 bank fee 2026-03-21: L1 B1']);
  expect(await figures()).toBe('0 0 -5');
  await done('undo', id, '--note', 'another order', '--by', 'Ada');
  expect(await figures()).toBe('95 100 0');
});

test('what cannot be matched is refused, and changes nothing', async () => {
  await given(['1 0 10', '2 0 20'], ['1 0 10', '2 30 20']);
  const before = await stateOf(database.db);
  const [entryOf, both] = [
    ['--ledger', '2'],
    ['--ledger', '2', '--own', '2'],
  ];
  expect(await refused('accept', ...ofM1)).toContain('no entry is named');
  expect(await refused('accept', ...ofM1, ...entryOf)).toContain('needs entries of both sides');
  expect(await refused('accept', ...ofM1, '--ledger', 'X', '--own', '2')).toContain(
    'the ledger of M1: no entry X',
  );
  expect(await refused('accept', ...ofM1, '--ledger', '2', '--own', 'X')).toContain(
    'own books of M1: no entry X',
  );
  expect(await refused('accept', ...ofM1, '--ledger', '1', '--own', '2')).toContain('in match');
  expect(await refused('writeoff', ...ofM1, ...both, '--type', 'fee', '--note', 'x')).toContain(
    'nothing to write off',
  );
  expect(await refused('undo', '999999', '--note', 'x')).toContain('there is no match');
  expect(await refused('undo', 'x', '--note', 'x')).toContain('no number');
  expect(await stateOf(database.db)).toEqual(before);
});

test('an entry that changed since it was matched last is not decided on', async () => {
  await given(['2 0 20'], ['2 30 20']);
  await writeBook(database.db, [entry('2 30 21')]);
  expect(await refused('accept', ...ofM1, '--ledger', '2', '--own', '2')).toContain('has changed');
  await matched();
  await vanish(database.db, '2');
  expect(await refused('accept', ...ofM1, '--ledger', '2', '--own', '2', '--type', 'fee')).toContain(
    'has changed',
  );
});

test.each([
  ['an entry of the ledger on another day', '1 7 10', 'CNY', writeLedger],
  ['an entry of the ledger of another account', '1 0 10', 'USD', writeLedger],
  ['an own entry of another account', '1 30 10', 'USD', writeBook],
])('%s is not decided on before it is matched again', async (_, text, currency, write) => {
  await given(['1 0 10'], ['1 30 10']);
  await write(database.db, [{ ...entry(text), currency }]);
  expect(await refused('accept', ...ofM1, '--ledger', '1', '--own', '1')).toContain('has changed');
});

test('a match whose entries changed is not approved or set apart: the next matching undoes it', async () => {
  await given(['1 0 2000', '2 0 10'], ['1 30 2000', '2 0 10']);
  const { id: apart } = await database.db.selectFrom('book_match').select('id').executeTakeFirstOrThrow();
  const waiting = idOf(await done('accept', ...ofM1, '--ledger', '1', '--own', '1'));
  const before = await stateOf(database.db);
  await writeLedger(database.db, [entry('1 0 2001'), entry('2 0 11')]);
  expect(await refused('approve', waiting, '--by', 'Grace')).toContain('matched anew');
  expect(await refused('undo', String(apart), '--note', 'x')).toContain('matched anew');
  expect(await stateOf(database.db)).toEqual(before);
});

test('an entry that an own one named, and no longer names, is free even as a person matches that one', async () => {
  await given(['1 0 10', '9 30 9'], ['1 0 8 1', '2 0 10']);
  await writeBook(database.db, [entry('1 0 8')]);
  await done('accept', ...ofM1, '--ledger', '9', '--own', '1', '--type', 'other');
  expect((await stateOf(database.db)).matches).toEqual([
    'by-hand 1 other 2026-03-31: L9 B1',
    'same-day 0 - 2026-03-01: L1 B2',
  ]);
});

test('an entry without a counterpart is written off for a reason; once it changes, it is open again', async () => {
  await given([], ['4 0 7']);
  expect((await books('writeoff', ...ofM1, '--own', '4', '--type', 'error')).code).toBe(2);
  await done('writeoff', ...ofM1, '--own', '4', '--type', 'error', '--note', 'recorded twice');
  expect(await figures()).toBe('0 0 -7');
  await writeBook(database.db, [entry('4 0 8')]);
  await matched();
  expect(await figures()).toBe('0 8 0');
});

test('what a person takes back no rule matches again, until that is taken back, too', async () => {
  await given(['1 0 10'], ['1 0 10']);
  const [{ id }] = (await database.db.selectFrom('book_match').select('id').execute()) as [{ id: number }];
  const text = await done('undo', String(id), '--note', 'not this order', '--by', 'Ada');
  expect(await figures()).toBe('10 10 0');
  await matchBooks(database.db, { merchantNo: MERCHANT_NO, rules: RULES, now: NOW, full: true });
  expect(await figures()).toBe('10 10 0');
  expect((await open()).map(({ matchRule }) => matchRule)).toEqual(['apart', 'apart']);
  const apart = /undo (\d+)/.exec(text)![1]!;
  await done('undo', apart, '--note', 'it was right');
  expect(await figures()).toBe('0 0 0');
});

test('entries that were taken back are matched by hand with others', async () => {
  await given(['1 0 10'], ['1 0 10', '2 9 10']);
  const [{ id }] = (await database.db.selectFrom('book_match').select('id').execute()) as [{ id: number }];
  await done('undo', String(id), '--note', 'the other one', '--by', 'Ada');
  await done('accept', ...ofM1, '--ledger', '1', '--own', '2');
  expect(await openNumbers()).toEqual(['book 1']);
});

test('above an amount another person approves, and until then the entries are unmatched', async () => {
  await given(['1 0 1000.01', '2 0 1000'], ['1 30 1000.01', '2 40 1000']);
  expect(await done('accept', ...ofM1, '--ledger', '2', '--own', '2')).toContain('matched by hand');
  const text = await done('accept', ...ofM1, '--ledger', '1', '--own', '1');
  expect(text).toContain('waits for approval');
  const id = idOf(text);
  expect(await figures()).toBe('1000.01 1000.01 0');
  expect(await openNumbers()).toEqual(['ledger 1', 'book 1']);
  expect(await refused('approve', id, '--by', ' ADA')).toContain('no one may approve their own decision');
  expect(await refused('accept', ...ofM1, '--ledger', '1', '--own', '1')).toContain('in match');
  await done('approve', id, '--by', 'Grace');
  expect(await figures()).toBe('0 0 0');
  expect(await refused('approve', id, '--by', 'Grace')).toContain('does not wait');
});

test('entries that net out below the amount wait, too, and so do many small ones', async () => {
  await given(['1 0 750000', '2 0 -749999.99'], ['3 30 0.01']);
  const netted = ['--ledger', '1', '--ledger', '2', '--type', 'error', '--note', 'x'];
  const text = await done('writeoff', ...ofM1, ...netted);
  expect(text).toContain('waits for approval');
  await done('undo', idOf(text), '--note', 'x', '--by', 'Ada');
  const matchedToo = await done('accept', ...ofM1, '--ledger', '1', '--ledger', '2', '--own', '3');
  expect(matchedToo).toContain('waits for approval');
  expect(await refused('approve', idOf(matchedToo), '--by', 'Adа')).toContain(
    'no one may approve their own decision',
  );
});

test('small entries of one decision count together', async () => {
  await given(
    Array.from({ length: 11 }, (_, nth) => `${nth} 0 ${nth % 2 === 0 ? '' : '-'}10${nth}`),
    [],
  );
  const all = Array.from({ length: 11 }, (_, nth) => ['--ledger', String(nth)]).flat();
  const text = await done('writeoff', ...ofM1, ...all, '--type', 'error', '--note', 'x');
  expect(text).toContain('waits for approval');
});

test('what was approved is taken back by two persons, and stays until then', async () => {
  await given(['1 0 2000'], ['1 30 2000']);
  const id = idOf(await done('accept', ...ofM1, '--ledger', '1', '--own', '1'));
  await done('approve', id, '--by', 'Grace');
  expect(await done('undo', id, '--note', 'another order', '--by', 'Ada')).toContain(
    `match ${id} was approved, so it stays until another person runs \`daybook books approve ${id}\``,
  );
  expect(await figures()).toBe('0 0 0');
  await matchBooks(database.db, { merchantNo: MERCHANT_NO, rules: RULES, now: NOW, full: true });
  expect(await figures()).toBe('0 0 0');
  expect(await refused('undo', id, '--note', 'x', '--by', 'Ada')).toContain('wants to take match');
  expect(await refused('approve', id, '--by', 'ADA')).toContain('no one may approve their own decision');
  await done('approve', id, '--by', 'Linus');
  expect(await figures()).toBe('2000 2000 0');
});

test('nobody approves what rests on their own import', async () => {
  // Ada imported the book.
  await given(['1 0 2000'], ['1 30 2000']);
  const id = idOf(
    await done('accept', '--merchant', MERCHANT_NO, '--by', 'Grace', '--ledger', '1', '--own', '1'),
  );
  expect(await refused('approve', id, '--by', 'Ada')).toContain(
    'by Ada, and no one may approve what rests on their own import',
  );
  await done('approve', id, '--by', 'Linus');
});

test('where some log in by password and others elsewhere, one of each may be one person', async () => {
  await given(['1 0 2000'], ['1 30 2000']);
  const hash = `scrypt:15:8:3:${'A'.repeat(22)}:${'A'.repeat(43)}`;
  const ways = {
    ...env,
    DAYBOOK_ACCESS_USERS: JSON.stringify({ Ada: hash, grace: hash, linus: hash }),
    DAYBOOK_ACCESS_ROLES: JSON.stringify({ '*': { role: 'operator' } }),
    DAYBOOK_ACCESS_PROXY_HEADER: 'x-person',
    DAYBOOK_ACCESS_PROXIES: '10.0.0.7',
  };
  const accepted = await daybook(
    ['books', 'accept', '--merchant', MERCHANT_NO, '--by', 'grace', '--ledger', '1', '--own', '1'],
    ways,
  );
  expect(accepted.code, accepted.stderr).toBe(0);
  const id = idOf(accepted.stdout);
  const other = await daybook(['books', 'approve', id, '--by', 'g.hopper@example.com'], ways);
  expect([other.code, other.stderr]).toEqual([2, expect.stringContaining('log in in different ways')]);
  expect((await daybook(['books', 'approve', id, '--by', 'linus'], ways)).code).toBe(0);
});

test('a write-off of a debit above the amount waits, too', async () => {
  await given(['1 0 -2000'], []);
  expect(await done('writeoff', ...ofM1, '--ledger', '1', '--type', 'error', '--note', 'x')).toContain(
    'waits',
  );
  expect(await figures()).toBe('-2000 0 0');
});

test('who is responsible for an entry, and by when', async () => {
  await given(['1 0 10'], ['1 30 11']);
  await done('assign', ...ofM1, '--own', '1', '--ledger', '1', '--to', 'Grace', '--due', '2026-05-02');
  await done('assign', ...ofM1, '--own', '1');
  expect((await open()).map(({ owner, dueOn }) => [owner, dueOn])).toEqual([
    ['Grace', '2026-05-02'],
    ['Ada', null],
  ]);
  expect(await refused('assign', ...ofM1, '--own', '1', '--due', '2026-04-01')).toContain('is over');
});

test('of two who decide at once, one is refused', async () => {
  await given(['1 0 10'], ['1 30 10', '2 31 10']);
  const ends = await Promise.all(
    ['1', '2'].map((own) => books('accept', ...ofM1, '--ledger', '1', '--own', own)),
  );
  expect(ends.map(({ code }) => code).toSorted()).toEqual([0, 2]);
});

interface Proposed {
  readonly rule: string;
  readonly reason: string;
  readonly answers: readonly {
    readonly id: string;
    readonly entries: readonly { readonly number: string; readonly amount: string }[];
  }[];
}
const proposed = async () =>
  JSON.parse(await done('propose', '--merchant', MERCHANT_NO, '--json')) as Proposed[];

test('a proposal names its answers, of which a person accepts one', async () => {
  await given(['1 0 10', '2 1 10'], ['7 0 10']);
  const [proposal, ...others] = await proposed();
  expect(others).toEqual([]);
  expect(proposal!.answers.map(({ entries }) => entries.map(({ number }) => number).toSorted())).toEqual([
    ['1', '7'],
    ['2', '7'],
  ]);
  const text = await done('propose', '--merchant', MERCHANT_NO);
  expect(text).toContain(proposal!.answers[1]!.id);
  await done('accept', proposal!.answers[1]!.id, ...ofM1);
  expect(await openNumbers()).toEqual(['ledger 1']);
  expect(await proposed()).toEqual([]);
});

test('amounts of proposals and of unmatched entries have the decimals of their currency', async () => {
  await given(['1 0 110.1', '2 1 110.10'], ['7 0 110.1']);
  const amountsOf = (rows: readonly { readonly amount: string }[]) =>
    new Set(rows.map(({ amount }) => amount));
  const [proposal] = await proposed();
  expect(amountsOf(proposal!.answers.flatMap(({ entries }) => entries))).toEqual(new Set(['110.10']));
  const unmatched = JSON.parse(await done('unmatched', '--merchant', MERCHANT_NO, '--json')) as {
    amount: string;
  }[];
  expect(amountsOf(unmatched)).toEqual(new Set(['110.10']));
});

test('an answer whose entries have changed since is refused', async () => {
  await given(['1 0 10', '2 1 10'], ['7 0 10']);
  const [{ answers }] = (await proposed()) as [Proposed];
  await writeLedger(database.db, [entry('1 1 10')]);
  await matched();
  expect(await refused('accept', answers[0]!.id, ...ofM1)).toContain('is no answer now');
  expect(await refused('accept', 'nonsense', ...ofM1)).toContain('is no answer now');
  expect(await refused('accept', answers[0]!.id, ...ofM1, '--own', '7')).toContain('name one or the other');
});

test('a month is reported day by day, as text, JSON and CSV, with the difference explained', async () => {
  await given(['1 0 10', '2 1 20', '3 5 -7'], ['1 0 10', '2 2 20', '4 6 3']);
  const march = ['report', '--month', '2026-03', '--merchant', MERCHANT_NO];
  const rows = JSON.parse(await done(...march, '--json')) as {
    day: string;
    onlyThere: string;
    onlyHere: string;
  }[];
  expect(rows.map(({ day, onlyThere, onlyHere }) => [day, Number(onlyThere), Number(onlyHere)])).toEqual([
    ['2026-03-01', 0, 0],
    ['2026-03-02', 20, 0],
    ['2026-03-03', 0, 0],
    ['2026-03-06', -7, 0],
    ['2026-03-07', -7, 3],
  ]);
  const csv = (await done(...march, '--csv')).split('\r\n');
  expect(csv[0]).toBe(
    'merchant_no,currency,day,ledger,own_books,matched,only_in_ledger,only_in_own_books,differences',
  );
  expect(csv.at(-2)).toMatch(/^M1,CNY,2026-03-07,23,33,30,-7,3,0$/);
  expect(await done(...march)).toContain('only in own books');
  await writeBook(database.db, [entry('9 6 3')]);
  expect(await done(...march)).toContain('changed since they were matched');
  expect(await done('report', '--month', '2026-01', '--merchant', MERCHANT_NO)).toContain('has no entry');
});

test('status and metrics tell what is unmatched', async () => {
  await given(['1 0 10'], ['4 6 3', '5 6 3']);
  const own = { ...env, PLATFORM_MERCHANT_NO: MERCHANT_NO, PLATFORM_TOKEN: 'a-token' };
  const { stdout } = await daybook(['status'], own);
  expect(stdout).toContain(
    'M1 CNY: 1 entry only in the ledger, 2 only in own books, the oldest of 2026-03-01',
  );
  const metrics = (await daybook(['metrics'], own)).stdout;
  expect(metrics).toContain('daybook_books_unmatched{side="book"} 2');
  expect(metrics).toMatch(/daybook_books_oldest_unmatched_age_seconds 5\d{6}/);
});
