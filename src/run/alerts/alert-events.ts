/** Events that alerts report: stored when merchants of a run end, and taken by the run's end that reports them. */
import { sql, type Kysely, type Transaction } from 'kysely';
import { arrayLiteral } from '../../store/engine/database.ts';
import type { DB } from '../../store/engine/schema.ts';
import { markEventsReported, recordEvents, type FoundBy, type ReadEvent } from '../../store/events.ts';
import { sameContent } from '../../store/statements/statements.ts';
import type { RevisedDay } from '../../store/statements/record-published.ts';

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

export interface TokenEvent {
  readonly merchantNo: string;
  readonly problem: string;
}

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
    INSERT INTO event (kind, merchant_no, subject, data, run_id, at)
    SELECT 'new-break', merchant_no, id, jsonb_build_object('id', id, 'merchantNo', merchant_no, 'currency', currency,
      'day', day, 'missingNet', missing_net::text), ${runId}::bigint, ${now}::timestamptz
    FROM continuity_break AS found
    WHERE status = 'open' AND merchant_no = ANY (${arrayLiteral(merchants)}::text[]) AND (run_id = ${runId} OR EXISTS (
      SELECT FROM run WHERE run.id = found.run_id AND (run.exit_code IS NULL AND run.request IS NULL OR run.command = 'backfill')
    ) OR found_at >= ${new Date(now.getTime() - END_SEARCHED_MS)} AND NOT EXISTS (
      SELECT FROM task own
      WHERE own.kind = 'run' AND own.run_id = found.run_id AND own.merchant_no = found.merchant_no AND own.state = 'ended'
    ))
    ON CONFLICT (kind, merchant_no, subject) DO NOTHING`.execute(trx);
}

export const noteRevised = (
  trx: Transaction<DB>,
  revised: readonly RevisedEvent[],
  found: FoundBy,
): Promise<void> =>
  recordEvents(
    trx,
    revised.map(({ merchantNo, currency, day, oldRevision, revision, reason }) => ({
      kind: 'amendment',
      merchantNo,
      subject: `${currency} ${day} r${revision}`,
      data: { merchantNo, currency, day, oldRevision, revision, reason },
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
    DELETE FROM event USING merchant
    WHERE kind = 'key-problem' AND event.merchant_no = ANY (${arrayLiteral(refused.map(({ merchantNo }) => merchantNo))}::text[])
      AND merchant.merchant_no = event.merchant_no AND merchant.enabled_at > event.at`.execute(trx);
  const events = refused.map(({ merchantNo, problem }) => ({
    ...{ kind: 'key-problem', merchantNo, subject: '' },
    data: { merchantNo, problem },
  }));
  await recordEvents(trx, events, found);
}

export async function crossOffTokens(trx: Transaction<DB>, merchants: readonly string[]): Promise<void> {
  if (merchants.length === 0) return;
  await sql`
    DELETE FROM event WHERE kind = 'key-problem' AND merchant_no = ANY (${arrayLiteral(merchants)}::text[])`.execute(
    trx,
  );
}

export interface AlertEvents {
  readonly breaks: readonly BreakEvent[];
  readonly revised: readonly RevisedEvent[];
  readonly tokens: readonly TokenEvent[];
}

/** So many of a kind are reported at once. The next run reports the rest. */
const REPORTED_AT_ONCE_MAX = 10_000;
const KINDS = ['new-break', 'amendment', 'key-problem'] as const;

interface Unreported extends Omit<ReadEvent, 'data'> {
  readonly shown: unknown;
}

async function nextUnreported(
  db: Kysely<DB>,
  kinds: readonly (typeof KINDS)[number][],
): Promise<Unreported[]> {
  const { rows } = await sql<Unreported>`
    SELECT next.* FROM unnest(${arrayLiteral(kinds)}::text[]) AS asked (kind) CROSS JOIN LATERAL (
      SELECT kind, merchant_no AS "merchantNo", subject, data AS shown FROM event
      WHERE kind = asked.kind AND reported_at IS NULL ORDER BY at, merchant_no, subject LIMIT ${REPORTED_AT_ONCE_MAX}
    ) AS next`.execute(db);
  return rows;
}

