/**
 * Counts what is stored of all merchants whose ledgers are read, in a few statements however many they are, and over
 * what is open alone: none of it grows with the history.
 */
import { EXIT, type ExitCode } from '../ledger/ending.ts';
import { IS_SILENT } from './silent-accounts.ts';
import { sql } from 'kysely';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { IS_DECISIVE } from './breaks/break-cases.ts';
import { isNewSince } from './breaks/breaks.ts';
import { unreadableSpans } from './quarantine.ts';
import { arrayLiteral, type Db, rowsOf, rowOf } from './engine/database.ts';

/** The active merchants, and `own`: the one that the settings name, which the database may not know yet. */
export const activeWith = (own: readonly string[]) => sql`
  SELECT merchant_no FROM merchant WHERE status = 'active'
  UNION SELECT unnest(${arrayLiteral(own)}::text[]) COLLATE "C"`;

/** What decides how far merchants are proven, and how many merchants it is the same for. */
export interface ProofShape {
  readonly merchants: number;
  /** Certified for all currencies, less what failed or waits, sorted. */
  readonly certified: readonly Window[];
  /** Windows whose last reading failed, or that wait for a second reading. */
  readonly uncertified: readonly Window[];
  /** Where open breaks lie, from the entries before them to those after them, and entries that could not be read. */
  readonly broken: readonly Window[];
  readonly changed: readonly BusinessDay[];
}

/**
 * How far merchants are proven, reported once for all to whom the same applies, as most are read at the same times. Left
 * out are those with a range asked for by date that is still open; `merchantsWithOpenRanges` names them.
 */
export const proofShapes = (db: Db, own: readonly string[], zone: string) => rowsOf(db)<ProofShape>`
    WITH asked AS (${activeWith(own)}), open AS (
      SELECT merchant_no, range_agg(int8range(begin_ms, end_ms, '[]')) AS spans FROM (
        SELECT merchant_no, begin_ms, through_ms AS end_ms FROM certificate WHERE problem IS NOT NULL
        UNION ALL SELECT merchant_no, begin_ms, end_ms FROM account_doubt
      ) AS open GROUP BY merchant_no
    ), held AS (
      SELECT merchant_no, range_agg(int8range(begin_ms, through_ms, '[]')) AS spans
      FROM certificate WHERE read_at IS NOT NULL AND problem IS NULL GROUP BY merchant_no
    ), broken AS (
      SELECT merchant_no, range_agg(int8range(begin_ms, end_ms, '[]')) AS spans
      FROM (
        SELECT merchant_no, begin_ms, end_ms FROM continuity_break WHERE status = 'open' UNION ALL ${unreadableSpans(zone)}
      ) AS unproven GROUP BY merchant_no
    ), changed AS (
      SELECT merchant_no, array_agg(DISTINCT day::text ORDER BY day::text) AS days FROM changed_day GROUP BY merchant_no
    ), shape AS (
      SELECT count(*) AS merchants, coalesce(held.spans, '{}') - coalesce(open.spans, '{}') AS certified,
        coalesce(open.spans, '{}') AS uncertified, coalesce(broken.spans, '{}') AS broken, changed.days
      FROM asked
      LEFT JOIN held ON held.merchant_no = asked.merchant_no
      LEFT JOIN open ON open.merchant_no = asked.merchant_no
      LEFT JOIN broken ON broken.merchant_no = asked.merchant_no
      LEFT JOIN changed ON changed.merchant_no = asked.merchant_no
      WHERE NOT EXISTS (
        SELECT FROM request asked_for
        WHERE asked_for.merchant_no = asked.merchant_no AND asked_by = 'run' AND state = 'waiting'
      )
      GROUP BY 2, 3, 4, 5
    )
    SELECT merchants, ${spansAsJson('certified')} AS certified, ${spansAsJson('uncertified')} AS uncertified,
      ${spansAsJson('broken')} AS broken, coalesce(to_json(days), '[]') AS changed
    FROM shape`;

const spansAsJson = (column: string) => sql`coalesce((
  SELECT json_agg(json_build_object('beginMs', lower(span), 'endMs', upper(span) - 1) ORDER BY span) FROM unnest(${sql.ref(column)}) AS span
), '[]')`;

/** The merchants whose proof also hangs on a range that was asked for by date and is still open, in order. */
export async function merchantsWithOpenRanges(db: Db, own: readonly string[]): Promise<string[]> {
  const rows = await rowsOf(db)<{ merchantNo: string }>`
    WITH asked AS (${activeWith(own)})
    SELECT DISTINCT merchant_no AS "merchantNo" FROM request JOIN asked USING (merchant_no)
    WHERE asked_by = 'run' AND state = 'waiting' ORDER BY 1`;
  return rows.map(({ merchantNo }) => merchantNo);
}

export interface OpenCounts {
  readonly merchants: number;
  /** Windows without a certificate: their last reading failed, or waits for a second reading. */
  readonly uncertified: number;
  /** Open breaks that `newSince` or a later run found. */
  readonly newBreaks: number;
  readonly knownBreaks: number;
  /** Of all open breaks, those that somebody is responsible for. */
  readonly takenBreaks: number;
  readonly quarantined: number;
  readonly leases: number;
}

