-- Numbers of what people ask for, over all merchants.
CREATE SEQUENCE range_number;
CREATE SEQUENCE backfill_number;
CREATE SEQUENCE repeat_number;

-- One run: what it was asked for, when it ran, how it ended. Rows are never deleted.
CREATE TABLE run (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Number of the run, counting up.
  command text NOT NULL, -- What ran: the command where a person started it (run, sync, reconcile, publish, reference); else the name of the job.
  slot text, -- Of a scheduled job: the wall-clock time it was due at, in the schedule's zone. Null where a person started the run.
  holder text NOT NULL, -- The process that runs or ran it, as host:pid:boot.
  from_day date, -- First business day that was asked for. Null where the job has no days.
  to_day date, -- Last business day that was asked for, included. Null where the job has no days.
  started_at timestamptz NOT NULL, -- When the run started.
  finished_at timestamptz, -- When the run ended. Null while it runs, or where its process was killed.
  exit_code integer, -- The exit code. Null while it runs, or where its process was killed.
  figures jsonb NOT NULL DEFAULT '{}'::jsonb, -- The report of the run: counts, reasons, and what each merchant's part came to. Empty until the run has ended.
  request jsonb, -- What the run was asked for, where worker processes do it; null for a run of one process.
  is_night boolean -- Whether it was begun for all merchants and all that a night does, by the schedule or by hand; null where that is not known.
);
CREATE INDEX run_started ON run (started_at DESC);
CREATE INDEX run_slot ON run (slot) WHERE (slot IS NOT NULL);
CREATE INDEX run_command ON run (command, started_at DESC);
CREATE INDEX run_open ON run (id) WHERE (exit_code IS NULL);

-- Work on a merchant. run: its part of a run. range: days asked for by date, until each is proven. backfill: a slice of days that is done, or the days that are left.
-- read, publish: days that a person asked on a page to read or publish again.
CREATE TABLE task (
  merchant_no text COLLATE "C" NOT NULL, -- The merchant.
  -- The run that it is a part of; the run under which a backfill writes; the run that a range was asked for with, null where none is on record; the run that read or
  -- published again, null until it has ended.
  run_id bigint REFERENCES run (id),
  -- waiting: still to be done. ended: done, or given up with an exit code. cancelled: a person gave it up. left-out: the merchant is not read any more, or another
  -- backfill took its place.
  state text NOT NULL CHECK (state IN ('waiting', 'ended', 'cancelled', 'left-out')),
  exit_code integer, -- How it ended for this merchant alone. Null while it waits, and if it was given up.
  reads boolean NOT NULL DEFAULT false, -- Whether the merchant's ledger was read.
  holder text, -- The process that did it, as host:pid:boot.
  -- Counts of what was done for this merchant, and why it ended as it did. Of read and publish: who asked and why, how far it is, and what changed.
  figures jsonb NOT NULL DEFAULT '{}'::jsonb,
  finished_at timestamptz, -- When it ended or was given up. Null while it waits.
  kind text NOT NULL CHECK ((kind IN ('run', 'range', 'backfill', 'read', 'publish'))), -- run, range, backfill, read or publish.
  number bigint, -- By which number people name it: a range's own, that of the backfill, or that on the page of work. Null for a merchant's part of a run.
  from_day date, -- First business day. Null where it is worked out when the work begins.
  to_day date, -- Last business day, included. Null where it is worked out when the work begins.
  attempts integer NOT NULL DEFAULT 0, -- How often it has failed so far.
  not_before timestamptz, -- It is not begun before this time: it failed, or the merchant was busy. Null: at any time.
  problem text, -- Why it failed last, or why it was left out. Null if neither.
  requested_at timestamptz, -- When it was asked for. Null for a merchant's part of a run.
  started_at timestamptz, -- When the work on a slice, or on what is read or published again, began. Null for others, and before that.
  -- Of a merchant in a run that workers do: it has no job of its own, as its job of an earlier run was still on the queue. It ends with that job, or gets one of its own
  -- after it.
  joins boolean NOT NULL DEFAULT false,
  CONSTRAINT task_ended_check CHECK ((state = 'ended') = (exit_code IS NOT NULL)),
  CONSTRAINT task_days_check CHECK (from_day <= to_day),
  CONSTRAINT task_kind_columns_check CHECK ( CASE WHEN (kind = 'run') THEN ((run_id IS NOT NULL) AND (number IS NULL)) WHEN (kind = 'backfill') THEN ((run_id IS NOT NULL) AND (number IS NOT NULL) AND (from_day IS NOT NULL) AND (to_day IS NOT NULL)) ELSE ((number IS NOT NULL) AND (from_day IS NOT NULL) AND (to_day IS NOT NULL)) END)
);
CREATE INDEX task_run ON task (run_id, state);
CREATE INDEX task_good ON task (merchant_no, run_id DESC) WHERE (reads AND (exit_code IN (0, 3)));
CREATE UNIQUE INDEX task_of_run ON task (merchant_no, run_id) WHERE (kind = 'run');
CREATE UNIQUE INDEX task_range ON task (number) WHERE (kind = 'range');
CREATE UNIQUE INDEX task_range_open ON task (merchant_no, from_day, to_day) WHERE ((kind = 'range') AND (state = 'waiting'));
CREATE UNIQUE INDEX task_backfill_open ON task (number, merchant_no) WHERE ((kind = 'backfill') AND (state = 'waiting'));
CREATE INDEX task_backfill ON task (number, to_day) WHERE (kind = 'backfill');
CREATE INDEX task_slice_finished ON task (number, finished_at) WHERE ((kind = 'backfill') AND (state = 'ended'));
CREATE UNIQUE INDEX task_repeat ON task (number) WHERE (kind IN ('read', 'publish'));
CREATE UNIQUE INDEX task_repeat_open ON task (merchant_no, kind, from_day, to_day) WHERE ((kind IN ('read', 'publish')) AND (state = 'waiting'));
CREATE INDEX task_joins ON task (merchant_no, run_id) WHERE joins;

-- The right to be the one run at work. One row for each name; a holder that stops renewing loses it.
CREATE TABLE lease (
  name text PRIMARY KEY, -- What may be done by one process at a time.
  epoch bigint NOT NULL, -- Grows with every holder. A write of an earlier holder is refused by it.
  holder text NOT NULL, -- The process that holds it, or held it last, as host:pid:boot.
  acquired_at timestamptz NOT NULL, -- When the holder took it, by the database's clock.
  expires_at timestamptz -- Until when it holds unless it is renewed, by the database's clock. Null once it was released.
);

-- A program that did not see a migration, such as a worker that runs on, may neither begin a run nor take a lease. Its connections are named
-- `daybook/NNNN` by its last migration.
CREATE FUNCTION refuse_older_program() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  program text := coalesce(substring(current_setting('application_name') FROM '^daybook/(\d{4})$'), '0000');
  oldest text := (SELECT oldest_program FROM installation);
BEGIN
  IF current_setting('application_name') ~ '^daybook(/\d{4})?$' AND program < oldest THEN
    RAISE EXCEPTION USING ERRCODE = 'DB001',
      MESSAGE = format('the database is newer than this program (%s > %s)', oldest, program),
      HINT = 'Run the version of daybook that changed it, or a later one.';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER refuse_older_program BEFORE INSERT ON run EXECUTE FUNCTION refuse_older_program();
CREATE TRIGGER refuse_older_program BEFORE INSERT OR UPDATE ON lease EXECUTE FUNCTION refuse_older_program();
