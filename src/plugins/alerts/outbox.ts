/** The outbox of alerts: what is to be sent to which target, what became of it, and lasting trouble that is reported again. */
import { randomUUID } from 'node:crypto';
import { sql, type Kysely, type RawBuilder } from 'kysely';
import { arrayLiteral } from '../../store/engine/database.ts';
import { DATABASE_NOW, inMs } from '../../store/engine/lease.ts';
import type { DB } from '../../store/engine/schema.ts';
import { storableJson } from '../../ledger/text.ts';
import {
  ABOUT_NO_MERCHANT,
  type AlertContent,
  type AlertKind,
  type Condition,
  type Troubles,
  type Undelivered,
} from '../../run/alerts.ts';
import type { Alert } from './alert.ts';

const GIVE_UP_AFTER_MS = 24 * 3_600_000;

export interface StoredAlert {
  readonly id: string;
  readonly kind: string;
  readonly runId: number | null;
  readonly content: unknown;
  readonly raisedAt: Date;
}

export interface Claimed extends StoredAlert {
  readonly target: string;
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

export async function noteSent(db: Kysely<DB>, { id, target }: DeliveryKey): Promise<void> {
  await sql`
    UPDATE alert_delivery SET state = 'sent', ended_at = ${DATABASE_NOW}, problem = NULL
    WHERE alert_id = ${id}::uuid AND target = ${target}`.execute(db);
}

/**
 * Notes a failed try. It is tried again after `delayMs`, unless that is too late: then it is given up. `took`: by whom it was
 * taken nevertheless; null to keep those that are noted.
 */
export async function noteFailed(
  db: Kysely<DB>,
  { id, target }: DeliveryKey,
  { problem, delayMs, took }: Readonly<{ problem: string; delayMs: number; took: Claimed['took'] }>,
): Promise<void> {
  await sql`
    UPDATE alert_delivery SET problem = ${problem}, took = coalesce(${took && arrayLiteral(took)}::text[], took), try_at = ${inMs(delayMs)},
      state = CASE WHEN give_up_at <= ${inMs(delayMs)} THEN 'given-up' ELSE 'waiting' END,
      ended_at = CASE WHEN give_up_at <= ${inMs(delayMs)} THEN ${DATABASE_NOW} END
    WHERE alert_id = ${id}::uuid AND target = ${target} AND state = 'waiting'`.execute(db);
}

/** Gives up what is too old, also where no process knows the target any more. */
export async function giveUpOld(db: Kysely<DB>): Promise<void> {
  await sql`
    UPDATE alert_delivery SET state = 'given-up', ended_at = ${DATABASE_NOW},
      problem = coalesce(problem, 'no process that knows this target tried it')
    WHERE state = 'waiting' AND give_up_at <= ${DATABASE_NOW} AND try_at <= ${DATABASE_NOW}`.execute(db);
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
  const ids = alerts.map(({ id }) => id);
  const rows = await db
    .selectFrom('alert_delivery')
    .select(['alert_id', 'target', 'attempts', 'problem', 'try_at as tryAt', 'ended_at as endedAt', 'state'])
    .where('alert_id', 'in', ids)
    .orderBy('target')
    .$castTo<DeliveryRow & { alert_id: string }>()
    .execute();
  const byAlert = Map.groupBy(rows, (row) => row.alert_id);
  return alerts.map((alert) => ({
    ...alert,
    deliveries: (byAlert.get(alert.id) ?? []).map(({ alert_id, ...delivery }) => delivery),
  }));
}

const GIVEN_UP_SHOWN_DAYS = 7;

export async function undelivered(db: Kysely<DB>): Promise<Undelivered> {
  const { rows } = await sql<Undelivered>`
    SELECT (SELECT count(*) FROM alert_delivery WHERE state = 'waiting' AND problem IS NOT NULL) AS failing, (
      SELECT count(*) FROM alert_delivery
      WHERE state = 'given-up' AND ended_at > now() - ${GIVEN_UP_SHOWN_DAYS} * interval '1 day'
    ) AS "givenUp"`.execute(db);
  return rows[0]!;
}

export type Raising = Readonly<{ targets: readonly string[]; now: Date }>;

/** Stores an alert, to be sent to each target. Call it in the transaction of what caused it. */
export async function raise(
  trx: Kysely<DB>,
  content: AlertContent,
  { targets, now }: Raising,
): Promise<void> {
  const { kind, runId } = content;
  await sql`
    WITH raised AS (
      INSERT INTO alert (id, kind, run_id, content, raised_at)
      VALUES (${randomUUID()}::uuid, ${kind}, ${runId}::bigint, ${storableJson(content)}::jsonb, ${now}::timestamptz)
      RETURNING id
    )
    INSERT INTO alert_delivery (alert_id, target, try_at, give_up_at)
    SELECT id, target, ${DATABASE_NOW}, ${inMs(GIVE_UP_AFTER_MS)}
    FROM raised, unnest(${arrayLiteral(targets)}::text[]) AS one (target)`.execute(trx);
}

export async function raiseCondition(
  trx: Kysely<DB>,
  condition: Condition,
  content: AlertContent,
  raising: Raising,
): Promise<boolean> {
  const since = await noteCondition(trx, condition, raising.now);
  if (since === null) return false;
  const isReminder = since.getTime() < raising.now.getTime();
  const title = isReminder ? `still: ${content.title}` : content.title;
  await raise(trx, { ...content, title, since, condition: condition.name }, raising);
  return true;
}

export function alertOf({ id, kind, content, raisedAt, runId }: StoredAlert): Alert {
  const stored = content as AlertContent & { readonly since: string | null };
  const since = stored.since === null ? null : new Date(stored.since);
  return { ...stored, id, kind: kind as AlertKind, runId, raisedAt, since };
}

const REMIND_AFTER_MS = 24 * 3_600_000;

/**
 * Records this trouble. Returns since when if an alert is due, else null. An alert is due when it begins; when it gets
 * more severe, or at least twice as many; and once a day. Of several processes that see it, one raises the alert.
 */
async function noteCondition(
  trx: Kysely<DB>,
  { name, grade, count }: Condition,
  now: Date,
): Promise<Date | null> {
  const { rows } = await sql<{ since: Date }>`
    INSERT INTO alert_condition AS known (name, since, reported_at, grade, count)
    VALUES (${name}, ${now}, ${now}, ${grade}, ${count})
    ON CONFLICT (name) DO UPDATE
      SET reported_at = excluded.reported_at, grade = greatest(known.grade, excluded.grade),
        count = greatest(known.count, excluded.count)
      WHERE excluded.grade > known.grade OR excluded.count >= 2 * greatest(known.count, 1)
        OR known.reported_at <= ${new Date(now.getTime() - REMIND_AFTER_MS)}
    RETURNING since`.execute(trx);
  return rows[0]?.since ?? null;
}

async function noteSeen(db: Kysely<DB>, name: string, now: Date): Promise<void> {
  await db.updateTable('alert_condition').set({ seen_at: now }).where('name', '=', name).execute();
}

async function endUnseen(db: Kysely<DB>, name: string, since: Date, raising: Raising): Promise<void> {
  const isUnseen = sql<boolean>`coalesce(seen_at, reported_at) <= ${since}`;
  await endConditions(db, [name], raising, { isOver: isUnseen });
}

export type WatchdogCheck = 'nights' | 'runs';

/** Whether this process is to check now: no other one began to within `everyMs`, by the database's clock. */
export async function claimWatchdogCheck(
  db: Kysely<DB>,
  what: WatchdogCheck,
  everyMs: number,
): Promise<boolean> {
  const checkedAt = sql.ref(`${what}_checked_at`);
  const { rows } = await sql`
    UPDATE installation SET ${checkedAt} = ${DATABASE_NOW} WHERE ${checkedAt} <= ${inMs(-everyMs)} RETURNING 1`.execute(
    db,
  );
  return rows.length > 0;
}

/** Trouble of a process, raised for these targets. */
export const troublesOf = (db: Kysely<DB>, raising: Raising): Troubles => ({
  raise: (condition, content) =>
    db.transaction().execute((trx) => raiseCondition(trx, condition, content, raising)),
  end: (name) => endConditions(db, [name], raising),
  noteSeen: (name) => noteSeen(db, name, raising.now),
  endUnseen: (name, since) => endUnseen(db, name, since, raising),
});

interface Ending {
  /** Words the alert; if left out, it has the title of the last one of the trouble. */
  readonly content?: (since: Date) => AlertContent;
  /** Ends only those for which this holds; if left out, all. */
  readonly isOver?: RawBuilder<boolean>;
  /** Trouble that was reported without the database, and since when, by its name. */
  readonly direct?: ReadonlyMap<string, Date>;
}

/** Records that these are over, and raises one alert for each that was reported. */
export async function endConditions(
  db: Kysely<DB>,
  names: readonly string[],
  raising: Raising,
  { content, isOver = sql<boolean>`true`, direct = new Map() }: Ending = {},
): Promise<void> {
  const { rows } = await sql<{ name: string; since: Date; title: string | null }>`
    WITH ended AS (
      DELETE FROM alert_condition WHERE name = ANY (${arrayLiteral(names)}::text[]) AND ${isOver} RETURNING name, since
    )
    SELECT name, since, (
      SELECT content ->> 'title' FROM alert WHERE content ->> 'condition' = name ORDER BY raised_at DESC LIMIT 1
    ) AS title FROM ended`.execute(db);
  const known = new Set(rows.map(({ name }) => name));
  const unknown = [...direct].filter(([name]) => names.includes(name) && !known.has(name));
  const ended = [...rows, ...unknown.map(([name, since]) => ({ name, since, title: null }))];
  for (const { name, since, title } of ended) {
    const worded = content?.(since) ?? over(title ?? `trouble with ${name}`, since);
    await raise(db, { ...worded, since, condition: name, status: 'resolved' }, raising);
  }
}

const over = (title: string, since: Date): AlertContent => ({
  ...ABOUT_NO_MERCHANT,
  kind: 'recovered',
  title: title.replace(/^still: /, ''),
  sentences: [`The trouble reported since ${since.toISOString()} is over.`],
  todo: 'nothing',
});
