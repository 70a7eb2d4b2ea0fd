-- Each import of a merchant's own books, and what it changed.
CREATE TABLE book_import (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Number of the import, counting up.
  merchant_no text COLLATE "C" NOT NULL,
  book text COLLATE "C" NOT NULL, -- The name of the book: one source of own entries, for example an ERP.
  source text NOT NULL, -- The file's name, or the name of the query. Never an address or a secret.
  content_sha256 text NOT NULL,
  audit_event_id bigint NOT NULL REFERENCES audit_event (id), -- Who imported it, and when. Where two persons did: the first.
  first_day date, -- Day of held_from in the zone of the book, or the first day that a person named. Null where it covers none.
  last_day date, -- Day of held_to in the zone of the book, or the last day that a person named.
  starts_on date, -- First day of the book as of this import: what its mapping says, else the earliest day that an import had. Null while there is none.
  rows_read bigint NOT NULL, -- How many rows were read.
  added bigint NOT NULL, -- How many entries were new.
  changed bigint NOT NULL, -- How many entries got another version.
  returned bigint NOT NULL, -- How many entries it holds again that an earlier import did not hold.
  withdrawn bigint NOT NULL, -- How many entries it does not hold any more.
  unreadable bigint NOT NULL, -- How many rows could not be read.
  held_from timestamptz, -- From when on the file holds the book: an entry from here to held_to that it does not hold is withdrawn. Null where it covers nothing.
  held_to timestamptz, -- Up to when the file holds the book.
  approved_event_id bigint REFERENCES audit_event (id) -- The second person, who imported the same file. Null where no second person was needed.
);
CREATE INDEX book_import_of_book ON book_import (merchant_no, book, id);

-- Imports above the limit that wait for a second person: nothing of them is stored before another person imports the same content in the same way. One for each book at
-- most.
CREATE TABLE book_import_waiting (
  merchant_no text COLLATE "C" NOT NULL,
  book text COLLATE "C" NOT NULL, -- The name of the book.
  audit_event_id bigint NOT NULL REFERENCES audit_event (id), -- The first person, and when.
  content_sha256 text NOT NULL,
  terms_sha256 text NOT NULL, -- SHA-256 of the mapping and the days that the file covers, in hex.
  source text NOT NULL, -- The file's name, or the name of the query.
  reason text NOT NULL, -- What of the import is above the limit, as a sentence.
  PRIMARY KEY (merchant_no, book)
);

-- Rows of an import that could not be read as an entry.
CREATE TABLE book_unreadable (
  import_id bigint NOT NULL REFERENCES book_import (id), -- The import.
  line bigint NOT NULL, -- Line of the file, from 1.
  reason text NOT NULL, -- Why it cannot be read, as a sentence.
  raw text NOT NULL, -- The row as it came.
  number text COLLATE "C", -- The book's own number of the entry. Null where that cannot be read.
  answered_import_id bigint REFERENCES book_import (id), -- The later import that read the entry, or all days of this import again. Null while the row is open.
  PRIMARY KEY (import_id, line)
);
CREATE INDEX book_unreadable_open ON book_unreadable (import_id) WHERE (answered_import_id IS NULL);

-- Entries of merchants' own books in their latest version.
CREATE TABLE book_entry (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, merchant_no text COLLATE "C" NOT NULL,
  book text COLLATE "C" NOT NULL, -- The book that holds it.
  number text COLLATE "C" NOT NULL, -- The book's own number of the entry.
  currency text COLLATE "C" NOT NULL, -- Currency code.
  day date NOT NULL, -- Business day in the platform's zone.
  booked_at timestamptz, -- When it was booked. Null where the book names the day alone.
  amount numeric NOT NULL CHECK (amount <> 'NaN'::numeric), -- Exact, in units of the currency: a credit above zero, a debit below.
  reference_keys text[] COLLATE "C" NOT NULL, -- The parts of the reference that may be a batch number.
  reference text NOT NULL, -- Reference as the book has it, or empty.
  type text NOT NULL, -- Kind of entry as the book has it, or empty.
  note text NOT NULL, -- Text as the book has it, or empty.
  version integer NOT NULL DEFAULT 1, -- Which version of its content this is, from 1.
  earlier jsonb, -- Earlier versions, oldest first. Null where there is none.
  import_id bigint NOT NULL, -- The import that last changed it.
  withdrawn_import_id bigint REFERENCES book_import (id) -- The import that no longer held it. Null while the book holds it.
);
CREATE UNIQUE INDEX book_entry_number ON book_entry (merchant_no, book, number);
CREATE INDEX book_entry_on_day ON book_entry (merchant_no, currency, day) WHERE (withdrawn_import_id IS NULL);
CREATE INDEX book_entry_keys ON book_entry USING gin (reference_keys) WITH (fastupdate=off) WHERE ((withdrawn_import_id IS NULL) AND (reference_keys <> '{}'));

