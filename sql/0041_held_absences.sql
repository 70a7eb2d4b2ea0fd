-- Entries of which so many are gone at once that only a person makes daybook believe it, and merchants whose replies
-- contradict each other.
ALTER TABLE absent_entry ADD COLUMN held_since timestamptz, ADD COLUMN accepted_at timestamptz,
  ADD CHECK (accepted_at IS NULL OR held_since IS NOT NULL);
COMMENT ON COLUMN absent_entry.held_since IS
  'Since when it is held: with it, a whole day of its account or most of several days was gone. Null for others.';
COMMENT ON COLUMN absent_entry.accepted_at IS
  'When a person confirmed that it is gone. The next reading that misses it marks it as vanished. Null if nobody has.';

CREATE TABLE contradictory_reply (
  merchant_no text COLLATE "C" PRIMARY KEY,
  nights integer NOT NULL CHECK (nights > 0),
  last_day date NOT NULL,
  replies integer NOT NULL CHECK (replies > 0),
  example text NOT NULL,
  run_id bigint NOT NULL REFERENCES run (id)
);
COMMENT ON TABLE contradictory_reply IS
  'Merchants whose last night of reading had replies that contradict each other. A night without any deletes the row.';
COMMENT ON COLUMN contradictory_reply.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN contradictory_reply.nights IS 'How many nights in a row had such replies.';
COMMENT ON COLUMN contradictory_reply.last_day IS 'The day on which the last of these nights ended, in the platform''s zone.';
COMMENT ON COLUMN contradictory_reply.replies IS 'How many such replies that night had.';
COMMENT ON COLUMN contradictory_reply.example IS 'One of them, as a sentence.';
COMMENT ON COLUMN contradictory_reply.run_id IS 'The last run that counted one.';
