/** One-time alert events: stored with their cause, and taken by the run that reports them. */
import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { DB } from '../engine/schema.ts';
import { storableJson } from '../../ledger/text.ts';
import type { RevisedDay } from '../statements/unreported-revisions.ts';

/** A reported break. */
export interface BreakEvent {
  readonly merchantNo: string;
  readonly id: number;
  readonly currency: string;
  readonly day: string;
  readonly missingNet: string;
}

export type RevisedEvent = Pick<
  RevisedDay,
  'merchantNo' | 'currency' | 'day' | 'oldRevision' | 'revision' | 'reason'
>;

/** A merchant whose token does not work. */
export interface TokenEvent {
  readonly merchantNo: string;
  readonly problem: string;
}

interface FoundBy {
  readonly runId: number;
  readonly now: Date;
}

/** Unfinished runs of a merchant are searched so far back. */
const END_SEARCHED_MS = 30 * 24 * 3_600_000;

/**
 * Stores the merchants' open breaks that this run found, that a backfill found, and that a run found which never came to
 * its end, or lately to no end for this merchant. A break that is noted already stays as it is.
 */
export async function noteBreaks(
  trx: Transaction<DB>,
  merchants: readonly string[],
  { runId, now }: FoundBy,
): Promise<void> {
  await sql`
    INSERT INTO alert_event (kind, subject, merchant_no, detail, run_id, found_at)
    SELECT 'break', id, merchant_no, jsonb_build_object('id', id, 'merchantNo', merchant_no, 'currency', currency,
      'day', day, 'missingNet', missing_net::text), ${runId}::bigint, ${now}::timestamptz
    FROM continuity_break AS found
    WHERE status = 'open' AND merchant_no = ANY (${arrayLiteral(merchants)}::text[]) AND (run_id = ${runId} OR EXISTS (
      SELECT FROM run WHERE run.id = found.run_id AND (run.exit_code IS NULL AND run.request IS NULL OR run.command = 'backfill')
    ) OR found_at >= ${new Date(now.getTime() - END_SEARCHED_MS)} AND NOT EXISTS (
      SELECT FROM task own
      WHERE own.kind = 'run' AND own.run_id = found.run_id AND own.merchant_no = found.merchant_no AND own.state = 'ended'
    ))
    ON CONFLICT (kind, subject) DO NOTHING`.execute(trx);
}

/** Notes days of which a published statement was revised. */
export const noteRevised = (
  trx: Transaction<DB>,
  revised: readonly RevisedEvent[],
  found: FoundBy,
): Promise<void> =>
  note(
    trx,
    'revised',
    revised.map(({ merchantNo, currency, day, oldRevision, revision, reason }) => ({
      subject: `${merchantNo} ${currency} ${day} r${revision}`,
      merchantNo,
      detail: { merchantNo, currency, day, oldRevision, revision, reason },
    })),
    found,
  );

/**
 * Stores merchants whose token does not work. One stored already, that did not work since, and was not enabled or given
 * a token since, stays as it is.
 */
export async function noteTokens(
  trx: Transaction<DB>,
  refused: readonly TokenEvent[],
  found: FoundBy,
): Promise<void> {
  if (refused.length === 0) return;
  await sql`
    DELETE FROM alert_event USING merchant
    WHERE kind = 'token' AND subject = ANY (${arrayLiteral(refused.map(({ merchantNo }) => merchantNo))}::text[])
      AND merchant.merchant_no = subject AND merchant.enabled_at > found_at`.execute(trx);
  await note(
    trx,
    'token',
    refused.map(({ merchantNo, problem }) => ({
      subject: merchantNo,
      merchantNo,
      detail: { merchantNo, problem },
    })),
    found,
  );
}

/** Crosses off the merchants whose token works. */
export async function crossOffTokens(trx: Transaction<DB>, merchants: readonly string[]): Promise<void> {
  if (merchants.length === 0) return;
  await sql`
    DELETE FROM alert_event WHERE kind = 'token' AND subject = ANY (${arrayLiteral(merchants)}::text[])`.execute(
    trx,
  );
}

async function note(
  trx: Transaction<DB>,
  kind: string,
  facts: readonly {
    readonly subject: string;
    readonly merchantNo: string;
    readonly detail: object;
  }[],
  { runId, now }: FoundBy,
): Promise<void> {
  if (facts.length === 0) return;
  await sql`
    INSERT INTO alert_event (kind, subject, merchant_no, detail, run_id, found_at)
    SELECT ${kind}, one.subject, one.merchant_no, one.detail, ${runId}::bigint, ${now}::timestamptz
    FROM unnest(
      ${arrayLiteral(facts.map(({ subject }) => subject))}::text[],
      ${arrayLiteral(facts.map(({ merchantNo }) => merchantNo))}::text[],
      ${arrayLiteral(facts.map(({ detail }) => storableJson(detail)))}::jsonb[]
    ) AS one (subject, merchant_no, detail)
    ON CONFLICT (kind, subject) DO NOTHING`.execute(trx);
}

export interface UnreportedEvents {
  readonly breaks: readonly BreakEvent[];
  readonly revised: readonly RevisedEvent[];
  readonly tokens: readonly TokenEvent[];
}

/** So many of a kind are reported at once. The next run reports the rest. */
const REPORTED_AT_ONCE_MAX = 10_000;
const KINDS = ['break', 'revised', 'token'] as const;

/** The events of these kinds that are reported next. */
const nextUnreported = (kinds: readonly (typeof KINDS)[number][]): RawBuilder<unknown> => sql`
  SELECT next.* FROM unnest(${arrayLiteral(kinds)}::text[]) AS asked (kind) CROSS JOIN LATERAL (
    SELECT kind, subject, detail FROM alert_event
    WHERE kind = asked.kind AND reported_at IS NULL ORDER BY found_at, subject LIMIT ${REPORTED_AT_ONCE_MAX}
  ) AS next`;

/** The revised days that are reported next. */
export async function unreportedRevisions(db: Kysely<DB>): Promise<RevisedEvent[]> {
  const { rows } = await sql<{ detail: RevisedEvent }>`${nextUnreported(['revised'])}`.execute(db);
  return rows.map(({ detail }) => detail);
}

/** Takes unreported events, in order of merchants, and marks them as reported. Very many take several runs. */
export async function takeAlertEvents(trx: Transaction<DB>, now: Date): Promise<UnreportedEvents> {
  const { rows } = await sql<{ kind: string; subject: string; detail: unknown }>`
    UPDATE alert_event AS own SET reported_at = ${now} FROM (${nextUnreported(KINDS)}) AS next
    WHERE (own.kind, own.subject) = (next.kind, next.subject) AND own.reported_at IS NULL
    RETURNING own.kind, own.subject, own.detail`.execute(trx);
  const of = <Fact>(kind: string): Fact[] =>
    rows
      .filter((row) => row.kind === kind)
      .sort((a, b) => (a.subject < b.subject ? -1 : 1))
      .map(({ detail }) => detail as Fact);
  return {
    breaks: of<BreakEvent>('break'),
    revised: of<RevisedEvent>('revised'),
    tokens: of<TokenEvent>('token'),
  };
}
