-- What tells this database from every other one. The object store's mark names it, so that no other database writes there
-- unknowingly. A copy of the database keeps it: what was restored from a backup goes on where it stood.
CREATE TABLE database_identity (
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  -- one row
  is_only boolean NOT NULL PRIMARY KEY DEFAULT true CHECK (is_only)
);
INSERT INTO database_identity DEFAULT VALUES;
