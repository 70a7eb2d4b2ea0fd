-- The role of `run`, `schedule`, `worker`, `reference sync` and the commands about the ledger. It reads and writes the ledger and
-- what is made of it, and sees nothing of applications, beneficiaries or pushed results. Run after each migration, as
-- an administrator; of the role it takes nothing away that it does not give again.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'daybook_job') THEN CREATE ROLE daybook_job NOLOGIN; END IF;
END $$;
-- No role but this one makes temporary tables, and none large objects: they belong to no table, and fill the disk. Only a superuser can take the
-- functions away from everybody.
DO $$ BEGIN EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM PUBLIC', current_database()); END $$;
REVOKE EXECUTE ON FUNCTION lo_creat(integer), lo_create(oid), lo_from_bytea(oid, bytea) FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO daybook_job;
GRANT SELECT ON kysely_migration, kysely_migration_lock, installation TO daybook_job;
-- `statements adopt` gives the database a new identity, and each run takes a turn at the store.
GRANT UPDATE (id, clock_off_at, clock_off, nights_checked_at, runs_checked_at, store_turn, store_turn_next) ON installation TO daybook_job;
-- Entries, their versions, statements and runs are never deleted.
GRANT SELECT, INSERT, UPDATE ON
  ledger_entry, ledger_entry_version, quarantined_entry, certificate, account_day, ledger_cursor, continuity_break, statement, artifact,
  lateness_count, run, run_merchant, request, lease, merchant, account_name,
  reference_list, reference_item, platform_hold
TO daybook_job;
GRANT USAGE ON SEQUENCE request_number, book_match_id_seq TO daybook_job;
-- Audit events and check values of keys are added and never changed.
REVOKE INSERT ON audit_event FROM daybook_job;
GRANT SELECT, INSERT (at, by_whom, command, subject, note, assigned_to, due_on) ON audit_event TO daybook_job;
GRANT SELECT, INSERT ON secret_key_check TO daybook_job;
-- A month that was closed stays closed.
GRANT SELECT, INSERT ON month_close TO daybook_job;
GRANT SELECT, INSERT, DELETE ON month_preparation TO daybook_job;
-- A close that was made before there was a signing key is signed later.
GRANT UPDATE (signature, reopened_event_id) ON month_close TO daybook_job;
GRANT SELECT ON changed_day, account_doubt TO daybook_job;
-- Imports and entries of own books are never deleted. A later import answers a row that could not be read.
GRANT SELECT, INSERT ON book_import, book_unreadable TO daybook_job;
-- The figures of an import are known at its end.
GRANT SELECT, INSERT, UPDATE, DELETE ON book_import_waiting TO daybook_job;
GRANT UPDATE (audit_event_id, approved_event_id, content_sha256, first_day, last_day, starts_on, rows_read, added, changed, returned, withdrawn, unreadable) ON book_import TO daybook_job;
GRANT UPDATE (answered_import_id) ON book_unreadable TO daybook_job;
GRANT SELECT, INSERT, UPDATE ON book_entry TO daybook_job;
-- Matches are undone, and days without entries go.
GRANT SELECT, INSERT, UPDATE, DELETE ON book_match, book_match_entry, book_day TO daybook_job;
GRANT USAGE ON SEQUENCE book_match_id_seq TO daybook_job;
-- Matching puts what it works on into temporary tables, which go with its transaction.
DO $$ BEGIN EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO daybook_job', current_database()); END $$;
-- What keeps an account's days from being proven is deleted once it is over.
GRANT SELECT, INSERT, UPDATE, DELETE ON absent_entry, silent_account, foreign_account_day TO daybook_job;
-- Alerts wait to be sent. Conditions that are over, and events of tokens that work again, are deleted.
GRANT SELECT, INSERT, UPDATE, DELETE ON alert, alert_delivery, alert_condition, event TO daybook_job;
-- Statements by mail are on record for ever.
GRANT SELECT, INSERT, UPDATE ON statement_mail TO daybook_job;
-- The queue, where DAYBOOK_WORKERS=queue: jobs come and go.
DO $$ BEGIN
  IF to_regclass('daybook_queue.job') IS NOT NULL THEN
    GRANT USAGE ON SCHEMA daybook_queue TO daybook_job;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA daybook_queue TO daybook_job;
    GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA daybook_queue TO daybook_job;
  END IF;
END $$;
