import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { sql, type Kysely } from 'kysely';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  LeaseHeld,
  LeaseLost,
  acquireLease,
  assertLease,
  type Lease,
  releaseLeases,
  renewLeases,
} from '../../src/store/engine/lease.ts';
import { hasExited, thisHolder } from '../../src/host/process-identity.ts';
import { leaseHolders } from '../../src/store/runs.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import { freshDatabase } from '../support/database.ts';
import { onBothDatabases } from './support.ts';

const IDENTITY = new URL('../../src/host/process-identity.ts', import.meta.url).href;

/** Starts another process, and returns it with its name as a holder. */
async function otherProcess(): Promise<{ child: ChildProcess; holder: string }> {
  const script = `import { thisHolder } from '${IDENTITY}'; console.log(thisHolder()); process.stdin.resume();`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, holder: line.toString().trim() };
}

const end = async (child: ChildProcess): Promise<void> => {
  child.kill('SIGKILL');
  await once(child, 'exit');
};

/** Makes time pass for the lease by changing its row, as it follows the database's clock, which cannot be set. */
const pass = async (db: Kysely<DB>, seconds: number): Promise<void> => {
  const by = sql<Date>`${seconds} * interval '1 s'`;
  await sql`UPDATE lease SET acquired_at = acquired_at - ${by}, expires_at = expires_at - ${by}`.execute(db);
};

onBothDatabases((store) => {
  const acquire = (holder: string) =>
    acquireLease(store().db, { name: 'night', holder, ttlMs: 60_000, lockMs: 100 });
  const renew = (lease: Lease) => renewLeases(store().db, [lease], { ttlMs: 60_000 });
  const assertHeld = (lease: Lease) =>
    store()
      .db.transaction()
      .execute((trx) => assertLease(trx, lease));

  it('is held by one, and shows by whom, since when and until when', async () => {
    const first = await acquire('alpha:1:-');
    expect(first).toEqual({ name: 'night', epoch: 1, holder: 'alpha:1:-' });
    await pass(store().db, 55);
    const refusal = await acquire('beta:1:-').catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(LeaseHeld);
    expect(refusal).toMatchObject({ holder: 'alpha:1:-', exitCode: 5 });
    expect(String(refusal)).toMatch(/alpha:1:-.* since \d.*Z, until \d.*Z unless renewed/);
  });

  it('goes to only one of many that ask at once', async () => {
    const asked = await Promise.allSettled(Array.from({ length: 8 }, (_, n) => acquire(`host${n}:1:-`)));
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const one of asked) if (one.status === 'rejected') expect(one.reason).toBeInstanceOf(LeaseHeld);
  });

  it('is free once it is released or over, and its former holder may then write nothing', async () => {
    const first = await acquire('alpha:1:-');
    await releaseLeases(store().db, [first]);
    const second = await acquire('beta:1:-');
    await pass(store().db, 61);
    const third = await acquire('gamma:1:-');
    expect([first.epoch, second.epoch, third.epoch]).toEqual([1, 2, 3]);
    for (const lost of [first, second]) {
      await expect(assertHeld(lost)).rejects.toThrow(LeaseLost);
      expect(await renew(lost)).toEqual([lost]);
      await releaseLeases(store().db, [lost]);
    }
    await assertHeld(third);
  });

  it('is kept by renewing it, even after it was over, if nobody took it', async () => {
    const lease = await acquire('alpha:1:-');
    for (const seconds of [50, 55, 70]) {
      await pass(store().db, seconds);
      expect(await renew(lease)).toEqual([]);
    }
    await pass(store().db, 55);
    await expect(acquire('beta:1:-')).rejects.toThrow(LeaseHeld);
  });

  it('of an ended process of this machine is taken at once, that of a running one is not', async () => {
    const { child, holder } = await otherProcess();
    const lost = await acquire(holder);
    await expect(acquire(thisHolder())).rejects.toThrow(LeaseHeld);
    await end(child);
    expect(await acquire(thisHolder())).toMatchObject({ epoch: 2 });
    await expect(assertHeld(lost)).rejects.toThrow(LeaseLost);
  });
});

describe('on a host with a wrong clock', () => {
  afterEach(() => vi.useRealTimers());

  it.each([
    ['ahead', 180_000],
    ['behind', -180_000],
  ])('by three minutes %s, the lease follows the database’s clock', async (_, byMs) => {
    const { db, close } = await freshDatabase();
    onTestFinished(close);
    const acquire = (holder: string) => acquireLease(db, { name: 'night', holder, ttlMs: 60_000 });
    const wrong = () => vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + byMs });
    const lease = await acquire('right:1:-');
    wrong();
    await expect(acquire('wrong:1:-')).rejects.toThrow(LeaseHeld);
    expect(await leaseHolders(db)).toEqual(['right:1:-']);
    expect(await renewLeases(db, [lease], { ttlMs: 60_000 })).toEqual([]);
    vi.useRealTimers();
    await pass(db, 61);
    expect(await leaseHolders(db)).toEqual([]);
    wrong();
    expect(await acquire('wrong:1:-')).toMatchObject({ epoch: 2 });
    vi.useRealTimers();
    expect(await leaseHolders(db)).toEqual(['wrong:1:-']);
    await pass(db, 61);
    expect(await acquire('right:1:-')).toMatchObject({ epoch: 3 });
  });

  it('a transaction that is older than the lease still sees when the lease is over', async () => {
    const { db, close } = await freshDatabase();
    onTestFinished(close);
    await db.transaction().execute(async (trx) => {
      // From here on the transaction's own now() does not change.
      await sql`SELECT now()`.execute(trx);
      await acquireLease(db, { name: 'night', holder: 'right:1:-', ttlMs: 1 });
      await expect
        .poll(() => acquireLease(trx, { name: 'night', holder: 'late:1:-', ttlMs: 60_000 }).catch(() => null))
        .toMatchObject({ epoch: 2 });
    });
  });
});

describe('a process', () => {
  const [host, pid, boot] = thisHolder().split(':') as [string, string, string];

  it('has not ended while it runs', () => expect(hasExited(thisHolder())).toBe(false));

  it('has ended if its pid now belongs to another process', () =>
    expect(hasExited(`${host}:${pid}:${boot.replace(/\.\d+$/, '.1')}`)).toBe(true));

  it.each([
    ['of another boot or machine', `${host}:999999999:00000000-0000-0000-0000-000000000000.1.1`],
    ['of another pid namespace', `${host}:999999999:${boot.replace(/\.\d+\./, '.7.')}`],
    ['that did not say where it ran', 'elsewhere:999999999:-'],
    ['that is no holder', 'nonsense'],
  ])('%s cannot be known to have ended', (_, holder) => expect(hasExited(holder)).toBe(false));
});
