-- What the stored entries of each account's day add up to, whichever statement changed them: figures and statements keep what
-- they were made of, so that a row that changed shows though no mark says so.
CREATE TABLE day_entries (
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  day date NOT NULL,
  fingerprint numeric NOT NULL DEFAULT 0,
  figured_fingerprint numeric,
  is_changed boolean NOT NULL GENERATED ALWAYS AS (figured_fingerprint IS DISTINCT FROM fingerprint) STORED,
  PRIMARY KEY (merchant_no, currency, day)
);
CREATE INDEX day_entries_changed ON day_entries (merchant_no, currency, day) WHERE is_changed;

COMMENT ON TABLE day_entries IS
  'For each account''s day, a fingerprint of its stored entries. A trigger of ledger_entry keeps it.';
COMMENT ON COLUMN day_entries.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN day_entries.currency IS 'Currency code of the account.';
COMMENT ON COLUMN day_entries.day IS 'The business day.';
COMMENT ON COLUMN day_entries.fingerprint IS
  'The sum of a hash of each entry that has not vanished, whatever their order; 0 without entries.';
COMMENT ON COLUMN day_entries.figured_fingerprint IS
  'The fingerprint of the entries that the figures were made of; null where they are to be made, whatever the entries are.';
COMMENT ON COLUMN day_entries.is_changed IS 'The two differ. A column of its own has statistics, so that the planner knows how rare it is.';

-- A record's hash is a sum over its fields: hashed once more, two entries that swap a field do not add up to the same.
-- PostgreSQL's hash of a numeric leaves out its sign, so each sign is a field of its own.
CREATE FUNCTION entry_hash(text, text, numeric, numeric, numeric, timestamp, bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS
  'SELECT hashtextextended(hash_record_extended(ROW($1, $2, $3, $4, $5, $6, $7, $3 < 0, $4 < 0, $5 < 0), 0)::text, 0)';

INSERT INTO day_entries (merchant_no, currency, day, fingerprint)
SELECT merchant_no, currency, booked_at::date,
  sum(entry_hash(batch_no, transaction_type, credit, debit, balance, booked_at, booked_ms))
FROM ledger_entry WHERE vanished_at IS NULL GROUP BY 1, 2, 3;
INSERT INTO day_entries (merchant_no, currency, day)
SELECT merchant_no, currency, day FROM account_day UNION SELECT merchant_no, currency, day FROM changed_day
ON CONFLICT DO NOTHING;
UPDATE day_entries SET figured_fingerprint = fingerprint
WHERE (merchant_no, currency, day) NOT IN (SELECT merchant_no, currency, day FROM changed_day);

CREATE FUNCTION note_day_entries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO day_entries AS known (merchant_no, currency, day, fingerprint)
    SELECT merchant_no, currency, booked_at::date,
      sum(entry_hash(batch_no, transaction_type, credit, debit, balance, booked_at, booked_ms))
    FROM came WHERE vanished_at IS NULL GROUP BY 1, 2, 3
    ON CONFLICT (merchant_no, currency, day) DO UPDATE SET fingerprint = known.fingerprint + excluded.fingerprint;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    INSERT INTO day_entries AS known (merchant_no, currency, day, fingerprint)
    SELECT merchant_no, currency, booked_at::date,
      -sum(entry_hash(batch_no, transaction_type, credit, debit, balance, booked_at, booked_ms))
    FROM went WHERE vanished_at IS NULL GROUP BY 1, 2, 3
    ON CONFLICT (merchant_no, currency, day) DO UPDATE SET fingerprint = known.fingerprint + excluded.fingerprint;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER ledger_entry_came AFTER INSERT ON ledger_entry
  REFERENCING NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION note_day_entries();
CREATE TRIGGER ledger_entry_altered AFTER UPDATE ON ledger_entry
  REFERENCING OLD TABLE AS went NEW TABLE AS came FOR EACH STATEMENT EXECUTE FUNCTION note_day_entries();
CREATE TRIGGER ledger_entry_went AFTER DELETE ON ledger_entry
  REFERENCING OLD TABLE AS went FOR EACH STATEMENT EXECUTE FUNCTION note_day_entries();

-- What was a list that every writer had to keep follows from the fingerprints.
DROP TABLE changed_day;
CREATE VIEW changed_day AS
SELECT merchant_no, currency, day FROM day_entries WHERE is_changed;
COMMENT ON VIEW changed_day IS 'Account days whose entries are not those that their figures were made of.';
COMMENT ON COLUMN changed_day.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN changed_day.currency IS 'Currency code of the account.';
COMMENT ON COLUMN changed_day.day IS 'The business day.';

-- What a statement was made of is kept with the figures, as 53 bits, which every reader holds as a number: a day is due as long as that differs, whether or not a mark says so.
ALTER TABLE account_day ADD COLUMN entries_fingerprint numeric NOT NULL DEFAULT 0;
UPDATE account_day AS own SET entries_fingerprint = day_entries.fingerprint FROM day_entries
WHERE (own.merchant_no, own.currency, own.day) = (day_entries.merchant_no, day_entries.currency, day_entries.day);
ALTER TABLE account_day
  ADD COLUMN content_hash bigint NOT NULL GENERATED ALWAYS AS (hash_record_extended(
    ROW(opening, credit_total, credit_count, debit_total, debit_count, closing, entries_fingerprint,
      opening < 0, credit_total < 0, debit_total < 0, closing < 0, entries_fingerprint < 0), 0) >> 11) STORED,
  ADD COLUMN published_hash bigint;
COMMENT ON COLUMN account_day.entries_fingerprint IS 'The fingerprint in day_entries of the entries that the figures were made of.';
COMMENT ON COLUMN account_day.content_hash IS 'A hash of the amounts, the counts and the fingerprint of the entries.';
COMMENT ON COLUMN account_day.published_hash IS
  'The content_hash that the current statement was found to have; null where it was not compared yet.';
UPDATE account_day AS own SET published_hash = content_hash
WHERE NOT publish_due AND (opening, credit_total, credit_count, debit_total, debit_count, closing) = (
  SELECT opening, credit_total, credit_count, debit_total, debit_count, closing FROM statement
  WHERE (statement.merchant_no, statement.currency, statement.day) = (own.merchant_no, own.currency, own.day)
  ORDER BY revision DESC LIMIT 1
);
ALTER TABLE account_day ADD COLUMN is_due boolean NOT NULL GENERATED ALWAYS AS (
  publish_due OR published_hash IS DISTINCT FROM (hash_record_extended(
    ROW(opening, credit_total, credit_count, debit_total, debit_count, closing, entries_fingerprint,
      opening < 0, credit_total < 0, debit_total < 0, closing < 0, entries_fingerprint < 0), 0) >> 11)) STORED;
COMMENT ON COLUMN account_day.is_due IS 'publish_due is set, or published_hash is not content_hash.';
DROP INDEX account_day_due;
CREATE INDEX account_day_due ON account_day (merchant_no, day) WHERE is_due;
CREATE OR REPLACE VIEW daybook_account_days AS
SELECT
  merchant_no, currency, day, opening, credit_total, credit_count, debit_total, debit_count, closing, verdict,
  break_count,
  revision,
  revision IS NOT NULL AND NOT is_due AS is_published
FROM account_day;
