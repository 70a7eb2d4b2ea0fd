/** Keeps what people did by hand (table `audit_event`), and who did it. Rows are never changed. */
import { sql, type Selectable } from 'kysely';
import { arrayLiteral, type Db, type Trx } from './engine/database.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { DB } from './engine/schema.ts';

export type AuditRow = Selectable<DB['audit_event']>;

/** Something a person did. */
export interface AuditEvent {
  /** The name that the person gave with `--by`. */
  readonly by: string;
  /** The command as it is typed, without options: `breaks resolve`. */
  readonly command: string;
  /** What it was done to: a number, or the name of a file. Never a secret or personal data. */
  readonly subject: string;
  readonly note?: string | undefined;
  /** Of an assignment. */
  readonly assignment?: Assignment | undefined;
}

export interface Assignment {
  readonly to: string;
  /** By when it is due; null where no day was named. */
  readonly due: BusinessDay | null;
}

/**
 * Records an audit event and returns its number. Call it in the transaction that makes the change, where there is one: so the
 * change and its record are stored together or not at all.
 */
export async function recordAuditEvent(db: Db, auditEvent: AuditEvent, now: Date): Promise<number> {
  const { by, command, subject, note, assignment } = auditEvent;
  const { id } = await db
    .insertInto('audit_event')
    .values({
      ...{ at: now, by_whom: by, command, subject, note: note ?? null },
      ...(assignment && { assigned_to: assignment.to, due_on: assignment.due }),
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/** Records many audit events in one statement, in the transaction that makes their changes. */
export async function recordAuditEvents(trx: Trx, events: readonly AuditEvent[], now: Date): Promise<void> {
  if (events.length === 0) return;
  const column = (of: (event: AuditEvent) => string | null) => sql`${arrayLiteral(events.map(of))}::text[]`;
  await sql`
    INSERT INTO audit_event (at, by_whom, command, subject, note)
    SELECT ${now}, * FROM unnest(${column(({ by }) => by)}, ${column(({ command }) => command)},
      ${column(({ subject }) => subject)}, ${column(({ note }) => note ?? null)})`.execute(trx);
}

/** The latest audit events, newest first. */
export const listAuditEvents = (db: Db, limit: number): Promise<AuditRow[]> =>
  db.selectFrom('audit_event').selectAll().orderBy('at', 'desc').orderBy('id', 'desc').limit(limit).execute();

/** Records the audit event and does `work` in one transaction. If `work` cannot do it, it throws. */
export const doneBy = <Result>(
  db: Db,
  auditEvent: AuditEvent,
  now: Date,
  work: (trx: Trx) => Promise<Result>,
): Promise<Result> =>
  db.transaction().execute(async (trx) => {
    await recordAuditEvent(trx, auditEvent, now);
    return work(trx);
  });
