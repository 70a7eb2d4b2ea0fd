-- runs with: 0064
-- A person asks on a page that a merchant's days are read or published again. Rows of before fit, so none of them is checked.
ALTER TABLE task DROP CONSTRAINT task_kind_check, DROP CONSTRAINT task_kind_columns_check;
ALTER TABLE task
  ADD CONSTRAINT task_kind_check CHECK (kind IN ('run', 'range', 'backfill', 'read', 'publish')) NOT VALID,
  ADD CONSTRAINT task_kind_columns_check CHECK (CASE
    WHEN kind = 'run' THEN run_id IS NOT NULL AND number IS NULL
    WHEN kind = 'backfill' THEN run_id IS NOT NULL AND number IS NOT NULL AND from_day IS NOT NULL AND to_day IS NOT NULL
    ELSE number IS NOT NULL AND from_day IS NOT NULL AND to_day IS NOT NULL END) NOT VALID;
CREATE SEQUENCE repeat_number OWNED BY task.number;
CREATE UNIQUE INDEX task_repeat ON task (number) WHERE kind IN ('read', 'publish');
-- The few open ones among all; asked for twice, it is open once.
CREATE UNIQUE INDEX task_repeat_open ON task (merchant_no, kind, from_day, to_day)
  WHERE kind IN ('read', 'publish') AND state = 'waiting';

COMMENT ON TABLE task IS
  'Work on a merchant. run: its part of a run. range: days asked for by date, until each is proven. backfill: a slice of '
  'days that is done, or the days that are left. read, publish: days that a person asked on a page to read or publish again.';
COMMENT ON COLUMN task.kind IS 'run, range, backfill, read or publish.';
COMMENT ON COLUMN task.number IS
  'By which number people name it: a range''s own, that of the backfill, or that on the page of work. Null for a merchant''s part of a run.';
COMMENT ON COLUMN task.run_id IS
  'The run that it is a part of; the run under which a backfill writes; the run that a range was asked for with, null where none is '
  'on record; the run that read or published again, null until it has ended.';
COMMENT ON COLUMN task.requested_at IS 'When it was asked for. Null for a merchant''s part of a run.';
COMMENT ON COLUMN task.started_at IS
  'When the work on a slice, or on what is read or published again, began. Null for others, and before that.';
COMMENT ON COLUMN task.figures IS
  'Counts of what was done for this merchant, and why it ended as it did. Of read and publish: who asked and why, how far it is, and '
  'what changed.';
