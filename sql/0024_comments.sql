-- What every table, view and column holds: its unit, and when it is null. `npm run reference` makes docs/reference/tables.md of it.

-- The ledger.
COMMENT ON TABLE merchant IS 'A merchant whose ledger is read, or is about to be.';
COMMENT ON COLUMN merchant.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN merchant.token_ciphertext IS
  'The merchant''s token, encrypted: v1:key id:nonce:tag:ciphertext, the last three in base64. Null where the token '
  'comes from the settings.';
COMMENT ON COLUMN merchant.status IS 'active: its ledger is read. disabled: it is left out until somebody enables it.';
COMMENT ON COLUMN merchant.added_at IS 'When the merchant was added, or an approval brought it.';
COMMENT ON COLUMN merchant.joined_at IS
  'When a first call with its token succeeded. Null: the merchant is known, and the nightly job does not read it yet.';

COMMENT ON TABLE run IS 'One run: what it was asked for, when it ran, how it ended. Rows are never deleted.';
COMMENT ON COLUMN run.id IS 'Number of the run, counting up.';
COMMENT ON COLUMN run.command IS
  'What ran: the command where a person started it (run, sync, reconcile, publish, reference); else the name of the job.';
COMMENT ON COLUMN run.slot IS
  'Of a scheduled job: the wall-clock time it was due at, in the schedule''s zone. Null where a person started the run.';
COMMENT ON COLUMN run.holder IS 'The process that runs or ran it, as host:pid:boot.';
COMMENT ON COLUMN run.from_day IS 'First business day that was asked for. Null where the job has no days.';
COMMENT ON COLUMN run.to_day IS 'Last business day that was asked for, included. Null where the job has no days.';
COMMENT ON COLUMN run.started_at IS 'When the run started.';
COMMENT ON COLUMN run.finished_at IS 'When the run ended. Null while it runs, or where its process was killed.';
COMMENT ON COLUMN run.exit_code IS 'The exit code. Null while it runs, or where its process was killed.';
COMMENT ON COLUMN run.figures IS
  'The report of the run: counts, reasons, and what each merchant''s part came to. Empty until the run has ended.';

COMMENT ON TABLE lease IS
  'The right to be the one run at work. One row for each name; a holder that stops renewing loses it.';
COMMENT ON COLUMN lease.name IS 'What may be done by one process at a time.';
COMMENT ON COLUMN lease.epoch IS 'Grows with every holder. A write of an earlier holder is refused by it.';
COMMENT ON COLUMN lease.holder IS 'The process that holds it, or held it last, as host:pid:boot.';
COMMENT ON COLUMN lease.acquired_at IS 'When the holder took it, by the database''s clock.';
COMMENT ON COLUMN lease.expires_at IS
  'Until when it holds unless it is renewed, by the database''s clock. Null once it was released.';

COMMENT ON TABLE ledger_entry IS 'The entries of the ledger as the platform showed them last. An entry is never deleted.';
COMMENT ON COLUMN ledger_entry.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN ledger_entry.batch_no IS 'The platform''s number of the entry. It names one entry of the merchant.';
COMMENT ON COLUMN ledger_entry.currency IS 'Currency code, usually of ISO 4217.';
COMMENT ON COLUMN ledger_entry.transaction_type IS 'The platform''s code for the kind of entry (busiType).';
COMMENT ON COLUMN ledger_entry.credit IS
  'Amount added to the account, exact, in units of the currency. Null where the entry is a debit.';
COMMENT ON COLUMN ledger_entry.debit IS
  'Amount taken from the account, exact, in units of the currency. Null where the entry is a credit.';
COMMENT ON COLUMN ledger_entry.balance IS
  'Available balance of the account after the entry, exact, in units of the currency. It may be negative.';
COMMENT ON COLUMN ledger_entry.booked_at IS
  'When the entry was booked, by the clock of the platform''s zone, as the platform sent it.';
COMMENT ON COLUMN ledger_entry.booked_ms IS
  'The instant of booked_at, in ms since 1970. It tells the two passes of a repeated hour apart.';
COMMENT ON COLUMN ledger_entry.first_seen_at IS 'When the entry was first stored.';
COMMENT ON COLUMN ledger_entry.version IS
  'Which version of its content this is, from 1. Earlier ones are in ledger_entry_version.';
COMMENT ON COLUMN ledger_entry.vanished_at IS
  'When it was taken for certain that the platform no longer shows the entry. Null while it shows it.';

COMMENT ON TABLE ledger_entry_version IS
  'Contents of entries that the platform has changed since: the whole entry as it was.';
COMMENT ON COLUMN ledger_entry_version.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN ledger_entry_version.batch_no IS 'The platform''s number of the entry.';
COMMENT ON COLUMN ledger_entry_version.version IS 'Which version this content was, from 1.';
COMMENT ON COLUMN ledger_entry_version.currency IS 'Currency code in this version.';
COMMENT ON COLUMN ledger_entry_version.transaction_type IS 'The platform''s code for the kind of entry in this version.';
COMMENT ON COLUMN ledger_entry_version.credit IS
  'Amount added in this version, in units of the currency. Null where it was a debit.';
