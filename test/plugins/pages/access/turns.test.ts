/** Whose turn it is: nobody waits for a crowd, and a crowd fills no memory. */
import { setImmediate as tick } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTurns, TooManyChecks } from '../../../../src/plugins/pages/access/turns.ts';

/** Work that ends when it is asked to, so that a test sees the order. */
function working() {
  const turns = createTurns();
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const refused: string[] = [];
  return {
    begun,
    refused,
    wait: (network: string, isKnown = false): void => {
      turns({ network, isKnown }, () => {
        begun.push(network);
        return new Promise<void>((resolve) => ends.push(resolve));
      }).catch((error: unknown) => {
        if (!(error instanceof TooManyChecks)) throw error;
        refused.push(network);
      });
    },
    /** Ends the oldest work, `count` times. */
    end: async (count: number): Promise<void> => {
      for (let ended = 0; ended < count; ended += 1) {
        await tick();
        ends.shift()!();
        await tick();
      }
    },
  };
}

test('two work at once, one network after the other, and known browsers before all', async () => {
  const { begun, wait, end } = working();
  for (let at = 0; at < 5; at += 1) wait('crowd');
  wait('other');
  wait('known', true);
  await tick();
  expect(begun).toEqual(['crowd', 'crowd']);
  await end(5);
  expect(begun).toEqual(['crowd', 'crowd', 'known', 'crowd', 'other', 'crowd', 'crowd']);
});

test('a network has twelve that wait, and keeps no place of others', async () => {
  const { begun, refused, wait, end } = working();
  for (let at = 0; at < 20; at += 1) wait('crowd');
  wait('other');
  await tick();
  expect(refused).toEqual(Array<string>(6).fill('crowd'));
  await end(3);
  expect(begun.slice(0, 4)).toEqual(['crowd', 'crowd', 'crowd', 'other']);
  await end(10);
  wait('crowd');
  await end(1);
  expect(refused).toHaveLength(6);
});

test('a thousand networks fill no memory, and a known browser is not refused among them', async () => {
  const { begun, refused, wait, end } = working();
  for (let at = 0; at < 1_000; at += 1) wait(`network ${at}`);
  wait('known', true);
  await end(1);
  expect(refused).toHaveLength(1_000 - 202);
  expect(begun.at(-1)).toBe('known');
});

test('work that fails gives its turn back', async () => {
  const turns = createTurns();
  const failing = () => turns({ network: 'a', isKnown: false }, () => Promise.reject(new Error('made up')));
  for (let at = 0; at < 5; at += 1) await expect(failing()).rejects.toThrow('made up');
  await expect(turns({ network: 'b', isKnown: false }, () => Promise.resolve(1))).resolves.toBe(1);
});

test('a check that waits too long is refused before its connection is cut, and leaves its place', async () => {
  const late: (() => void)[] = [];
  const turns = createTurns((ms, then) => {
    expect(ms).toBeLessThan(20_000);
    late.push(then);
    return () => late.splice(late.indexOf(then), 1);
  });
  const ends: (() => void)[] = [];
  const begun: string[] = [];
  const check = (network: string) =>
    turns({ network, isKnown: false }, () => {
      begun.push(network);
      return new Promise<void>((resolve) => ends.push(resolve));
    });
  const both = [check('one'), check('two')];
  const waiting = check('three');
  const next = check('four');
  await tick();
  expect(late).toHaveLength(2);
  late[0]!();
  await expect(waiting).rejects.toBeInstanceOf(TooManyChecks);
  ends.shift()!();
  await tick();
  expect(begun).toEqual(['one', 'two', 'four']);
  expect(late).toEqual([]);
  for (const end of ends) end();
  await Promise.all([...both, next]);
});
