/** What happened once and is told once: noted with what caused it, and taken by the run that tells it. */
import { sql, type Kysely, type RawBuilder, type Transaction } from 'kysely';
import { arrayLiteral } from '../engine/array-literal.ts';
import type { DB } from '../engine/schema.ts';
import { storableJson } from '../run-merchants.ts';
import type { RevisedDay } from '../statements/untold-revisions.ts';

/** A break that is told. */
export interface BreakFact {
  readonly merchantNo: string;
  readonly id: number;
  readonly currency: string;
  readonly day: string;
  readonly missingNet: string;
}

export type RevisedFact = Pick<
  RevisedDay,
  'merchantNo' | 'currency' | 'day' | 'oldRevision' | 'revision' | 'reason'
>;

/** A merchant whose token does not work. */
export interface TokenFact {
  readonly merchantNo: string;
  readonly problem: string;
}

interface FoundBy {
  readonly runId: number;
  readonly now: Date;
}

/** It is looked so far back for runs that came to no end for a merchant. */
const END_LOOKED_FOR_MS = 30 * 24 * 3_600_000;

/**
 * Notes the merchants' open breaks that this run found, that a backfill found, and that a run found which never came to
 * its end, or lately to no end for this merchant. A break that is noted already stays as it is.
 */
export async function noteBreaks(
  trx: Transaction<DB>,
  merchants: readonly string[],
  { runId, now }: FoundBy,
): Promise<void> {
  await sql`
    INSERT INTO alert_fact (kind, subject, merchant_no, detail, run_id, found_at)
    SELECT 'break', id, merchant_no, jsonb_build_object('id', id, 'merchantNo', merchant_no, 'currency', currency,
      'day', day, 'missingNet', missing_net::text), ${runId}::bigint, ${now}::timestamptz
    FROM continuity_break AS found
    WHERE status = 'open' AND merchant_no = ANY (${arrayLiteral(merchants)}::text[]) AND (run_id = ${runId} OR EXISTS (
      SELECT FROM run WHERE run.id = found.run_id AND (run.exit_code IS NULL AND run.request IS NULL OR run.command = 'backfill')
    ) OR found_at >= ${new Date(now.getTime() - END_LOOKED_FOR_MS)} AND NOT EXISTS (
      SELECT FROM run_merchant own
      WHERE own.run_id = found.run_id AND own.merchant_no = found.merchant_no AND own.state = 'ended'
    ))
    ON CONFLICT (kind, subject) DO NOTHING`.execute(trx);
}

/** Notes days of which a published statement was revised. */
export const noteRevised = (
  trx: Transaction<DB>,
  revised: readonly RevisedFact[],
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
 * Notes merchants whose token does not work. One that is noted already, did not work since, and was not enabled or given
 * a token since, stays as it is.
 */
export async function noteTokens(
  trx: Transaction<DB>,
  refused: readonly TokenFact[],
  found: FoundBy,
): Promise<void> {
  if (refused.length === 0) return;
  await sql`
    DELETE FROM alert_fact USING merchant
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
    DELETE FROM alert_fact WHERE kind = 'token' AND subject = ANY (${arrayLiteral(merchants)}::text[])`.execute(
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
    INSERT INTO alert_fact (kind, subject, merchant_no, detail, run_id, found_at)
    SELECT ${kind}, one.subject, one.merchant_no, one.detail, ${runId}::bigint, ${now}::timestamptz
    FROM unnest(
      ${arrayLiteral(facts.map(({ subject }) => subject))}::text[],
      ${arrayLiteral(facts.map(({ merchantNo }) => merchantNo))}::text[],
      ${arrayLiteral(facts.map(({ detail }) => storableJson(detail)))}::jsonb[]
    ) AS one (subject, merchant_no, detail)
    ON CONFLICT (kind, subject) DO NOTHING`.execute(trx);
}

export interface UntoldFacts {
  readonly breaks: readonly BreakFact[];
  readonly revised: readonly RevisedFact[];
  readonly tokens: readonly TokenFact[];
}

/** So many of a kind are told at once. The next run tells the rest. */
const TOLD_AT_ONCE_MAX = 10_000;
const KINDS = ['break', 'revised', 'token'] as const;

/** The facts of these kinds that are told next. */
const nextToTell = (kinds: readonly (typeof KINDS)[number][]): RawBuilder<unknown> => sql`
  SELECT next.* FROM unnest(${arrayLiteral(kinds)}::text[]) AS asked (kind) CROSS JOIN LATERAL (
    SELECT kind, subject, detail FROM alert_fact
    WHERE kind = asked.kind AND told_at IS NULL ORDER BY found_at, subject LIMIT ${TOLD_AT_ONCE_MAX}
  ) AS next`;

/** The revised days that are told next. */
export async function untoldRevised(db: Kysely<DB>): Promise<RevisedFact[]> {
  const { rows } = await sql<{ detail: RevisedFact }>`${nextToTell(['revised'])}`.execute(db);
  return rows.map(({ detail }) => detail);
}

/** Takes what is not told yet, in order of merchants, and marks it as told. Very many take several runs. */
export async function takeFacts(trx: Transaction<DB>, now: Date): Promise<UntoldFacts> {
  const { rows } = await sql<{ kind: string; subject: string; detail: unknown }>`
    UPDATE alert_fact AS own SET told_at = ${now} FROM (${nextToTell(KINDS)}) AS next
    WHERE (own.kind, own.subject) = (next.kind, next.subject) AND own.told_at IS NULL
    RETURNING own.kind, own.subject, own.detail`.execute(trx);
  const of = <Fact>(kind: string): Fact[] =>
    rows
      .filter((row) => row.kind === kind)
      .sort((a, b) => (a.subject < b.subject ? -1 : 1))
      .map(({ detail }) => detail as Fact);
  return {
    breaks: of<BreakFact>('break'),
    revised: of<RevisedFact>('revised'),
    tokens: of<TokenFact>('token'),
  };
}
