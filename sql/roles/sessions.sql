-- The role of sessions alone: who is logged in at the pages, and what the audit says of a login. It sees nothing of results, tokens or
-- any ledger. The login of a process with pages has it, and the one of `daybook access logout`. Run after each migration, as an administrator.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'daybook_sessions') THEN CREATE ROLE daybook_sessions NOLOGIN; END IF;
END $$;
GRANT USAGE ON SCHEMA public TO daybook_sessions;
GRANT SELECT ON kysely_migration, kysely_migration_lock TO daybook_sessions;
GRANT SELECT, INSERT, DELETE, UPDATE (ends_at) ON page_session TO daybook_sessions;
-- Audit events are added and never changed; of others it sees no more than their number.
REVOKE INSERT ON audit_event FROM daybook_sessions;
GRANT SELECT (id), INSERT (at, by_whom, command, subject, note) ON audit_event TO daybook_sessions;
