-- How late entries come. A few small rows a merchant, so that nothing has to be counted in the ledger.
CREATE TABLE late_entry_count (
  merchant_no text COLLATE "C" NOT NULL,
  month date NOT NULL,
  days_min integer NOT NULL CHECK (days_min >= 0),
  days_max integer NOT NULL CHECK (days_max > 0 AND days_max >= days_min),
  entries bigint NOT NULL CHECK (entries > 0),
  PRIMARY KEY (merchant_no, month, days_min, days_max)
);

CREATE TABLE watched_month (
  merchant_no text COLLATE "C" NOT NULL,
  month date NOT NULL,
  entries bigint NOT NULL CHECK (entries >= 0),
  watched_on date NOT NULL,
  PRIMARY KEY (merchant_no, month)
);

-- Late entries of the past were not counted, so months of the past say nothing: none of their entries counts as watched.
INSERT INTO watched_month (merchant_no, month, entries, watched_on)
SELECT known.merchant_no, month::date, 0, month::date
FROM (SELECT DISTINCT merchant_no FROM certified_span) AS known
CROSS JOIN generate_series(
  date_trunc('month', (now() AT TIME ZONE 'UTC') - interval '13 months 1 day'),
  date_trunc('month', (now() AT TIME ZONE 'UTC') + interval '1 day'), interval '1 month'
) AS month;

COMMENT ON TABLE late_entry_count IS
  'How many entries came late, and by how many days: they appeared at a time that was under certificate without them.';
COMMENT ON COLUMN late_entry_count.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN late_entry_count.month IS 'First day of the month, in UTC, in which they were first seen.';
COMMENT ON COLUMN late_entry_count.days_min IS
  'Whole days from the time they are booked at to the certificate that did not have them: they were at least so late.';
COMMENT ON COLUMN late_entry_count.days_max IS
  'Days, rounded up, from the time they are booked at to when they were first seen: they were at most so late.';
COMMENT ON COLUMN late_entry_count.entries IS 'How many of them.';
COMMENT ON TABLE watched_month IS
  'Months whose entries are watched for late ones: at each month end they are compared with the platform.';
COMMENT ON COLUMN watched_month.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN watched_month.month IS 'First business day of the month.';
COMMENT ON COLUMN watched_month.entries IS 'How many entries it had when it was compared first, on days that were read before the next day was over.';
COMMENT ON COLUMN watched_month.watched_on IS 'Business day on which it was found to hold last.';