COMMENT ON COLUMN ledger_entry_version.debit IS
  'Amount taken away in this version, in units of the currency. Null where it was a credit.';
COMMENT ON COLUMN ledger_entry_version.balance IS 'Balance after the entry in this version, in units of the currency.';
COMMENT ON COLUMN ledger_entry_version.booked_at IS
  'When the entry was booked in this version, by the clock of the platform''s zone.';
COMMENT ON COLUMN ledger_entry_version.booked_ms IS 'The instant of booked_at, in ms since 1970.';
COMMENT ON COLUMN ledger_entry_version.superseded_at IS 'When the next version took its place.';
COMMENT ON COLUMN ledger_entry_version.run_id IS 'The run that found the change. Null where none is on record.';

COMMENT ON TABLE quarantined_entry IS
  'What came as an entry and cannot be read as one, or was not asked for. Its text is kept as it came.';
COMMENT ON COLUMN quarantined_entry.id IS 'Number of the row, counting up.';
COMMENT ON COLUMN quarantined_entry.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN quarantined_entry.batch_no IS 'The platform''s number of the entry. Null where none can be read.';
COMMENT ON COLUMN quarantined_entry.raw IS 'The entry''s JSON exactly as it came.';
COMMENT ON COLUMN quarantined_entry.reason IS 'Why it cannot be taken as an entry, as a sentence.';
COMMENT ON COLUMN quarantined_entry.fingerprint IS 'SHA-256 of raw, so that reading the same text again adds no row.';
COMMENT ON COLUMN quarantined_entry.span IS
  'Where the entry can lie, in ms since 1970: the window it came in, less the certified windows since then that did not '
  'hold it.';
COMMENT ON COLUMN quarantined_entry.begin_ms IS 'First ms of span.';
COMMENT ON COLUMN quarantined_entry.end_ms IS 'Last ms of span, included.';
COMMENT ON COLUMN quarantined_entry.first_seen_at IS 'When it was first stored.';
COMMENT ON COLUMN quarantined_entry.run_id IS 'The run that stored it first. Null where none is on record.';
COMMENT ON COLUMN quarantined_entry.released_at IS
  'When certified windows no longer held it anywhere. Null while the platform still sends it.';
COMMENT ON COLUMN quarantined_entry.acknowledged_at IS 'When a person closed it with a note. Null while it needs one.';
COMMENT ON COLUMN quarantined_entry.note IS 'What that person said. Null while nobody has.';
COMMENT ON COLUMN quarantined_entry.occurrences IS 'How often the same text came in one reading.';

COMMENT ON TABLE sync_window IS
  'Spans of time that were read: those under certificate, and those whose last reading could not be certified.';
