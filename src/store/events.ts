/**
 * Events: what is reported once. Each is stored with its cause, since the run that found it may be killed before its
 * report. Reports, alerts, pages and exit codes read the same rows, and `markEventsReported` alone marks them.
 */
import { sql, type RawBuilder } from 'kysely';
import { ofMerchants } from './account-filter.ts';
import { arrayLiteral, type Db, type Trx, rowsOf } from './engine/database.ts';
import { storableJson } from '../ledger/text.ts';

export interface EventKey {
  readonly kind: string;
  readonly merchantNo: string;
  readonly subject: string;
}

/** With what was read of it, where it may grow until it is reported. */
export interface ReadEvent extends EventKey {
  readonly data?: object;
}

export interface NewEvent extends ReadEvent {
  readonly data: object;
}

export interface FoundBy {
  readonly runId: number;
  readonly now: Date;
}

/** The events as rows with the alias `sent`. */
export function eventRows(events: readonly ReadEvent[]): RawBuilder<unknown> {
  const column = (value: (event: ReadEvent) => string | null) => arrayLiteral(events.map(value));
  return sql`unnest(
    ${column(({ kind }) => kind)}::text[], ${column(({ merchantNo }) => merchantNo)}::text[],
    ${column(({ subject }) => subject)}::text[],
    ${column(({ data }) => (data === undefined ? null : storableJson(data)))}::jsonb[]
  ) AS sent (kind, merchant_no, subject, data)`;
}

/** Stores events. One that is known stays as it is. */
export async function recordEvents(
  trx: Trx,
  events: readonly NewEvent[],
  { runId, now }: FoundBy,
): Promise<void> {
  if (events.length === 0) return;
  await sql`
    INSERT INTO event (kind, merchant_no, subject, data, run_id, at)
    SELECT sent.*, ${runId}::bigint, ${now}::timestamptz FROM ${eventRows(events)}
    ON CONFLICT (kind, merchant_no, subject) DO NOTHING`.execute(trx);
}

/**
 * Marks events as reported, once the run or the alert that reports them is on record. One that has grown since it was
 * read stays. Returns those that were not marked before.
 */
export async function markEventsReported<Event extends ReadEvent>(
  trx: Trx,
  reported: readonly Event[],
  now: Date,
): Promise<Event[]> {
  if (reported.length === 0) return [];
  const keyOf = ({ kind, merchantNo, subject }: EventKey): string =>
    JSON.stringify([kind, merchantNo, subject]);
  const rows = await rowsOf(trx)<EventKey>`
    UPDATE event SET reported_at = ${now} FROM ${eventRows(reported)}
    WHERE (event.kind, event.merchant_no, event.subject) = (sent.kind, sent.merchant_no, sent.subject)
      AND event.reported_at IS NULL AND (sent.data IS NULL OR event.data = sent.data)
    RETURNING event.kind, event.merchant_no AS "merchantNo", event.subject`;
  const marked = new Set(rows.map(keyOf));
  return reported.filter((event) => marked.has(keyOf(event)));
}

export interface Changes {
  readonly amended: number;
  readonly vanished: number;
}

export interface UnreportedChanges extends Changes {
  readonly merchantNo: string;
  readonly runId: number;
}

export const changeEvent = ({ merchantNo, runId, amended, vanished }: UnreportedChanges): NewEvent => ({
  kind: 'change',
  merchantNo,
  subject: `run ${runId}`,
  data: { amended, vanished },
});

/** Stores changes in the transaction that makes them; they add up to those of the run that are not reported yet. */
export async function recordChanges(
  trx: Trx,
  { now, ...of }: FoundBy & { readonly merchantNo: string },
  changes: Changes,
): Promise<void> {
  if (changes.amended + changes.vanished === 0) return;
  const sum = (name: keyof Changes): RawBuilder<unknown> =>
    sql`(known.data -> ${sql.lit(name)})::int + (excluded.data -> ${sql.lit(name)})::int`;
  await sql`
    INSERT INTO event AS known (kind, merchant_no, subject, data, run_id, at)
    SELECT sent.*, ${of.runId}::bigint, ${now}::timestamptz FROM ${eventRows([changeEvent({ ...of, ...changes })])}
    ON CONFLICT (kind, merchant_no, subject) DO UPDATE SET reported_at = NULL, at = excluded.at,
      data = CASE WHEN known.reported_at IS NOT NULL THEN excluded.data
        ELSE jsonb_build_object('amended', ${sum('amended')},
          'vanished', ${sum('vanished')}) END`.execute(trx);
}

/** All changes of the merchants that are not reported yet, whichever run stored them. */
export const unreportedChanges = (db: Db, merchants: readonly string[]) => rowsOf(db)<UnreportedChanges>`
    SELECT merchant_no AS "merchantNo", run_id AS "runId", (data -> 'amended')::int AS amended,
      (data -> 'vanished')::int AS vanished
    FROM event WHERE kind = 'change' AND reported_at IS NULL AND ${ofMerchants(merchants)}`;
