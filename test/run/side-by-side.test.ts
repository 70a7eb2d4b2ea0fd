import { expect, test } from 'vitest';
import type { ObjectStore } from '../../src/objects/object-store.ts';
import { createMerchantWaits, sideBySide, tellingStore, type Waits } from '../../src/run/side-by-side.ts';

/** Work that is begun and ends when the test says so. */
function controlled() {
  const begun: string[] = [];
  const ends = new Map<string, { resolve: () => void; reject: (error: Error) => void }>();
  let listener: Parameters<Waits>[0] = () => undefined;
  return {
    begun,
    work: (name: string) =>
      new Promise<void>((resolve, reject) => {
        begun.push(name);
        ends.set(name, { resolve, reject });
      }),
    waits: ((given) => {
      listener = given;
      return () => undefined;
    }) as Waits,
    waiting: (name: string, isWaiting: boolean) => listener(name, isWaiting),
    end: async (name: string) => {
      ends.get(name)!.resolve();
      await new Promise(setImmediate);
    },
    fail: async (name: string) => {
      ends.get(name)!.reject(new Error(`${name} fails`));
      await new Promise(setImmediate);
    },
  };
}
const options = (waits?: Waits) => ({
  atOnce: 2,
  signal: new AbortController().signal,
  nameOf: (name: string) => name,
  waits,
});
const NAMES = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J'];

test('so many are at work at once, in order', async () => {
  const { begun, work, end } = controlled();
  const all = sideBySide(['A', 'B', 'C', 'D'], options(), work);
  expect(begun).toEqual(['A', 'B']);
  await end('B');
  expect(begun).toEqual(['A', 'B', 'C']);
  for (const name of ['A', 'C', 'D']) await end(name);
  await all;
});

test('one that only waits lends its place, and takes it back without stopping who has it', async () => {
  const { begun, work, waits, waiting, end } = controlled();
  const all = sideBySide(['A', 'B', 'C', 'D'], options(waits), work);
  waiting('A', true);
  expect(begun).toEqual(['A', 'B', 'C']);
  waiting('A', false);
  await end('B');
  expect(begun).toEqual(['A', 'B', 'C']);
  await end('C');
  expect(begun).toEqual(['A', 'B', 'C', 'D']);
  await end('D');
  await end('A');
  await all;
});

test('however many wait, no more than four times as many are begun', async () => {
  const { begun, work, waits, waiting, end } = controlled();
  const all = sideBySide(NAMES, options(waits), work);
  for (let at = 0; at < NAMES.length && at < begun.length; at += 1) waiting(begun[at]!, true);
  expect(begun).toHaveLength(8);
  for (const name of NAMES) await end(name);
  await all;
});

test('after a failure none is begun any more, those at work are waited for, and the first failure is thrown', async () => {
  const { begun, work, fail } = controlled();
  const all = sideBySide(['A', 'B', 'C'], options(), work).catch(String);
  await fail('A');
  await fail('B');
  expect(await all).toBe('Error: A fails');
  expect(begun).toEqual(['A', 'B']);
});

test('one that waits for two sources lends its place until both are over', async () => {
  const { begun, work, end } = controlled();
  const { tell, listen } = createMerchantWaits();
  const all = sideBySide(['A', 'B', 'C', 'D'], options(listen), work);
  tell('A', true);
  tell('A', true);
  expect(begun).toEqual(['A', 'B', 'C']);
  tell('A', false);
  await end('B');
  // A still waits for one of them.
  expect(begun).toEqual(['A', 'B', 'C', 'D']);
  tell('A', false);
  await end('C');
  for (const name of ['A', 'D']) await end(name);
  await all;
});

test('one that waits for two sources is reported once as waiting and once as going on, to all who listen', () => {
  const { tell, listen } = createMerchantWaits();
  const reported: string[] = [];
  const stop = listen((name, isWaiting) => reported.push(`${name} ${isWaiting ? 'waits' : 'goes on'}`));
  const others: string[] = [];
  listen((name) => others.push(name));
  tell('A', true);
  tell('B', true);
  tell('A', true);
  tell('A', false);
  tell('B', false);
  tell('A', false);
  tell('A', true);
  expect(reported).toEqual(['A waits', 'B waits', 'B goes on', 'A goes on', 'A waits']);
  stop();
  tell('A', false);
  expect(reported).toHaveLength(5);
  expect(others).toEqual(['A', 'B', 'B', 'A', 'A', 'A']);
});

/** A store that notes when it has answered, and fails on keys that say so. */
function notedStore(seen: string[]): ObjectStore {
  const answer = async <Result>(key: string, result: Result): Promise<Result> => {
    await new Promise(setImmediate);
    if (key.startsWith('lost')) throw new Error('the store fails');
    seen.push('answered');
    return result;
  };
  const digest = { bytes: 1, sha256: 'x', etag: 'e' };
  return {
    location: 'here',
    check: () => answer('', undefined),
    put: (key) => answer(key, digest),
    get: (key) => answer(key, null),
    digest: (key) => answer(key, digest),
    head: (key) => answer(key, { bytes: 1, etag: 'e' }),
    survey: async function* (prefix) {
      for (const name of [1, 2])
        yield await answer(prefix, { key: `${prefix}/${name}`, bytes: 1, etag: 'e' });
    },
    discardUnfinished: (prefix) => answer(prefix, undefined),
  };
}
const FENCE = { epoch: 1, assertHeld: () => Promise.resolve() };
type Call = (store: ObjectStore, key: string, seen: string[]) => Promise<unknown>;
const survey: Call = async (store, prefix, seen) => {
  for await (const { key } of store.survey(prefix)) seen.push(key);
};
const ONCE = ['waits', 'answered', 'goes on'];

test.each<[string, Call, readonly string[], readonly string[]]>([
  ['waits for the head of an object', (store, key) => store.head(key), ONCE, ['waits', 'goes on']],
  [
    'waits for bytes to be stored',
    (store, key) => store.put(key, Buffer.from('x')),
    ONCE,
    ['waits', 'goes on'],
  ],
  [
    'waits for the removal of unfinished writes',
    (store, key) => store.discardUnfinished(key, FENCE),
    ONCE,
    ['waits', 'goes on'],
  ],
  [
    'waits for each object of a survey, and not while it works on one',
    survey,
    [...ONCE, 'key/1', ...ONCE, 'key/2', 'waits', 'goes on'],
    ['waits', 'goes on'],
  ],
  [
    'does not wait while a stream is stored, which it makes itself',
    (store, key) => store.put(key, async function* () {}),
    ['answered'],
    [],
  ],
])('a merchant %s, also if the store fails', async (_, call, well, failed) => {
  const seen: string[] = [];
  const store = tellingStore(notedStore(seen), 'M', (merchantNo, isWaiting) => {
    expect(merchantNo).toBe('M');
    seen.push(isWaiting ? 'waits' : 'goes on');
  });
  await call(store, 'key', seen);
  expect(seen).toEqual(well);
  seen.length = 0;
  await expect(call(store, 'lost', seen)).rejects.toThrow('the store fails');
  expect(seen).toEqual(failed);
});
