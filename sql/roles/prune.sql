-- The role of `prune`, which alone may delete old records of work that is over. It cannot touch entries, certificates,
-- figures, breaks, statements or the audit, and reads no token and no personal data. Run after each migration, as an
-- administrator.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'daybook_prune') THEN CREATE ROLE daybook_prune NOLOGIN; END IF;
END $$;
GRANT USAGE ON SCHEMA public TO daybook_prune;
GRANT SELECT ON kysely_migration, kysely_migration_lock, run TO daybook_prune;
GRANT SELECT, DELETE ON run_merchant, request TO daybook_prune;
GRANT DELETE ON quarantined_entry, notification TO daybook_prune;
GRANT SELECT (released_at, acknowledged_at) ON quarantined_entry TO daybook_prune;
GRANT SELECT (kind, notify_hash, outcome, processed_at, resolved_at) ON notification TO daybook_prune;
GRANT SELECT (notify_hash, state, changed_at) ON application TO daybook_prune;
GRANT SELECT (notify_hash, status, payee_id, decided_at, replied_at, recorded_at) ON beneficiary TO daybook_prune;
-- Deliveries are deleted with their alert. Events of open breaks stay, so that none is reported twice.
GRANT DELETE ON alert, event TO daybook_prune;
GRANT SELECT (id, raised_at) ON alert TO daybook_prune;
GRANT SELECT (alert_id, state) ON alert_delivery TO daybook_prune;
GRANT SELECT (kind, subject, reported_at) ON event TO daybook_prune;
GRANT SELECT (id, status) ON continuity_break TO daybook_prune;
-- Audit events of each deletion are added and never changed.
REVOKE INSERT ON audit_event FROM daybook_prune;
GRANT SELECT, INSERT (at, by_whom, command, subject, note) ON audit_event TO daybook_prune;
