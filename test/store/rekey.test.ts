import { randomBytes } from 'node:crypto';
import { sql, type Kysely } from 'kysely';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  recordApplication,
  markRefused,
  applicationDetail,
  openPayloads,
} from '../../src/plugins/submissions/applications.ts';
import {
  CIPHERTEXT_COLUMNS,
  secretKeysInUse,
  type CiphertextColumn,
  rekey,
} from '../../src/store/secrets/key-check.ts';
import { addMerchant, merchantTokens } from '../../src/store/merchants.ts';
import { decryptSecret, encryptSecret, type SecretKey } from '../../src/store/secrets/secrets.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import { freshDatabase } from '../support/database.ts';
import { NOW, onBothDatabases } from './support.ts';

const newKey = (id: string): SecretKey => ({ id, key: randomBytes(32) });
const [k1, k2, k3] = [newKey('k1'), newKey('k2'), newKey('k_3')];

onBothDatabases((store) => {
  const add = (merchantNo: string, secretKeys: readonly SecretKey[]) =>
    addMerchant(store().db, { merchantNo, token: `token of ${merchantNo}`, secretKeys, now: NOW });
  const apply = (merOrderNo: string, secretKeys: readonly SecretKey[]) =>
    recordApplication(store().db, {
      merOrderNo,
      payload: { of: merOrderNo },
      notifyHash: null,
      processVersion: null,
      replaces: null,
      holder: 'test:1:-',
      secretKeys,
      now: NOW,
    });
  const tokens = async (secretKeys: readonly SecretKey[]) =>
    (await merchantTokens(store().db, secretKeys)).map(({ token }) => token);

  it('every column with ciphertexts is known, with the column that identifies its rows', async () => {
    const { rows } = await sql<{ table: string; column: string }>`
      SELECT table_name AS table, column_name AS column FROM information_schema.columns
      WHERE table_schema = 'public' AND column_name ~ '(ciphertext|encrypted)'`.execute(store().db);
    const spelt = (one: { table: string; column: string }) => `${one.table}.${one.column}`;
    expect(CIPHERTEXT_COLUMNS.map(spelt).sort()).toEqual(rows.map(spelt).sort());
    for (const { table, key } of CIPHERTEXT_COLUMNS) {
      const unique = await sql`
        SELECT FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
        WHERE indrelid = ${table}::regclass AND indisunique AND indnatts = 1 AND attname = ${key}`.execute(
        store().db,
      );
      expect({ table, key, unique: unique.rows.length > 0 }).toEqual({ table, key, unique: true });
    }
  });

  describe('after rekeying', () => {
    it('the old keys can be removed, and everything can be decrypted', async () => {
      for (let n = 34; n >= 10; n -= 1) await add(`M${n}`, n % 3 === 0 ? [k2] : [k1]);
      await add('M0', [k3]);
      await addMerchant(store().db, { merchantNo: 'M1', token: null, secretKeys: [], now: NOW });
      const refused = await apply('A1', [k1]);
      await markRefused(store().db, refused, {
        problem: 'no',
        detail: 'said no',
        secretKeys: [k1],
        now: NOW,
      });
      await apply('A2', [k2]);
      const before = await tokens([k1, k2, k3]);
      expect(before).toHaveLength(26);

      const report = await rekey(store().db, [k3, k1, k2], 4);
      expect(report).toEqual({
        keyId: 'k_3',
        rekeyed: [
          { table: 'merchant', column: 'token_ciphertext', count: 25 },
          { table: 'application', column: 'payload_ciphertext', count: 2 },
          { table: 'application', column: 'detail_ciphertext', count: 1 },
          { table: 'application', column: 'recorded_name_ciphertext', count: 0 },
          { table: 'fingerprint_key', column: 'key_ciphertext', count: 0 },
          { table: 'beneficiary', column: 'payload_ciphertext', count: 0 },
          { table: 'notification', column: 'body_ciphertext', count: 0 },
        ],
        unreadable: 0,
        problems: [],
        idle: ['k1', 'k2'],
      });
      expect(await tokens([k3])).toEqual(before);
      expect(await applicationDetail(store().db, [k3], refused.id)).toBe('said no');
      expect((await openPayloads(store().db, [k3])).map(({ payload }) => payload)).toEqual([{ of: 'A2' }]);
      expect(await secretKeysInUse(store().db)).toEqual(new Map([['k_3', 29]]));

      const again = await rekey(store().db, [k3], 4);
      expect(again.rekeyed.every(({ count }) => count === 0)).toBe(true);
    });

    it('a value that cannot be decrypted is left and reported with its key; the rest is processed', async () => {
      await add('M1', [k1]);
      await add('M2', [{ ...k2, key: randomBytes(32) }]);
      await add('M3', [k2]);
      const report = await rekey(store().db, [k3, k2], 1);
      expect(report.unreadable).toBe(2);
      expect(report.problems).toEqual([
        'token_ciphertext of merchant M1 was encrypted with key "k1", which DAYBOOK_SECRET_KEYS does not have; put it back ' +
          'after the key in use.',
        'token_ciphertext of merchant M2 cannot be read with key "k2": the key has changed, or the row was altered; ' +
          'put the key it was written with into DAYBOOK_SECRET_KEYS under that id.',
      ]);
      expect(report.idle).toEqual([]);
      expect(report.rekeyed[0]).toMatchObject({ count: 1 });
      expect(await secretKeysInUse(store().db)).toEqual(
        new Map([
          ['k1', 1],
          ['k2', 1],
          ['k_3', 1],
        ]),
      );
    });

    it('a key that only looks like the first one counts as another', async () => {
      await add('M1', [newKey('kx3')]);
      await expect(rekey(store().db, [])).rejects.toThrow(/DAYBOOK_SECRET_KEYS/);
      expect(await rekey(store().db, [k3])).toMatchObject({ unreadable: 1 });
    });
  });

  it('every column is encrypted again with what binds it to its row', async () => {
    for (const { table, key, column } of CIPHERTEXT_COLUMNS) {
      const row = table === 'notification' ? '6f1ab3a0-4b6e-4c1c-9d3e-0a4f8f0f1c11' : 'R1';
      const place = { table, row, column };
      await insertRow({ table, key, column }, row, encryptSecret([k1], place, `secret of ${table}`));
      expect(await rekey(store().db, [k2, k1])).toMatchObject({ unreadable: 0, idle: ['k1'] });
      const { rows } = await sql<{
        now: string;
      }>`SELECT ${sql.ref(column)} AS now FROM ${sql.table(table)}`.execute(store().db);
      expect(decryptSecret([k2], place, rows[0]!.now)).toBe(`secret of ${table}`);
      await sql`DELETE FROM ${sql.table(table)}`.execute(store().db);
    }
  });

  /** Inserts a row with this ciphertext, and whatever else the table needs. */
  async function insertRow(
    { table, key, column }: CiphertextColumn,
    row: string,
    stored: string,
  ): Promise<void> {
    const { rows } = await sql<{ name: string; type: string }>`
      SELECT column_name AS name, data_type AS type FROM information_schema.columns
      WHERE table_schema = 'public' AND table_name = ${table} AND column_default IS NULL AND is_identity = 'NO'
        AND (is_nullable = 'NO' OR column_name = 'payload_ciphertext') AND column_name NOT IN (${key}, ${column})`.execute(
      store().db,
    );
    const fixed: Readonly<Record<string, string>> = { biz_mode: 'B', kind: 'onboarding' };
    const valueOf = ({ name, type }: { name: string; type: string }): string => {
      if (name.endsWith('_ciphertext')) return encryptSecret([k2], { table, row, column: name }, 'other');
      return fixed[name] ?? (type.startsWith('timestamp') ? NOW.toISOString() : 'x');
    };
    const names = [key, column, ...rows.map(({ name }) => name)].map((name) => sql.ref(name));
    await sql`INSERT INTO ${sql.table(table)} (${sql.join(names)}) VALUES (${sql.join([row, stored, ...rows.map(valueOf)])})`.execute(
      store().db,
    );
  }
});

it('a token written while its row is rekeyed stays', async () => {
  const database = await freshDatabase();
  onTestFinished(() => database.close());
  const { db } = database;
  const add = (on: Kysely<DB>, token: string) =>
    addMerchant(on, { merchantNo: 'M1', token, secretKeys: [k1], now: NOW });
  await add(db, 'old');
  let rekeying: ReturnType<typeof rekey> | undefined;
  await db.transaction().execute(async (trx) => {
    await add(trx, 'new');
    rekeying = rekey(db, [k2, k1]);
    await vi.waitUntil(async () => {
      const { rows } = await sql`SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(db);
      return rows.length > 0;
    });
  });
  expect((await rekeying!).rekeyed[0]).toMatchObject({ count: 0 });
  expect(await merchantTokens(db, [k1])).toEqual([{ merchantNo: 'M1', token: 'new' }]);
  expect((await rekey(db, [k2, k1])).rekeyed[0]).toMatchObject({ count: 1 });
  expect(await merchantTokens(db, [k2])).toEqual([{ merchantNo: 'M1', token: 'new' }]);
});
