import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import {
  LeaseHeld,
  LeaseLost,
  acquireLease,
  assertLease,
  releaseLease,
  renewLease,
} from '../../src/store/lease.ts';
import { isGone, thisHolder } from '../../src/store/process-identity.ts';
import { onBothDatabases } from './support.ts';

const IDENTITY = new URL('../../src/store/process-identity.ts', import.meta.url).href;
const at = (seconds: number) => new Date(Date.UTC(2026, 2, 10, 2, 0, seconds));

/** A process of its own, and how it names itself. */
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

onBothDatabases((store) => {
  const acquire = (holder: string, seconds: number) =>
    acquireLease(store().db, { name: 'night', holder, ttlMs: 60_000, now: at(seconds) });

  it('is held by one, and says by whom, since when and until when', async () => {
    const first = await acquire('alpha:1:-', 0);
    expect(first).toEqual({ name: 'night', epoch: 1, holder: 'alpha:1:-' });
    const refusal = await acquire('beta:1:-', 59).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(LeaseHeld);
    expect(refusal).toMatchObject({ holder: 'alpha:1:-', since: at(0), until: at(60) });
    expect(String(refusal)).toContain('alpha:1:-');
  });

  it('goes to one alone of many that ask at once', async () => {
    const asked = await Promise.allSettled(Array.from({ length: 8 }, (_, n) => acquire(`host${n}:1:-`, 0)));
    expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const one of asked) if (one.status === 'rejected') expect(one.reason).toBeInstanceOf(LeaseHeld);
  });

  it('is free again when released or run out, and the one before may then write no more', async () => {
    const first = await acquire('alpha:1:-', 0);
    await releaseLease(store().db, first);
    const second = await acquire('beta:1:-', 1);
    const third = await acquire('gamma:1:-', 61);
    expect([first.epoch, second.epoch, third.epoch]).toEqual([1, 2, 3]);
    for (const lost of [first, second]) {
      await expect(
        store()
          .db.transaction()
          .execute((trx) => assertLease(trx, lost)),
      ).rejects.toThrow(LeaseLost);
      await expect(renewLease(store().db, lost, { ttlMs: 60_000, now: at(62) })).rejects.toThrow(LeaseLost);
      await releaseLease(store().db, lost);
    }
    await store()
      .db.transaction()
      .execute((trx) => assertLease(trx, third));
  });

  it('is held on by renewing it', async () => {
    const lease = await acquire('alpha:1:-', 0);
    await renewLease(store().db, lease, { ttlMs: 60_000, now: at(50) });
    await expect(acquire('beta:1:-', 100)).rejects.toMatchObject({ until: at(110) });
  });

  it('of a process of this machine that is gone is taken over at once, of one that runs it is not', async () => {
    const { child, holder } = await otherProcess();
    const lost = await acquire(holder, 0);
    await expect(acquire(thisHolder(), 1)).rejects.toThrow(LeaseHeld);
    await end(child);
    expect(await acquire(thisHolder(), 2)).toMatchObject({ epoch: 2 });
    await expect(
      store()
        .db.transaction()
        .execute((trx) => assertLease(trx, lost)),
    ).rejects.toThrow(LeaseLost);
  });
});

describe('a process', () => {
  const [host, pid, boot] = thisHolder().split(':') as [string, string, string];

  it('is not gone while it runs', () => expect(isGone(thisHolder())).toBe(false));

  it('is gone when its pid is another process now', () =>
    expect(isGone(`${host}:${pid}:${boot.replace(/\.\d+$/, '.1')}`)).toBe(true));

  it.each([
    ['of another boot or machine', `${host}:999999999:00000000-0000-0000-0000-000000000000.1.1`],
    ['of another pid namespace', `${host}:999999999:${boot.replace(/\.\d+\./, '.7.')}`],
    ['that did not say where it ran', 'elsewhere:999999999:-'],
    ['that is no holder', 'nonsense'],
  ])('%s cannot be known to be gone', (_, holder) => expect(isGone(holder)).toBe(false));
});
