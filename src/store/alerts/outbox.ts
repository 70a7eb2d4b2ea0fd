/** The outbox of alerts: what is to be sent to which target, what became of it, and which process sends it now. */
import { sql, type Kysely } from 'kysely';
import { arrayLiteral } from '../engine/array-literal.ts';
import { DATABASE_NOW, inMs } from '../engine/lease.ts';
import type { DB } from '../engine/schema.ts';
import { storableJson } from '../../ledger/text.ts';

/** An alert that no target took in this time is given up. */
const GIVE_UP_AFTER_MS = 24 * 3_600_000;

export interface StoredAlert {
  readonly id: string;
  readonly kind: string;
  readonly runId: number | null;
  /** As it was given to `putAlert`, of JSON. */
  readonly content: unknown;
  readonly raisedAt: Date;
}

/** Stores an alert, to be sent to each of these targets. Call it in the transaction of what caused it. */
export async function putAlert(
  trx: Kysely<DB>,
  alert: {
    readonly id: string;
    readonly kind: string;
    readonly runId: number | null;
    readonly content: object;
    readonly raisedAt: Date;
  },
  targets: readonly string[],
): Promise<void> {
  await sql`
    WITH raised AS (
      INSERT INTO alert (id, kind, run_id, content, raised_at)
      VALUES (${alert.id}::uuid, ${alert.kind}, ${alert.runId}::bigint, ${storableJson(alert.content)}::jsonb,
        ${alert.raisedAt}::timestamptz)
      RETURNING id
    )
    INSERT INTO alert_delivery (alert_id, target, try_at, give_up_at)
    SELECT id, target, ${DATABASE_NOW}, ${inMs(GIVE_UP_AFTER_MS)}
    FROM raised, unnest(${arrayLiteral(targets)}::text[]) AS one (target)`.execute(trx);
}

/** An alert that this process has to send now. */
export interface Claimed extends StoredAlert {
  readonly target: string;
  /** How often it was tried, this time included. */
  readonly attempts: number;
  /** Fingerprints of the addresses that took it on an earlier try; null if none did. */
  readonly took: readonly string[] | null;
}

/**
 * Takes alerts that are due for these targets, the oldest first. For `claimMs` no other process takes them, so a
 * process that dies meanwhile delays them and loses none.
 */
export async function claimDeliveries(
  db: Kysely<DB>,
  targets: readonly string[],
  { limit, claimMs }: { readonly limit: number; readonly claimMs: number },
): Promise<Claimed[]> {
  const { rows } = await sql<Claimed>`
    UPDATE alert_delivery AS own SET attempts = own.attempts + 1, try_at = ${inMs(claimMs)}
    FROM (
      SELECT alert_id, target FROM alert_delivery
      WHERE state = 'waiting' AND try_at <= ${DATABASE_NOW} AND target = ANY (${arrayLiteral(targets)}::text[])
      ORDER BY try_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
    ) AS due, alert
    WHERE (own.alert_id, own.target) = (due.alert_id, due.target) AND alert.id = own.alert_id
    RETURNING own.target, own.attempts, own.took, alert.id, alert.kind, alert.run_id AS "runId", alert.content,
      alert.raised_at AS "raisedAt"`.execute(db);
  return rows.sort((a, b) => a.raisedAt.getTime() - b.raisedAt.getTime());
}

type DeliveryKey = Pick<Claimed, 'id' | 'target'>;

/** Notes that the target took it. */
export async function noteSent(db: Kysely<DB>, { id, target }: DeliveryKey): Promise<void> {
  await sql`
    UPDATE alert_delivery SET state = 'sent', ended_at = ${DATABASE_NOW}, problem = NULL
    WHERE alert_id = ${id}::uuid AND target = ${target}`.execute(db);
}

