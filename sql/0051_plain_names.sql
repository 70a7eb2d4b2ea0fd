-- Tables, columns and indexes get the names that the code uses. Rows, rights and references follow a rename.
ALTER TABLE untold_change RENAME TO unreported_change;
ALTER TABLE unreported_change RENAME CONSTRAINT untold_change_pkey TO unreported_change_pkey;
ALTER TABLE unreported_change RENAME CONSTRAINT untold_change_run_id_fkey TO unreported_change_run_id_fkey;

ALTER TABLE untold_revision RENAME TO unreported_revision;
ALTER TABLE unreported_revision RENAME CONSTRAINT untold_revision_pkey TO unreported_revision_pkey;
ALTER TABLE unreported_revision RENAME CONSTRAINT untold_revision_merchant_no_currency_day_revision_fkey
  TO unreported_revision_statement_fkey;

ALTER TABLE alert_fact RENAME TO alert_event;
ALTER TABLE alert_event RENAME COLUMN told_at TO reported_at;
ALTER TABLE alert_event RENAME CONSTRAINT alert_fact_pkey TO alert_event_pkey;
ALTER INDEX alert_fact_untold RENAME TO alert_event_unreported;

ALTER TABLE alert_look RENAME TO watchdog_check;
ALTER TABLE watchdog_check RENAME COLUMN looked_at TO checked_at;
ALTER TABLE watchdog_check RENAME CONSTRAINT alert_look_pkey TO watchdog_check_pkey;

ALTER TABLE alert_condition RENAME COLUMN told_at TO reported_at;

ALTER TABLE notice RENAME COLUMN told_at TO reported_at;
ALTER INDEX notice_untold RENAME TO notice_unreported;

ALTER TABLE platform_hold RENAME COLUMN told_at TO recorded_at;
ALTER INDEX platform_hold_told_at RENAME TO platform_hold_recorded_at;

ALTER TABLE older_days_look RENAME TO historical_check;
ALTER TABLE historical_check RENAME COLUMN looked_at TO checked_at;
ALTER TABLE historical_check RENAME CONSTRAINT older_days_look_pkey TO historical_check_pkey;
ALTER TABLE historical_check RENAME CONSTRAINT older_days_look_page_order_check TO historical_check_page_order_check;

ALTER TABLE watched_month RENAME TO month_end_sample;
ALTER TABLE month_end_sample RENAME COLUMN watched_on TO sampled_on;
ALTER TABLE month_end_sample RENAME CONSTRAINT watched_month_pkey TO month_end_sample_pkey;
ALTER TABLE month_end_sample RENAME CONSTRAINT watched_month_entries_check TO month_end_sample_entries_check;

ALTER TABLE audit_entry RENAME TO audit_event;
ALTER TABLE audit_event RENAME CONSTRAINT audit_entry_pkey TO audit_event_pkey;
ALTER SEQUENCE audit_entry_id_seq RENAME TO audit_event_id_seq;
ALTER INDEX audit_entry_at RENAME TO audit_event_at;
ALTER INDEX audit_entry_download RENAME TO audit_event_download;
ALTER TABLE break_step RENAME COLUMN audit_entry_id TO audit_event_id;
ALTER TABLE break_step RENAME CONSTRAINT break_step_audit_entry_id_key TO break_step_audit_event_id_key;
ALTER TABLE break_step RENAME CONSTRAINT break_step_audit_entry_id_fkey TO break_step_audit_event_id_fkey;
ALTER TABLE month_close RENAME COLUMN audit_entry_id TO audit_event_id;
ALTER TABLE month_close RENAME CONSTRAINT month_close_audit_entry_id_key TO month_close_audit_event_id_key;
ALTER TABLE month_close RENAME CONSTRAINT month_close_audit_entry_id_fkey TO month_close_audit_event_id_fkey;

-- A process of an earlier version knows the former names: it loses its leases now, and ends.
UPDATE lease SET epoch = epoch + 1, expires_at = NULL WHERE expires_at IS NOT NULL;

