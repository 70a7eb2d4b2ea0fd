-- Entries that cancel within a second fit several balances. What fits as well is kept until something decides.
ALTER TABLE account_day ADD COLUMN other_closings text NOT NULL DEFAULT '';
ALTER TABLE statement ADD COLUMN other_closings text NOT NULL DEFAULT '';

COMMENT ON COLUMN account_day.other_closings IS 'Other balances that the day may close on just as well, joined by commas; empty where its closing is certain.';
COMMENT ON COLUMN statement.other_closings IS 'Other balances that the day might as well close on when it was published, joined by commas; empty where its closing was certain.';
