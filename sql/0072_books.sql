-- runs with: 0064
-- A merchant's own books, and which of their entries match which entries of the ledger.
CREATE TABLE book_import (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  merchant_no text COLLATE "C" NOT NULL,
  book text COLLATE "C" NOT NULL,
  source text NOT NULL,
  content_sha256 text NOT NULL,
  audit_event_id bigint NOT NULL REFERENCES audit_event (id),
  first_day date,
  last_day date,
  starts_on date,
  rows_read bigint NOT NULL,
  added bigint NOT NULL,
  changed bigint NOT NULL,
  returned bigint NOT NULL,
  withdrawn bigint NOT NULL,
  unreadable bigint NOT NULL
);
CREATE INDEX book_import_of_book ON book_import (merchant_no, book, id);

CREATE TABLE book_unreadable (
  import_id bigint NOT NULL REFERENCES book_import (id),
  line bigint NOT NULL,
  reason text NOT NULL,
  raw text NOT NULL,
  number text COLLATE "C",
  answered_import_id bigint REFERENCES book_import (id),
  PRIMARY KEY (import_id, line)
);
CREATE INDEX book_unreadable_open ON book_unreadable (import_id) WHERE answered_import_id IS NULL;

CREATE TABLE book_entry (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  merchant_no text COLLATE "C" NOT NULL,
  book text COLLATE "C" NOT NULL,
  number text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  day date NOT NULL,
  booked_at timestamptz,
  amount numeric NOT NULL CHECK (amount <> 'NaN'),
  reference_keys text[] COLLATE "C" NOT NULL,
  reference text NOT NULL,
  type text NOT NULL,
  note text NOT NULL,
  version integer NOT NULL DEFAULT 1,
  earlier jsonb,
  -- Not a foreign key: checking it row by row takes a sixth of an import's time, and imports are never deleted.
  import_id bigint NOT NULL,
  withdrawn_import_id bigint REFERENCES book_import (id)
);
CREATE UNIQUE INDEX book_entry_number ON book_entry (merchant_no, book, number);
CREATE INDEX book_entry_on_day ON book_entry (merchant_no, currency, day) WHERE withdrawn_import_id IS NULL;
CREATE INDEX book_entry_keys ON book_entry USING gin (reference_keys) WITH (fastupdate = off) WHERE withdrawn_import_id IS NULL AND reference_keys <> '{}';

CREATE TABLE book_match (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  rule text NOT NULL,
  ledger_amount numeric NOT NULL,
  difference numeric NOT NULL,
  difference_type text,
  complete_on date NOT NULL,
  made_at timestamptz NOT NULL,
  audit_event_id bigint REFERENCES audit_event (id),
  approved_event_id bigint REFERENCES audit_event (id),
  waits_for_approval boolean NOT NULL DEFAULT false
);

CREATE INDEX book_match_complete ON book_match (merchant_no, currency, complete_on);

CREATE TABLE book_match_entry (
  -- Not a foreign key: checking it row by row takes a third of a matching's time. Whatever deletes a match frees its entries.
  match_id bigint,
  rule text,
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  batch_no text COLLATE "C",
  book_entry_id bigint,
  day date NOT NULL,
  amount numeric NOT NULL,
  version integer NOT NULL,
  named text[] COLLATE "C",
  CHECK ((batch_no IS NULL) <> (book_entry_id IS NULL)),
  CHECK ((match_id IS NULL) = (rule IS NULL))
);
CREATE UNIQUE INDEX book_match_entry_ledger ON book_match_entry (merchant_no, batch_no) WHERE batch_no IS NOT NULL;
CREATE UNIQUE INDEX book_match_entry_book ON book_match_entry (book_entry_id) WHERE book_entry_id IS NOT NULL;
CREATE INDEX book_match_entry_match ON book_match_entry (match_id) WHERE match_id IS NOT NULL;
CREATE INDEX book_match_entry_open ON book_match_entry (merchant_no, currency, day) WHERE match_id IS NULL;
CREATE INDEX book_match_entry_day ON book_match_entry (merchant_no, currency, day);

