-- First statements of days that were over and known to have none: proven to have no entries, or of a month that was closed.
-- `untold_revision` forgets them once a run told them; the pages say of each what changed, and whose download lacks it.
CREATE TABLE late_statement (
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  day date NOT NULL,
  published_at timestamptz NOT NULL,
  after_close boolean NOT NULL,
  PRIMARY KEY (merchant_no, currency, day)
);
CREATE INDEX late_statement_published_at ON late_statement (published_at);

-- Of those published before: what closes, notes of runs and alerts still tell. A close froze every statement there was.
INSERT INTO late_statement
SELECT first.merchant_no, first.currency, first.day, first.published_at, true
FROM month_close AS closed JOIN statement AS first ON first.merchant_no = closed.merchant_no AND first.day >= closed.month
  AND first.day < (closed.month + interval '1 month')::date AND first.revision = 1
WHERE closed.number = 1 AND NOT EXISTS (
  SELECT FROM month_close_statement AS frozen
  WHERE (frozen.merchant_no, frozen.month, frozen.number, frozen.currency, frozen.day)
    = (closed.merchant_no, closed.month, closed.number, first.currency, first.day)
);
INSERT INTO late_statement
SELECT first.merchant_no, first.currency, first.day, first.published_at, false
FROM (
  SELECT merchant_no, currency, day FROM untold_revision WHERE revision = 1
  UNION SELECT detail ->> 'merchantNo', detail ->> 'currency', (detail ->> 'day')::date FROM alert_fact
  WHERE kind = 'revised' AND detail ->> 'oldRevision' IS NULL
) AS told JOIN statement AS first USING (merchant_no, currency, day)
WHERE first.revision = 1
ON CONFLICT DO NOTHING;

COMMENT ON TABLE late_statement IS 'First statements of days that were known to have none.';
COMMENT ON COLUMN late_statement.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN late_statement.currency IS 'Currency code of the account.';
COMMENT ON COLUMN late_statement.day IS 'The business day.';
COMMENT ON COLUMN late_statement.published_at IS 'When its first revision was published.';
COMMENT ON COLUMN late_statement.after_close IS 'Whether its month had been closed without it. Otherwise the day had been proven to have no entries.';
