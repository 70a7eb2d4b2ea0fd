-- runs with: none
-- Which copy of a database publishes: each run takes a turn, which both the database and the mark in the store name. A copy that was
-- restored has a turn of before, and is refused until it adopts the store.
ALTER TABLE installation
  ADD COLUMN store_turn uuid,
  ADD COLUMN store_turn_next uuid;
COMMENT ON COLUMN installation.id IS
  'Identity of the database, which the mark of its store names. `statements adopt` makes a new one, so that the database it was copied from is refused.';
COMMENT ON COLUMN installation.store_turn IS 'The turn that the mark of the store names; null before the first.';
COMMENT ON COLUMN installation.store_turn_next IS 'The turn that is being written into the mark; null where none is.';
