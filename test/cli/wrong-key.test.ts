import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addMerchant } from '../../src/store/merchants.ts';
import { openStage, type Stage } from '../support/stage.ts';
import { daybook, envOf, type Ended } from './daybook.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.close());

const newKey = (): string => randomBytes(32).toString('base64');
const [right, wrong] = [newKey(), newKey()];

const withKeys = (keys: string, ...args: string[]): Promise<Ended> =>
  daybook(args, {
    ...envOf(stage),
    DAYBOOK_SECRET_KEYS: keys,
    TOKEN: 'made-up-token-9',
    DAYBOOK_LISTEN: '127.0.0.1:0',
  });
const add = (keys: string): Promise<Ended> =>
  withKeys(keys, 'merchants', 'add', '--merchant-no', 'M9', '--token-env', 'TOKEN');

const NOT_THE_KEY =
  'daybook: the key "k1" in DAYBOOK_SECRET_KEYS is not the one this database knows under that id; put that one back. ' +
  'A new key needs an id of its own, in front of the old one.\n';

test('another key under a known id is refused before anything is done with it', async () => {
  expect(await add(`k1:${right}`)).toMatchObject({ code: 0 });
  for (const args of [
    ['merchants', 'rekey'],
    ['merchants', 'list'],
    ['serve'],
    ['run'],
    ['status'],
    ['notifications', 'process'],
  ]) {
    const ended = await withKeys(`k1:${wrong}`, ...args);
    expect({ args, code: ended.code, stderr: ended.stderr }).toEqual({ args, code: 2, stderr: NOT_THE_KEY });
  }
  expect(await withKeys(`k2:${newKey()},k1:${wrong}`, 'merchants', 'rekey')).toMatchObject({ code: 2 });
  const examined = await withKeys(`k1:${wrong}`, 'doctor');
  expect(examined.code).toBe(2);
  expect(examined.stdout).toContain('FIX   secret keys: the key "k1" in DAYBOOK_SECRET_KEYS is not the one');

  const moved = await withKeys(`k2:${wrong},k1:${right}`, 'merchants', 'rekey');
  expect(moved).toMatchObject({ code: 0, stdout: expect.stringContaining('1 row of merchant') });
  expect(await withKeys(`k2:${right}`, 'merchants', 'list')).toMatchObject({ code: 2 });
  expect(await withKeys(`k2:${wrong}`, 'merchants', 'list')).toMatchObject({ code: 0 });
}, 120_000);

test('a key is known from its first use on, even before anything was encrypted with it', async () => {
  const { db } = stage.app.database;
  const keys = `k5:${right}`;
  await addMerchant(db, { merchantNo: 'M8', token: null, secretKeys: [], now: new Date() });
  expect(await withKeys(keys, 'notifications', 'process')).toMatchObject({ code: 0 });
  expect(await withKeys(`k5:${wrong}`, 'merchants', 'list')).toMatchObject({ code: 2 });
}, 60_000);
