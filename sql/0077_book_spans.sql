-- runs with: none
-- The span of time that an import of an own book holds, to the millisecond: a file may begin and end within a day.
ALTER TABLE book_import ADD COLUMN held_from timestamptz, ADD COLUMN held_to timestamptz;

COMMENT ON COLUMN book_import.held_from IS 'From when on the file holds the book: an entry from here to held_to that it does not hold is withdrawn. Null where it covers nothing.';
COMMENT ON COLUMN book_import.held_to IS 'Up to when the file holds the book.';
COMMENT ON COLUMN book_import.first_day IS 'Day of held_from in the zone of the book, or the first day that a person named. Null where it covers none.';
COMMENT ON COLUMN book_import.last_day IS 'Day of held_to in the zone of the book, or the last day that a person named.';
