-- The role that owns the tables: `daybook migrate` and nothing else connects as it. Run once by an administrator, before
-- the first migration, in daybook's own database; then give the role to a login:
--   CREATE ROLE release_login LOGIN PASSWORD '...' IN ROLE daybook_migrate;  ALTER ROLE release_login SET role daybook_migrate;
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'daybook_migrate') THEN CREATE ROLE daybook_migrate NOLOGIN; END IF;
END $$;
-- Servers before version 15 let everybody make tables here.
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO daybook_migrate;
-- For DAYBOOK_WORKERS=queue. Only an administrator may make a schema.
CREATE SCHEMA IF NOT EXISTS daybook_queue AUTHORIZATION daybook_migrate;
