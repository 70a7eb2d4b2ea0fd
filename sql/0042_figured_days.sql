-- How far an account's days are known to follow each other without a gap, so that the search for days without figures begins
-- there. It is empty after this migration: the next run of each merchant searches all of its days once.
CREATE TABLE figured_days (
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  from_day date NOT NULL,
  through_day date NOT NULL CHECK (through_day >= from_day),
  PRIMARY KEY (merchant_no, currency)
);

COMMENT ON TABLE figured_days IS 'For each account, the days from its first one that all have figures.';
COMMENT ON COLUMN figured_days.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN figured_days.currency IS 'Currency code of the account.';
COMMENT ON COLUMN figured_days.from_day IS 'The account''s first day with figures. Once an earlier day has some, the row says nothing.';
COMMENT ON COLUMN figured_days.through_day IS 'Every day up to this one has figures. Later ones may have some too.';
