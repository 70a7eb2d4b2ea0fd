-- Workers look for queued runs without an end every few seconds.
CREATE INDEX run_queued_open ON run (id) WHERE request IS NOT NULL AND exit_code IS NULL;