COMMENT ON COLUMN sync_window.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN sync_window.currency IS 'The currency that was read; '''' where every currency was.';
COMMENT ON COLUMN sync_window.begin_ms IS 'First ms of the span, since 1970.';
COMMENT ON COLUMN sync_window.end_ms IS 'Last ms of the span, included.';
COMMENT ON COLUMN sync_window.total IS
  'How many records the platform said it has there. Where certified: distinct_count + quarantined_count.';
COMMENT ON COLUMN sync_window.distinct_count IS 'How many distinct entries came.';
COMMENT ON COLUMN sync_window.quarantined_count IS 'How many records came that could not be read as entries.';
COMMENT ON COLUMN sync_window.requests IS 'How many calls the reading took.';
COMMENT ON COLUMN sync_window.certified_at IS 'When the reading was certified. Null: it could not be, and problem says why.';
COMMENT ON COLUMN sync_window.problem IS 'Why the last reading could not be certified. Null where it is certified.';
COMMENT ON COLUMN sync_window.run_id IS 'The run that read it. Null where none is on record.';
COMMENT ON COLUMN sync_window.proven_currencies IS
  'Of a span of every currency that failed: currencies that were certified by themselves over all of it since.';

COMMENT ON TABLE changed_day IS
  'Account days whose entries changed since their figures were made. Reconciling takes them off this list.';
COMMENT ON COLUMN changed_day.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN changed_day.currency IS 'Currency code of the account.';
COMMENT ON COLUMN changed_day.day IS 'The business day.';

COMMENT ON TABLE absent_entry IS
  'Stored entries that a certified reading did not hold, until that is believed or they come again.';
COMMENT ON COLUMN absent_entry.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN absent_entry.batch_no IS 'The platform''s number of the entry.';
COMMENT ON COLUMN absent_entry.currency IS 'Currency code of the entry.';
COMMENT ON COLUMN absent_entry.booked_ms IS 'When the entry was booked, in ms since 1970.';
COMMENT ON COLUMN absent_entry.begin_ms IS 'First ms of the planned window whose reading missed it first, since 1970.';
COMMENT ON COLUMN absent_entry.end_ms IS 'Last ms of that window, included.';
COMMENT ON COLUMN absent_entry.absent_since IS 'When it was missed first.';
COMMENT ON COLUMN absent_entry.run_id IS 'The run that missed it first.';

COMMENT ON TABLE older_days_look IS
  'How far the nightly look at the days before those it reads has come. One row for each merchant.';
COMMENT ON COLUMN older_days_look.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN older_days_look.from_day IS 'First business day that was looked at.';
COMMENT ON COLUMN older_days_look.to_day IS 'Last business day that was looked at, included.';
COMMENT ON COLUMN older_days_look.total IS 'How many records the platform said these days hold in all.';
COMMENT ON COLUMN older_days_look.is_held IS 'Whether as many are stored, also after reading anew what differed.';
COMMENT ON COLUMN older_days_look.looked_at IS 'When they were looked at last.';
COMMENT ON COLUMN older_days_look.round_read IS 'How many entries this round through the pages has shown so far.';
COMMENT ON COLUMN older_days_look.round_of IS
  'How many entries there were when the round began; it is through once it has shown as many.';
COMMENT ON COLUMN older_days_look.round_began_at IS 'When the round began.';
COMMENT ON COLUMN older_days_look.page_order IS
  'Which pages the platform shows first, as last seen: oldest first, newest first or mixed.';

COMMENT ON TABLE ledger_past IS
  'How many entries the platform said it has from before an instant. It is asked once for each merchant.';
COMMENT ON COLUMN ledger_past.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN ledger_past.before_ms IS 'The instant that was asked for, in ms since 1970.';
COMMENT ON COLUMN ledger_past.total IS 'How many entries it has from before. Null where the platform refused the question.';
COMMENT ON COLUMN ledger_past.asked_at IS 'When it was asked.';

COMMENT ON TABLE platform_clock IS
  'One row once the platform''s timestamps were seen to differ from the times it filters by, within the clock tolerance.';
COMMENT ON COLUMN platform_clock.is_only IS 'Always true, so that there is one row at most.';
COMMENT ON COLUMN platform_clock.seen_off_at IS 'When that was seen.';
COMMENT ON COLUMN platform_clock.seen IS 'What was seen, as a sentence.';

COMMENT ON TABLE requested_range IS
  'Days that a person asked for with dates. A range is open until each of its days is under certificate, or somebody '
  'gives it up.';
COMMENT ON COLUMN requested_range.id IS 'Number of the range, counting up.';
COMMENT ON COLUMN requested_range.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN requested_range.currency IS 'The currency that was asked for; '''' where every currency was.';
COMMENT ON COLUMN requested_range.from_day IS 'First business day.';
COMMENT ON COLUMN requested_range.to_day IS 'Last business day, included.';
COMMENT ON COLUMN requested_range.requested_at IS 'When it was asked for.';
COMMENT ON COLUMN requested_range.run_id IS 'The run that asked for it. Null where none is on record.';
COMMENT ON COLUMN requested_range.done_at IS 'When every day of it was found under certificate. Null before that.';
COMMENT ON COLUMN requested_range.forgotten_at IS 'When a person gave it up. Null where nobody did.';

COMMENT ON TABLE untold_change IS
  'Changes at the platform that were stored and that no run has told yet. A row goes once a run has told it.';
COMMENT ON COLUMN untold_change.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN untold_change.run_id IS 'The run that found the changes.';
COMMENT ON COLUMN untold_change.amended IS 'How many entries were amended.';
COMMENT ON COLUMN untold_change.vanished IS 'How many entries vanished.';

-- Figures and breaks.
COMMENT ON TABLE account_day IS
  'The figures of an account on one business day, as they are now. opening + credit_total - debit_total = closing, or '
  'the day is broken.';
COMMENT ON COLUMN account_day.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN account_day.currency IS 'Currency code of the account.';
COMMENT ON COLUMN account_day.day IS 'The business day: a calendar day in the platform''s zone.';
COMMENT ON COLUMN account_day.opening IS 'The balance the day starts from, in units of the currency.';
COMMENT ON COLUMN account_day.credit_total IS 'Sum of the credits, in units of the currency.';
COMMENT ON COLUMN account_day.credit_count IS 'How many credits.';
COMMENT ON COLUMN account_day.debit_total IS 'Sum of the debits, in units of the currency.';
COMMENT ON COLUMN account_day.debit_count IS 'How many debits.';
COMMENT ON COLUMN account_day.closing IS 'The balance the day ends on, in units of the currency.';
COMMENT ON COLUMN account_day.verdict IS
  'continuous: the entries chain in order of time. reordered: they chain in another order. broken: no order makes the '
  'balance follow.';
COMMENT ON COLUMN account_day.break_count IS 'How many breaks have an entry of the day on either side.';
COMMENT ON COLUMN account_day.last_batch_no IS
  'The last entry of the chain, where the next day takes up. Null where no entry lies on this day or before it.';
COMMENT ON COLUMN account_day.last_booked_ms IS 'When that entry was booked, in ms since 1970. Null where last_batch_no is.';
COMMENT ON COLUMN account_day.clean_end IS
  'False where entries of this day and the next had to trade places to chain: the chain cannot be taken up between them.';
