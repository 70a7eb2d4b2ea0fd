-- What roles with few rights need not read or choose: an unreadable entry's text for its currency, and when a person did something.
ALTER TABLE quarantined_entry ADD COLUMN currency text COLLATE "C"
  GENERATED ALWAYS AS (upper(substring(raw COLLATE "C" FROM '"currency"\s*:\s*"([A-Za-z]{3})"'))) STORED;
COMMENT ON COLUMN quarantined_entry.currency IS 'The currency that raw names, in capitals. Null where it is unknown.';

-- Only the owner of the table says when: a rehearsal in the past does.
CREATE FUNCTION stamp_audit_event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER') THEN NEW.at := now(); END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER audit_event_came BEFORE INSERT ON audit_event FOR EACH ROW EXECUTE FUNCTION stamp_audit_event();
COMMENT ON COLUMN audit_event.at IS 'When it was done; for all logins but the owner''s by the database''s clock.';
