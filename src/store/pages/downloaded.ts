/** Tells which statements were revised since a person downloaded them. */
import { sql, type RawBuilder } from 'kysely';

/** The command under which downloads are kept in the audit, from a terminal or a page. */
export const DOWNLOAD_COMMAND = 'statements get';

/** A month's download as the audit names it. */
export const monthSubject = (month: string, merchantNo: string): string => `${month} ${merchantNo}`;

/**
 * For each row `asked (merchant_no, currency, nth)`: `nth`, and each day from `from` to `to` whose current revision was
 * published after the person downloaded an earlier one, alone or with its month. What was never revised costs entries of
 * the key of `statement` alone; the downloads are found by audit_entry_download.
 */
export const revisedSinceDownload = ({
  from,
  to,
  by,
}: {
  readonly from: string;
  readonly to: string;
  readonly by: string;
}): RawBuilder<unknown> => sql`
  SELECT asked.nth, revised.day
  FROM asked CROSS JOIN LATERAL (
    SELECT DISTINCT s.day FROM statement s
    WHERE s.merchant_no = asked.merchant_no AND s.currency = asked.currency AND s.day BETWEEN ${from} AND ${to}
      AND s.revision > 1
  ) AS revised
  CROSS JOIN LATERAL (
    SELECT max(s.published_at) AS published_at, array_agg(s.object_key) AS keys FROM statement s
    WHERE s.merchant_no = asked.merchant_no AND s.currency = asked.currency AND s.day = revised.day
  ) AS published
  CROSS JOIN LATERAL (SELECT to_char(revised.day, 'YYYY-MM') AS name) AS month
  CROSS JOIN LATERAL (
    SELECT max(own.at) AS at FROM unnest(published.keys || ARRAY[
      month.name, month.name || ' ' || asked.merchant_no, month.name || ' ' || asked.currency,
      month.name || ' ' || asked.merchant_no || ' ' || asked.currency
    ]) AS named (subject) CROSS JOIN LATERAL (
      SELECT e.at FROM audit_entry e
      WHERE e.command = 'statements get' AND e.subject = named.subject AND e.by_whom = ${by}
        AND left(e.subject, 200) COLLATE "C" = left(named.subject, 200)
        AND left(e.by_whom, 200) COLLATE "C" = left(${by}, 200)
      ORDER BY e.at DESC LIMIT 1
    ) AS own
  ) AS last
  WHERE last.at < published.published_at`;
