-- runs with: none
-- Who did something is a name that a process gives, and each login of the database can give any. Which login it was, the database says.
ALTER TABLE audit_event ADD COLUMN login text;

CREATE OR REPLACE FUNCTION stamp_audit_event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER') THEN NEW.at := now(); END IF;
  NEW.login := session_user;
  RETURN NEW;
END $$;
COMMENT ON COLUMN audit_event.by_whom IS 'The name given with --by, else the user of the system; at the pages, who is logged in. No more than the word of login.';
COMMENT ON COLUMN audit_event.login IS 'The login that added the row, as the database itself knows it. Null in rows of before this column.';
