-- One table of work: a merchant's part of a run, days that somebody asked for, and slices of a backfill. A run's part of each
-- merchant is the largest of them, so its table is the one that is kept, and its rows are not written again.
ALTER TABLE run_merchant RENAME TO task;
ALTER TABLE task DROP CONSTRAINT run_merchant_pkey;
ALTER TABLE task RENAME CONSTRAINT run_merchant_run_id_fkey TO task_run_id_fkey;
ALTER TABLE task RENAME CONSTRAINT run_merchant_check TO task_ended_check;
ALTER TABLE task DROP CONSTRAINT run_merchant_state_check;
ALTER INDEX run_merchant_run RENAME TO task_run;
ALTER INDEX run_merchant_good RENAME TO task_good;
ALTER TABLE task
  ADD COLUMN kind text NOT NULL DEFAULT 'run' CHECK (kind IN ('run', 'range', 'backfill')),
  ADD COLUMN number bigint,
  ADD COLUMN currency text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN from_day date,
  ADD COLUMN to_day date,
  ADD COLUMN attempts integer NOT NULL DEFAULT 0,
  ADD COLUMN not_before timestamptz,
  ADD COLUMN problem text,
  ADD COLUMN requested_at timestamptz,
  ADD COLUMN started_at timestamptz,
  ALTER COLUMN run_id DROP NOT NULL,
  ADD CONSTRAINT task_state_check CHECK (state IN ('waiting', 'ended', 'cancelled', 'left-out')),
  ADD CONSTRAINT task_days_check CHECK (from_day <= to_day),
  ADD CONSTRAINT task_kind_columns_check CHECK (CASE kind
    WHEN 'run' THEN run_id IS NOT NULL AND number IS NULL
    WHEN 'range' THEN number IS NOT NULL AND from_day IS NOT NULL AND to_day IS NOT NULL
    ELSE run_id IS NOT NULL AND number IS NOT NULL AND from_day IS NOT NULL AND to_day IS NOT NULL END);
ALTER TABLE task ALTER COLUMN kind DROP DEFAULT;

INSERT INTO task (kind, number, run_id, merchant_no, currency, from_day, to_day, state, exit_code, requested_at, finished_at)
SELECT 'range', id, run_id, merchant_no, currency, from_day, to_day,
  CASE WHEN done_at IS NOT NULL THEN 'ended' WHEN forgotten_at IS NOT NULL THEN 'cancelled' ELSE 'waiting' END,
  CASE WHEN done_at IS NOT NULL THEN 0 END, requested_at, coalesce(done_at, forgotten_at)
FROM requested_range ORDER BY id;

INSERT INTO task (kind, number, run_id, merchant_no, from_day, to_day, state, exit_code, holder, requested_at, started_at,
  finished_at)
SELECT 'backfill', backfill_id, run_id, merchant_no, slice.from_day, slice.to_day, 'ended', exit_code, holder, requested_at,
  started_at, finished_at
FROM backfill_slice slice JOIN backfill ON backfill.id = backfill_id ORDER BY backfill_id, finished_at;

-- What is left of a backfill for a merchant, or was when it was given up.
INSERT INTO task (kind, number, run_id, merchant_no, from_day, to_day, state, attempts, not_before, problem, requested_at,
  finished_at)
SELECT 'backfill', backfill_id, run_id, merchant_no, next_day, to_day,
  CASE WHEN part.ended_at IS NULL THEN 'waiting' WHEN is_cancelled AND part.ended_at = backfill.ended_at THEN 'cancelled'
    ELSE 'left-out' END,
  tries, try_at, problem, requested_at, part.ended_at
FROM backfill_merchant part JOIN backfill ON backfill.id = backfill_id
WHERE next_day <= to_day ORDER BY backfill_id, merchant_no;

-- Numbers go on above those that are known.
CREATE SEQUENCE range_number OWNED BY task.number;
CREATE SEQUENCE backfill_number OWNED BY task.number;
SELECT setval('range_number', (SELECT coalesce(max(id), 0) + 1 FROM requested_range), false);
SELECT setval('backfill_number', (SELECT coalesce(max(id), 0) + 1 FROM backfill), false);

DROP TABLE requested_range, backfill_slice, backfill_merchant, backfill;

CREATE UNIQUE INDEX task_of_run ON task (merchant_no, run_id) WHERE kind = 'run';
CREATE UNIQUE INDEX task_range ON task (number) WHERE kind = 'range';
-- The few open ones among all; asked for twice, a range is open once.
CREATE UNIQUE INDEX task_range_open ON task (merchant_no, currency, from_day, to_day)
  WHERE kind = 'range' AND state = 'waiting';
CREATE UNIQUE INDEX task_backfill_open ON task (number, merchant_no) WHERE kind = 'backfill' AND state = 'waiting';
-- One row a merchant has the last day of its backfill.
CREATE INDEX task_backfill ON task (number, to_day) WHERE kind = 'backfill';
CREATE INDEX task_slice_finished ON task (number, finished_at) WHERE kind = 'backfill' AND state = 'ended';
-- Runs of which nothing waits any more are ended by whoever finds them.
DROP INDEX run_queued_open;
CREATE INDEX run_open ON run (id) WHERE exit_code IS NULL;

-- A process of an earlier version knows the former tables: it loses its leases now, and ends.
UPDATE lease SET epoch = epoch + 1, expires_at = NULL WHERE expires_at IS NOT NULL;

COMMENT ON TABLE task IS
  'Work on a merchant. run: its part of a run. range: days asked for by date, until each is proven. backfill: a slice of '
  'days that is done, or the days that are left.';
COMMENT ON COLUMN task.kind IS 'run, range or backfill.';
COMMENT ON COLUMN task.number IS
  'By which number people name it: a range''s own, or that of the backfill. Null for a merchant''s part of a run.';
COMMENT ON COLUMN task.run_id IS
  'The run that it is a part of; the run under which a backfill writes; the run that a range was asked for with, null where none is '
  'on record.';
COMMENT ON COLUMN task.currency IS 'Of a range: the currency that was asked for. '''' where every currency is read.';
COMMENT ON COLUMN task.from_day IS 'First business day. Null where it is worked out when the work begins.';
COMMENT ON COLUMN task.to_day IS 'Last business day, included. Null where it is worked out when the work begins.';
COMMENT ON COLUMN task.state IS
  'waiting: still to be done. ended: done, or given up with an exit code. cancelled: a person gave it up. left-out: the '
  'merchant is not read any more, or another backfill took its place.';
COMMENT ON COLUMN task.attempts IS 'How often it has failed so far.';
COMMENT ON COLUMN task.not_before IS 'It is not begun before this time: it failed, or the merchant was busy. Null: at any time.';
COMMENT ON COLUMN task.problem IS 'Why it failed last, or why it was left out. Null if neither.';
COMMENT ON COLUMN task.exit_code IS 'How it ended for this merchant alone. Null while it waits, and if it was given up.';
COMMENT ON COLUMN task.holder IS 'The process that did it, as host:pid:boot.';
COMMENT ON COLUMN task.requested_at IS 'When a range or a backfill was asked for. Null for a merchant''s part of a run.';
COMMENT ON COLUMN task.started_at IS 'When the work on a slice began. Null for others.';
COMMENT ON COLUMN task.finished_at IS 'When it ended or was given up. Null while it waits.';
COMMENT ON COLUMN task.figures IS 'Counts of what was done for this merchant, and why it ended as it did.';
