-- Each merchant has a lease of its own, named merchant/NO, so that several processes can work on different merchants.
-- A process of an earlier version works under the one lease of all, named ledger: it loses that now. Epochs of
-- merchants go on above its epoch, as unfinished files and manifests carry it.
UPDATE lease SET epoch = epoch + 1, expires_at = NULL WHERE name = 'ledger';

-- How a run ended for each of its merchants.
CREATE TABLE run_merchant (
  merchant_no text COLLATE "C" NOT NULL,
  run_id bigint NOT NULL REFERENCES run (id),
  state text NOT NULL CHECK (state IN ('waiting', 'ended')),
  exit_code integer,
  reads boolean NOT NULL DEFAULT false,
  holder text,
  figures jsonb NOT NULL DEFAULT '{}',
  finished_at timestamptz,
  PRIMARY KEY (merchant_no, run_id),
  CHECK ((state = 'ended') = (exit_code IS NOT NULL))
);
CREATE INDEX run_merchant_run ON run_merchant (run_id, state);
-- The last good reading of each merchant.
CREATE INDEX run_merchant_good ON run_merchant (merchant_no, run_id DESC) WHERE reads AND exit_code IN (0, 3);

-- What earlier runs recorded of their merchants.
INSERT INTO run_merchant (merchant_no, run_id, state, exit_code, reads, holder, finished_at)
SELECT DISTINCT ON (done.merchant_no, run.id) done.merchant_no, run.id, 'ended',
  CASE WHEN run.exit_code IN (0, 3) THEN run.exit_code ELSE 0 END, true, run.holder, run.finished_at
FROM run CROSS JOIN LATERAL jsonb_array_elements_text(
  CASE
    WHEN jsonb_typeof(run.figures->'merchantsDone') = 'array' THEN run.figures->'merchantsDone'
    WHEN run.exit_code IN (0, 3) AND jsonb_typeof(run.figures->'merchants') = 'array' THEN run.figures->'merchants'
    ELSE '[]'
  END) AS done (merchant_no)
WHERE run.finished_at IS NOT NULL AND run.exit_code IS NOT NULL;

-- What a run was asked for, where worker processes do it.
ALTER TABLE run ADD COLUMN request jsonb;

COMMENT ON TABLE run_merchant IS 'How a run ended for each of its merchants.';
COMMENT ON COLUMN run_merchant.merchant_no IS 'The merchant.';
COMMENT ON COLUMN run_merchant.run_id IS 'The run.';
COMMENT ON COLUMN run_merchant.state IS 'waiting: a worker has yet to do it. ended: it is done, or was given up.';
COMMENT ON COLUMN run_merchant.exit_code IS 'How it ended for this merchant alone. Null while it waits.';
COMMENT ON COLUMN run_merchant.reads IS 'Whether the merchant''s ledger was read.';
COMMENT ON COLUMN run_merchant.holder IS 'The process that did it, as host:pid:boot.';
COMMENT ON COLUMN run_merchant.figures IS 'Counts of what was done for this merchant, and why it ended as it did.';
COMMENT ON COLUMN run_merchant.finished_at IS 'When it ended.';
COMMENT ON COLUMN run.request IS 'What the run was asked for, where worker processes do it; null for a run of one process.';
