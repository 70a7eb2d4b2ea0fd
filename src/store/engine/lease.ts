/**
 * The lease: a row that lets only one run at a time work. Its epoch grows with every holder, and every write
 * transaction checks it. It is a row and not an advisory lock, so that it also works behind PgBouncer and survives a
 * lost connection. Only the database's clock decides whether it has run out, as the clocks of hosts may differ.
 */
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import { sql, type RawBuilder } from 'kysely';
import { DatabaseLocked } from './errors.ts';
import { hasExited } from '../../host/process-identity.ts';
import { type Db, type Trx, rowsOf, arrayLiteral } from './database.ts';

export interface Lease {
  readonly name: string;
  readonly epoch: number;
  readonly holder: string;
}

/** The name of the lease under which one merchant's ledger is read, chained and published. */
export const merchantLease = (merchantNo: string): string => `merchant/${merchantNo}`;

/** Another run holds the lease. Nothing was started. */
export class LeaseHeld extends ExpectedError {
  override readonly name = 'LeaseHeld';
  readonly exitCode = EXIT.leaseHeld;
  /** Who holds it, or held it last; null if it was never held. */
  readonly holder: string | null;

  constructor(holder: string | null, message: string) {
    super(message);
    this.holder = holder;
  }
}

/** The lease was taken over or released during the run. The run may write nothing more. */
export class LeaseLost extends ExpectedError {
  override readonly name = 'LeaseLost';
  readonly exitCode = EXIT.incomplete;

  constructor(lease: Lease, why = 'another one took over.') {
    super(`the lease "${lease.name}" is no longer held by this run (epoch ${lease.epoch}): ${why}`);
  }
}

/**
 * How often to try to take the lease over from a dead process, before `LeaseHeld` is thrown. Another run may
 * be faster each time.
 */
const TAKEOVERS_MAX = 3;

/** How long to wait for the row of a lease while somebody has it locked. */
const LEASE_LOCK_MS = 5_000;

/** The time by the database's clock, at this moment also within a long transaction. */
export const DATABASE_NOW: RawBuilder<Date> = sql<Date>`clock_timestamp()`;
export const inMs = (ms: number): RawBuilder<Date> => sql<Date>`clock_timestamp() + ${ms} * interval '1 ms'`;

/**
 * Takes the lease if it is free, has run out, or belongs to a dead process of this machine. Otherwise throws
 * `LeaseHeld`; if a transaction has the row locked, after `lockMs`. `holder` names this process, as `thisHolder()`
 * does.
 */
export async function acquireLease(db: Db, wanted: LeaseWanted): Promise<Lease> {
  const { name, holder } = wanted;
  for (let attempt = 0; ; attempt++) {
    // Read the row before asking for it: a rehearsal locks the row for all of its work, and no process should wait for
    // that.
    const held = await readLease(db, name);
    let goneEpoch = 0;
    if (held?.expires_at != null && held.is_live) {
      if (!hasExited(held.holder) || attempt > TAKEOVERS_MAX) {
        throw heldBy({ ...held, expires_at: held.expires_at });
      }
      goneEpoch = held.epoch;
    }
    try {
      const epoch = await takeRow(db, wanted, goneEpoch);
      if (epoch !== undefined) return { name, epoch, holder };
    } catch (error) {
      if (!(error instanceof DatabaseLocked)) throw error;
      const holder = held?.holder ?? null;
      throw new LeaseHeld(
        holder,
        `the lease "${name}" is locked by a transaction that is still open in the database${await blockerOf(db)}` +
          `${holder === null ? '' : `; ${holder} held the lease last`}. If its host is down or hangs, the ` +
          'server ends it within a minute: run the same command again then.',
      );
    }
  }
}

interface LeaseWanted extends Pick<Lease, 'name' | 'holder'> {
  readonly ttlMs: number;
  readonly lockMs?: number;
}

interface HeldLease extends Lease {
  readonly acquired_at: Date;
  readonly expires_at: Date;
}

