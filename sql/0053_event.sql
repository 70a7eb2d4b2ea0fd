-- What is reported once has one table: what a run reports, what an alert reports, and what the pages list as late.
CREATE TABLE event (
  kind text COLLATE "C" NOT NULL,
  merchant_no text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  at timestamptz NOT NULL,
  data jsonb NOT NULL,
  run_id bigint,
  reported_at timestamptz,
  PRIMARY KEY (kind, merchant_no, subject)
);
CREATE INDEX event_unreported ON event (kind, merchant_no) WHERE reported_at IS NULL;
-- The pages list first statements that came late by the time of their publication.
CREATE INDEX event_late ON event (at) WHERE kind = 'revision' AND subject LIKE '% r1';
-- What people did about a break is found in the audit.
CREATE INDEX audit_event_of_break ON audit_event (subject, id)
  WHERE command IN ('breaks take', 'breaks comment', 'breaks resolve', 'breaks reopen');

INSERT INTO event (kind, merchant_no, subject, at, data, run_id)
SELECT 'change', merchant_no, 'run ' || run_id, coalesce(run.finished_at, run.started_at),
  jsonb_build_object('amended', amended, 'vanished', vanished), run_id
FROM unreported_change JOIN run ON run.id = run_id;

-- A first statement that came late stays known once it is reported; of other revisions only those not reported yet are here.
INSERT INTO event (kind, merchant_no, subject, at, data, run_id, reported_at)
SELECT 'revision', merchant_no, currency || ' ' || day || ' r' || revision, statement.published_at,
  jsonb_strip_nulls(jsonb_build_object('currency', currency, 'day', day, 'revision', revision, 'afterClose', late.after_close)),
  statement.run_id, CASE WHEN unreported.revision IS NULL THEN statement.published_at END
FROM unreported_revision AS unreported
FULL JOIN (SELECT *, 1 AS revision FROM late_statement) AS late USING (merchant_no, currency, day, revision)
JOIN statement USING (merchant_no, currency, day, revision);

INSERT INTO event (kind, merchant_no, subject, at, data, run_id, reported_at)
SELECT kind, merchant_no, concat_ws(' ', nullif(currency, ''), day, nullif(other_merchant_no, '')), found_at,
  jsonb_strip_nulls(jsonb_build_object('currency', nullif(currency, ''), 'day', day,
    'otherMerchantNo', nullif(other_merchant_no, ''))) || jsonb_build_object('figures', figures),
  run_id, reported_at
FROM notice;

INSERT INTO event (kind, merchant_no, subject, at, data, run_id, reported_at)
SELECT CASE kind WHEN 'break' THEN 'new-break' WHEN 'revised' THEN 'amendment' ELSE 'key-problem' END, merchant_no,
  CASE kind WHEN 'break' THEN subject WHEN 'revised' THEN substr(subject, length(merchant_no) + 2) ELSE '' END,
  found_at, detail, run_id, reported_at
FROM alert_event;

DROP TABLE unreported_change, unreported_revision, late_statement, notice, alert_event;
-- A step of a break is the audit event of its command, with the number of the break.
DROP TABLE break_step;

-- A process of an earlier version knows the former tables: it loses its leases now, and ends.
UPDATE lease SET epoch = epoch + 1, expires_at = NULL WHERE expires_at IS NOT NULL;

COMMENT ON TABLE event IS
  'Events that are reported once: by a run, by an alert, or on the pages. Each is stored in one transaction with its cause.';
COMMENT ON COLUMN event.kind IS
  'Reported by a run: change (entries that the platform changed), revision (a published day with a new revision, or a late '
  'first one), and findings that break no balance: empty (a busy day without entries), first (a first opening that no entry '
  'made), shared (entries that two merchants have), untyped (entries without a transaction type), finer (amounts with more '
  'decimals than the currency has), reused (numbers that are used for two entries). Reported by an alert: new-break, '
  'amendment (a published day was revised), key-problem (a token does not work).';
COMMENT ON COLUMN event.merchant_no IS 'The platform''s number of the merchant; of two the one that sorts first.';
COMMENT ON COLUMN event.subject IS
  'What it is about, of this kind and merchant: a run, an account''s day and its revision, a break; empty for the merchant.';
COMMENT ON COLUMN event.at IS 'When it was found; of a revision, when it was published.';
COMMENT ON COLUMN event.data IS 'The figures and names that the report shows.';
COMMENT ON COLUMN event.run_id IS 'The run that found it. Null where that is not known.';
COMMENT ON COLUMN event.reported_at IS 'When the run or the alert that reports it was recorded. Null: the next one reports it.';
