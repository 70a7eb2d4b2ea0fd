-- An entry is looked for by its number, also among those that came unreadable. Few rows are: it costs a page now and then.
CREATE INDEX quarantined_entry_batch_no ON quarantined_entry (batch_no) WHERE batch_no IS NOT NULL;