/** The error for a lease that another process holds. */
const heldBy = (held: HeldLease): LeaseHeld =>
  new LeaseHeld(
    held.holder,
    `another run (${held.holder}) holds the lease "${held.name}" since ${held.acquired_at.toISOString()}, ` +
      `until ${held.expires_at.toISOString()} unless renewed; wait for it to end.`,
  );

const readLease = (db: Db, name: string) =>
  db
    .selectFrom('lease')
    .selectAll()
    .select((lease) => lease('expires_at', '>', DATABASE_NOW).as('is_live'))
    .where('name', '=', name)
    .executeTakeFirst();

/** The new epoch; undefined if somebody else was faster. Throws `DatabaseLocked`. */
async function takeRow(
  db: Db,
  { name, holder, ttlMs, lockMs = LEASE_LOCK_MS }: LeaseWanted,
  goneEpoch: number,
): Promise<number | undefined> {
  // lock_timeout is set inside the statement, so it ends with the statement.
  const rows = await rowsOf(db)<{ epoch: number }>`
    WITH bounded AS (SELECT set_config('lock_timeout', ${String(lockMs)}, true) AS lock_timeout)
    INSERT INTO lease AS held (name, epoch, holder, acquired_at, expires_at)
    SELECT ${name}, 1, ${holder}, ${DATABASE_NOW}, ${inMs(ttlMs)} FROM bounded WHERE lock_timeout IS NOT NULL
    ON CONFLICT (name) DO UPDATE
      SET epoch = held.epoch + 1, holder = excluded.holder, acquired_at = ${DATABASE_NOW}, expires_at = ${inMs(ttlMs)}
      WHERE held.expires_at IS NULL OR held.expires_at <= ${DATABASE_NOW} OR held.epoch = ${goneEpoch}
    RETURNING epoch`;
  return rows[0]?.epoch;
}

/** Describes the transaction that has the lease locked, in brackets; empty if it has ended or cannot be seen. */
async function blockerOf(db: Db): Promise<string> {
  // The oldest transaction at work on the table; the others wait for it.
  const rows = await rowsOf(db)<{ pid: number; client: string | null; since: Date }>`
    SELECT pid, host(client_addr) AS client, xact_start AS since FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE relation = 'lease'::regclass AND granted AND mode <> 'AccessShareLock' AND pid <> pg_backend_pid()
      AND xact_start IS NOT NULL
    ORDER BY xact_start LIMIT 1`;
  if (rows[0] === undefined) return '';
  const { pid, client, since } = rows[0];
  return ` (server process ${pid}, from ${client ?? 'its own host'}, open since ${since.toISOString()})`;
}

/**
 * Throws `LeaseLost` unless this run still holds the lease. Until the transaction ends, no process can take it over.
 * Returns the transaction's id, which later shows whether it was committed.
 */
export async function assertLease(trx: Trx, lease: Lease): Promise<string> {
  // Without parameters, so that it is sent together with the statement that begins the transaction.
  const rows = await rowsOf(trx)<{ xid: string }>`
    SELECT pg_current_xact_id()::text AS xid FROM lease
    WHERE name = ${sql.lit(lease.name)} AND epoch = ${sql.lit(lease.epoch)} AND expires_at IS NOT NULL
    FOR SHARE`;
  if (rows[0] === undefined) throw new LeaseLost(lease);
  return rows[0].xid;
}

