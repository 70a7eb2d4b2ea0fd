/** Tells which statements were revised: since a person downloaded them, and since an instant. */
import { sql, type RawBuilder } from 'kysely';
import { dayWindow } from '../ledger/business-day.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { arrayLiteral, type Db, rowsOf } from './engine/database.ts';
import { sameContent, type StatementRow } from './statements/statements.ts';
import type { Chosen } from '../ledger/account-filter.ts';
import { ofMerchants } from './account-filter.ts';

/** The command under which downloads are kept in the audit, from a terminal or a page. */
export const DOWNLOAD_COMMAND = 'statements get';

/** A merchant's number as one word of a subject. */
const wordOf = (merchantNo: string): string => merchantNo.replaceAll('%', '%25').replaceAll(' ', '%20');

/** The same of a column. */
export const merchantWord = (column: RawBuilder<unknown>): RawBuilder<string> =>
  sql<string>`replace(replace(${column}, '%', '%25'), ' ', '%20')`;

/** What the audit names of a month's download: the month with the merchants and currencies that were chosen. */
export const monthSubject = (
  month: string,
  merchants: readonly string[],
  currencies: readonly string[] = [],
): string => [month, ...merchants.map(wordOf), ...currencies].join(' ');

const ASKED_WORD = merchantWord(sql`asked.merchant_no`);

/** The note of a download that ended before its last byte; its format may follow. */
export const CUT_DOWNLOAD = 'cut off';

export interface Downloader {
  readonly name: string;
  readonly zone: string;
}

/** A day that may have been revised since the person downloaded it. */
interface RevisedSince {
  readonly day: BusinessDay;
  /** When the person downloaded the month without a statement of the day, which came late; null where one was downloaded. */
  readonly withoutMs: number | null;
}

/** Whether the person has something else than what is published: a day that was not over then was not to be expected. */
export const isRevisedSince = (
  { day, withoutMs }: RevisedSince,
  { zone }: Pick<Downloader, 'zone'>,
): boolean => withoutMs === null || withoutMs > dayWindow(day, zone).endMs;

/**
 * For each row `asked (merchant_no, currency, nth)`: `nth`, and as `RevisedSince` each day from `from` to `to` of which the
 * person downloaded a revision with another content than the newest, and no newer one since: by itself, or with the month as it was then. Days that had no
 * statement then and got one late are among them: ask `isRevisedSince` of each. What was never revised costs entries of the keys of
 * `statement` and `event` alone; the downloads are found by audit_entry_download.
 */
export const revisedSinceDownload = ({
  from,
  to,
  by,
}: {
  readonly from: string;
  readonly to: string;
  readonly by: string | null;
}): RawBuilder<unknown> => sql`
  SELECT asked.nth, revised.day,
    CASE WHEN published.downloaded IS NULL THEN floor(extract(epoch FROM entire.at) * 1000)::bigint END AS "withoutMs"
  FROM asked CROSS JOIN LATERAL (
    SELECT day, bool_or(is_late) AS is_late FROM (
      SELECT s.day, false AS is_late FROM statement s
      WHERE s.merchant_no = asked.merchant_no AND s.currency = asked.currency AND s.day BETWEEN ${from} AND ${to}
        AND s.revision > 1
      UNION ALL
      SELECT (e.data ->> 'day')::date, true FROM event e
      WHERE e.kind = 'revision' AND e.merchant_no = asked.merchant_no AND e.subject LIKE '% r1'
        AND e.subject BETWEEN asked.currency || ' ' || ${from}::text AND asked.currency || ' ' || ${to}::text || ' r1'
    ) AS changed
    GROUP BY day
  ) AS revised
  CROSS JOIN LATERAL (SELECT to_char(revised.day, 'YYYY-MM') AS name) AS month
  CROSS JOIN LATERAL (
    SELECT max(own.at) AS at FROM unnest(ARRAY[
      month.name, month.name || ' ' || ${ASKED_WORD}, month.name || ' ' || asked.currency,
      month.name || ' ' || ${ASKED_WORD} || ' ' || asked.currency
    ]) AS named (subject) CROSS JOIN LATERAL (${lastDownload(by)}) AS own
  ) AS entire
  CROSS JOIN LATERAL (
    SELECT max(s.revision) AS revision,
      max(s.revision) FILTER (WHERE s.published_at <= entire.at OR own.at IS NOT NULL) AS downloaded
    FROM statement s CROSS JOIN LATERAL (SELECT s.object_key AS subject) AS named
    LEFT JOIN LATERAL (${lastDownload(by)}) AS own ON true
    WHERE s.merchant_no = asked.merchant_no AND s.currency = asked.currency AND s.day = revised.day
  ) AS published
  WHERE (published.downloaded < published.revision AND NOT EXISTS (
      SELECT FROM statement AS own JOIN statement AS newest USING (merchant_no, currency, day)
      WHERE (own.merchant_no, own.currency, own.day) = (asked.merchant_no, asked.currency, revised.day)
        AND own.revision = published.downloaded AND newest.revision = published.revision
        AND ${sameContent('own', 'newest')}
    ))
    OR (published.downloaded IS NULL AND revised.is_late AND entire.at IS NOT NULL)`;

