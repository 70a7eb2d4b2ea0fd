-- What the pages look up: when a person downloaded a file last, and what was revised since a day. The first index serves
-- as audit_entry_download did, and finds one person's last download at once. Names have no bound, an index's rows do.
DROP INDEX audit_entry_download;
CREATE INDEX audit_entry_download ON audit_entry
  ((left(subject, 200) COLLATE "C"), (left(by_whom, 200) COLLATE "C"), at) WHERE command = 'statements get';
CREATE INDEX statement_revised_at ON statement (published_at) WHERE revision > 1;
