-- What a reading leaves open: entries missed until a later reading says the same, and a clock that is a little off.

-- Stored entries that a certified reading did not hold, until that is believed or they come again. Their spans are not
-- proven meanwhile.
CREATE TABLE absent_entry (
  merchant_no text COLLATE "C" NOT NULL,
  batch_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  booked_ms bigint NOT NULL,
  -- the planned window whose reading missed it first
  begin_ms bigint NOT NULL,
  end_ms bigint NOT NULL,
  absent_since timestamptz NOT NULL,
  run_id bigint NOT NULL REFERENCES run (id),
  PRIMARY KEY (merchant_no, batch_no),
  CHECK (booked_ms BETWEEN begin_ms AND end_ms)
);
CREATE INDEX absent_entry_in_time ON absent_entry (merchant_no, booked_ms);

-- Identical wrecks of one reading are one row: told apart by nothing, they are counted.
ALTER TABLE quarantined_entry ADD COLUMN occurrences integer NOT NULL DEFAULT 1 CHECK (occurrences > 0);

-- Of a span of every currency that failed: currencies certified by themselves over all of it since then.
ALTER TABLE sync_window ADD COLUMN proven_currencies text[] COLLATE "C" NOT NULL DEFAULT '{}';

-- One row once the platform's timestamps were seen to differ from the times it filters by, within the clock tolerance.
CREATE TABLE platform_clock (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  seen_off_at timestamptz NOT NULL,
  -- the sentence that says what was seen
  seen text NOT NULL
);