/** `newSince`: the first run whose breaks count as new; null if none does. */
export const openCounts = (db: Db, own: readonly string[], newSince: number | null) => rowOf(db)<OpenCounts>`
    WITH asked AS (${activeWith(own)}), broken AS (
      SELECT ${isNewSince(newSince)} AS is_new, (
        SELECT command = 'breaks take' FROM audit_event
        WHERE subject = continuity_break.id::text AND ${IS_DECISIVE} ORDER BY id DESC LIMIT 1
      ) AS is_taken
      FROM continuity_break JOIN asked USING (merchant_no) WHERE continuity_break.status = 'open'
    )
    SELECT (SELECT count(*) FROM asked) AS merchants,
      (SELECT count(*) FROM certificate JOIN asked USING (merchant_no) WHERE problem IS NOT NULL) + (
        SELECT count(*) FROM (SELECT DISTINCT merchant_no, begin_ms, end_ms FROM absent_entry) AS waiting
        JOIN asked USING (merchant_no)
      ) + (SELECT count(*) FROM silent_account JOIN asked USING (merchant_no) WHERE ${IS_SILENT}) + (
        SELECT count(*) FROM foreign_account_day JOIN asked USING (merchant_no)
      ) AS uncertified,
      (SELECT count(*) FROM broken WHERE is_new) AS "newBreaks",
      (SELECT count(*) FROM broken WHERE is_new IS NOT TRUE) AS "knownBreaks",
      (SELECT count(*) FROM broken WHERE is_taken) AS "takenBreaks",
      (
        SELECT count(*) FROM quarantined_entry JOIN asked USING (merchant_no)
        WHERE released_at IS NULL AND acknowledged_at IS NULL
      ) AS quarantined,
      (SELECT count(*) FROM lease WHERE expires_at > clock_timestamp()) AS leases`;

/** When merchants were last read and found well, over all of them. */
export interface GoodReadings {
  readonly neverRead: number;
  /** The last good reading of the merchant for whom it is longest ago; null if none was ever read well. */
  readonly oldestAt: Date | null;
}

/** One jump along run_merchant_good for each merchant, in one statement. */
export const goodReadings = (db: Db, own: readonly string[]) => rowOf(db)<GoodReadings>`
    WITH asked AS (${activeWith(own)})
    SELECT count(*) FILTER (WHERE last.finished_at IS NULL) AS "neverRead", min(last.finished_at) AS "oldestAt"
    FROM asked LEFT JOIN LATERAL (
      SELECT finished_at FROM run_merchant own
      WHERE own.merchant_no = asked.merchant_no AND own.reads AND own.exit_code IN (0, 3)
      ORDER BY own.run_id DESC LIMIT 1
    ) AS last ON true`;

/** The inbox: what was pushed and no one has answered yet. */
export interface InboxCounts {
  /** Not processed yet, or waiting for the reply to our own request. */
  readonly waiting: number;
  /** When the oldest of these came; null if there is none. */
  readonly oldestAt: Date | null;
  /** What they take, encrypted, in bytes. */
  readonly waitingBytes: number;
  readonly needsPerson: number;
}

/** Outcomes of pushed results that a person has to check. */
export const NEEDS_PERSON = ['contradiction', 'second-token', 'malformed'] as const;

/** Served by partial indexes of table notification. */
export const inboxCounts = (db: Db) => rowOf(db)<InboxCounts>`
    SELECT waiting.*, (
        SELECT count(*) FROM notification
        WHERE outcome IN (${sql.join(NEEDS_PERSON.map((outcome) => sql.lit(outcome)))}) AND resolved_at IS NULL
      ) AS "needsPerson"
    FROM (
      SELECT count(*) AS waiting, min(received_at) AS "oldestAt", coalesce(sum(octet_length(body_ciphertext)), 0)::bigint AS "waitingBytes"
      FROM notification WHERE (outcome IS NULL OR outcome = 'waiting') AND body_ciphertext IS NOT NULL
    ) AS waiting`;

/** Which of these the login may read: a role of `sql/roles` sees either ledgers or the inbox. */
export const readableParts = (db: Db): Promise<{ ledger: boolean; inbox: boolean }> => rowOf(db)<{
  ledger: boolean;
  inbox: boolean;
}>`
    SELECT has_table_privilege('continuity_break', 'SELECT') AS ledger,
      has_table_privilege('notification', 'SELECT') AS inbox`;

/** How many results of the platform changed nothing and wait for a person, and what that ends `status` with. Of a login that may not see them: none. */
export async function notAppliedResults(db: Db): Promise<{ count: number; exitCode: ExitCode }> {
  const count = (await readableParts(db)).inbox ? (await inboxCounts(db)).needsPerson : 0;
  return { count, exitCode: count > 0 ? EXIT.needsPerson : EXIT.done };
}
