import { expect, test } from 'vitest';
import { sideBySide, type Waits } from '../../src/run/side-by-side.ts';

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
