/** Many leases are taken, renewed and released together, each as it would be alone. */
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { thisHolder } from '../../src/host/process-identity.ts';
import { type Lease, acquireLeases, releaseLeases, renewLeases } from '../../src/store/engine/lease.ts';
import { onBothDatabases } from './support.ts';

onBothDatabases(
  (store) => {
    const names = ['A', 'B', 'C'].map((merchantNo) => `merchant/${merchantNo}`);
    const take = (holder: string, wanted = names) =>
      acquireLeases(store().db, { names: wanted, holder, ttlMs: 60_000, lockMs: 100 });
    const epochs = (leases: readonly Lease[]) =>
      Object.fromEntries(leases.map(({ name, epoch }) => [name, epoch]));

    it('are all taken, and each one’s epoch grows by itself', async () => {
      expect(epochs((await take('a:1:-')).taken)).toEqual({
        'merchant/A': 1,
        'merchant/B': 1,
        'merchant/C': 1,
      });
      await releaseLeases(store().db, [{ name: 'merchant/B', epoch: 1, holder: 'a:1:-' }]);
      const { taken, held } = await take('b:1:-');
      expect(epochs(taken)).toEqual({ 'merchant/B': 2 });
      expect([...held.keys()].sort()).toEqual(['merchant/A', 'merchant/C']);
      expect(held.get('merchant/A')).toMatchObject({ holder: 'a:1:-', exitCode: 5 });
    });

    it('of a process of this machine that is gone are taken over, those that have run out too', async () => {
      const gone = thisHolder().replace(/:\d+:/, ':999999:');
      await take(gone, ['merchant/A']);
      await take('away:1:-', ['merchant/B']);
      await sql`UPDATE lease SET expires_at = now() - interval '1 s' WHERE name = 'merchant/B'`.execute(
        store().db,
      );
      expect(epochs((await take('b:1:-')).taken)).toEqual({
        'merchant/A': 2,
        'merchant/B': 2,
        'merchant/C': 1,
      });
    });

    it('are renewed together, and those that are lost are told', async () => {
      const { taken } = await take('a:1:-');
      await releaseLeases(store().db, [taken.find(({ name }) => name === 'merchant/B')!]);
      const [lost, ...others] = await renewLeases(store().db, taken, { ttlMs: 120_000 });
      expect([lost?.name, others]).toEqual(['merchant/B', []]);
    });

    it('go to one of two processes each, if both ask at once', async () => {
      const many = Array.from({ length: 200 }, (_, at) => `merchant/${at}`);
      const [one, other] = await Promise.all([take('a:1:-', many), take('b:1:-', [...many].reverse())]);
      const taken = [...one.taken, ...other.taken].map(({ name }) => name);
      expect(taken.sort()).toEqual([...many].sort());
      expect(one.held.size + other.held.size).toBe(200);
    });
  },
  { isSmoke: true },
);
