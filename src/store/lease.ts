/**
 * One run at a time, decided by a row: its epoch grows with every holder, and every write transaction checks it. A row
 * and no advisory lock, so that it holds behind PgBouncer and outlives a lost connection.
 */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { sql, type Kysely, type Transaction } from 'kysely';
import { isGone } from './process-identity.ts';
import type { DB } from './schema.ts';

export interface Lease {
  readonly name: string;
  readonly epoch: number;
  readonly holder: string;
}

/** Another run holds the lease. Nothing was started. */
export class LeaseHeld extends ExpectedError {
  override readonly name = 'LeaseHeld';
  readonly exitCode = EXIT.leaseHeld;
  readonly holder: string;
  readonly since: Date;
  readonly until: Date;

  constructor(leaseName: string, holder: string, since: Date, until: Date) {
    super(
      `another run (${holder}) holds the lease "${leaseName}" since ${since.toISOString()}, ` +
        `until ${until.toISOString()} unless renewed; wait for it to end.`,
    );
    this.holder = holder;
    this.since = since;
    this.until = until;
  }
}

/** The lease was taken over or released in mid-run; nothing more may be written under it. */
export class LeaseLost extends ExpectedError {
  override readonly name = 'LeaseLost';
  readonly exitCode = EXIT.incomplete;

  constructor(lease: Lease) {
    super(
      `the lease "${lease.name}" is no longer held by this run (epoch ${lease.epoch}): another one took over.`,
    );
  }
}

/** Times two takers may overtake each other before the one that waits is told who holds it. */
const TAKEOVERS_MAX = 3;

/**
 * Takes the lease if it is free, has run out, or belongs to a process of this machine that is gone. Throws `LeaseHeld`.
 * `holder` is this process, as `thisHolder()` names it.
 */
export async function acquireLease(
  db: Kysely<DB>,
  wanted: { readonly name: string; readonly holder: string; readonly ttlMs: number; readonly now: Date },
): Promise<Lease> {
  const { name, holder, ttlMs, now } = wanted;
  for (let attempt = 0; ; attempt++) {
    // Read before it is asked for: a rehearsal keeps the row locked as long as it works, and nobody is to wait for that.
    const held = await db.selectFrom('lease').selectAll().where('name', '=', name).executeTakeFirst();
    let goneEpoch = 0;
    if (held?.expires_at != null && held.expires_at > now) {
      if (!isGone(held.holder) || attempt > TAKEOVERS_MAX) {
        throw new LeaseHeld(name, held.holder, held.acquired_at, held.expires_at);
      }
      goneEpoch = held.epoch;
    }
    const { rows } = await sql<{ epoch: number }>`
      INSERT INTO lease AS held (name, epoch, holder, acquired_at, expires_at)
      VALUES (${name}, 1, ${holder}, ${now}, ${new Date(now.getTime() + ttlMs)})
      ON CONFLICT (name) DO UPDATE
        SET epoch = held.epoch + 1, holder = excluded.holder, acquired_at = excluded.acquired_at,
            expires_at = excluded.expires_at
        WHERE held.expires_at IS NULL OR held.expires_at <= ${now} OR held.epoch = ${goneEpoch}
      RETURNING epoch`.execute(db);
    if (rows[0] !== undefined) return { name, epoch: rows[0].epoch, holder };
  }
}

/** Puts the end off. A lease that ran out but was not taken over is still renewed. Throws `LeaseLost`. */
export async function renewLease(
  db: Kysely<DB>,
  lease: Lease,
  { ttlMs, now }: { readonly ttlMs: number; readonly now: Date },
): Promise<void> {
  const { numUpdatedRows } = await db
    .updateTable('lease')
    .set({ expires_at: new Date(now.getTime() + ttlMs) })
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
  const { rows } = await sql<{ xid: string }>`
    SELECT pg_current_xact_id()::text AS xid FROM lease
    WHERE name = ${lease.name} AND epoch = ${lease.epoch} AND expires_at IS NOT NULL
    FOR SHARE`.execute(trx);
  if (rows[0] === undefined) throw new LeaseLost(lease);
  return rows[0].xid;
}
