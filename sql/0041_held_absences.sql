-- Entries of which so many are gone at once that only a person makes daybook believe it.
ALTER TABLE absent_entry ADD COLUMN held_since timestamptz, ADD COLUMN accepted_at timestamptz,
  ADD CHECK (accepted_at IS NULL OR held_since IS NOT NULL);
COMMENT ON COLUMN absent_entry.held_since IS
  'Since when it is held: with it, a whole day of its account or most of several days was gone. Null for others.';
COMMENT ON COLUMN absent_entry.accepted_at IS
  'When a person confirmed that it is gone. The next reading that misses it marks it as vanished. Null if nobody has.';
