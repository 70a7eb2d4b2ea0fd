/** Downloads that are made take turns: whatever one person asks for, everybody else is served. */
import { once } from 'node:events';
import { request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { afterEach, beforeAll, afterAll, describe, expect, test, vi } from 'vitest';
import { collected, type ObjectStore } from '../../../src/objects/object-store.ts';
import { createTurns } from '../../../src/plugins/pages/turns.ts';
import { STATEMENT_FORMATS } from '../../../src/statements/formats/all.ts';
import { monthDownload, zippedMonth } from '../../../src/months/month-files.ts';
import { monthOf } from '../../../src/months/month.ts';
import { DAYS, MERCHANT, openStage, type Stage } from '../../support/stage.ts';
import { handTime, namedAccess, showPages, textOf, type ShownPages } from './support.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
  await stage.run();
});
afterAll(() => stage.close());

/** A store that hands a file out when it is let go, and knows which ones are asked for. */
function gatedStore(): ObjectStore & { readonly asked: string[]; readonly letGo: (nth: number) => void } {
  const asked: string[] = [];
  const gates: PromiseWithResolvers<undefined>[] = [];
  return {
    ...stage.app.objects,
    asked,
    letGo: (nth) => gates[nth]!.resolve(undefined),
    get: async (key) => {
      asked.push(key.split('/').at(-1)!);
      const gate = Promise.withResolvers<undefined>();
      gates.push(gate);
      await gate.promise;
      return stage.app.objects.get(key);
    },
  };
}

const { merchantNo } = MERCHANT;
const dayOf = (day: string, format = 'xlsx') => `/download/${merchantNo}/USD/${day}?format=${format}`;
const nameOf = (day: string) => `${merchantNo}_USD_${day}.r1.csv`;
const MONTH = `/download/${merchantNo}/2026-03.zip?format=xlsx`;

let pages: ShownPages;
const time = handTime();
const show = async (objects: ObjectStore): Promise<void> => {
  pages = await showPages(
    { ...stage, app: { ...stage.app, objects } },
    { access: namedAccess(() => ({ role: 'viewer' })), timing: time },
  );
};
afterEach(() => pages.close());

interface Got {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
}

/** On a connection of its own. `leave` closes it; then there is no answer: null. */
function ask(
  person: string,
  path: string,
): { readonly answer: Promise<Got | null>; readonly leave: () => void } {
  const sent = request(pages.url + path, { headers: { 'x-person': person }, agent: false }).end();
  const answer = async (): Promise<Got> => {
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return { status: response.statusCode!, headers: response.headers, bytes: await collected(response) };
  };
  return { answer: answer().catch(() => null), leave: () => sent.destroy() };
}

/** Status of each answer that came so far. */
function answersOf(asked: readonly ReturnType<typeof ask>[]): number[] {
  const came: number[] = [];
  for (const { answer } of asked) void answer.then((got) => came.push(got?.status ?? 0));
  return came;
}

test('two are made at once, one of a person; four of a person wait, more are refused in words, and nobody else is', async () => {
  const store = gatedStore();
  await show(store);
  const ofAda = Array.from({ length: 8 }, () => ask('ada', dayOf(DAYS[0]!)));
  const came = answersOf(ofAda);
  await vi.waitFor(() => expect(came).toEqual([429, 429, 429]));
  expect(store.asked).toEqual([nameOf(DAYS[0]!)]);
  const settled = await Promise.all(ofAda.map(({ answer }) => Promise.race([answer, Promise.resolve(null)])));
  const refused = settled.find((one) => one !== null)!;
  expect([refused.headers['retry-after'], textOf(refused.bytes.toString())]).toEqual([
    '15',
    expect.stringContaining('Too many downloads Your other downloads are not finished'),
  ]);

  const others = [ask('vera', dayOf(DAYS[1]!)), ask('zoe', dayOf(DAYS[2]!))];
  await vi.waitFor(() => expect(store.asked).toHaveLength(2));
  // Pages are nobody's turn.
  expect((await ask('ada', `/m/${merchantNo}/2026-03`).answer)!.status).toBe(200);
  store.letGo(1);
  await vi.waitFor(() => expect(store.asked).toHaveLength(3));
  expect(store.asked.slice(1).sort()).toEqual([nameOf(DAYS[1]!), nameOf(DAYS[2]!)]);
  for (let nth = 0; nth < 7; nth += 1) {
    await vi.waitFor(() => expect(store.asked.length).toBeGreaterThan(nth));
    store.letGo(nth);
  }
  const statuses = async (all: readonly ReturnType<typeof ask>[]) =>
    (await Promise.all(all.map(({ answer }) => answer))).map((got) => got?.status).sort();
  expect(await statuses(others)).toEqual([200, 200]);
  expect(await statuses(ofAda)).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
});

