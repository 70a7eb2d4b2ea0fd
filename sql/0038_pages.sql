-- What the pages look up: who downloaded a file last, and what was revised since a day.
CREATE INDEX audit_entry_subject ON audit_entry (subject, by_whom, at);
CREATE INDEX statement_revised_at ON statement (published_at) WHERE revision > 1;