/** Takes unreported events, in order of merchants, and marks them as reported. Very many take several runs. */
export async function takeAlertEvents(trx: Transaction<DB>, now: Date): Promise<AlertEvents> {
  const taken = await markEventsReported(trx, await nextUnreported(trx, KINDS), now);
  const nameOf = ({ kind, merchantNo, subject }: Unreported): string =>
    kind === 'new-break' ? subject : `${merchantNo} ${subject}`;
  const of = <Fact>(kind: (typeof KINDS)[number]): Fact[] =>
    taken
      .filter((event) => event.kind === kind)
      .sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
      .map(({ shown }) => shown as Fact);
  return {
    breaks: of<BreakEvent>('new-break'),
    revised: of<RevisedEvent>('amendment'),
    tokens: of<TokenEvent>('key-problem'),
  };
}

export interface Downloaded {
  readonly merchantNo: string;
  readonly currency: string;
  readonly day: string;
  readonly times: number;
  readonly lastAt: Date;
}

/** The part of a download's subject that audit_entry_download has. */
const BEGINNING = sql`left(download.subject, 200) COLLATE "C"`;

export interface RevisedDownloads {
  readonly asked: readonly RevisedEvent[];
  readonly downloads: readonly Downloaded[];
}

const DOWNLOADS_MS_MAX = 5_000;

/**
 * The downloads of the revised days that are reported next. Call it outside of the transaction that reports them. Throws what
 * the database throws, also if it takes too long.
 */
export async function unreportedDownloads(db: Kysely<DB>): Promise<RevisedDownloads> {
  const asked = (await nextUnreported(db, ['amendment'])).map(({ shown }) => shown as RevisedEvent);
  if (asked.length === 0) return { asked, downloads: [] };
  const downloads = await db.transaction().execute(async (trx) => {
    await sql`SET LOCAL statement_timeout = ${sql.lit(DOWNLOADS_MS_MAX)}`.execute(trx);
    return downloadsOf(trx, asked);
  });
  return { asked, downloads };
}

/**
 * Which of the days somebody had downloaded, by itself or with its month, in a revision that is out of date now. The
 * record of downloads names the file, or the month with the merchants and currencies that were chosen. Both are found by
 * audit_entry_download, by the beginning of the subject: the subjects of a month are the texts from the month on that a
 * space or nothing follows.
 */
async function downloadsOf(trx: Transaction<DB>, revised: readonly RevisedEvent[]): Promise<Downloaded[]> {
  const column = (value: (one: RevisedEvent) => string | number) => arrayLiteral(revised.map(value));
  const { rows } = await sql<Downloaded>`
    WITH outdated AS MATERIALIZED (
      SELECT own.merchant_no, own.currency, own.day, to_char(own.day, 'YYYY-MM') AS month, old.object_key,
        old.published_at AS since, newest.published_at AS until
      FROM unnest(
        ${column(({ merchantNo }) => merchantNo)}::text[], ${column(({ currency }) => currency)}::text[],
        ${column(({ day }) => day)}::date[], ${column(({ revision }) => revision)}::integer[]
      ) AS own (merchant_no, currency, day, revision)
      JOIN statement AS newest USING (merchant_no, currency, day, revision)
      JOIN statement AS old ON (old.merchant_no, old.currency, old.day) = (own.merchant_no, own.currency, own.day)
        AND old.revision < own.revision AND NOT (${sameContent('old', 'newest')})
    ), by_month AS MATERIALIZED (
      SELECT asked.month, download.id, download.at, (string_to_array(download.subject, ' '))[2:] AS words
      FROM (SELECT month, min(since) AS since FROM outdated GROUP BY month) AS asked
      JOIN audit_event AS download ON download.command = 'statements get' AND download.at >= asked.since
        AND ${BEGINNING} >= asked.month AND ${BEGINNING} < asked.month || '!'
    ), found AS (
      SELECT merchant_no, currency, day, download.id, download.at
      FROM outdated JOIN audit_event AS download ON download.command = 'statements get'
        AND ${BEGINNING} = left(outdated.object_key, 200) AND download.subject = outdated.object_key
      UNION
      SELECT merchant_no, currency, day, download.id, download.at
      FROM outdated JOIN by_month AS download USING (month)
      WHERE download.at >= since AND download.at <= until
        AND (merchant_no = ANY (words)
          OR NOT EXISTS (SELECT FROM unnest(words) AS word WHERE word !~ '^[A-Z]{3}$'))
        AND (currency = ANY (words)
          OR NOT EXISTS (SELECT FROM unnest(words) AS word WHERE word ~ '^[A-Z]{3}$'))
    )
    SELECT merchant_no AS "merchantNo", currency, day::text, count(*) AS times, max(at) AS "lastAt"
    FROM found
    GROUP BY merchant_no, currency, day
    ORDER BY merchant_no, found.day, currency`.execute(trx);
  return rows;
}
