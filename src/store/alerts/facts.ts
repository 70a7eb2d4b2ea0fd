/** What happened once and is told once: noted with what caused it, and taken by the run that tells it. */
import { sql, type Kysely, type Transaction } from 'kysely';
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

/** Notes merchants whose token does not work. One that is noted already, and did not work since, stays as it is. */
export const noteTokens = (
  trx: Transaction<DB>,
  refused: readonly TokenFact[],
  found: FoundBy,
): Promise<void> =>
  note(
    trx,
    'token',
    refused.map(({ merchantNo, problem }) => ({
      subject: merchantNo,
      merchantNo,
      detail: { merchantNo, problem },
    })),
    found,
  );

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

/** Takes everything that is not told yet, in order of merchants, and marks it as told. */
export async function takeFacts(trx: Transaction<DB>, now: Date): Promise<UntoldFacts> {
  const { rows } = await sql<{ kind: string; subject: string; detail: unknown }>`
    UPDATE alert_fact SET told_at = ${now} WHERE told_at IS NULL RETURNING kind, subject, detail`.execute(
    trx,
  );
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

/** How often somebody downloaded an account day before it was revised. */
export interface Downloaded {
  readonly merchantNo: string;
  readonly currency: string;
  readonly day: string;
  readonly times: number;
  readonly lastAt: Date;
}

/**
 * Which of the revised days somebody had downloaded, by itself or with its month, in a revision that is out of date now.
 * The record of downloads names the file, or the month with the merchants and currencies that were chosen.
 */
async function downloadsOf(trx: Kysely<DB>, revised: readonly RevisedFact[]): Promise<Downloaded[]> {
  const column = (value: (one: RevisedFact) => string | number) => arrayLiteral(revised.map(value));
  const { rows } = await sql<Downloaded>`
    WITH download AS MATERIALIZED (
      SELECT id, at, subject, string_to_array(subject, ' ') AS words
      FROM audit_entry WHERE command = 'statements get'
    ), outdated AS MATERIALIZED (
      SELECT own.merchant_no, own.currency, own.day, to_char(own.day, 'YYYY-MM') AS month, old.object_key,
        old.published_at AS since, newest.published_at AS until
      FROM unnest(
        ${column(({ merchantNo }) => merchantNo)}::text[], ${column(({ currency }) => currency)}::text[],
        ${column(({ day }) => day)}::date[], ${column(({ revision }) => revision)}::integer[]
      ) AS own (merchant_no, currency, day, revision)
      JOIN statement AS newest USING (merchant_no, currency, day, revision)
      JOIN statement AS old ON (old.merchant_no, old.currency, old.day) = (own.merchant_no, own.currency, own.day)
        AND old.revision < own.revision
    ), found AS (
      SELECT merchant_no, currency, day, download.id, download.at
      FROM outdated JOIN download ON download.subject = outdated.object_key
      UNION
      SELECT merchant_no, currency, day, download.id, download.at
      FROM outdated JOIN download ON download.words[1] = outdated.month
      WHERE download.at >= since AND download.at <= until
        AND (merchant_no = ANY (download.words[2:])
          OR NOT EXISTS (SELECT FROM unnest(download.words[2:]) AS word WHERE word !~ '^[A-Z]{3}$'))
        AND (currency = ANY (download.words[2:])
          OR NOT EXISTS (SELECT FROM unnest(download.words[2:]) AS word WHERE word ~ '^[A-Z]{3}$'))
    )
    SELECT merchant_no AS "merchantNo", currency, day::text, count(*) AS times, max(at) AS "lastAt"
    FROM found
    GROUP BY merchant_no, currency, day
    ORDER BY merchant_no, found.day, currency`.execute(trx);
  return rows;
}

/** Time for finding out who downloaded what was revised. */
const DOWNLOADS_MS_MAX = 5_000;

/**
 * The downloads of the revised days that are not told yet. Call it outside of the transaction that tells them, as the
 * record of downloads is long. Throws what the database throws, also if it takes too long.
 */
export async function downloadsOfUntold(db: Kysely<DB>): Promise<Downloaded[]> {
  const { rows } = await sql<{ detail: RevisedFact }>`
    SELECT detail FROM alert_fact WHERE kind = 'revised' AND told_at IS NULL`.execute(db);
  if (rows.length === 0) return [];
  return db.transaction().execute(async (trx) => {
    await sql`SET LOCAL statement_timeout = ${sql.lit(DOWNLOADS_MS_MAX)}`.execute(trx);
    return downloadsOf(
      trx,
      rows.map(({ detail }) => detail),
    );
  });
}
