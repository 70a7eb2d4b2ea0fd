-- runs with: 0064
-- A month may be prepared by one person and approved by another, and a closed month may be reopened.
CREATE TABLE month_preparation (
  merchant_no text COLLATE "C" NOT NULL,
  month date NOT NULL CHECK (extract(day FROM month) = 1),
  audit_event_id bigint NOT NULL UNIQUE REFERENCES audit_event (id),
  despite text,
  draft text NOT NULL,
  PRIMARY KEY (merchant_no, month)
);
ALTER TABLE month_close
  ADD COLUMN prepared_event_id bigint UNIQUE REFERENCES audit_event (id),
  ADD COLUMN reopened_event_id bigint UNIQUE REFERENCES audit_event (id);

COMMENT ON TABLE month_close IS 'Months that a person closed. Rows are added, and nothing of them is changed, but for a signature that was missing and for the reopening.';
COMMENT ON COLUMN month_close.prepared_event_id IS 'Who prepared it, when, and the note. Null where one person closed it.';
COMMENT ON COLUMN month_close.reopened_event_id IS 'Who reopened the month, when, and the reason. Null where no one did.';
COMMENT ON TABLE month_preparation IS 'Months that a person prepared and that wait for approval by another person. The row goes when the month is closed or the preparation is withdrawn.';
COMMENT ON COLUMN month_preparation.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN month_preparation.month IS 'First business day of the month.';
COMMENT ON COLUMN month_preparation.audit_event_id IS 'Who prepared it, when, and the note.';
COMMENT ON COLUMN month_preparation.despite IS 'Why it is to be closed though days are open. Null where none is.';
COMMENT ON COLUMN month_preparation.draft IS 'What is to be closed, as JSON: the statements, the adjustments and the open days.';
