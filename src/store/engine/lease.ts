/**
 * One run at a time, decided by a row: its epoch grows with every holder, and every write transaction checks it. A row
 * and no advisory lock, so that it holds behind PgBouncer and outlives a lost connection. The database's clock alone
 * says whether it has run out: those of the hosts may differ.
 */
import { EXIT, ExpectedError } from '../../ledger/ending.ts';
import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely';
import { DatabaseLocked } from './errors.ts';
import { isGone } from '../../host/process-identity.ts';
import type { DB } from './schema.ts';
import { LEASE_LOCK_MS } from './waits.ts';

export interface Lease {
  readonly name: string;
  readonly epoch: number;
  readonly holder: string;
}

/** Another run holds the lease. Nothing was started. */
export class LeaseHeld extends ExpectedError {
  override readonly name = 'LeaseHeld';
  readonly exitCode = EXIT.leaseHeld;
  /** Who holds it, or held it last; null where nobody did yet. */
  readonly holder: string | null;

  constructor(holder: string | null, message: string) {
    super(message);
    this.holder = holder;
  }
}

/** The lease was taken over or released in mid-run; nothing more may be written under it. */
export class LeaseLost extends ExpectedError {
  override readonly name = 'LeaseLost';
  readonly exitCode = EXIT.incomplete;

  constructor(lease: Lease, why = 'another one took over.') {
    super(`the lease "${lease.name}" is no longer held by this run (epoch ${lease.epoch}): ${why}`);
  }
}

/** Times two takers may overtake each other before the one that waits is told who holds it. */
const TAKEOVERS_MAX = 3;

/** The time now by the database, also within a long transaction. */
export const DATABASE_NOW: RawBuilder<Date> = sql<Date>`clock_timestamp()`;
const inMs = (ms: number): RawBuilder<Date> => sql<Date>`clock_timestamp() + ${ms} * interval '1 ms'`;

/**
 * Takes the lease if it is free, has run out, or belongs to a process of this machine that is gone. Throws `LeaseHeld`,
 * after `lockMs` where a transaction keeps the row locked. `holder` is this process, as `thisHolder()` names it.
 */
export async function acquireLease(
  db: Kysely<DB>,
  wanted: {
    readonly name: string;
    readonly holder: string;
    readonly ttlMs: number;
    readonly lockMs?: number;
  },
): Promise<Lease> {
  const { name, holder } = wanted;
  for (let attempt = 0; ; attempt++) {
    // Read before it is asked for: a rehearsal keeps the row locked as long as it works, and nobody is to wait for that.
    const held = await readLease(db, name);
    let goneEpoch = 0;
    if (held?.expires_at != null && held.is_live) {
      if (!isGone(held.holder) || attempt > TAKEOVERS_MAX) {
        throw new LeaseHeld(
          held.holder,
          `another run (${held.holder}) holds the lease "${name}" since ${held.acquired_at.toISOString()}, ` +
            `until ${held.expires_at.toISOString()} unless renewed; wait for it to end.`,
        );
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
          `${holder === null ? '' : `; ${holder} held the lease last`}. Where its host is gone or stands still, the ` +
          'server ends it within a minute: run the same command again then.',
      );
    }
  }
}

const readLease = (db: Kysely<DB>, name: string) =>
  db
    .selectFrom('lease')
    .selectAll()
    .select((lease) => lease('expires_at', '>', DATABASE_NOW).as('is_live'))
    .where('name', '=', name)
    .executeTakeFirst();

