-- Who downloaded a day that is revised is looked up by its file, or by its month, however long the record is.
-- A month of very many merchants has a subject that is too long for an index.
CREATE INDEX audit_entry_download ON audit_entry ((left(subject, 200) COLLATE "C")) WHERE command = 'statements get';

-- A merchant that was disabled for months is not late on the day it is enabled.
ALTER TABLE merchant ADD COLUMN enabled_at timestamptz;
COMMENT ON COLUMN merchant.enabled_at IS
  'When it was last enabled or given a token by hand; null if neither happened since this column exists.';

-- A run by hand of one merchant, or of days by date, says nothing about the nights. One that was killed has no figures.
ALTER TABLE run ADD COLUMN is_night boolean;
COMMENT ON COLUMN run.is_night IS
  'Whether it was begun for all merchants and all that a night does, by the schedule or by hand; null where that is not known.';

-- Several processes see the same trouble, and none of them knows when the others saw it last.
ALTER TABLE alert_condition ADD COLUMN seen_at timestamptz;
COMMENT ON COLUMN alert_condition.seen_at IS 'When a process last saw it; null if none did since this column exists.';

ALTER TABLE alert_delivery ADD COLUMN took text[];
COMMENT ON COLUMN alert_delivery.took IS
  'Fingerprints of the addresses that took it, where a mail server took it for some only; null where it is all or none.';

-- One process at a time looks for what no run tells, as it asks for all merchants.
CREATE TABLE alert_look (what text PRIMARY KEY, looked_at timestamptz NOT NULL);
INSERT INTO alert_look (what, looked_at) VALUES ('nights', '-infinity'), ('runs', '-infinity');
COMMENT ON TABLE alert_look IS 'When it was last looked for trouble that no run tells, by whichever process.';
COMMENT ON COLUMN alert_look.what IS 'nights: nights that were missed; runs: runs that were killed or failed untold.';
COMMENT ON COLUMN alert_look.looked_at IS 'When a process last began to look, by the database''s clock.';
