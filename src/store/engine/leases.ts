/** Takes, renews and releases many leases in one statement each. See lease.ts for what a lease is. */
import { sql } from 'kysely';
import { hasExited } from '../../host/process-identity.ts';
import { arrayLiteral } from './array-literal.ts';
import { acquireLease, DATABASE_NOW, FIRST_EPOCH, heldBy, inMs, LeaseHeld, type Lease } from './lease.ts';
import { type Db, type Trx, rowsOf } from './database.ts';
import { LEASE_LOCK_MS } from './waits.ts';

export interface LeasesTaken {
  readonly taken: readonly Lease[];
  /** Why the others could not be taken, by the lease's name. */
  readonly held: ReadonlyMap<string, LeaseHeld>;
}

/**
 * Takes those of the leases that are free, have run out, or belong to a dead process of this machine. A lease
 * whose row is locked by an open transaction is waited for, up to `lockMs` for all of them together.
 */
export async function acquireLeases(
  db: Db,
  wanted: {
    readonly names: readonly string[];
    readonly holder: string;
    readonly ttlMs: number;
    readonly lockMs?: number;
  },
): Promise<LeasesTaken> {
  const { names, holder, ttlMs, lockMs = LEASE_LOCK_MS } = wanted;
  const held = new Map<string, LeaseHeld>();
  const abandoned: { name: string; epoch: number }[] = [];
  for (const row of await liveOnes(db, names)) {
    if (hasExited(row.holder)) abandoned.push(row);
    else held.set(row.name, heldBy(row));
  }
  const free = names.filter((name) => !held.has(name));
  const taken = await takeRows(db, free, { holder, ttlMs, abandoned });
  const known = new Set(taken.map(({ name }) => name));
  // Somebody was faster, or a transaction has the row locked: asked for one by one, each with its own reason.
  const untilMs = performance.now() + lockMs;
  for (const name of free.filter((one) => !known.has(one))) {
    try {
      const leftMs = Math.max(1, Math.round(untilMs - performance.now()));
      taken.push(await acquireLease(db, { name, holder, ttlMs, lockMs: leftMs }));
    } catch (error) {
      if (!(error instanceof LeaseHeld)) throw error;
      held.set(name, error);
    }
  }
  return { taken, held };
}

interface LiveLease {
  readonly name: string;
  readonly epoch: number;
  readonly holder: string;
  readonly acquired_at: Date;
  readonly expires_at: Date;
}

const liveOnes = (db: Db, names: readonly string[]): Promise<LiveLease[]> => rowsOf(db)<LiveLease>`
    SELECT name, epoch, holder, acquired_at, expires_at FROM lease
    WHERE name = ANY (${arrayLiteral(names)}::text[]) AND expires_at > ${DATABASE_NOW}`;

/** Skips rows that are locked. Rows are locked in order of names, so that two processes do not wait for each other. */
async function takeRows(
  db: Db,
  names: readonly string[],
  {
    holder,
    ttlMs,
    abandoned,
  }: {
    readonly holder: string;
    readonly ttlMs: number;
    readonly abandoned: readonly { readonly name: string; readonly epoch: number }[];
  },
): Promise<Lease[]> {
  if (names.length === 0) return [];
  const rows = await rowsOf(db)<{ name: string; epoch: number }>`
    WITH wanted AS (SELECT unnest(${arrayLiteral(names)}::text[]) AS name), abandoned AS (
      SELECT * FROM unnest(${arrayLiteral(abandoned.map(({ name }) => name))}::text[],
        ${arrayLiteral(abandoned.map(({ epoch }) => epoch))}::bigint[]) AS abandoned (name, epoch)
    ), free AS (
      SELECT lease.name FROM lease
      WHERE lease.name IN (SELECT name FROM wanted)
        AND (expires_at IS NULL OR expires_at <= ${DATABASE_NOW} OR (lease.name, lease.epoch) IN (SELECT * FROM abandoned))
      ORDER BY lease.name FOR UPDATE SKIP LOCKED
    ), taken AS (
      UPDATE lease SET epoch = lease.epoch + 1, void_through = 0, holder = ${holder}, acquired_at = ${DATABASE_NOW},
        expires_at = ${inMs(ttlMs)}
      FROM free WHERE lease.name = free.name
      RETURNING lease.name, lease.epoch
    ), fresh AS (
      INSERT INTO lease (name, epoch, holder, acquired_at, expires_at)
      SELECT name, ${FIRST_EPOCH}, ${holder}, ${DATABASE_NOW}, ${inMs(ttlMs)} FROM wanted
      WHERE NOT EXISTS (SELECT FROM lease known WHERE known.name = wanted.name)
      ORDER BY name ON CONFLICT (name) DO NOTHING
      RETURNING name, epoch
    )
    SELECT name, epoch FROM taken UNION ALL SELECT name, epoch FROM fresh`;
  return rows.map(({ name, epoch }) => ({ name, epoch, holder }));
}

/** The leases as rows `(name, epoch)` with the alias `own`. */
const rowsOf = (leases: readonly Lease[]) => sql`unnest(
  ${arrayLiteral(leases.map(({ name }) => name))}::text[],
  ${arrayLiteral(leases.map(({ epoch }) => epoch))}::bigint[]) AS own (name, epoch)`;

/**
 * Extends the leases, also expired ones that no other process took over. Returns those that are lost: taken over or
 * released.
 */
export async function renewLeases(
  db: Db,
  leases: readonly Lease[],
  { ttlMs }: { readonly ttlMs: number },
): Promise<Lease[]> {
  if (leases.length === 0) return [];
  // Locked in order of names first, as other transactions of this process do, so that none waits for the other.
  const rows = await rowsOf(db)<{ name: string }>`
    WITH kept AS (
      SELECT lease.name FROM lease JOIN ${rowsOf(leases)} ON lease.name = own.name AND lease.epoch = own.epoch
      WHERE lease.expires_at IS NOT NULL ORDER BY lease.name FOR NO KEY UPDATE OF lease
    )
    UPDATE lease SET expires_at = ${inMs(ttlMs)} FROM kept WHERE lease.name = kept.name
    RETURNING lease.name`;
  const kept = new Set(rows.map(({ name }) => name));
  return leases.filter(({ name }) => !kept.has(name));
}

/** Ends the leases, so that others can take them. Leaves those alone that somebody else holds already. */
export async function releaseLeases(db: Db, leases: readonly Lease[]): Promise<void> {
  if (leases.length === 0) return;
  await sql`
    UPDATE lease SET expires_at = NULL FROM ${rowsOf(leases)}
    WHERE lease.name = own.name AND lease.epoch = own.epoch`.execute(db);
}

/**
 * Returns those of the leases that are still held. Until the transaction ends, no process can take these over.
 */
export async function heldStill(trx: Trx, leases: readonly Lease[]): Promise<Lease[]> {
  const rows = await rowsOf(trx)<{ name: string }>`
    SELECT lease.name FROM lease JOIN ${rowsOf(leases)} ON lease.name = own.name AND lease.epoch = own.epoch
    WHERE lease.expires_at IS NOT NULL ORDER BY lease.name FOR SHARE OF lease`;
  const held = new Set(rows.map(({ name }) => name));
  return leases.filter(({ name }) => held.has(name));
}
