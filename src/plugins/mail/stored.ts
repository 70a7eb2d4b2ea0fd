/** The table of statements by mail: what is proven and not mailed yet, what waits, and who got what. */
import { sql, type Kysely } from 'kysely';
import { addDays } from '../../ledger/business-day.ts';
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import { arrayLiteral, rowsOf } from '../../store/engine/database.ts';
import { DATABASE_NOW, inMs } from '../../store/engine/lease.ts';
import type { DB } from '../../store/engine/schema.ts';
import { isChosen, ofCurrencies, ofMerchants } from '../../store/account-filter.ts';
import type { Undelivered } from '../../run/alerts.ts';
import type { MonthFigures } from '../../ledger/month-figures.ts';
import type { MailedStatements } from './recipients.ts';

/** A day or month of an account. */
export interface Period extends Account {
  /** `2026-03-02` or `2026-03`. */
  readonly period: string;
}

/** What is mailed of a period. */
export interface MailedContent {
  readonly sums: Pick<
    MonthFigures,
    'opening' | 'creditTotal' | 'creditCount' | 'debitTotal' | 'debitCount' | 'closing'
  >;
  readonly days: Readonly<Record<BusinessDay, number>>;
  /** The same for the same file and sums, whatever the revisions. */
  readonly sha256: string;
}

export interface MailKey extends Period {
  /** A fingerprint of the address. */
  readonly recipient: string;
  readonly revision: number;
}

export interface QueuedMail extends MailKey {
  readonly attempts: number;
  readonly problem: string | null;
  readonly content: MailedContent;
}

export interface MailRow extends QueuedMail {
  readonly name: string;
  readonly state: 'waiting' | 'sent' | 'given-up' | 'replaced' | 'unchanged';
  readonly queuedAt: Date;
  readonly endedAt: Date | null;
}

const KEY = sql`recipient, merchant_no AS "merchantNo", currency, period, revision`;
const ROW = sql`${KEY}, recipient_name AS name, content, state, attempts, problem, queued_at AS "queuedAt", ended_at AS "endedAt"`;

const isPeriod = ({ merchantNo, currency, period }: Period) =>
  sql`(merchant_no, currency, period) = (${merchantNo}, ${currency}, ${period})`;

const isMail = (key: MailKey) =>
  sql`recipient = ${key.recipient} AND revision = ${key.revision} AND ${isPeriod(key)}`;

/**
 * Published periods of which the recipient has no row for what is current, by merchant and period. Days from `today` on are
 * not over.
 */
export const notMailed = (
  db: Kysely<DB>,
  recipient: string,
  {
    every,
    from,
    merchants,
    currencies,
  }: Pick<MailedStatements, 'every' | 'from' | 'merchants' | 'currencies'>,
  today: BusinessDay,
) => {
  const [pattern, first, next] =
    every === 'day' ? ['YYYY-MM-DD', from, today] : ['YYYY-MM', nextMonth(addDays(from, -1)), beginOf(today)];
  return rowsOf(db)<Period & { readonly revision: number }>`
    WITH newest AS (
      SELECT merchant_no, currency, day, max(revision) AS revision FROM statement
      WHERE day >= ${first}::date AND day < ${next}::date AND ${ofMerchants(merchants)} AND ${ofCurrencies(currencies)}
      GROUP BY merchant_no, currency, day
    ), own AS (
      SELECT merchant_no, currency, to_char(day, ${pattern}::text) COLLATE "C" AS period, sum(revision)::integer AS revision
      FROM newest GROUP BY 1, 2, 3
    )
    SELECT merchant_no AS "merchantNo", currency, period, revision FROM own
    WHERE NOT EXISTS (
      SELECT FROM statement_mail AS known
      WHERE known.recipient = ${recipient}
        AND (known.merchant_no, known.currency, known.period, known.revision)
          = (own.merchant_no, own.currency, own.period, own.revision)
    )
    ORDER BY merchant_no, period, currency`;
};

const beginOf = (day: BusinessDay): BusinessDay => `${day.slice(0, 7)}-01`;
const nextMonth = (day: BusinessDay): BusinessDay => beginOf(addDays(beginOf(day), 31));

/**
 * Queues a mail; nothing where another process was faster. What waits with another content is replaced. The content of
 * the mail before is not mailed again. Returns whether it waits now.
 */
export const queueMail = (
  db: Kysely<DB>,
  key: MailKey,
  { name, content }: { readonly name: string; readonly content: MailedContent },
): Promise<boolean> =>
  db.transaction().execute(async (trx) => {
    const { recipient, merchantNo, currency, period, revision } = key;
    const isSameContent = sql`content ->> 'sha256' = ${content.sha256}`;
    // What waits and was never tried has not been received.
    const [before] = await rowsOf(trx)<{ isSame: boolean }>`
      SELECT ${isSameContent} AS "isSame" FROM statement_mail
      WHERE recipient = ${recipient} AND ${isPeriod(key)} AND revision < ${revision}
        AND (state IN ('sent', 'given-up') OR (state = 'waiting' AND (attempts > 0 OR ${isSameContent})))
      ORDER BY revision DESC LIMIT 1`;
    const isSame = before?.isSame === true;
    const state = isSame ? 'unchanged' : 'waiting';
    const { numAffectedRows } = await sql`
      INSERT INTO statement_mail (recipient, recipient_name, merchant_no, currency, period, revision, content, state, queued_at, try_at, ended_at)
      VALUES (${recipient}, ${name}, ${merchantNo}, ${currency}, ${period}, ${revision}, ${JSON.stringify(content)}::jsonb,
        ${state}, ${DATABASE_NOW}, ${DATABASE_NOW}, ${isSame ? DATABASE_NOW : null})
      ON CONFLICT DO NOTHING`.execute(trx);
    if (numAffectedRows !== 1n) return false;
    await sql`
      UPDATE statement_mail SET state = 'replaced', ended_at = ${DATABASE_NOW}
      WHERE recipient = ${recipient} AND ${isPeriod(key)} AND revision < ${revision} AND state = 'waiting'
        AND NOT ${isSameContent}`.execute(trx);
    return !isSame;
  });