CREATE TABLE book_day (
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  day date NOT NULL,
  matched_fingerprint numeric,
  matched_rules bigint,
  is_changed boolean NOT NULL DEFAULT true,
  ledger_total numeric NOT NULL DEFAULT 0,
  book_total numeric NOT NULL DEFAULT 0,
  ledger_open numeric NOT NULL DEFAULT 0,
  book_open numeric NOT NULL DEFAULT 0,
  difference numeric NOT NULL DEFAULT 0,
  PRIMARY KEY (merchant_no, currency, day)
);
CREATE INDEX book_match_decided ON book_match (merchant_no) WHERE audit_event_id IS NOT NULL;
CREATE INDEX audit_event_of_book_entry ON audit_event (subject, id DESC) WHERE command = 'books assign';
CREATE INDEX book_day_changed ON book_day (merchant_no) WHERE is_changed;

COMMENT ON TABLE book_import IS 'Each import of a merchant''s own books, and what it changed.';
COMMENT ON COLUMN book_import.id IS 'Number of the import, counting up.';
COMMENT ON COLUMN book_import.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN book_import.book IS 'The name of the book: one source of own entries, for example an ERP.';
COMMENT ON COLUMN book_import.source IS 'The file''s name, or the name of the query. Never an address or a secret.';
COMMENT ON COLUMN book_import.content_sha256 IS 'SHA-256 of what was read, in hex.';
COMMENT ON COLUMN book_import.audit_event_id IS 'Who imported it, and when.';
COMMENT ON COLUMN book_import.first_day IS 'First day that the import covers: an entry of these days that it does not hold is withdrawn. Null where it covers none.';
COMMENT ON COLUMN book_import.last_day IS 'Last day that the import covers.';
COMMENT ON COLUMN book_import.starts_on IS 'First day of the book as of this import: what its mapping says, else the earliest day that an import had. Null while there is none.';
COMMENT ON COLUMN book_import.rows_read IS 'How many rows were read.';
COMMENT ON COLUMN book_import.added IS 'How many entries were new.';
COMMENT ON COLUMN book_import.changed IS 'How many entries got another version.';
COMMENT ON COLUMN book_import.returned IS 'How many entries it holds again that an earlier import did not hold.';
COMMENT ON COLUMN book_import.withdrawn IS 'How many entries it does not hold any more.';
COMMENT ON COLUMN book_import.unreadable IS 'How many rows could not be read.';
COMMENT ON TABLE book_unreadable IS 'Rows of an import that could not be read as an entry.';
COMMENT ON COLUMN book_unreadable.import_id IS 'The import.';
COMMENT ON COLUMN book_unreadable.line IS 'Line of the file, from 1.';
COMMENT ON COLUMN book_unreadable.reason IS 'Why it cannot be read, as a sentence.';
COMMENT ON COLUMN book_unreadable.raw IS 'The row as it came.';
COMMENT ON COLUMN book_unreadable.number IS 'The book''s own number of the entry. Null where that cannot be read.';
COMMENT ON COLUMN book_unreadable.answered_import_id IS 'The later import that read the entry, or all days of this import again. Null while the row is open.';
COMMENT ON TABLE book_entry IS 'Entries of merchants'' own books in their latest version.';
COMMENT ON COLUMN book_entry.id IS 'Number of the row, counting up.';
COMMENT ON COLUMN book_entry.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN book_entry.book IS 'The book that holds it.';
COMMENT ON COLUMN book_entry.number IS 'The book''s own number of the entry.';
COMMENT ON COLUMN book_entry.currency IS 'Currency code.';
COMMENT ON COLUMN book_entry.day IS 'Business day in the platform''s zone.';
COMMENT ON COLUMN book_entry.booked_at IS 'When it was booked. Null where the book names the day alone.';
COMMENT ON COLUMN book_entry.amount IS 'Exact, in units of the currency: a credit above zero, a debit below.';
COMMENT ON COLUMN book_entry.reference_keys IS 'The parts of the reference that may be a batch number.';
COMMENT ON COLUMN book_entry.reference IS 'Reference as the book has it, or empty.';
COMMENT ON COLUMN book_entry.type IS 'Kind of entry as the book has it, or empty.';
COMMENT ON COLUMN book_entry.note IS 'Text as the book has it, or empty.';
COMMENT ON COLUMN book_entry.version IS 'Which version of its content this is, from 1.';
COMMENT ON COLUMN book_entry.earlier IS 'Earlier versions, oldest first. Null where there is none.';
COMMENT ON COLUMN book_entry.import_id IS 'The import that last changed it.';
COMMENT ON COLUMN book_entry.withdrawn_import_id IS 'The import that no longer held it. Null while the book holds it.';
COMMENT ON TABLE book_match IS 'Entries of the ledger and of own books that are one and the same.';
COMMENT ON COLUMN book_match.id IS 'Number of the match, counting up.';
COMMENT ON COLUMN book_match.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN book_match.currency IS 'Currency code.';
COMMENT ON COLUMN book_match.rule IS 'The rule that made it: reference, same-day, near-day, sum, tolerance; by-hand or write-off where a person did; apart where a person took a match of a rule back, so that rules leave its entries to people.';
COMMENT ON COLUMN book_match.ledger_amount IS 'The sum of its entries of the ledger.';
COMMENT ON COLUMN book_match.difference IS 'The ledger''s sum less the book''s, in units of the currency.';
COMMENT ON COLUMN book_match.difference_type IS 'What the difference is, for example fee. Null where there is none.';
COMMENT ON COLUMN book_match.complete_on IS 'The latest day of its entries.';
COMMENT ON COLUMN book_match.made_at IS 'When it was made.';
COMMENT ON COLUMN book_match.audit_event_id IS 'Who made it and why. Null where a rule did.';
COMMENT ON COLUMN book_match.approved_event_id IS 'Who approved it. Null where no approval was needed, or none is given yet.';
COMMENT ON COLUMN book_match.waits_for_approval IS 'Its entries count as unmatched: another person has to approve it first, or it is apart.';
COMMENT ON TABLE book_match_entry IS 'Each entry of the ledger and of own books that matching has seen, with its match. An entry is in one match at most.';
COMMENT ON COLUMN book_match_entry.match_id IS 'The match. Null while the entry is unmatched.';
COMMENT ON COLUMN book_match_entry.rule IS 'The rule of the match. Null while the entry is unmatched.';
COMMENT ON COLUMN book_match_entry.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN book_match_entry.currency IS 'Currency code.';
COMMENT ON COLUMN book_match_entry.batch_no IS 'The platform''s number of the ledger''s entry. Null for an entry of a book.';
COMMENT ON COLUMN book_match_entry.book_entry_id IS 'The entry of a book. Null for an entry of the ledger.';
COMMENT ON COLUMN book_match_entry.day IS 'Its day when it was matched.';
COMMENT ON COLUMN book_match_entry.amount IS 'Its amount when it was matched: a credit above zero, a debit below.';
COMMENT ON COLUMN book_match_entry.version IS 'Version of the entry when it was matched; 0 where a decision by hand has to be taken in.';
COMMENT ON COLUMN book_match_entry.named IS 'Of an own entry that is unmatched though it names entries of the ledger: their batch numbers. Of the entries so named: empty. Null of any other.';
COMMENT ON TABLE book_day IS 'What is matched and what is open of each account and day with entries on either side.';
COMMENT ON COLUMN book_day.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN book_day.currency IS 'Currency code of the account.';
COMMENT ON COLUMN book_day.day IS 'The business day.';
COMMENT ON COLUMN book_day.matched_fingerprint IS 'The fingerprint in day_entries of the ledger''s entries that were matched last. Null where none were.';
COMMENT ON COLUMN book_day.matched_rules IS 'A hash of the rules by which the day was matched last. Null where it never was.';
COMMENT ON COLUMN book_day.is_changed IS 'Own entries of the day changed since they were matched last.';
COMMENT ON COLUMN book_day.ledger_total IS 'Sum of the ledger''s entries of the day.';
COMMENT ON COLUMN book_day.book_total IS 'Sum of the own entries of the day.';
COMMENT ON COLUMN book_day.ledger_open IS 'What the day adds to the entries that only the ledger has: those of the day that are not matched by its end, less those of earlier days whose match is complete on it.';
COMMENT ON COLUMN book_day.book_open IS 'The same of entries that only own books have.';
COMMENT ON COLUMN book_day.difference IS 'Sum of the differences of the matches that are complete on the day.';
