-- The role of `serve`, `onboard`, `beneficiary`, `notifications` and `merchants`: applications, beneficiaries, pushed
-- results and the merchants that come of them. It sees nothing of any ledger. Run after each migration, as an administrator.
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'daybook_inbox') THEN CREATE ROLE daybook_inbox NOLOGIN; END IF;
END $$;
GRANT USAGE ON SCHEMA public TO daybook_inbox;
GRANT SELECT ON kysely_migration, kysely_migration_lock, reference_list, reference_item TO daybook_inbox;
GRANT SELECT, INSERT, UPDATE ON application, beneficiary, merchant, account_name, fingerprint_key, platform_hold TO daybook_inbox;
-- Audit events and check values of keys are added and never changed.
REVOKE INSERT ON audit_event FROM daybook_inbox;
GRANT SELECT, INSERT (at, by_whom, command, subject, note) ON audit_event TO daybook_inbox;
GRANT SELECT, INSERT ON secret_key_check TO daybook_inbox;
-- Posts to paths that daybook never published are deleted again.
GRANT SELECT, INSERT, UPDATE, DELETE ON notification TO daybook_inbox;
-- Alerts that `serve` raises and sends. Of runs it reads only when each merchant was last read successfully.
GRANT SELECT, INSERT, UPDATE, DELETE ON alert, alert_delivery, alert_condition TO daybook_inbox;
GRANT SELECT (nights_checked_at, runs_checked_at), UPDATE (nights_checked_at, runs_checked_at) ON installation TO daybook_inbox;
GRANT SELECT (merchant_no, run_id, reads, exit_code, finished_at) ON run_merchant TO daybook_inbox;