test('what is made has the same bytes however many wait, and its person is on record', async () => {
  await show(stage.app.objects);
  const { database, objects, now } = stage.app;
  const format = STATEMENT_FORMATS.find(({ name }) => name === 'xlsx')!;
  const month = monthOf('2026-03')!;
  const own = await monthDownload({ db: database.db, objects, format, now }, merchantNo, month, null);
  const expected = await collected(zippedMonth(month, own.accounts, own.files));
  const people = ['ada', 'vera', 'zoe'].flatMap((name) => Array.from({ length: 4 }, () => name));
  const answers = await Promise.all(people.map((name) => ask(name, MONTH).answer));
  expect(answers.map((got) => expected.equals(got!.bytes))).toEqual(people.map(() => true));
  const recorded = await database.db
    .selectFrom('audit_event')
    .select(({ fn }) => ['by_whom', 'note', fn.countAll<number>().as('count')])
    .where('subject', '=', `2026-03 ${merchantNo}`)
    .groupBy(['by_whom', 'note'])
    .orderBy('by_whom')
    .execute();
  expect(recorded).toEqual(['ada', 'vera', 'zoe'].map((by_whom) => ({ by_whom, note: 'as xlsx', count: 4 })));
});

describe('whoever leaves', () => {
  test('while they wait frees their place', async () => {
    const store = gatedStore();
    await show(store);
    const running = [ask('ada', dayOf(DAYS[0]!)), ask('vera', dayOf(DAYS[1]!))];
    await vi.waitFor(() => expect(store.asked).toHaveLength(2));
    const ofZoe = ask('zoe', dayOf(DAYS[2]!));
    await vi.waitFor(async () => expect(await pages.connections()).toBe(3));
    ofZoe.leave();
    await vi.waitFor(async () => expect(await pages.connections()).toBe(2));
    const ofYan = ask('yan', dayOf(DAYS[3]!));
    store.letGo(0);
    await vi.waitFor(() => expect(store.asked).toHaveLength(3));
    store.letGo(1);
    store.letGo(2);
    const answers = await Promise.all([...running, ofYan].map(({ answer }) => answer));
    expect(answers.map((got) => got?.status)).toEqual([200, 200, 200]);
    expect(store.asked).not.toContain(nameOf(DAYS[2]!));
    // There is no one to refuse.
    expect(pages.events).toEqual([]);
  });

  test.each([
    ['a day', dayOf(DAYS[0]!)],
    ['a month', MONTH],
  ])('while %s is made ends its making, and the next one begins', async (_, path) => {
    const store = gatedStore();
    await show(store);
    const ofAda = ask('ada', path);
    await vi.waitFor(() => expect(store.asked.length).toBeGreaterThan(0));
    const next = ask('ada', dayOf(DAYS[3]!, 'spreadsheet'));
    await vi.waitFor(async () => expect(await pages.connections()).toBe(2));
    const before = store.asked.length;
    ofAda.leave();
    await vi.waitFor(async () => expect(await pages.connections()).toBe(1));
    for (let nth = 0; nth < before; nth += 1) store.letGo(nth);
    await vi.waitFor(() => expect(store.asked.length).toBeGreaterThan(before));
    // What was being made asks for no further file.
    expect(store.asked.slice(before)).toEqual([nameOf(DAYS[3]!)]);
    store.letGo(before);
    expect((await next.answer)!.bytes.byteLength).toBeGreaterThan(1_000);
  });
});

