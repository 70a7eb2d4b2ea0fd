import { randomBytes } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  adoptSecretKey,
  assertSecretKeys,
  provenSecretKeys,
  SecretKeyWrong,
  secretKeysProblem,
  fingerprintKey,
  rekey,
} from '../../src/store/secrets/key-check.ts';
import { addMerchant } from '../../src/store/merchants.ts';
import type { SecretKey } from '../../src/store/secrets/secrets.ts';
import { createReadiness } from '../../src/web/readiness.ts';
import { freshDatabase } from '../support/database.ts';
import { NOW, onBothDatabases } from './support.ts';
import fc from 'fast-check';

const newKey = (id: string): SecretKey => ({ id, key: randomBytes(32) });
const [k1, k2] = [newKey('k1'), newKey('k2')];
const otherThan = ({ id }: SecretKey): SecretKey => newKey(id);

onBothDatabases((store) => {
  const keepToken = (merchantNo: string, key: SecretKey) =>
    addMerchant(store().db, { merchantNo, token: 'made-up', secretKeys: [key], now: NOW });
  const known = async () =>
    (await store().db.selectFrom('secret_key_check').select('key_id').orderBy('key_id').execute()).map(
      (row) => row.key_id,
    );

  describe('a key', () => {
    it('is known by its id from its first use on, and another key with that id is refused', async () => {
      const { db } = store();
      await adoptSecretKey(db, [k1, k2]);
      expect(await known()).toEqual(['k1']);
      await adoptSecretKey(db, [k1, k2]);
      await expect(adoptSecretKey(db, [otherThan(k1)])).rejects.toThrow(SecretKeyWrong);
      await expect(assertSecretKeys(db, [k2, otherThan(k1)])).rejects.toThrow(
        /^the key "k1" in DAYBOOK_SECRET/,
      );
      expect(await secretKeysProblem(db, [k1, k2])).toBe(null);
      expect(await secretKeysProblem(db, [k2, otherThan(k1)])).toContain('"k1"');
    });

    it('that is only checked against an empty database leaves nothing behind', async () => {
      const { db } = store();
      await assertSecretKeys(db, [k1]);
      expect(await known()).toEqual([]);
      await adoptSecretKey(db, []);
      expect(await known()).toEqual([]);
    });

    it('without a check value is recognized by what it can decrypt', async () => {
      const { db } = store();
      for (let n = 10; n < 75; n += 1) await keepToken(`M${n}`, otherThan(k1));
      await expect(assertSecretKeys(db, [k1])).rejects.toThrow(SecretKeyWrong);
      await keepToken('M99', k1);
      await keepToken('M98', k2);
      expect((await provenSecretKeys(db, [k2, k1])).map(({ id }) => id)).toEqual(['k2', 'k1']);
      expect(await known()).toEqual([]);
      await assertSecretKeys(db, [k2, k1]);
      expect(await known()).toEqual(['k1', 'k2']);
      await expect(provenSecretKeys(db, [otherThan(k2)])).rejects.toThrow(SecretKeyWrong);
    });

    it('has a digest as its check value, different for every key and id', async () => {
      const { db } = store();
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ minLength: 32, maxLength: 32 }), async (bytes) => {
          const key = Buffer.from(bytes);
          await db.deleteFrom('secret_key_check').execute();
          for (const id of ['a', 'b']) await adoptSecretKey(db, [{ id, key }]);
          const values = (await db.selectFrom('secret_key_check').selectAll().execute()).map(
            (row) => row.check_value,
          );
          expect(new Set(values).size).toBe(2);
          expect(values.join()).not.toContain(key.toString('hex'));
        }),
        { numRuns: 5 },
      );
    });
  });

  it('rekey refuses a wrong key in either place before it changes a row', async () => {
    const { db } = store();
    await keepToken('M1', k1);
    await assertSecretKeys(db, [k1]);
    const before = await db.selectFrom('merchant').selectAll().execute();
    for (const keys of [[otherThan(k1)], [k2, otherThan(k1)], [otherThan(k1), k2]]) {
      await expect(rekey(db, keys)).rejects.toThrow(SecretKeyWrong);
    }
    expect(await db.selectFrom('merchant').selectAll().execute()).toEqual(before);
    expect(await rekey(db, [k2, k1])).toMatchObject({ keyId: 'k2', unreadable: 0 });
    expect(await known()).toEqual(['k1', 'k2']);
  });

  it('the key that encrypts a fingerprint key is known from then on', async () => {
    const { db } = store();
    await fingerprintKey(db, 'payee', [k1]);
    expect(await known()).toEqual(['k1']);
  });

  it('a server is not ready if its database knows another key', async () => {
    const { db } = store();
    const { signal } = new AbortController();
    await adoptSecretKey(db, [k1]);
    expect(await createReadiness({ db, secretKeys: [k1], signal })()).toMatchObject({ ready: true });
    expect(await createReadiness({ db, secretKeys: [otherThan(k1)], signal })()).toMatchObject({
      ready: false,
      checks: { secretKeys: expect.stringContaining('"k1"'), database: null },
    });
  });
});

it('of two processes with different keys under one new id, one is refused', async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.close());
  const settled = await Promise.allSettled(
    Array.from({ length: 6 }, () => adoptSecretKey(database.db, [newKey('k1')])),
  );
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const refused = settled.filter((one) => one.status === 'rejected' && one.reason instanceof SecretKeyWrong);
  expect(refused).toHaveLength(5);
});
