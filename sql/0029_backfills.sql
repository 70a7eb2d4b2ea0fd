-- Ranges of days that are read beside the nightly work, in slices, for many merchants.
CREATE TABLE backfill (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  from_day date NOT NULL,
  to_day date NOT NULL CHECK (to_day >= from_day),
  run_id bigint NOT NULL UNIQUE REFERENCES run (id),
  requested_at timestamptz NOT NULL,
  ended_at timestamptz,
  is_cancelled boolean NOT NULL DEFAULT false
);
CREATE INDEX backfill_open ON backfill (id) WHERE ended_at IS NULL;

-- How far a backfill is for one merchant.
CREATE TABLE backfill_merchant (
  merchant_no text COLLATE "C" NOT NULL,
  backfill_id bigint NOT NULL REFERENCES backfill (id),
  next_day date NOT NULL,
  tries integer NOT NULL DEFAULT 0,
  try_at timestamptz NOT NULL,
  problem text,
  ended_at timestamptz,
  PRIMARY KEY (merchant_no, backfill_id)
);
CREATE INDEX backfill_merchant_open ON backfill_merchant (backfill_id, merchant_no) WHERE ended_at IS NULL;

CREATE TABLE backfill_slice (
  merchant_no text COLLATE "C" NOT NULL,
  backfill_id bigint NOT NULL,
  from_day date NOT NULL,
  to_day date NOT NULL,
  exit_code integer NOT NULL,
  holder text NOT NULL,
  started_at timestamptz NOT NULL,
  finished_at timestamptz NOT NULL,
  PRIMARY KEY (merchant_no, backfill_id, from_day),
  FOREIGN KEY (merchant_no, backfill_id) REFERENCES backfill_merchant (merchant_no, backfill_id)
);
CREATE INDEX backfill_slice_finished ON backfill_slice (backfill_id, finished_at);

COMMENT ON TABLE backfill IS 'Ranges of days that are read beside the nightly work, slice by slice.';
COMMENT ON COLUMN backfill.id IS 'Its number, which `daybook backfill list` shows.';
COMMENT ON COLUMN backfill.from_day IS 'First business day.';
COMMENT ON COLUMN backfill.to_day IS 'Last business day.';
COMMENT ON COLUMN backfill.run_id IS 'The run under which all its slices write.';
COMMENT ON COLUMN backfill.requested_at IS 'When it was asked for.';
COMMENT ON COLUMN backfill.ended_at IS 'When its last slice was done, or when it was cancelled. Null while it is open.';
COMMENT ON COLUMN backfill.is_cancelled IS 'Whether somebody cancelled it. What was read until then stays.';
COMMENT ON TABLE backfill_merchant IS 'How far a backfill is for each of its merchants.';
COMMENT ON COLUMN backfill_merchant.merchant_no IS 'The merchant.';
COMMENT ON COLUMN backfill_merchant.backfill_id IS 'The backfill.';
COMMENT ON COLUMN backfill_merchant.next_day IS
  'First day of its next slice; every day of the backfill before it is done. The day after the last one once all are done.';
COMMENT ON COLUMN backfill_merchant.tries IS 'How often the next slice has failed.';
COMMENT ON COLUMN backfill_merchant.try_at IS 'The next slice is not begun before this time: it failed, or the merchant was busy.';
COMMENT ON COLUMN backfill_merchant.problem IS 'Why the next slice failed last, or why the merchant was left out. Null if neither.';
COMMENT ON COLUMN backfill_merchant.ended_at IS
  'When the merchant''s last slice was done, or when it was left out or cancelled. Null while days are left.';
COMMENT ON TABLE backfill_slice IS 'Slices of backfills that are done: some days of one merchant, from reading to published.';
COMMENT ON COLUMN backfill_slice.merchant_no IS 'The merchant.';
COMMENT ON COLUMN backfill_slice.backfill_id IS 'The backfill.';
COMMENT ON COLUMN backfill_slice.from_day IS 'First business day.';
COMMENT ON COLUMN backfill_slice.to_day IS 'Last business day.';
COMMENT ON COLUMN backfill_slice.exit_code IS '0: done. 3: done, and something in it needs a person.';
COMMENT ON COLUMN backfill_slice.holder IS 'The process that did it, as host:pid:boot.';
COMMENT ON COLUMN backfill_slice.started_at IS 'When the work on it began.';
COMMENT ON COLUMN backfill_slice.finished_at IS 'When it was done.';