/** Takes the mail that has waited longest. For `claimMs` no other process takes it. */
export async function claimMail(
  db: Kysely<DB>,
  recipients: readonly string[],
  claimMs: number,
): Promise<QueuedMail | undefined> {
  const [claimed] = await rowsOf(db)<QueuedMail>`
    UPDATE statement_mail AS own SET attempts = own.attempts + 1, try_at = ${inMs(claimMs)}
    FROM (
      SELECT recipient, merchant_no, currency, period, revision FROM statement_mail
      WHERE state = 'waiting' AND try_at <= ${DATABASE_NOW} AND recipient = ANY (${arrayLiteral(recipients)}::text[])
      ORDER BY try_at, period, merchant_no, currency LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS due
    WHERE (own.recipient, own.merchant_no, own.currency, own.period, own.revision)
      = (due.recipient, due.merchant_no, due.currency, due.period, due.revision)
    RETURNING own.recipient, own.merchant_no AS "merchantNo", own.currency, own.period, own.revision, own.attempts, own.problem, own.content`;
  return claimed;
}

/** Also of one that was replaced meanwhile, as it went out. */
export async function noteSent(db: Kysely<DB>, key: MailKey): Promise<void> {
  await sql`UPDATE statement_mail SET state = 'sent', ended_at = ${DATABASE_NOW}, problem = NULL WHERE ${isMail(key)}`.execute(
    db,
  );
}

export async function noteGivenUp(db: Kysely<DB>, key: MailKey, problem: string): Promise<void> {
  await sql`
    UPDATE statement_mail SET state = 'given-up', ended_at = ${DATABASE_NOW}, problem = ${problem}
    WHERE ${isMail(key)} AND state = 'waiting'`.execute(db);
}

export async function noteFailed(
  db: Kysely<DB>,
  key: MailKey,
  problem: string,
  delayMs: number,
): Promise<void> {
  await sql`
    UPDATE statement_mail SET problem = ${problem}, try_at = ${inMs(delayMs)}
    WHERE ${isMail(key)} AND state = 'waiting'`.execute(db);
}

/** It was not tried, and is due again after `delayMs`. */
export async function putBack(db: Kysely<DB>, key: MailKey, delayMs: number): Promise<void> {
  await sql`
    UPDATE statement_mail SET attempts = attempts - 1, try_at = ${inMs(delayMs)}
    WHERE ${isMail(key)} AND state = 'waiting'`.execute(db);
}

/** The server takes no mail, so that none of what waits is tried before then. */
export async function postponeAll(
  db: Kysely<DB>,
  recipients: readonly string[],
  delayMs: number,
): Promise<void> {
  await sql`
    UPDATE statement_mail SET try_at = greatest(try_at, ${inMs(delayMs)})
    WHERE state = 'waiting' AND recipient = ANY (${arrayLiteral(recipients)}::text[])`.execute(db);
}

/** The mail of the period before this one that arrived, or may have. */
export async function mailBefore(db: Kysely<DB>, key: MailKey): Promise<MailRow | undefined> {
  const [before] = await rowsOf(db)<MailRow>`
    SELECT ${ROW} FROM statement_mail
    WHERE recipient = ${key.recipient} AND ${isPeriod(key)} AND revision < ${key.revision}
      AND (state = 'sent' OR (state = 'replaced' AND attempts > 0))
    ORDER BY revision DESC LIMIT 1`;
  return before;
}

/** Newest first, without those whose content had been mailed. */
export const listMails = (
  db: Kysely<DB>,
  {
    recipients,
    merchants,
    limit,
  }: Readonly<{ recipients: readonly string[] | null; merchants: readonly string[] | null; limit: number }>,
) => rowsOf(db)<MailRow>`
  SELECT ${ROW} FROM statement_mail
  WHERE state <> 'unchanged' AND ${isChosen('recipient', recipients)} AND ${ofMerchants(merchants)}
  ORDER BY coalesce(ended_at, queued_at) DESC, merchant_no, period, currency, recipient, revision DESC LIMIT ${limit}`;

const GIVEN_UP_SHOWN_DAYS = 7;

export async function undeliveredMails(db: Kysely<DB>, recipients: readonly string[]): Promise<Undelivered> {
  const own = arrayLiteral(recipients);
  const [counts] = await rowsOf(db)<Undelivered>`
    SELECT count(*) FILTER (WHERE state = 'waiting') AS failing, count(*) FILTER (WHERE state = 'given-up') AS "givenUp"
    FROM statement_mail
    WHERE recipient = ANY (${own}::text[]) AND ((state = 'waiting' AND problem IS NOT NULL)
      OR (state = 'given-up' AND ended_at > now() - ${GIVEN_UP_SHOWN_DAYS} * interval '1 day'))`;
  return counts!;
}
