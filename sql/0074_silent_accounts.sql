-- runs with: none
-- An account that shows no entry for longer than it ever did: what the platform answers may be a frozen state. What follows its newest
-- entry is not proven until an entry comes, a person accepts that nothing was booked, or the silence lasts long enough to be believed.
CREATE TABLE silent_account (
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  begin_ms bigint NOT NULL,
  end_ms bigint NOT NULL CHECK (end_ms >= begin_ms),
  newest_day date NOT NULL,
  newest_ms bigint NOT NULL,
  usual_tail_ms bigint CHECK (usual_tail_ms >= 0),
  silent_days integer NOT NULL CHECK (silent_days > 0 OR usual_tail_ms IS NOT NULL),
  longest_days integer NOT NULL CHECK (longest_days >= 0),
  noticed_at timestamptz NOT NULL,
  accepted_at timestamptz,
  PRIMARY KEY (merchant_no, currency)
);
COMMENT ON TABLE silent_account IS
  'Accounts without an entry for longer than ever before. What follows the newest entry is not proven until an entry comes, a person accepts the silence, or it is old enough to be believed.';
COMMENT ON COLUMN silent_account.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN silent_account.currency IS 'Currency code of the account.';
COMMENT ON COLUMN silent_account.begin_ms IS 'The ms after the newest entry, since 1970.';
COMMENT ON COLUMN silent_account.end_ms IS 'Last ms of the last day that was read, included.';
COMMENT ON COLUMN silent_account.newest_day IS 'The last day with entries.';
COMMENT ON COLUMN silent_account.newest_ms IS 'When the newest entry was booked, in ms since 1970.';
COMMENT ON COLUMN silent_account.usual_tail_ms IS 'Longest time in ms from the last entry of such a day to its end before. Null unless that day itself ends too early.';
COMMENT ON COLUMN silent_account.silent_days IS 'Days without entries since then, less weekdays on which the account never has any.';
COMMENT ON COLUMN silent_account.longest_days IS 'The most such days in a row before.';
COMMENT ON COLUMN silent_account.noticed_at IS 'When a run noticed it first.';
COMMENT ON COLUMN silent_account.accepted_at IS 'When a person accepted that nothing was booked; null before.';
