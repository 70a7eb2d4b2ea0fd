-- The role of dashboards and of finance's own queries: figures, statements, breaks and runs, and no column that holds a
-- secret or personal data. Run after each migration, as an administrator.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'daybook_read_only') THEN CREATE ROLE daybook_read_only NOLOGIN; END IF;
END $$;
GRANT USAGE ON SCHEMA public TO daybook_read_only;
GRANT SELECT ON
  kysely_migration, installation, ledger_entry, ledger_entry_version, certificate, changed_day, account_doubt, account_day, ledger_cursor,
  continuity_break, statement, artifact, absent_entry, silent_account, foreign_account_day, event, lateness_count, secret_key_check, run, run_merchant, request, lease, account_name, reference_list,
  reference_item
TO daybook_read_only;
GRANT SELECT ON daybook_account_days, daybook_open_breaks, daybook_coverage, daybook_statements TO daybook_read_only;
GRANT SELECT ON alert, alert_delivery, alert_condition TO daybook_read_only;
GRANT SELECT ON statement_mail TO daybook_read_only;
GRANT SELECT ON month_close TO daybook_read_only;
GRANT SELECT ON month_preparation TO daybook_read_only;
-- Earlier versions let this role add rows.
REVOKE INSERT ON audit_event FROM daybook_read_only;
GRANT SELECT ON audit_event TO daybook_read_only;
-- All but the text as it came, which may hold personal data.
REVOKE SELECT ON quarantined_entry FROM daybook_read_only;
GRANT SELECT (
  id, merchant_no, batch_no, reason, fingerprint, span, begin_ms, end_ms, first_seen_at, run_id, released_at, acknowledged_at, note,
  occurrences, currency
) ON quarantined_entry TO daybook_read_only;
-- The same of own books: no text that the merchant wrote.
GRANT SELECT ON book_import, book_import_waiting, book_match, book_match_entry, book_day TO daybook_read_only;
GRANT SELECT (import_id, line, reason, answered_import_id) ON book_unreadable TO daybook_read_only;
GRANT SELECT (
  id, merchant_no, book, number, currency, day, booked_at, amount, reference_keys, type, version, import_id, withdrawn_import_id
) ON book_entry TO daybook_read_only;
GRANT SELECT (merchant_no, status, added_at, joined_at) ON merchant TO daybook_read_only;
-- How the queue stands, where DAYBOOK_WORKERS=queue.
DO $$ BEGIN
  IF to_regclass('daybook_queue.job') IS NOT NULL THEN
    GRANT USAGE ON SCHEMA daybook_queue TO daybook_read_only;
    GRANT SELECT ON daybook_queue.job TO daybook_read_only;
  END IF;
END $$;
