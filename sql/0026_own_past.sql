-- What a night reads of its own past does not grow with history.

-- The union of all certified windows, so that nobody has to read one row for each window there ever was. A failed
-- reading takes nothing out of it: its span is a row of sync_window without certificate, which is subtracted.
CREATE TABLE certified_span (
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  spans int8multirange NOT NULL,
  PRIMARY KEY (merchant_no, currency)
);
INSERT INTO certified_span (merchant_no, currency, spans)
SELECT merchant_no, currency, range_agg(int8range(begin_ms, end_ms, '[]'))
FROM sync_window
WHERE certified_at IS NOT NULL
GROUP BY merchant_no, currency;
COMMENT ON TABLE certified_span IS
  'All time that was ever certified, joined: one row for each merchant and what was asked for. sync_window has the '
  'single readings, and the spans whose last reading failed, which do not count as proven.';
COMMENT ON COLUMN certified_span.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN certified_span.currency IS 'The currency that was read; '''' where every currency was.';
COMMENT ON COLUMN certified_span.spans IS 'The certified spans of time, in ms since 1970.';

-- Days whose entries have not been compared with those of other merchants since their figures were made.
CREATE TABLE uncompared_day (
  merchant_no text COLLATE "C" NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  currency text COLLATE "C" NOT NULL,
  day date NOT NULL,
  PRIMARY KEY (merchant_no, id)
);
COMMENT ON TABLE uncompared_day IS
  'Account days that changed, and whose entries a run still has to compare with those of other merchants. The rows go '
  'once that is done.';
COMMENT ON COLUMN uncompared_day.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN uncompared_day.id IS 'Number of the row. A day that changes again while it is compared gets another row.';
COMMENT ON COLUMN uncompared_day.currency IS 'Currency of the account.';
COMMENT ON COLUMN uncompared_day.day IS 'The business day.';

-- So that the entries of years need not be added up every night.
ALTER TABLE older_days_look ADD COLUMN by_figures bigint;
COMMENT ON COLUMN older_days_look.by_figures IS
  'Number of entries of the days by their figures. Null once entries of these days changed: the next look adds the '
  'figures up anew.';
