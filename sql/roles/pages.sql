-- What the pages that `serve` shows (DAYBOOK_PAGES_LISTEN) need in addition to daybook_sessions and daybook_read_only: to take, comment,
-- resolve and reopen a break, to acknowledge an unreadable entry, and to close a month. The login of `serve --pages` has these three roles, and
-- reads no token, application, beneficiary or pushed result; that of a `serve` which also takes results in has daybook_inbox, too. Run after
-- each migration, as an administrator.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'daybook_pages') THEN CREATE ROLE daybook_pages NOLOGIN; END IF;
END $$;
GRANT USAGE ON SCHEMA public TO daybook_pages;
GRANT SELECT ON continuity_break, account_day TO daybook_pages;
-- The page of a break computes what an unreadable entry would explain; operators see it as received, and acknowledge it.
GRANT SELECT (raw), UPDATE (acknowledged_at, note) ON quarantined_entry TO daybook_pages;
-- A person's action on a break changes its state. The day becomes due, so that a run reports it.
GRANT UPDATE (status, note, closed_at) ON continuity_break TO daybook_pages;
GRANT UPDATE (version) ON account_day TO daybook_pages;
-- Audit events are added and never changed; of an assignment also to whom, and until when.
REVOKE INSERT ON audit_event FROM daybook_pages;
GRANT INSERT (at, by_whom, command, subject, note, assigned_to, due_on) ON audit_event TO daybook_pages;
-- The names of merchants and accounts.
GRANT INSERT, UPDATE ON account_name TO daybook_pages;
-- What a person asks to be read or published again is filed, and cancelled while nothing has begun it.
GRANT INSERT (number, merchant_no, asked_by, what, from_day, to_day, requested_at, figures), UPDATE (state, finished_at) ON request TO daybook_pages;
GRANT USAGE ON SEQUENCE request_number TO daybook_pages;
-- A close and the statements it froze are added and never changed, except for a missing signature.
GRANT SELECT, INSERT ON month_close TO daybook_pages;
GRANT SELECT, INSERT, DELETE ON month_preparation TO daybook_pages;
-- A close that was made before there was a signing key is signed later.
GRANT UPDATE (signature, reopened_event_id) ON month_close TO daybook_pages;
-- Own books: people decide on them, and what is around their entries is matched again in tables that end with the transaction.
GRANT SELECT ON ledger_entry, certificate TO daybook_pages;
GRANT SELECT, INSERT ON book_import, book_unreadable TO daybook_pages;
GRANT SELECT, INSERT, UPDATE, DELETE ON book_import_waiting TO daybook_pages;
GRANT UPDATE (audit_event_id, approved_event_id, content_sha256, first_day, last_day, starts_on, rows_read, added, changed, returned, withdrawn, unreadable) ON book_import TO daybook_pages;
GRANT UPDATE (answered_import_id) ON book_unreadable TO daybook_pages;
GRANT SELECT, INSERT, UPDATE ON book_entry TO daybook_pages;
GRANT SELECT, INSERT, UPDATE, DELETE ON book_match, book_match_entry, book_day TO daybook_pages;
GRANT SELECT, INSERT ON event TO daybook_pages;
GRANT USAGE ON SEQUENCE book_match_id_seq TO daybook_pages;
DO $$ BEGIN EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO daybook_pages', current_database()); END $$;