COMMENT ON COLUMN account_day.restarted IS
  'True where the opening was derived from the day''s first entry, as nothing proven lies before it.';
COMMENT ON COLUMN account_day.revision IS 'Revision of the current statement. Null before the first.';
COMMENT ON COLUMN account_day.publish_due IS
  'True where figures or entries changed since the statement was last written or compared.';
COMMENT ON COLUMN account_day.breaks_after IS
  'Of break_count, those between an entry of the day and the next entry, which is of another day.';
COMMENT ON COLUMN account_day.jumps_in IS
  'True where the first entry does not start from the balance that an earlier day left: that break is told of both days.';

COMMENT ON TABLE continuity_break IS 'Places where an account''s balance does not follow from the entry before.';
COMMENT ON COLUMN continuity_break.id IS 'Number of the break, counting up.';
COMMENT ON COLUMN continuity_break.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN continuity_break.currency IS 'Currency code of the account.';
COMMENT ON COLUMN continuity_break.day IS 'Business day of the entry behind the break.';
COMMENT ON COLUMN continuity_break.after_batch_no IS 'The entry in front of the break. Null where there is none.';
COMMENT ON COLUMN continuity_break.before_batch_no IS 'The entry behind the break.';
COMMENT ON COLUMN continuity_break.expected_balance IS 'The balance the chain had reached, in units of the currency.';
COMMENT ON COLUMN continuity_break.found_balance IS 'The balance the next entry starts from, in units of the currency.';
COMMENT ON COLUMN continuity_break.missing_net IS
  'found_balance - expected_balance: the net amount of what is missing, a credit above zero.';
COMMENT ON COLUMN continuity_break.hint IS
  'What the break most likely comes from, one word of a fixed list; unexplained where nothing tells.';
COMMENT ON COLUMN continuity_break.hint_batch_no IS 'The entry that the hint speaks of. Null where it speaks of none.';
COMMENT ON COLUMN continuity_break.begin_ms IS 'First ms of the span in which the missing thing can lie, since 1970.';
COMMENT ON COLUMN continuity_break.end_ms IS 'Last ms of that span, included.';
COMMENT ON COLUMN continuity_break.status IS
  'open: it stands. healed: a later reading brought what was missing. resolved: a person said that it is right as it is.';
COMMENT ON COLUMN continuity_break.found_at IS 'When it was found.';
COMMENT ON COLUMN continuity_break.closed_at IS 'When it was healed or resolved. Null while it is open.';
COMMENT ON COLUMN continuity_break.note IS 'What the person said who resolved it. Null where nobody did.';
COMMENT ON COLUMN continuity_break.run_id IS 'The run that found it. Null where none is on record.';
COMMENT ON COLUMN continuity_break.healing_read_at IS 'When its span was last read again to heal it. Null: never yet.';

COMMENT ON TABLE break_step IS
  'What people did with a break, in order. When it was found and healed stands with the break itself.';
COMMENT ON COLUMN break_step.id IS 'Number of the step, counting up.';
COMMENT ON COLUMN break_step.break_id IS 'The break.';
COMMENT ON COLUMN break_step.kind IS 'taken, commented, resolved or reopened.';
COMMENT ON COLUMN break_step.audit_entry_id IS 'The audit entry that says who did it and when, with the note.';

COMMENT ON TABLE notice IS 'What is odd about a ledger though no balance breaks. Each is told once.';
COMMENT ON COLUMN notice.merchant_no IS 'The platform''s number of the merchant; of two merchants the one that sorts first.';
COMMENT ON COLUMN notice.kind IS
  'empty: a busy day without entries. first: a first opening that no entry made. shared: entries that two merchants '
  'have.';
COMMENT ON COLUMN notice.currency IS 'Currency code of the account; '''' where every account of the merchant is meant.';
COMMENT ON COLUMN notice.day IS 'The business day.';
COMMENT ON COLUMN notice.other_merchant_no IS 'Of shared entries the other merchant; '''' for the other kinds.';
COMMENT ON COLUMN notice.figures IS
  'What the sentence says. empty: fewest and most entries of that weekday before. first: opening. shared: count and a '
  'few batchNos.';
COMMENT ON COLUMN notice.found_at IS 'When it was found.';
COMMENT ON COLUMN notice.run_id IS 'The run that found it.';
COMMENT ON COLUMN notice.told_at IS 'When a run that tells it was on record. Null: the next run tells it.';

-- Statements.
COMMENT ON TABLE statement IS
  'The published revisions of statements. A row tells the figures as they were published; account_day may have moved on '
  'since.';