interface LeasesTaken {
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
  wanted: Omit<LeaseWanted, 'name'> & { readonly names: readonly string[] },
): Promise<LeasesTaken> {
  const { names, lockMs = LEASE_LOCK_MS } = wanted;
  const held = new Map<string, LeaseHeld>();
  const abandoned: Lease[] = [];
  for (const row of await liveOnes(db, names)) {
    if (hasExited(row.holder)) abandoned.push(row);
    else held.set(row.name, heldBy(row));
  }
  const free = names.filter((name) => !held.has(name));
  const taken = await takeRows(db, free, wanted, abandoned);
  const known = new Set(taken.map(({ name }) => name));
  // Somebody was faster, or a transaction has the row locked: asked for one by one, each with its own reason.
  const untilMs = performance.now() + lockMs;
  for (const name of free.filter((one) => !known.has(one))) {
    try {
      const leftMs = Math.max(1, Math.round(untilMs - performance.now()));
      taken.push(await acquireLease(db, { ...wanted, name, lockMs: leftMs }));
    } catch (error) {
      if (!(error instanceof LeaseHeld)) throw error;
      held.set(name, error);
    }
  }
  return { taken, held };
}

const liveOnes = (db: Db, names: readonly string[]) => rowsOf(db)<HeldLease>`
  SELECT name, epoch, holder, acquired_at, expires_at FROM lease
  WHERE name = ANY (${arrayLiteral(names)}::text[]) AND expires_at > ${DATABASE_NOW}`;

/** Skips rows that are locked. Rows are locked in order of names, so that two processes do not wait for each other. */
async function takeRows(
  db: Db,
  names: readonly string[],
  { holder, ttlMs }: Omit<LeaseWanted, 'name'>,
  abandoned: readonly Lease[],
): Promise<Lease[]> {
  if (names.length === 0) return [];
  return rowsOf(db)<Lease>`
    WITH wanted AS (SELECT unnest(${arrayLiteral(names)}::text[]) AS name), abandoned AS (
      SELECT * FROM ${ownRows(abandoned)}
    ), free AS (
      SELECT lease.name FROM lease
      WHERE lease.name IN (SELECT name FROM wanted)
        AND (expires_at IS NULL OR expires_at <= ${DATABASE_NOW} OR (lease.name, lease.epoch) IN (SELECT * FROM abandoned))
      ORDER BY lease.name FOR UPDATE SKIP LOCKED
    ), taken AS (
      UPDATE lease SET epoch = lease.epoch + 1, holder = ${holder}, acquired_at = ${DATABASE_NOW},
        expires_at = ${inMs(ttlMs)}
      FROM free WHERE lease.name = free.name
      RETURNING lease.name, lease.epoch
    ), fresh AS (
      INSERT INTO lease (name, epoch, holder, acquired_at, expires_at)
      SELECT name, 1, ${holder}, ${DATABASE_NOW}, ${inMs(ttlMs)} FROM wanted
      WHERE NOT EXISTS (SELECT FROM lease known WHERE known.name = wanted.name)
      ORDER BY name ON CONFLICT (name) DO NOTHING
      RETURNING name, epoch
    )
    SELECT name, epoch, ${holder}::text AS holder FROM (SELECT * FROM taken UNION ALL SELECT * FROM fresh) AS own`;
}

/** The leases as rows `(name, epoch)` with the alias `own`. */
const ownRows = (leases: readonly Lease[]) => sql`unnest(
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
  const rows = await rowsOf(db)<{ name: string }>`
    WITH kept AS (
      SELECT lease.name FROM lease JOIN ${ownRows(leases)} ON lease.name = own.name AND lease.epoch = own.epoch
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
    UPDATE lease SET expires_at = NULL FROM ${ownRows(leases)}
    WHERE lease.name = own.name AND lease.epoch = own.epoch`.execute(db);
}

/**
 * Throws `LeaseLost` unless this run holds the lease at a moment after the question. For work that is not written in a
 * transaction. A plain read: who asks has written all of its bytes before, and a holder who takes over after that read finds
 * them when it searches for unfinished writes.
 */
export async function askLease(db: Db, lease: Lease): Promise<void> {
  const held = await db
    .selectFrom('lease')
    .select('epoch')
    .where('name', '=', lease.name)
    .where('epoch', '=', lease.epoch)
    .where('expires_at', 'is not', null)
    .executeTakeFirst();
  if (held === undefined) throw new LeaseLost(lease);
}
