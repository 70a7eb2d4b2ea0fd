/** Questions of one moment share a statement: each gets its own answer, and what goes wrong with one is its own affair. */
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openDatabase } from '../../src/store/engine/connection.ts';
import type { Database, Db } from '../../src/store/engine/database.ts';
import { StoreUnreachable, toBeMadeAgain } from '../../src/store/engine/errors.ts';
import { onWaitingForAnswer, shared, sharedRead } from '../../src/store/engine/shared-statement.ts';
import { startCuttingProxy, type CuttingProxy } from '../support/cutting-proxy.ts';
import { freshDatabase } from '../support/database.ts';
import { startFaultyWire, type FaultyWire } from '../support/faulty-wire.ts';

interface Asked {
  readonly merchantNo: string;
}
const CUT = Object.assign(new Error('cut'), { code: '08006' });
const of = (merchantNo: string): Asked => ({ merchantNo });

/** The numbers from `n` down to 1, each with the merchant that asked. */
const countdown = sharedRead<
  Asked & { readonly n: number },
  { readonly merchantNo: string; readonly n: number }
>(
  { merchant_no: ['text', ({ merchantNo }) => merchantNo], n: ['int', ({ n }) => n] },
  sql`SELECT asked.merchant_no AS "merchantNo", n FROM generate_series(1, asked.n) AS one (n) ORDER BY n DESC`,
);
/** Fails where `of` is no number, or zero. */
const percent = sharedRead<Asked & { readonly of: string }, { readonly percent: number }>(
  { merchant_no: ['text', ({ merchantNo }) => merchantNo], of: ['text', ({ of }) => of] },
  sql`SELECT 100 / asked.of::int AS percent`,
);

let direct: Awaited<ReturnType<typeof freshDatabase>>;
let wire: FaultyWire;
let wired: Database;
let proxy: CuttingProxy;
let cut: Database;
/** For statements that are answered here. Nothing of another test waits on it. */
let db: Db;
beforeAll(async () => {
  direct = await freshDatabase();
  wire = await startFaultyWire(direct.url);
  wired = await openDatabase({ databaseUrl: wire.url, dataDir: '' });
  proxy = await startCuttingProxy(direct.url);
  cut = await openDatabase({ databaseUrl: proxy.url, dataDir: '' });
});
beforeEach(() => {
  db = direct.db.withoutPlugins();
  wire.takeStatements();
});
afterAll(async () => {
  await cut.close();
  await proxy.close();
  await wired.close();
  await wire.close();
  await direct.close();
});

const statements = (text: string) => wire.takeStatements().filter((one) => one.includes(text)).length;
const turn = () => new Promise(setImmediate);
/** Longer than a question waits for company. */
const turns = async (): Promise<void> => {
  for (let nth = 0; nth < 20; nth += 1) await turn();
};

/** A kind whose statements are answered when the test says so, with who shared them. */
function heldKind(name: string, sent: string[]) {
  let begun = Promise.withResolvers<() => void>();
  const ask = shared<Asked, string>(async (_, asks) => {
    sent.push(`${name} ${asks.map(({ merchantNo }) => merchantNo).join('')}`);
    const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<undefined>();
    const { resolve } = begun;
    begun = Promise.withResolvers();
    resolve(() => answer(undefined));
    await mayAnswer;
    return asks.map(({ merchantNo }) => `${name} for ${merchantNo}`);
  });
  return { ask, begun: () => begun.promise };
}

test('questions of one moment share a statement, and each gets its own rows in the order of the query', async () => {
  const asked = [3, 0, 2, 1].map((n, at) => ({ merchantNo: 'ABCA'[at]!, n }));
  const answers = await Promise.all(asked.map((one) => countdown(wired.db, one)));
  expect(answers.map((rows) => rows.map(({ merchantNo, n }) => `${merchantNo}${n}`))).toEqual([
    ['A3', 'A2', 'A1'],
    [],
    ['C2', 'C1'],
    ['A1'],
  ]);
  expect(statements('generate_series')).toBe(1);
});

test('a question without company is sent at once, and has an answer without rows as well', async () => {
  expect(await countdown(wired.db, { merchantNo: 'A', n: 0 })).toEqual([]);
  expect(statements('generate_series')).toBe(1);
});

test('a question that comes while a statement is under way waits, and shares the next one of its kind', async () => {
  const sent: string[] = [];
  const kind = heldKind('sum', sent);
  const other = heldKind('list', sent);
  const begun = kind.begun();
  const first = kind.ask(db, of('A'));
  const end = await begun;
  const later = [kind.ask(db, of('B')), other.ask(db, of('C'))];
  await turns();
  later.push(kind.ask(db, of('D')));
  await turns();
  expect(sent).toEqual(['sum A']);

  const next = kind.begun();
  end();
  expect(await first).toBe('sum for A');
  const endNext = await next;
  await turns();
  expect(sent).toEqual(['sum A', 'sum BD']);
  const last = other.begun();
  endNext();
  (await last)();
  expect(await Promise.all(later)).toEqual(['sum for B', 'list for C', 'sum for D']);
  expect(sent).toEqual(['sum A', 'sum BD', 'list C']);
});

test('a statement carries so many questions, and the rest of them follow in their order', async () => {
  const sent: number[] = [];
  const ask = shared<Asked, string>((_, asks) => {
    sent.push(asks.length);
    return Promise.resolve(asks.map(({ merchantNo }) => `for ${merchantNo}`));
  });
  const names = Array.from({ length: 130 }, (_, nth) => `M${nth}`);
  const answers = await Promise.all(names.map((name) => ask(db, of(name))));
  expect(answers).toEqual(names.map((name) => `for ${name}`));
  expect(sent).toEqual([64, 64, 2]);
});