test('who waits too long is refused in words, and is not connected for ever', async () => {
  const store = gatedStore();
  await show(store);
  const [first, second] = [ask('ada', dayOf(DAYS[0]!)), ask('ada', dayOf(DAYS[1]!))];
  await vi.waitFor(async () => expect([store.asked.length, await pages.connections()]).toEqual([1, 2]));
  const came = answersOf([first, second]);
  await vi.waitFor(() => {
    time.pass(45_000);
    expect(came).toEqual([429]);
  });
  store.letGo(0);
  await vi.waitFor(() => expect(came).toEqual([429, 200]));
});

/** A statement without an end. */
async function* endless(): AsyncGenerator<Uint8Array> {
  await Promise.resolve();
  yield Buffer.from('batch_no,booked_at,currency,type,credit,debit,balance\r\n');
  const rows = Buffer.from('B1,2026-03-02 00:00:00,USD,SETTLE,1.00,,1.00\r\n'.repeat(1_500));
  for (;;) yield rows;
}

describe('a client that takes its bytes too slowly is cut off, and the next one begins', () => {
  const begin = async () => {
    let opened = 0;
    await show({
      ...stage.app.objects,
      get: (key) => {
        opened += 1;
        return opened === 1 ? Promise.resolve(endless()) : stage.app.objects.get(key);
      },
    });
    const socket = connect(Number(new URL(pages.url).port), '127.0.0.1').on('error', () => undefined);
    const path = dayOf(DAYS[0]!, 'spreadsheet');
    socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-person: ada\r\n\r\n`);
    await once(socket, 'readable');
    return socket;
  };
  const isCut = async () => expect(await pages.connections()).toBe(0);
  const nextIsMade = async () => expect((await ask('ada', dayOf(DAYS[1]!)).answer)!.status).toBe(200);

  test('where it takes nothing', async () => {
    const socket = await begin();
    await vi.waitFor(async () => {
      time.pass(300_000);
      await isCut();
    });
    await nextIsMade();
    socket.destroy();
  });

  test('where it takes a little again and again', async () => {
    const socket = await begin();
    let taken = 0;
    await vi.waitFor(async () => {
      taken += (socket.read(1_000) as Buffer | null)?.byteLength ?? 0;
      time.pass(10_000);
      await isCut();
    });
    expect(taken).toBeGreaterThan(1_000);
    await nextIsMade();
    socket.destroy();
  });
});

test('a HEAD request makes nothing and takes no turn', async () => {
  const store = gatedStore();
  await show(store);
  for (const path of [dayOf(DAYS[0]!), MONTH]) {
    const { status } = await fetch(pages.url + path, { method: 'HEAD', headers: { 'x-person': 'ada' } });
    expect(status).toBe(404);
  }
  expect(store.asked).toEqual([]);
});

test('files that lie in the store are not made: their readers wait for nobody who has one made', async () => {
  const store = gatedStore();
  await show(store);
  const made = ask('ada', dayOf(DAYS[0]!));
  await vi.waitFor(() => expect(store.asked).toHaveLength(1));
  const lies = ask('ada', `/download/${merchantNo}/USD/${DAYS[1]!}`);
  await vi.waitFor(() => expect(store.asked).toHaveLength(2));
  store.letGo(1);
  expect((await lies.answer)!.status).toBe(200);
  store.letGo(0);
  expect((await made.answer)!.status).toBe(200);
});

test('people take turns, however many requests one of them has waiting', async () => {
  const limits = { atOnce: 1, ofPersonAtOnce: 1, waitingOfPersonMax: 4, waitMsMax: 1_000 };
  const turns = createTurns(limits, handTime());
  const order: string[] = [];
  const { signal } = new AbortController();
  const all = ['a1', 'a2', 'a3', 'v1', 'v2', 'z1'].map(async (name) => {
    const leave = await turns.enter(name[0]!, signal);
    order.push(name);
    await Promise.resolve();
    leave!();
    // Whoever ends twice frees one place.
    leave!();
  });
  await Promise.all(all);
  expect(order).toEqual(['a1', 'a2', 'v1', 'z1', 'a3', 'v2']);
});
