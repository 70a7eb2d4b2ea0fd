/**
 * The lease: a row that lets only one run at a time work. Its epoch grows with every holder, and every write
 * transaction checks it. It is a row and not an advisory lock, so that it also works behind PgBouncer and survives a
 * lost connection. Only the database's clock decides whether it has run out, as the clocks of hosts may differ.
 */
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import { sql, type RawBuilder } from 'kysely';
import { DatabaseLocked } from './errors.ts';
import { hasExited } from '../../host/process-identity.ts';
import { type Db, type Trx, rowsOf } from './database.ts';
import { LEASE_LOCK_MS } from './waits.ts';

export interface Lease {
  readonly name: string;
  readonly epoch: number;
  readonly holder: string;
}

/** The name of the lease under which one merchant's ledger is read, chained and published. */
export const merchantLease = (merchantNo: string): string => `merchant/${merchantNo}`;

/**
 * The lease of all merchants in earlier versions, no longer taken; a merchant's first epoch is above its
 * epoch, as files and manifests of that time carry it.
 */
const FORMER_LEASE = 'ledger';

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

/** The time by the database's clock, at this moment also within a long transaction. */
export const DATABASE_NOW: RawBuilder<Date> = sql<Date>`clock_timestamp()`;
export const inMs = (ms: number): RawBuilder<Date> => sql<Date>`clock_timestamp() + ${ms} * interval '1 ms'`;

/** The epoch of a lease that was never held. */
export const FIRST_EPOCH: RawBuilder<number> = sql<number>`
  (SELECT coalesce(max(former.epoch), 0) + 1 FROM lease former WHERE former.name = ${sql.lit(FORMER_LEASE)})`;

/**
 * Takes the lease if it is free, has run out, or belongs to a dead process of this machine. Otherwise throws
 * `LeaseHeld`; if a transaction has the row locked, after `lockMs`. `holder` names this process, as `thisHolder()`
 * does.
 */
export async function acquireLease(
  db: Db,
  wanted: {
    readonly name: string;
    readonly holder: string;
    readonly ttlMs: number;
    readonly lockMs?: number;
  },
): Promise<Lease> {
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

/** The error for a lease that another process holds. */
export const heldBy = (held: {
  readonly name: string;
  readonly holder: string;
  readonly acquired_at: Date;
  readonly expires_at: Date;
}): LeaseHeld =>
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
  { name, holder, ttlMs, lockMs = LEASE_LOCK_MS }: Parameters<typeof acquireLease>[1],
  goneEpoch: number,
): Promise<number | undefined> {
  // lock_timeout is set inside the statement, so it ends with the statement.
  const rows = await rowsOf(db)<{ epoch: number }>`
    WITH bounded AS (SELECT set_config('lock_timeout', ${String(lockMs)}, true) AS lock_timeout)
    INSERT INTO lease AS held (name, epoch, holder, acquired_at, expires_at)
    SELECT ${name}, ${FIRST_EPOCH}, ${holder}, ${DATABASE_NOW}, ${inMs(ttlMs)} FROM bounded WHERE lock_timeout IS NOT NULL
    ON CONFLICT (name) DO UPDATE
      SET epoch = held.epoch + 1, holder = excluded.holder, acquired_at = ${DATABASE_NOW}, expires_at = ${inMs(ttlMs)},
        void_through = 0
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

/**
 * A subquery with one row if the lease is held, and none otherwise. For a write of a single statement, during which
 * no process can take the lease over. `attempt` numbers the holder's attempts: see `writeStatement`.
 */
export const heldLease = (lease: Lease, attempt: bigint): RawBuilder<unknown> => sql`(
  SELECT 1 FROM lease WHERE name = ${lease.name} AND epoch = ${lease.epoch} AND expires_at IS NOT NULL
    AND void_through < ${String(attempt)}::bigint
  FOR SHARE)`;

/** Stands where `heldLease` does in a statement of a transaction that has asserted the lease. */
export const HELD_ALREADY: RawBuilder<unknown> = sql`(SELECT 1)`;

/** Waits for attempts that are still being made, up to this number, and has the server refuse later ones. */
export async function voidAttempts(db: Db, lease: Lease, through: bigint): Promise<void> {
  await sql`
    UPDATE lease SET void_through = greatest(void_through, ${String(through)}::bigint)
    WHERE name = ${lease.name} AND epoch = ${lease.epoch}`.execute(db);
}

/** Throws `LeaseLost` unless this run holds the lease at this moment. For work that is not written in a transaction. */
export async function askLease(db: Db, lease: Lease): Promise<void> {
  // FOR SHARE waits for a run that is about to commit its takeover.
  const rows = await rowsOf(db)`
    SELECT 1 FROM lease WHERE name = ${lease.name} AND epoch = ${lease.epoch} AND expires_at IS NOT NULL
    FOR SHARE`;
  if (rows[0] === undefined) throw new LeaseLost(lease);
}
