-- What dashboards may rely on: these views keep their names, columns and meaning, whatever becomes of the tables under them.

-- An account's day: what is known of it now, and what is published of it.
CREATE VIEW daybook_account_days AS
SELECT
  merchant_no, currency, day, opening, credit_total, credit_count, debit_total, debit_count, closing, verdict,
  break_count,
  -- revision of the current statement; null before the first
  revision,
  -- the statement says what the figures say
  revision IS NOT NULL AND NOT publish_due AS is_published
FROM account_day;

-- Breaks of the balance chain that nobody has closed and no later reading has healed.
CREATE VIEW daybook_open_breaks AS
SELECT
  id, merchant_no, currency, day, after_batch_no, before_batch_no, expected_balance, found_balance, missing_net, hint,
  hint_batch_no,
  -- between these instants something is missing, or is too much
  to_timestamp(begin_ms / 1000.0) AS begins_at,
  to_timestamp(end_ms / 1000.0) AS ends_at,
  found_at
FROM continuity_break
WHERE status = 'open';

-- How far ledgers are proven: a row for each unbroken stretch. Two rows of a merchant have a gap between them. Where
-- `currency` is null, every currency was read.
CREATE VIEW daybook_coverage AS
SELECT
  merchant_no,
  nullif(currency, '') AS currency,
  to_timestamp(lower(stretch) / 1000.0) AS proven_from,
  -- the first instant that is not proven
  to_timestamp(upper(stretch) / 1000.0) AS proven_until,
  last_proven_at
FROM (
  SELECT
    merchant_no, currency,
    unnest(range_agg(int8range(begin_ms, end_ms, '[]'))) AS stretch,
    max(certified_at) AS last_proven_at
  FROM sync_window
  WHERE certified_at IS NOT NULL
  GROUP BY merchant_no, currency
) AS proven;

-- Published statements, every revision.
CREATE VIEW daybook_statements AS
SELECT
  merchant_no, currency, day, revision,
  -- the one that stands
  revision = max(revision) OVER (PARTITION BY merchant_no, currency, day) AS is_current,
  opening, credit_total, credit_count, debit_total, debit_count, closing, verdict, break_count, row_count, byte_count,
  sha256, object_key, published_at, supersedes, reason
FROM statement;