COMMENT ON COLUMN statement.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN statement.currency IS 'Currency code of the account.';
COMMENT ON COLUMN statement.day IS 'The business day.';
COMMENT ON COLUMN statement.revision IS 'Revision of the statement, from 1.';
COMMENT ON COLUMN statement.sha256 IS 'SHA-256 of the file, in hex.';
COMMENT ON COLUMN statement.byte_count IS 'Size of the file in bytes.';
COMMENT ON COLUMN statement.row_count IS 'How many entries the file has.';
COMMENT ON COLUMN statement.object_key IS 'Key of the file, below STATEMENTS_URL.';
COMMENT ON COLUMN statement.opening IS 'Opening as published, in units of the currency.';
COMMENT ON COLUMN statement.credit_total IS 'Sum of the credits as published, in units of the currency.';
COMMENT ON COLUMN statement.credit_count IS 'How many credits.';
COMMENT ON COLUMN statement.debit_total IS 'Sum of the debits as published, in units of the currency.';
COMMENT ON COLUMN statement.debit_count IS 'How many debits.';
COMMENT ON COLUMN statement.closing IS 'Closing as published, in units of the currency.';
COMMENT ON COLUMN statement.verdict IS 'Verdict as published: continuous, reordered or broken.';
COMMENT ON COLUMN statement.break_count IS 'How many breaks it was published with.';
COMMENT ON COLUMN statement.restarted IS
  'True where the opening was derived from the day''s first entry: it need not be the closing of the statement before.';
COMMENT ON COLUMN statement.published_at IS 'When it was published.';
COMMENT ON COLUMN statement.supersedes IS 'The revision that this one replaced. Null for the first.';
COMMENT ON COLUMN statement.reason IS 'Why it replaced that revision, as a sentence. Null for the first.';
COMMENT ON COLUMN statement.run_id IS 'The run that published it. Null where none is on record, as after statements adopt.';
COMMENT ON COLUMN statement.breaks_after IS
  'Of break_count, those between an entry of the day and the next entry, which is of another day.';
COMMENT ON COLUMN statement.columns IS
  'The columns of the file, separated by commas. Null: the first seven, from before this was kept.';

COMMENT ON TABLE statement_summary IS
  'The published revisions of summaries: the file of a merchant''s day with one line for each currency.';
COMMENT ON COLUMN statement_summary.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN statement_summary.day IS 'The business day.';
COMMENT ON COLUMN statement_summary.revision IS 'Revision of the summary, from 1. It counts apart from those of statements.';
COMMENT ON COLUMN statement_summary.sha256 IS 'SHA-256 of the file, in hex.';
COMMENT ON COLUMN statement_summary.object_key IS 'Key of the file, below STATEMENTS_URL.';
COMMENT ON COLUMN statement_summary.published_at IS 'When it was published.';
COMMENT ON COLUMN statement_summary.content IS
  'The file''s text where it tells of resolved breaks, as it could not be made again. Null where the day''s statements '
  'alone make it.';

COMMENT ON TABLE statement_manifest IS
  'The current manifest of each merchant''s day, as it lies in the object store or is about to.';
COMMENT ON COLUMN statement_manifest.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN statement_manifest.day IS 'The business day.';
COMMENT ON COLUMN statement_manifest.revision IS 'Grows with every manifest whose content differs from the one before.';
COMMENT ON COLUMN statement_manifest.epoch IS 'Epoch of the lease it was written under.';
COMMENT ON COLUMN statement_manifest.sha256 IS 'SHA-256 of the file, in hex.';
COMMENT ON COLUMN statement_manifest.byte_count IS 'Size of the file in bytes.';
COMMENT ON COLUMN statement_manifest.content IS
  'The file''s text. It could not be made again, as certificates move on with every reading.';

COMMENT ON TABLE stored_object IS
  'What was read back from the object store under each key, so that a listing alone can tell that nothing was touched '
  'since.';
COMMENT ON COLUMN stored_object.object_key IS 'Key of the file, below STATEMENTS_URL.';
COMMENT ON COLUMN stored_object.sha256 IS 'SHA-256 of the bytes that were read back, in hex.';
COMMENT ON COLUMN stored_object.byte_count IS 'How many bytes were read back.';
COMMENT ON COLUMN stored_object.etag IS 'The store''s own mark of these bytes. Null where it gives none.';

COMMENT ON TABLE untold_revision IS
  'Statements that replaced another or came late, and that no run has told yet. A row goes once a run has told it.';
COMMENT ON COLUMN untold_revision.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN untold_revision.currency IS 'Currency code of the account.';
COMMENT ON COLUMN untold_revision.day IS 'The business day.';
COMMENT ON COLUMN untold_revision.revision IS 'Revision of the statement.';

-- The other operations.
COMMENT ON TABLE reference_list IS 'The platform''s lists (sp2502) that were ever read whole.';
COMMENT ON COLUMN reference_list.kind IS 'bank, occupation, business_nature, purpose or payout_method.';
COMMENT ON COLUMN reference_list.country IS
  'Country of a list of banks or payout methods, ISO 3166 alpha-2; '''' where the list belongs to no country.';
COMMENT ON COLUMN reference_list.read_at IS 'When the last reading was asked for.';
COMMENT ON COLUMN reference_list.item_count IS 'How many items the list had. 0: the platform found nothing.';
COMMENT ON COLUMN reference_list.set_aside IS
  'Items of the last reading that could not be kept, as they came: an array of {place, reason, raw}.';

COMMENT ON TABLE reference_item IS
  'The items of these lists: what each code means, and how long the platform has listed it.';
COMMENT ON COLUMN reference_item.kind IS 'Kind of the list.';
COMMENT ON COLUMN reference_item.country IS 'Country of the list; '''' where it belongs to no country.';
COMMENT ON COLUMN reference_item.code IS 'The platform''s code.';
COMMENT ON COLUMN reference_item.name IS 'What the code stands for, as the platform says it.';
COMMENT ON COLUMN reference_item.method_type IS 'Of a payout method: WALLET or BANK. Null for the other kinds.';
COMMENT ON COLUMN reference_item.is_prompt IS
  'True for a prompt to enter something of one''s own, which is not to be sent as a code.';
