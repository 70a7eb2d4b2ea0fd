-- Numbers of requests, over all merchants.
CREATE SEQUENCE request_number;

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

-- A merchant's part of a run, and how it ended.
CREATE TABLE run_merchant (
  run_id bigint NOT NULL REFERENCES run (id), -- The run.
  merchant_no text COLLATE "C" NOT NULL, -- The merchant.
  exit_code integer, -- How the run ended for this merchant alone. Null while it waits for a worker.
  reads boolean NOT NULL DEFAULT false, -- Whether the merchant's ledger was read.
  holder text, -- The process that did it, as host:pid:boot.
  figures jsonb NOT NULL DEFAULT '{}'::jsonb, -- Counts of what was done for this merchant, and why it ended as it did.
  finished_at timestamptz, -- When it ended. Null while it waits.
  joins boolean NOT NULL DEFAULT false, -- Whether it waits for its job of an earlier run, which was still on the queue. It ends with that job, or gets a job of its own after it.
  PRIMARY KEY (merchant_no, run_id)
);
CREATE INDEX run_merchant_run ON run_merchant (run_id);
CREATE INDEX run_merchant_good ON run_merchant (merchant_no, run_id DESC) WHERE (reads AND (exit_code IN (0, 3)));
CREATE INDEX run_merchant_waiting ON run_merchant (run_id, merchant_no) WHERE (exit_code IS NULL);

-- Days of a merchant that somebody wants read or published. What of them is done is told by their certificates.
CREATE TABLE request (
  number bigint NOT NULL, -- By which number people name it. The merchants of a backfill share one.
  merchant_no text COLLATE "C" NOT NULL, -- The merchant.
  -- run: by date; open until each day is under certificate, and nights go on with it. backfill: the same, in slices beside the nights. page: to be done once.
  asked_by text NOT NULL CHECK (asked_by IN ('run', 'backfill', 'page')),
  what text NOT NULL CHECK (what IN ('read', 'publish')), -- read: read, chained and published; publish: only published.
  from_day date NOT NULL, -- First business day.
  to_day date NOT NULL, -- Last business day, included.
  requested_at timestamptz NOT NULL, -- When it was asked for.
  -- waiting: still to be done. ended: done. cancelled: a person gave it up. left-out: the merchant is not read any more.
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'ended', 'cancelled', 'left-out')),
  run_id bigint REFERENCES run (id), -- The run that it was asked with; of a page's, the run that did it. Null where there is none.
  holder text, -- The process that is at work on it, as host:pid:boot. Null while no process is.
  taken_until timestamptz, -- Until when that process has it unless it says that it works on, by the database's clock.
  attempts integer NOT NULL DEFAULT 0, -- How often it has failed since something of it was done.
  not_before timestamptz, -- It is not begun before this time: it failed, or the merchant was busy. Null: at any time.
  problem text, -- Why it failed last, or why it was left out. Null if neither.
  started_at timestamptz, -- When the work on it began last. Null before that.
  finished_at timestamptz, -- When it ended or was given up. Null while it waits.
  exit_code integer, -- The exit code of its last run. Null until it has ended.
  figures jsonb NOT NULL DEFAULT '{}'::jsonb, -- Of a page's: who asked and why, how far it is, and what changed.
  PRIMARY KEY (number, merchant_no),
  CHECK (from_day <= to_day),
  CHECK ((state = 'waiting') = (finished_at IS NULL))
);
CREATE UNIQUE INDEX request_open ON request (merchant_no, asked_by, what, from_day, to_day) WHERE (state = 'waiting');
CREATE INDEX request_days ON request (merchant_no, to_day);

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