-- Entries of the ledger and of own books that are one and the same.
CREATE TABLE book_match (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Number of the match, counting up.
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL, -- Currency code.
  -- The rule that made it: reference, same-time, same-day, near-day, sum, tolerance; by-hand or write-off where a person did; apart where a person took a match of a rule
  -- back, so that rules leave its entries to people.
  rule text NOT NULL,
  ledger_amount numeric NOT NULL, -- The sum of its entries of the ledger.
  difference numeric NOT NULL, -- The ledger's sum less the book's, in units of the currency.
  difference_type text, -- What the difference is, for example fee. Null where there is none.
  complete_on date NOT NULL, -- The latest day of its entries.
  made_at timestamptz NOT NULL, -- When it was made.
  audit_event_id bigint REFERENCES audit_event (id), -- Who made it and why. Null where a rule did.
  approved_event_id bigint REFERENCES audit_event (id), -- Who approved it. Null where no approval was needed, or none is given yet.
  waits_for_approval boolean NOT NULL DEFAULT false, -- Its entries count as unmatched: another person has to approve it first, or it is apart.
  -- Who wants to take the match back, and why. The match stays until another person approves that. Null where no one does.
  undo_event_id bigint REFERENCES audit_event (id)
);
CREATE INDEX book_match_complete ON book_match (merchant_no, currency, complete_on);
CREATE INDEX book_match_decided ON book_match (merchant_no) WHERE (audit_event_id IS NOT NULL);

-- Each entry of the ledger and of own books that matching has seen, with its match. An entry is in one match at most.
CREATE TABLE book_match_entry (
  match_id bigint, -- The match. Null while the entry is unmatched.
  rule text, -- The rule of the match. Null while the entry is unmatched.
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL, -- Currency code.
  batch_no text COLLATE "C", -- The platform's number of the ledger's entry. Null for an entry of a book.
  book_entry_id bigint, -- The entry of a book. Null for an entry of the ledger.
  day date NOT NULL, -- Its day when it was matched.
  amount numeric NOT NULL, -- Its amount when it was matched: a credit above zero, a debit below.
  version integer NOT NULL, -- Version of the entry when it was matched; 0 where a decision by hand has to be taken in.
  -- Of an own entry that is unmatched though it names entries of the ledger: their batch numbers. Of the entries so named: empty. Null of any other.
  named text[] COLLATE "C",
  second bigint, -- Its time when it was matched, in seconds since 1970. Null where the book names the day alone.
  CHECK ((batch_no IS NULL) <> (book_entry_id IS NULL)),
  CHECK ((match_id IS NULL) = (rule IS NULL))
);
CREATE UNIQUE INDEX book_match_entry_ledger ON book_match_entry (merchant_no, batch_no) WHERE (batch_no IS NOT NULL);
CREATE UNIQUE INDEX book_match_entry_book ON book_match_entry (book_entry_id) WHERE (book_entry_id IS NOT NULL);
CREATE INDEX book_match_entry_match ON book_match_entry (match_id) WHERE (match_id IS NOT NULL);
CREATE INDEX book_match_entry_open ON book_match_entry (merchant_no, currency, day) WHERE (match_id IS NULL);
CREATE INDEX book_match_entry_day ON book_match_entry (merchant_no, currency, day);

-- What is matched and what is open of each account and day with entries on either side.
CREATE TABLE book_day (
  merchant_no text COLLATE "C" NOT NULL, currency text COLLATE "C" NOT NULL, day date NOT NULL,
  matched_changes integer, -- The changes of the day's certificate when its entries were matched last. Null where none were.
  matched_rules bigint, -- A hash of the rules by which the day was matched last. Null where it never was.
  is_changed boolean NOT NULL DEFAULT true, -- Own entries of the day changed since they were matched last.
  ledger_total numeric NOT NULL DEFAULT 0, -- Sum of the ledger's entries of the day.
  book_total numeric NOT NULL DEFAULT 0, -- Sum of the own entries of the day.
  -- What the day adds to the entries that only the ledger has: those of the day that are not matched by its end, less those of earlier days whose match is complete on
  -- it.
  ledger_open numeric NOT NULL DEFAULT 0,
  book_open numeric NOT NULL DEFAULT 0, -- The same of entries that only own books have.
  difference numeric NOT NULL DEFAULT 0, -- Sum of the differences of the matches that are complete on the day.
  PRIMARY KEY (merchant_no, currency, day)
);
CREATE INDEX book_day_changed ON book_day (merchant_no) WHERE is_changed;