COMMENT ON COLUMN reference_item.first_seen_at IS 'When the list had the item first.';
COMMENT ON COLUMN reference_item.last_seen_at IS 'When the list had it last. Null while it has it.';

COMMENT ON TABLE application IS 'Applications for merchants (sp1101), each recorded before it is sent.';
COMMENT ON COLUMN application.id IS 'Number of the application, counting up.';
COMMENT ON COLUMN application.mer_order_no IS 'Our own number of the application, from the file or made here (merOrderNo).';
COMMENT ON COLUMN application.biz_flow IS
  'The platform''s number of the application (bizFlow). Null until a receipt or a result told it.';
COMMENT ON COLUMN application.state IS
  'submitting: recorded, the call has not ended. accepted: received, under review. refused: the platform certainly does '
  'not have it. unknown: nobody can tell. approved, supplement, rejected: its result.';
COMMENT ON COLUMN application.payload_ciphertext IS 'The whole application, encrypted. Null once it was forgotten.';
COMMENT ON COLUMN application.notify_hash IS
  'SHA-256 of the secret in the callback address. Null where the file gave an address of its own.';
COMMENT ON COLUMN application.merchant_no IS 'The merchant number that the approval assigned. Null unless approved.';
COMMENT ON COLUMN application.process_version IS
  'The processVersion that a resubmission has to send. Null where the platform told none.';
COMMENT ON COLUMN application.problem IS
  'Why it is unknown or refused: a sentence without anything of the payload. Null where it is neither.';
COMMENT ON COLUMN application.detail_ciphertext IS
  'What the platform said of it, a refusal or the message of a result, encrypted. Null where it said nothing.';
COMMENT ON COLUMN application.replaces IS
  'The earlier application that a person replaced by this one. Null where it replaces none.';
COMMENT ON COLUMN application.holder IS 'The process that submits it, as host:pid:boot.';
COMMENT ON COLUMN application.submitted_at IS 'When it was recorded, right before it was sent.';
COMMENT ON COLUMN application.changed_at IS 'When its state changed last.';
COMMENT ON COLUMN application.is_received IS
  'True where the platform said that it received the application and named no bizFlow: it stands as unknown, and is not '
  'lost.';
COMMENT ON COLUMN application.recorded_name_ciphertext IS
  'The merchant''s name as the platform has it (merNameEn of the last result), encrypted. Null where no result told it.';
COMMENT ON COLUMN application.forgotten_at IS 'When its personal data was taken out. Null while it is kept.';

COMMENT ON TABLE beneficiary IS
  'Beneficiaries registered with the platform (sp1401), each recorded before anything of it is sent.';
COMMENT ON COLUMN beneficiary.id IS 'Number of the registration, counting up.';
COMMENT ON COLUMN beneficiary.mer_order_no IS
  'Our own number of the registration (merOrderNo). It is used once over all merchants.';
COMMENT ON COLUMN beneficiary.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN beneficiary.biz_mode IS 'B: an enterprise. C: an individual.';
COMMENT ON COLUMN beneficiary.payee_key IS
  'Fingerprint of the account that is to be paid. Two registrations of one payee have the same.';
COMMENT ON COLUMN beneficiary.status IS
  'sending: recorded, and no reply is stored yet. refused: the platform did not take it. 01: under review. 03: rejected. '
  '04: approved.';
COMMENT ON COLUMN beneficiary.payload_ciphertext IS 'The whole request, encrypted, as it is sent again.';
COMMENT ON COLUMN beneficiary.notify_hash IS
  'SHA-256 of the secret in our own callback address. Null where results go elsewhere, or nowhere.';
COMMENT ON COLUMN beneficiary.biz_flow_no IS
  'The platform''s number of the registration (bizFlowNo). Null until a reply told it.';
COMMENT ON COLUMN beneficiary.payee_id IS
  'The platform''s number of the beneficiary (payeeId). Null until a reply or a result told it.';
COMMENT ON COLUMN beneficiary.resp_code IS
  'The platform''s respCode of the reply. Null where there is no reply, or it has none.';
COMMENT ON COLUMN beneficiary.may_have_arrived IS
  'True where a call may have reached the platform and its reply is not stored.';
COMMENT ON COLUMN beneficiary.problem IS
  'Why it was refused or not answered: a sentence without anything that was sent. Null where it was not.';