/** Notes a failed try. It is tried again after `delayMs`, unless that is too late: then it is given up. */
export async function noteFailed(
  db: Kysely<DB>,
  { id, target }: DeliveryKey,
  {
    problem,
    delayMs,
    took,
  }: {
    readonly problem: string;
    readonly delayMs: number;
    /** Fingerprints of the addresses that took it nevertheless; null to keep those that are noted. */
    readonly took: readonly string[] | null;
  },
): Promise<void> {
  await sql`
    UPDATE alert_delivery SET problem = ${problem}, took = coalesce(${took && arrayLiteral(took)}::text[], took), try_at = ${inMs(delayMs)},
      state = CASE WHEN give_up_at <= ${inMs(delayMs)} THEN 'given-up' ELSE 'waiting' END,
      ended_at = CASE WHEN give_up_at <= ${inMs(delayMs)} THEN ${DATABASE_NOW} END
    WHERE alert_id = ${id}::uuid AND target = ${target} AND state = 'waiting'`.execute(db);
}

/** Gives up what is too old, also where no process knows the target any more. Returns how many. */
export async function giveUpOld(db: Kysely<DB>): Promise<number> {
  const { numAffectedRows } = await sql`
    UPDATE alert_delivery SET state = 'given-up', ended_at = ${DATABASE_NOW},
      problem = coalesce(problem, 'no process that knows this target tried it')
    WHERE state = 'waiting' AND give_up_at <= ${DATABASE_NOW} AND try_at <= ${DATABASE_NOW}`.execute(db);
  return Number(numAffectedRows ?? 0n);
}

export interface DeliveryRow {
  readonly target: string;
  readonly state: 'waiting' | 'sent' | 'given-up';
  readonly attempts: number;
  readonly problem: string | null;
  readonly tryAt: Date;
  readonly endedAt: Date | null;
}

export interface ListedAlert extends StoredAlert {
  readonly deliveries: readonly DeliveryRow[];
}

/** The latest alerts, newest first, each with what became of it. */
export async function listAlerts(db: Kysely<DB>, limit: number): Promise<ListedAlert[]> {
  const alerts = await db
    .selectFrom('alert')
    .select(['id', 'kind', 'run_id as runId', 'content', 'raised_at as raisedAt'])
    .orderBy('raised_at', 'desc')
    .orderBy('run_id', (by) => by.desc().nullsLast())
    .orderBy('id')
    .limit(limit)
    .execute();
  if (alerts.length === 0) return [];
  const rows = await db
    .selectFrom('alert_delivery')
    .select([
      'alert_id as id',
      'target',
      'state',
      'attempts',
      'problem',
      'try_at as tryAt',
      'ended_at as endedAt',
    ])
    .where(
      'alert_id',
      'in',
      alerts.map(({ id }) => id),
    )
    .orderBy('target')
    .execute();
  const byAlert = Map.groupBy(rows, ({ id }) => id);
  return alerts.map((alert) => ({
    ...alert,
    deliveries: (byAlert.get(alert.id) ?? []).map(({ target, state, attempts, problem, tryAt, endedAt }) => ({
      ...{ target, attempts, problem, tryAt, endedAt },
      state: state as DeliveryRow['state'],
    })),
  }));
}

/** Alerts that did not reach a target: how many wait after a failed try, and how many were given up of late. */
export interface Undelivered {
  readonly failing: number;
  readonly givenUp: number;
}

/** Given up longer ago is not counted any more. */
const GIVEN_UP_SHOWN_DAYS = 7;

export async function undelivered(db: Kysely<DB>): Promise<Undelivered> {
  const { rows } = await sql<Undelivered>`
    SELECT (SELECT count(*) FROM alert_delivery WHERE state = 'waiting' AND problem IS NOT NULL) AS failing, (
      SELECT count(*) FROM alert_delivery
      WHERE state = 'given-up' AND ended_at > now() - ${GIVEN_UP_SHOWN_DAYS} * interval '1 day'
    ) AS "givenUp"`.execute(db);
  return rows[0]!;
}
