-- A write whose answer was lost is made again. The first attempt may still be on its way, so it is refused from then on.
ALTER TABLE lease ADD COLUMN void_through bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN lease.void_through IS
  'Writes of a single statement that the holder numbered up to this are refused: they were made again.';
