-- A published file has to say, each time it is made again, how many entries could not be read when it was published.
ALTER TABLE statement ADD COLUMN unreadable_count integer CHECK (unreadable_count >= 0);

COMMENT ON COLUMN statement.unreadable_count IS 'How many entries that may be of the day came and could not be read, when it was published; null where that was not recorded.';
