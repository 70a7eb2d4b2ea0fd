import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addMerchant, setMerchantStatus, listMerchants, merchantTokens } from '../../src/store/merchants.ts';
import {
  decryptSecret,
  encryptSecret,
  SecretUnreadable,
  UnknownSecretKey,
} from '../../src/store/secrets/secrets.ts';
import { NOW, onBothDatabases } from './support.ts';

const newKey = (id: string) => ({ id, key: randomBytes(32) });
const [old, current] = [newKey('k1'), newKey('k2')];
const place = { table: 'merchant', row: 'M1', column: 'token_ciphertext' };

describe('a secret', () => {
  it('is decrypted as it was, and never encrypted the same way twice', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (secret) => {
        const stored = encryptSecret([current, old], place, secret);
        expect(decryptSecret([old, current], place, stored)).toBe(secret.toWellFormed());
        expect(encryptSecret([current], place, secret)).not.toBe(stored);
      }),
    );
  });

  it('cannot be decrypted at another place, after a change, or with another key of that id', () => {
    const stored = encryptSecret([current], place, 'hunter2');
    const parts = stored.split(':');
    const changed = parts.map((_, n) => parts.map((part, m) => (n === m ? flip(part) : part)).join(':'));
    for (const attempt of [
      () => decryptSecret([current], { ...place, row: 'M2' }, stored),
      () => decryptSecret([current], { ...place, column: 'other' }, stored),
      () => decryptSecret([newKey('k2')], place, stored),
      () => decryptSecret([{ ...current, id: 'k9' }], place, stored.replace('k2', 'k9')),
      ...[0, 2, 3, 4].map((n) => () => decryptSecret([current], place, changed[n]!)),
    ]) {
      expect(attempt).toThrow(SecretUnreadable);
      expect(attempt).not.toThrow(/hunter2/);
    }
  });

  it('names the key it needs, or the setting if there are no keys', () => {
    const stored = encryptSecret([old], place, 'hunter2');
    expect(() => decryptSecret([current], place, stored)).toThrow(UnknownSecretKey);
    expect(() => decryptSecret([current], place, stored)).toThrow(/"k1"/);
    expect(() => encryptSecret([], place, 'hunter2')).toThrow(/DAYBOOK_SECRET_KEYS/);
  });
});

const flip = (text: string) => `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`;

onBothDatabases((store) => {
  const add = (merchantNo: string, token: string | null, secretKeys = [current]) =>
    addMerchant(store().db, { merchantNo, token, secretKeys, now: NOW });

  it('merchants keep their token until they get another one, and are synced until they are disabled', async () => {
    expect(await add('M2', 'first', [old])).toEqual({ added: true, isDisabled: false });
    expect(await add('M1', null, [])).toEqual({ added: true, isDisabled: false });
    expect(await add('M3', 'third')).toEqual({ added: true, isDisabled: false });
    expect(await setMerchantStatus(store().db, 'M3', 'disabled', NOW)).toEqual({ hasToken: true });
    expect(await setMerchantStatus(store().db, 'M4', 'disabled', NOW)).toBeNull();
    expect(await listMerchants(store().db)).toEqual([
      { merchantNo: 'M1', status: 'active', hasToken: false, addedAt: NOW, joinedAt: NOW },
      { merchantNo: 'M2', status: 'active', hasToken: true, addedAt: NOW, joinedAt: NOW },
      { merchantNo: 'M3', status: 'disabled', hasToken: true, addedAt: NOW, joinedAt: NOW },
    ]);
    const tokens = () => merchantTokens(store().db, [current, old]);
    expect(await tokens()).toEqual([{ merchantNo: 'M2', token: 'first' }]);
    await add('M2', 'second');
    expect(await add('M3', null)).toEqual({ added: false, isDisabled: true });
    expect(await tokens()).toEqual([{ merchantNo: 'M2', token: 'second' }]);
    await setMerchantStatus(store().db, 'M3', 'active', NOW);
    expect(await tokens()).toEqual([
      { merchantNo: 'M2', token: 'second' },
      { merchantNo: 'M3', token: 'third' },
    ]);
    const stored = await store().db.selectFrom('merchant').selectAll().execute();
    expect(JSON.stringify(stored)).not.toMatch(/first|second|third/);
  });

  it('a token copied to another merchant cannot be decrypted', async () => {
    await add('M1', 'mine');
    const { token_ciphertext } = await store()
      .db.selectFrom('merchant')
      .selectAll()
      .executeTakeFirstOrThrow();
    await store()
      .db.insertInto('merchant')
      .values({ merchant_no: 'M2', token_ciphertext, added_at: NOW })
      .execute();
    expect(await merchantTokens(store().db, [current])).toEqual([
      { merchantNo: 'M1', token: 'mine' },
      { merchantNo: 'M2', token: null, problem: expect.any(SecretUnreadable) },
    ]);
  });
});