/** The new epoch, or undefined where somebody else was faster. Throws `DatabaseLocked`. */
async function takeRow(
  db: Kysely<DB>,
  { name, holder, ttlMs, lockMs = LEASE_LOCK_MS }: Parameters<typeof acquireLease>[1],
  goneEpoch: number,
): Promise<number | undefined> {
  // The time the row may be waited for goes with the statement, and ends with it.
  const { rows } = await sql<{ epoch: number }>`
    WITH bounded AS (SELECT set_config('lock_timeout', ${String(lockMs)}, true) AS lock_timeout)
    INSERT INTO lease AS held (name, epoch, holder, acquired_at, expires_at)
    SELECT ${name}, 1, ${holder}, ${DATABASE_NOW}, ${inMs(ttlMs)} FROM bounded WHERE lock_timeout IS NOT NULL
    ON CONFLICT (name) DO UPDATE
      SET epoch = held.epoch + 1, holder = excluded.holder, acquired_at = ${DATABASE_NOW}, expires_at = ${inMs(ttlMs)}
      WHERE held.expires_at IS NULL OR held.expires_at <= ${DATABASE_NOW} OR held.epoch = ${goneEpoch}
    RETURNING epoch`.execute(db);
  return rows[0]?.epoch;
}

/** The transaction that keeps the lease locked, in brackets; empty where it is gone or cannot be seen. */
async function blockerOf(db: Kysely<DB>): Promise<string> {
  // Of those at work on the table the oldest: the others wait for it.
  const { rows } = await sql<{ pid: number; client: string | null; since: Date }>`
    SELECT pid, host(client_addr) AS client, xact_start AS since FROM pg_locks JOIN pg_stat_activity USING (pid)
    WHERE relation = 'lease'::regclass AND granted AND mode <> 'AccessShareLock' AND pid <> pg_backend_pid()
      AND xact_start IS NOT NULL
    ORDER BY xact_start LIMIT 1`.execute(db);
  if (rows[0] === undefined) return '';
  const { pid, client, since } = rows[0];
  return ` (server process ${pid}, from ${client ?? 'its own host'}, open since ${since.toISOString()})`;
}

/** Puts the end off. A lease that ran out but was not taken over is still renewed. Throws `LeaseLost`. */
export async function renewLease(
  db: Kysely<DB>,
  lease: Lease,
  { ttlMs }: { readonly ttlMs: number },
): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('lease')
    .set({ expires_at: inMs(ttlMs) })
    .where('name', '=', lease.name)
    .where('epoch', '=', lease.epoch)
    .where('expires_at', 'is not', null)
    .executeTakeFirstOrThrow();
  if (numUpdatedRows === 0n) throw new LeaseLost(lease);
}

/** Lets others in. Does nothing where the lease is already another's. */
export async function releaseLease(db: Kysely<DB>, lease: Lease): Promise<void> {
  await db
    .updateTable('lease')
    .set({ expires_at: null })
    .where('name', '=', lease.name)
    .where('epoch', '=', lease.epoch)
    .execute();
}

/**
 * Throws `LeaseLost` unless this run still holds the lease; holds off takers until the transaction ends. Returns the
 * transaction's id, by which it can later be told whether it was committed.
 */
export async function assertLease(trx: Transaction<DB>, lease: Lease): Promise<string> {
  // Without parameters, so that it goes to the server together with the statement that begins the transaction.
  const { rows } = await sql<{ xid: string }>`
    SELECT pg_current_xact_id()::text AS xid FROM lease
    WHERE name = ${sql.lit(lease.name)} AND epoch = ${sql.lit(lease.epoch)} AND expires_at IS NOT NULL
    FOR SHARE`.execute(trx);
  if (rows[0] === undefined) throw new LeaseLost(lease);
  return rows[0].xid;
}

/** Throws `LeaseLost` unless this run holds the lease at this moment: for what is not written in a transaction. */
export async function askLease(db: Kysely<DB>, lease: Lease): Promise<void> {
  // FOR SHARE waits for a taker that is about to commit.
  const { rows } = await sql`
    SELECT 1 FROM lease WHERE name = ${lease.name} AND epoch = ${lease.epoch} AND expires_at IS NOT NULL
    FOR SHARE`.execute(db);
  if (rows[0] === undefined) throw new LeaseLost(lease);
}
