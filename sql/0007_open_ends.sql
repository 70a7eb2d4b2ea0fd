-- What stays open from one run to the next: days asked for and not proven yet, breaks waiting to be read again, and
-- unreadable entries that a person has looked at.

-- One row a range of days that a person asked for with dates. It is open until each of its days is under certificate,
-- or until a person gives it up; the nightly run takes up what is missing of it.
CREATE TABLE requested_range (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  merchant_no text COLLATE "C" NOT NULL,
  -- '' where every currency was asked for
  currency text COLLATE "C" NOT NULL DEFAULT '',
  from_day date NOT NULL,
  to_day date NOT NULL,
  requested_at timestamptz NOT NULL,
  run_id bigint REFERENCES run (id),
  -- when every day of it was found to be under certificate
  done_at timestamptz,
  -- when a person gave it up
  forgotten_at timestamptz,
  CHECK (from_day <= to_day),
  CHECK (done_at IS NULL OR forgotten_at IS NULL)
);
-- The few open ones among all; asked for twice, a range is open once.
CREATE UNIQUE INDEX requested_range_open ON requested_range (merchant_no, currency, from_day, to_day)
  WHERE done_at IS NULL AND forgotten_at IS NULL;

-- When the break's span was last read again to heal it; null: never yet.
ALTER TABLE continuity_break ADD COLUMN healing_read_at timestamptz;
-- The open ones among all that ever were.
CREATE INDEX continuity_break_open ON continuity_break (merchant_no, id) WHERE status = 'open';

-- A person has looked at the entry, and says why it no longer needs one.
ALTER TABLE quarantined_entry ADD COLUMN acknowledged_at timestamptz;
ALTER TABLE quarantined_entry ADD COLUMN note text;
ALTER TABLE quarantined_entry ADD CHECK ((acknowledged_at IS NULL) = (note IS NULL));

-- A merchant's last good run, and each job's last run, however many others there were since.
CREATE INDEX run_command ON run (command, started_at DESC);