test.each([
  ['is divided by zero', '0', '22012'],
  ['is no number', 'x', '22P02'],
])('a question whose value %s is rejected alone', async (_, wrong, code) => {
  const [first, second, third] = await Promise.allSettled(
    ['50', wrong, '25'].map((one) => percent(wired.db, { merchantNo: 'A', of: one })),
  );
  expect(first).toMatchObject({ status: 'fulfilled', value: [{ percent: 2 }] });
  expect(second).toMatchObject({ status: 'rejected', reason: { code } });
  expect(third).toMatchObject({ status: 'fulfilled', value: [{ percent: 4 }] });
  // All together, then each alone.
  expect(statements('100 / asked.of')).toBe(4);
});

test.each(['before', 'after'] as const)(
  'a connection cut %s the server got a shared read: it is sent again for all, and none of them notices',
  async (when) => {
    proxy.cuts.push({ message: 'generate_series', when });
    const answers = await Promise.all(
      ['A', 'B'].map((merchantNo) => countdown(cut.db, { merchantNo, n: 1 })),
    );
    expect(proxy.cuts).toEqual([]);
    expect(answers).toMatchObject([[{ merchantNo: 'A', n: 1 }], [{ merchantNo: 'B', n: 1 }]]);
  },
);

test.each([
  ['the connection is lost', new StoreUnreachable('lost', { cause: CUT })],
  [
    'the connection stays lost however often it was tried',
    new StoreUnreachable('lost', { cause: CUT, isFinal: true }),
  ],
  ['the server rolled it back', toBeMadeAgain('deadlock')],
])('where %s, all who asked get that error, and none is sent alone', async (_, failure) => {
  const sent: string[] = [];
  // A write: the layer below sends none again. A read it has tried for long enough by then.
  const ask = shared<Asked, string>((_, asks) => {
    sent.push(asks.map(({ merchantNo }) => merchantNo).join(''));
    return Promise.reject(failure);
  });
  const answers = await Promise.allSettled(['A', 'B', 'C'].map((name) => ask(db, of(name))));
  expect(answers).toEqual(answers.map(() => ({ status: 'rejected', reason: failure })));
  expect(sent).toEqual(['ABC']);
});

test('a failure is of those who shared it: a question that came meanwhile is answered', async () => {
  const sent: string[] = [];
  const failing = shared<Asked, string>(() => Promise.reject(new Error('refused')));
  const kind = heldKind('sum', sent);
  const begun = kind.begun();
  const answers = Promise.allSettled([failing(db, of('A')), failing(db, of('B')), kind.ask(db, of('C'))]);
  (await begun)();
  expect((await answers).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
});

test('a kind with one question has its turn, although more questions of another kind wait each time', async () => {
  const sent: string[] = [];
  const more: Promise<string>[] = [];
  const answered = (asks: readonly Asked[]) => asks.map(({ merchantNo }) => merchantNo);
  const rare = shared<Asked, string>((_, asks) => {
    sent.push('rare');
    return Promise.resolve(answered(asks));
  });
  const frequent = shared<Asked, string>((_, asks) => {
    sent.push('frequent');
    if (sent.length < 20) askMany();
    return Promise.resolve(answered(asks));
  });
  const askMany = () => {
    for (let nth = 0; nth < 12; nth += 1) more.push(frequent(db, of('A')));
  };
  askMany();
  expect(await rare(db, of('B'))).toBe('B');
  while (more.length > 0) await more.pop();
  expect(sent.indexOf('rare')).toBeGreaterThan(0);
  expect(sent.indexOf('rare')).toBeLessThan(6);
  expect(sent.filter((name) => name === 'rare')).toHaveLength(1);
});

test('in a transaction each question is sent by itself, in that transaction', async () => {
  await sql`CREATE TABLE number (n integer)`.execute(direct.db);
  const numbers = sharedRead<Asked, { readonly n: number }>(
    { merchant_no: ['text', ({ merchantNo }) => merchantNo] },
    sql`SELECT n FROM number`,
  );
  const [inside, again] = await wired.db.transaction().execute(async (trx) => {
    await sql`INSERT INTO number VALUES (7)`.execute(trx);
    return Promise.all([numbers(trx, of('A')), numbers(trx, of('B'))]);
  });
  expect([inside, again]).toMatchObject([[{ n: 7 }], [{ n: 7 }]]);
  expect(statements('SELECT n FROM number')).toBe(2);
  await sql`DROP TABLE number`.execute(direct.db);
});

test('who waits for an answer is reported, and that it has one or an error; not in a transaction', async () => {
  const reported: string[] = [];
  onWaitingForAnswer(wired.db, (merchantNo, isWaiting) =>
    reported.push(`${merchantNo} ${isWaiting ? 'waits' : 'goes on'}`),
  );
  const answers = await Promise.allSettled([
    percent(wired.db, { merchantNo: 'A', of: '10' }),
    percent(wired.db, { merchantNo: 'B', of: '0' }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect(reported).toEqual(['A waits', 'B waits', 'A goes on', 'B goes on']);
  await wired.db.transaction().execute((trx) => percent(trx, { merchantNo: 'C', of: '10' }));
  expect(reported).toHaveLength(4);
  onWaitingForAnswer(wired.db, () => undefined);
});
