-- What runs found changed at the platform and have not told yet: a run that is killed stores its windows and tells nothing.
-- One row a merchant and run, gone once a run has told it.
CREATE TABLE untold_change (
  merchant_no text COLLATE "C" NOT NULL,
  run_id bigint NOT NULL REFERENCES run (id),
  amended integer NOT NULL,
  vanished integer NOT NULL,
  PRIMARY KEY (merchant_no, run_id)
);
