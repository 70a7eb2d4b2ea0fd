-- Older days are compared entry by entry in windows of at most a page, and no wider than the platform answers in full.
ALTER TABLE older_days_look
  ADD COLUMN round_through_ms bigint NOT NULL DEFAULT 0,
  ADD COLUMN widest_ms bigint,
  ADD COLUMN refused_from_ms bigint,
  ADD COLUMN refused_to_ms bigint,
  ADD COLUMN refused_since timestamptz;
COMMENT ON COLUMN older_days_look.round_read IS 'How many entries this round has compared so far.';
COMMENT ON COLUMN older_days_look.round_through_ms IS
  'The instant, in ms since 1970, up to which this round has compared the entries.';
COMMENT ON COLUMN older_days_look.widest_ms IS
  'The longest window, in ms, that the platform answers in full; null while it has cut or refused none.';
COMMENT ON COLUMN older_days_look.refused_from_ms IS
  'The first instant, in ms since 1970, that the platform refuses to show; null if it shows all.';
COMMENT ON COLUMN older_days_look.refused_to_ms IS 'The last such instant.';
COMMENT ON COLUMN older_days_look.refused_since IS 'When it refused for the first time.';
COMMENT ON COLUMN older_days_look.page_order IS
  'In which order the platform sends pages: oldest first, newest first, or mixed where its pages are no spans of time.';
