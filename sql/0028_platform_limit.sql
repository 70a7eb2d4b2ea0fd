-- Processes on one database share the platform's limit of calls a second, and whom it told to wait.
CREATE TABLE platform_limit (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  free_at timestamptz NOT NULL
);
COMMENT ON TABLE platform_limit IS
  'One row once a call was made under a limit of calls a second (PLATFORM_RATE_LIMIT), which all processes share.';
COMMENT ON COLUMN platform_limit.is_only IS 'Always true, so that there is one row at most.';
COMMENT ON COLUMN platform_limit.free_at IS
  'Until when the rate is given away to processes. The next one gets its part from then on, or from now if that is later.';

CREATE TABLE platform_hold (
  owner text PRIMARY KEY,
  held_until timestamptz NOT NULL,
  told_at timestamptz NOT NULL
);
CREATE INDEX platform_hold_told_at ON platform_hold (told_at);
COMMENT ON TABLE platform_hold IS
  'Who was last told by the platform to wait (Retry-After), so that no process calls for it before. One row each.';
COMMENT ON COLUMN platform_hold.owner IS
  'Whose calls wait: ''merchant'' and its number, or ''the agent'' for calls that belong to no merchant.';
COMMENT ON COLUMN platform_hold.held_until IS 'Before that no call begins.';
COMMENT ON COLUMN platform_hold.told_at IS 'When that was recorded last.';