COMMENT ON COLUMN beneficiary.sends IS 'How often it was sent.';
COMMENT ON COLUMN beneficiary.claim IS 'The call that is being made just now. Null between calls.';
COMMENT ON COLUMN beneficiary.claimed_by IS 'The process that makes the call, as host:pid:boot. Null between calls.';
COMMENT ON COLUMN beneficiary.claimed_until IS 'When that call has ended for certain. Null between calls.';
COMMENT ON COLUMN beneficiary.recorded_at IS 'When it was recorded.';
COMMENT ON COLUMN beneficiary.replied_at IS 'When the platform''s reply was stored. Null before that.';
COMMENT ON COLUMN beneficiary.decided_at IS 'When a result or a person moved it out of review. Null before that.';
COMMENT ON COLUMN beneficiary.note IS 'What the person said who settled it. Null where nobody did.';

COMMENT ON TABLE notification IS
  'Results that the platform pushed (sp3101, sp3401): every post as it came, kept before it is answered.';
COMMENT ON COLUMN notification.id IS 'Chosen before the row is written. The ciphertext is bound to it.';
COMMENT ON COLUMN notification.number IS 'Number of the post, for people, in order of arrival.';
COMMENT ON COLUMN notification.kind IS 'onboarding or beneficiary.';
COMMENT ON COLUMN notification.notify_hash IS 'SHA-256 of the secret in the path that it came by.';
COMMENT ON COLUMN notification.body_ciphertext IS 'The body, encrypted. Null once it was forgotten.';
COMMENT ON COLUMN notification.received_at IS 'When it came.';
COMMENT ON COLUMN notification.outcome IS
  'What became of it: applied, duplicate, unknown, contradiction, second-token, malformed; waiting while our own request '
  'has no reply stored. Null: not looked at yet.';
COMMENT ON COLUMN notification.reason IS
  'Why, as a sentence with nothing in it that came with the post. Null where there is nothing to say.';
COMMENT ON COLUMN notification.mer_order_no IS
  'Our own number of the application or registration that the path belongs to. Null where it belongs to none.';
COMMENT ON COLUMN notification.processed_at IS 'When its outcome was settled. Null before that.';
COMMENT ON COLUMN notification.resolved_at IS 'When a person dealt with it. Null where nobody did.';
COMMENT ON COLUMN notification.note IS 'What that person said. Null where nobody did.';
COMMENT ON COLUMN notification.source IS
  'The address it was posted from, as far as trusted proxies tell it. Null where nobody can tell.';
COMMENT ON COLUMN notification.body_bytes IS 'Size of the ciphertext in bytes.';
COMMENT ON COLUMN notification.result_digest IS
  'Keyed digest of the result that was applied: the same result has the same one. Null where none was.';
COMMENT ON COLUMN notification.forgotten_at IS 'When its body was taken out. Null while it is kept.';

-- Keys, and who did what.
COMMENT ON TABLE fingerprint_key IS 'Keys of fingerprints, by what they fingerprint. A key is random and stays the same.';
COMMENT ON COLUMN fingerprint_key.name IS 'What is fingerprinted with it.';
COMMENT ON COLUMN fingerprint_key.key_ciphertext IS 'The key, encrypted with the secret keys.';

COMMENT ON TABLE secret_key_check IS 'What tells a wrong secret key from the right one.';
COMMENT ON COLUMN secret_key_check.key_id IS 'Id of the key in DAYBOOK_SECRET_KEYS.';
COMMENT ON COLUMN secret_key_check.check_value IS 'HMAC-SHA256 of the id by the key, in hex. It says nothing about the key.';

COMMENT ON TABLE audit_entry IS 'What people did by hand that somebody has to answer for. Rows are added and never changed.';
COMMENT ON COLUMN audit_entry.id IS 'Number of the row, counting up.';
COMMENT ON COLUMN audit_entry.at IS 'When it was done.';
COMMENT ON COLUMN audit_entry.by_whom IS 'The name given with --by, else the user of the system.';
COMMENT ON COLUMN audit_entry.command IS 'The command as it is typed, without options.';
COMMENT ON COLUMN audit_entry.subject IS 'What it was about: a number or a file. Never a secret or personal data.';
COMMENT ON COLUMN audit_entry.note IS 'The note that was given. Null where there was none.';

COMMENT ON TABLE database_identity IS
  'What tells this database from every other one. The object store''s mark names it; a restored backup keeps it.';
COMMENT ON COLUMN database_identity.id IS 'The identity.';
COMMENT ON COLUMN database_identity.is_only IS 'Always true, so that there is one row.';