/** The days of these accounts that `revisedSinceDownload` finds, for each of them, in their order. */
export async function revisedDays(
  db: Db,
  accounts: readonly Account[],
  { from, to, by }: { readonly from: BusinessDay; readonly to: BusinessDay; readonly by: Downloader },
): Promise<ReadonlySet<BusinessDay>[]> {
  const rows = await rowsOf(db)<RevisedSince & { readonly nth: number }>`
    WITH asked AS (
      SELECT * FROM unnest(
        ${arrayLiteral(accounts.map(({ merchantNo }) => merchantNo))}::text[],
        ${arrayLiteral(accounts.map(({ currency }) => currency))}::text[]
      ) WITH ORDINALITY AS asked (merchant_no, currency, nth)
    )
    SELECT nth::int, day, "withoutMs" FROM (${revisedSinceDownload({ from, to, by: by.name })}) AS revised`;
  const byAccount = Map.groupBy(
    rows.filter((row) => isRevisedSince(row, by)),
    ({ nth }) => nth,
  );
  return accounts.map((_, at) => new Set((byAccount.get(at + 1) ?? []).map(({ day }) => day)));
}

/** Of a row `named (subject)`: when the person downloaded it last, to its end. */
const lastDownload = (by: string | null): RawBuilder<unknown> => sql`
  SELECT e.at FROM audit_event e
  WHERE e.command = 'statements get' AND e.subject = named.subject AND e.by_whom = ${by}
    AND left(e.subject, 200) COLLATE "C" = left(named.subject, 200)
    AND left(e.by_whom, 200) COLLATE "C" = left(${by}, 200) AND starts_with(e.note, ${CUT_DOWNLOAD}) IS NOT TRUE
  ORDER BY e.at DESC LIMIT 1`;

export interface RevisedAt extends Account {
  readonly publishedAt: Date;
  readonly day: BusinessDay;
  readonly revision: number;
}

interface RevisedAsked {
  readonly since: Date;
  readonly merchants: Chosen;
  readonly after: RevisedAt | null;
  readonly limit: number;
}

export interface RevisedRow extends StatementRow {
  /** Of a first statement, what the day was before: its month was closed without it, or it was proven empty. Null of others. */
  readonly late: 'closed' | 'empty' | null;
}

/** Newest first. Uses statement_revised_at and event_late. */
export async function revisedSince(
  db: Db,
  { since, merchants, after, limit }: RevisedAsked,
): Promise<RevisedRow[]> {
  const place = sql`published_at DESC, merchant_no, currency, day, revision`;
  const behind =
    after === null
      ? sql`true`
      : sql`published_at <= ${after.publishedAt} AND (published_at < ${after.publishedAt}
          OR (merchant_no, currency, day, revision)
            > (${after.merchantNo}, ${after.currency}, ${after.day}::date, ${after.revision}::integer))`;
  const firstOf = (of: RawBuilder<unknown>): RawBuilder<unknown> => sql`(
    SELECT * FROM (${of}) AS one WHERE published_at >= ${since} AND ${ofMerchants(merchants)} AND ${behind}
    ORDER BY ${place} LIMIT ${limit})`;
  const revised = sql`
    SELECT merchant_no, currency, day, revision, published_at, NULL::boolean AS after_close FROM statement WHERE revision > 1`;
  const late = sql`
    SELECT merchant_no, (data ->> 'currency') COLLATE "C" AS currency, (data ->> 'day')::date AS day, 1 AS revision,
      at AS published_at, (data -> 'afterClose')::boolean AS after_close
    FROM event WHERE kind = 'revision' AND subject LIKE '% r1'`;
  return rowsOf(db)<RevisedRow>`
    WITH found AS MATERIALIZED (
      SELECT * FROM (${firstOf(revised)} UNION ALL ${firstOf(late)}) AS one ORDER BY ${place} LIMIT ${limit}
    )
    SELECT known.*, CASE found.after_close WHEN true THEN 'closed' WHEN false THEN 'empty' END AS late
    FROM found JOIN statement AS known USING (merchant_no, currency, day, revision)
    ORDER BY known.published_at DESC, merchant_no, currency, day, revision`;
}