COMMENT ON TABLE unreported_change IS
  'Changes at the platform that are stored and that no run has reported yet. The run that reports one deletes its row.';
COMMENT ON TABLE unreported_revision IS
  'Late statements and revisions that no run has reported yet. The run that reports one deletes its row.';
COMMENT ON TABLE alert_condition IS
  'Conditions that last, with when and how each was last reported. The row is deleted once the condition is over.';
COMMENT ON COLUMN alert_condition.name IS 'The condition, such as night.';
COMMENT ON COLUMN alert_condition.reported_at IS 'When it was last reported.';
COMMENT ON COLUMN alert_condition.grade IS 'Its severity when it was last reported: higher is more severe.';
COMMENT ON COLUMN alert_condition.count IS 'How many it concerned when it was last reported, such as merchants.';
COMMENT ON COLUMN alert_condition.seen_at IS 'When a process last saw it. Null if none did since this column exists.';
COMMENT ON TABLE alert_event IS 'Events that are reported once. Each is stored in one transaction with its cause.';
COMMENT ON COLUMN alert_event.subject IS 'The subject of the event, such as the number of the break.';
COMMENT ON COLUMN alert_event.detail IS 'The figures and names that the alert shows.';
COMMENT ON COLUMN alert_event.reported_at IS 'When an alert reported it. Null until then.';
COMMENT ON TABLE watchdog_check IS
  'When any process last searched for trouble that no run reports, such as missed runs.';
COMMENT ON COLUMN watchdog_check.what IS
  'nights: scheduled runs that were missed; runs: runs that were killed or failed without a report.';
COMMENT ON COLUMN watchdog_check.checked_at IS 'When a process last began the check, by the database''s clock.';
COMMENT ON TABLE notice IS 'Findings in a ledger that break no balance. Each is reported once.';
COMMENT ON COLUMN notice.reported_at IS 'When the run that reports it was recorded. Null: the next run reports it.';
COMMENT ON TABLE platform_hold IS
  'The platform''s requests to wait (Retry-After), so that no process calls earlier. One row for each caller.';
COMMENT ON COLUMN platform_hold.recorded_at IS 'When the latest request was recorded.';
COMMENT ON TABLE historical_check IS
  'Progress of the daily check of historical days, which lie before the days that a run reads. One row for each merchant.';
COMMENT ON COLUMN historical_check.from_day IS 'First business day that was checked.';
COMMENT ON COLUMN historical_check.to_day IS 'Last business day that was checked, included.';
COMMENT ON COLUMN historical_check.checked_at IS 'When they were last checked.';
COMMENT ON COLUMN historical_check.by_figures IS
  'Number of entries of these days by their figures. Null once their entries changed: the next check adds the figures up '
  'again.';
COMMENT ON TABLE month_end_sample IS
  'Months that are compared with the platform at each month end, as a sample of how late entries are.';
COMMENT ON COLUMN month_end_sample.sampled_on IS 'Last business day on which the stored entries equalled the platform''s.';
COMMENT ON TABLE audit_event IS
  'Manual actions that somebody has to answer for. Rows are added and never changed.';
COMMENT ON COLUMN break_step.audit_event_id IS 'Who did it, when, and with which note.';

COMMENT ON COLUMN ledger_entry.booked_ms IS
  'The instant of booked_at, in ms since 1970. It separates the two passes of a repeated hour.';
COMMENT ON TABLE ledger_entry_version IS
  'Earlier contents of entries that the platform has changed since: the complete entry as it was.';
COMMENT ON COLUMN quarantined_entry.note IS 'The note of that person. Null while it is open.';
COMMENT ON COLUMN continuity_break.note IS 'The note of the person who resolved it. Null while it is not resolved.';
COMMENT ON COLUMN continuity_break.hint IS
  'The most likely cause of the break, one word of a fixed list; unexplained where there is no evidence.';
