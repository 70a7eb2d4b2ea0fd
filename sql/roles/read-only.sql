-- The role of dashboards and of finance's own queries: figures, statements, breaks and runs, and no column that holds a
-- secret or personal data. Run after each migration, as an administrator.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'daybook_read_only') THEN CREATE ROLE daybook_read_only NOLOGIN; END IF;
END $$;
GRANT USAGE ON SCHEMA public TO daybook_read_only;
GRANT SELECT ON
  kysely_migration, installation, ledger_entry, ledger_entry_version, quarantined_entry, sync_window, certified_span, day_entries, changed_day, account_day, ledger_cursor,
  continuity_break, statement, artifact, absent_entry, event, lateness_count, secret_key_check, run, task, lease, reference_list,
  reference_item
TO daybook_read_only;
GRANT SELECT ON daybook_account_days, daybook_open_breaks, daybook_coverage, daybook_statements TO daybook_read_only;
GRANT SELECT ON alert, alert_delivery, alert_condition TO daybook_read_only;
GRANT SELECT ON month_close TO daybook_read_only;
-- A download leaves its row.
GRANT SELECT, INSERT ON audit_event TO daybook_read_only;
GRANT SELECT (merchant_no, status, added_at, joined_at) ON merchant TO daybook_read_only;