-- Views.
COMMENT ON VIEW daybook_account_days IS 'An account''s business day: what is known of it now, and what is published of it.';
COMMENT ON COLUMN daybook_account_days.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN daybook_account_days.currency IS 'Currency code of the account.';
COMMENT ON COLUMN daybook_account_days.day IS 'The business day.';
COMMENT ON COLUMN daybook_account_days.opening IS 'The balance the day starts from, in units of the currency.';
COMMENT ON COLUMN daybook_account_days.credit_total IS 'Sum of the credits, in units of the currency.';
COMMENT ON COLUMN daybook_account_days.credit_count IS 'How many credits.';
COMMENT ON COLUMN daybook_account_days.debit_total IS 'Sum of the debits, in units of the currency.';
COMMENT ON COLUMN daybook_account_days.debit_count IS 'How many debits.';
COMMENT ON COLUMN daybook_account_days.closing IS 'The balance the day ends on, in units of the currency.';
COMMENT ON COLUMN daybook_account_days.verdict IS 'continuous, reordered or broken.';
COMMENT ON COLUMN daybook_account_days.break_count IS 'How many breaks have an entry of the day on either side.';
COMMENT ON COLUMN daybook_account_days.revision IS 'Revision of the current statement. Null before the first.';
COMMENT ON COLUMN daybook_account_days.is_published IS 'True where the current statement says what these figures say.';

COMMENT ON VIEW daybook_open_breaks IS
  'Places where an account''s balance does not follow from the entry before, neither healed nor resolved.';
COMMENT ON COLUMN daybook_open_breaks.id IS 'Number of the break.';
COMMENT ON COLUMN daybook_open_breaks.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN daybook_open_breaks.currency IS 'Currency code of the account.';
COMMENT ON COLUMN daybook_open_breaks.day IS 'Business day of the entry behind the break.';
COMMENT ON COLUMN daybook_open_breaks.after_batch_no IS 'The entry in front of the break. Null where there is none.';
COMMENT ON COLUMN daybook_open_breaks.before_batch_no IS 'The entry behind the break.';
COMMENT ON COLUMN daybook_open_breaks.expected_balance IS 'The balance the chain had reached, in units of the currency.';
COMMENT ON COLUMN daybook_open_breaks.found_balance IS 'The balance the next entry starts from, in units of the currency.';
COMMENT ON COLUMN daybook_open_breaks.missing_net IS
  'found_balance - expected_balance: the net amount of what is missing, a credit above zero.';
COMMENT ON COLUMN daybook_open_breaks.hint IS 'What the break most likely comes from; unexplained where nothing tells.';
COMMENT ON COLUMN daybook_open_breaks.hint_batch_no IS 'The entry that the hint speaks of. Null where it speaks of none.';
COMMENT ON COLUMN daybook_open_breaks.begins_at IS 'First instant at which something can be missing or too much.';
COMMENT ON COLUMN daybook_open_breaks.ends_at IS 'Last instant at which something can be missing or too much.';
COMMENT ON COLUMN daybook_open_breaks.found_at IS 'When the break was found.';

COMMENT ON VIEW daybook_coverage IS
  'How far ledgers are proven: an unbroken stretch of time under certificate. Two rows of a merchant have a gap between '
  'them.';
COMMENT ON COLUMN daybook_coverage.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN daybook_coverage.currency IS 'The currency that was read. Null where every currency was.';
COMMENT ON COLUMN daybook_coverage.proven_from IS 'First instant of the stretch.';
COMMENT ON COLUMN daybook_coverage.proven_until IS 'First instant after the stretch, which is not proven.';
COMMENT ON COLUMN daybook_coverage.last_proven_at IS 'When the newest certificate was made for this merchant and currency.';

COMMENT ON VIEW daybook_statements IS 'The published revisions of statements.';
COMMENT ON COLUMN daybook_statements.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN daybook_statements.currency IS 'Currency code of the account.';
COMMENT ON COLUMN daybook_statements.day IS 'The business day.';
COMMENT ON COLUMN daybook_statements.revision IS 'Revision of the statement, from 1.';
COMMENT ON COLUMN daybook_statements.is_current IS 'True for the revision that stands.';
COMMENT ON COLUMN daybook_statements.opening IS 'Opening as published, in units of the currency.';
COMMENT ON COLUMN daybook_statements.credit_total IS 'Sum of the credits as published, in units of the currency.';
COMMENT ON COLUMN daybook_statements.credit_count IS 'How many credits.';
COMMENT ON COLUMN daybook_statements.debit_total IS 'Sum of the debits as published, in units of the currency.';
COMMENT ON COLUMN daybook_statements.debit_count IS 'How many debits.';
COMMENT ON COLUMN daybook_statements.closing IS 'Closing as published, in units of the currency.';
COMMENT ON COLUMN daybook_statements.verdict IS 'Verdict as published: continuous, reordered or broken.';
COMMENT ON COLUMN daybook_statements.break_count IS 'How many breaks it was published with.';
COMMENT ON COLUMN daybook_statements.row_count IS 'How many entries the file has.';
COMMENT ON COLUMN daybook_statements.byte_count IS 'Size of the file in bytes.';
COMMENT ON COLUMN daybook_statements.sha256 IS 'SHA-256 of the file, in hex.';
COMMENT ON COLUMN daybook_statements.object_key IS 'Key of the file, below STATEMENTS_URL.';
COMMENT ON COLUMN daybook_statements.published_at IS 'When it was published.';
COMMENT ON COLUMN daybook_statements.supersedes IS 'The revision that this one replaced. Null for the first.';
COMMENT ON COLUMN daybook_statements.reason IS 'Why it replaced that revision, as a sentence. Null for the first.';
