-- runs with: none
-- Entries of equal amounts are matched by their times; imports above the limit and taking back what was approved need a second person.
ALTER TABLE book_match_entry ADD COLUMN second bigint;
ALTER TABLE book_match ADD COLUMN undo_event_id bigint REFERENCES audit_event (id);
ALTER TABLE book_import ADD COLUMN approved_event_id bigint REFERENCES audit_event (id);

CREATE TABLE book_import_waiting (
  merchant_no text COLLATE "C" NOT NULL,
  book text COLLATE "C" NOT NULL,
  audit_event_id bigint NOT NULL REFERENCES audit_event (id),
  content_sha256 text NOT NULL,
  terms_sha256 text NOT NULL,
  source text NOT NULL,
  reason text NOT NULL,
  PRIMARY KEY (merchant_no, book)
);

COMMENT ON COLUMN book_match_entry.second IS 'Its time when it was matched, in seconds since 1970. Null where the book names the day alone.';
COMMENT ON COLUMN book_match.undo_event_id IS 'Who wants to take the match back, and why. The match stays until another person approves that. Null where no one does.';
COMMENT ON COLUMN book_match.rule IS 'The rule that made it: reference, same-time, same-day, near-day, sum, tolerance; by-hand or write-off where a person did; apart where a person took a match of a rule back, so that rules leave its entries to people.';
COMMENT ON COLUMN book_import.audit_event_id IS 'Who imported it, and when. Where two persons did: the first.';
COMMENT ON COLUMN book_import.approved_event_id IS 'The second person, who imported the same file. Null where no second person was needed.';
COMMENT ON TABLE book_import_waiting IS 'Imports above the limit that wait for a second person: nothing of them is stored before another person imports the same content in the same way. One for each book at most.';
COMMENT ON COLUMN book_import_waiting.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN book_import_waiting.book IS 'The name of the book.';
COMMENT ON COLUMN book_import_waiting.audit_event_id IS 'The first person, and when.';
COMMENT ON COLUMN book_import_waiting.content_sha256 IS 'SHA-256 of what was read, in hex.';
COMMENT ON COLUMN book_import_waiting.terms_sha256 IS 'SHA-256 of the mapping and the days that the file covers, in hex.';
COMMENT ON COLUMN book_import_waiting.source IS 'The file''s name, or the name of the query.';
COMMENT ON COLUMN book_import_waiting.reason IS 'What of the import is above the limit, as a sentence.';