COMMENT ON COLUMN daybook_open_breaks.hint IS
  'The most likely cause of the break; unexplained where there is no evidence.';
COMMENT ON COLUMN account_day.jumps_in IS
  'True where the first entry does not start from the balance that an earlier day left: both days report that break.';
COMMENT ON TABLE statement IS
  'The published revisions of statements. A row has the figures as published; account_day may have changed since.';
COMMENT ON COLUMN statement_summary.content IS
  'The file''s text where it names resolved breaks, as it could not be made again. Null where the day''s statements '
  'alone make it.';
COMMENT ON COLUMN statement_manifest.signature IS 'The text of the signature file. Null where there is none.';
COMMENT ON TABLE reference_list IS 'The platform''s lists (sp2502) that were read completely at least once.';
COMMENT ON COLUMN application.biz_flow IS
  'The platform''s number of the application (bizFlow). Null until a receipt or a result contains it.';
COMMENT ON COLUMN application.state IS
  'submitting: recorded, the call has not ended. accepted: received, under review. refused: the platform certainly does '
  'not have it. unknown: no evidence either way. approved, supplement, rejected: its result.';
COMMENT ON COLUMN application.payload_ciphertext IS 'The complete application, encrypted. Null once it was forgotten.';
COMMENT ON COLUMN application.process_version IS
  'The processVersion that a resubmission has to send. Null where the platform sent none.';
COMMENT ON COLUMN application.recorded_name_ciphertext IS
  'The merchant''s name as the platform has it (merNameEn of the last result), encrypted. Null where no result has it.';
COMMENT ON COLUMN beneficiary.payload_ciphertext IS 'The complete request, encrypted, as it is sent again.';
COMMENT ON COLUMN beneficiary.biz_flow_no IS
  'The platform''s number of the registration (bizFlowNo). Null until a reply contains it.';
COMMENT ON COLUMN beneficiary.payee_id IS
  'The platform''s number of the beneficiary (payeeId). Null until a reply or a result contains it.';
COMMENT ON COLUMN beneficiary.note IS 'The note of the person who settled it. Null while it is not settled.';
COMMENT ON COLUMN notification.outcome IS
  'Its outcome: applied, duplicate, unknown, contradiction, second-token, malformed; waiting while our own request has '
  'no reply stored. Null: not processed yet.';
COMMENT ON COLUMN notification.resolved_at IS 'When a person resolved it. Null while it is not resolved.';
COMMENT ON COLUMN notification.note IS 'The note of that person. Null while it is not resolved.';
COMMENT ON COLUMN notification.source IS
  'The address it was posted from, as far as trusted proxies forward it. Null where it is not known.';
COMMENT ON COLUMN requested_range.forgotten_at IS 'When a person gave it up. Null while it is wanted.';
COMMENT ON TABLE stored_object IS
  'The result of reading each key of the object store back, so that a listing alone can prove that nothing has changed.';
COMMENT ON COLUMN absent_entry.held_since IS
  'Since when it is held: with it, all entries of a day or most entries of several days were missing. Null for others.';
COMMENT ON COLUMN absent_entry.accepted_at IS
  'When a person confirmed that it is missing: the next reading without it marks it as vanished. Null until then.';
COMMENT ON TABLE secret_key_check IS 'Check values that distinguish a wrong secret key from the right one.';
COMMENT ON TABLE database_identity IS
  'Identity of this database. The object store''s mark names it; a restored backup keeps it.';
COMMENT ON TABLE backfill IS 'Ranges of days that are read in addition to the nightly work, slice by slice.';
COMMENT ON COLUMN late_entry_count.days_min IS
  'Full days from the booked time to the certificate that did not have them: they were at least so late.';
COMMENT ON COLUMN month_close.signature IS 'The text of the signature file. Null where there is none.';
COMMENT ON COLUMN page_session.groups IS
  'Groups of the person, as the provider sent them. Each request derives the role from them.';
