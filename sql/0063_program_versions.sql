-- runs with: none
-- Which programs may work with this database. A migration after this one that only adds what older programs need not know
-- names the oldest of them in its first line; one that takes something away says `none`.
ALTER TABLE installation ADD COLUMN oldest_program text NOT NULL DEFAULT '0063' CHECK (oldest_program ~ '^\d{4}$');
COMMENT ON COLUMN installation.oldest_program IS
  'A program may work with this database if it knows the migration of this number, also where it does not know later ones.';

-- A program that did not see the migration, for example a worker that runs on, or one of before that asks no such number, may
-- neither begin a run nor take a lease. Its connections are named `daybook/NNNN` by its last migration, and `daybook` before 0063.
CREATE FUNCTION refuse_older_program() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  program text := coalesce(substring(current_setting('application_name') FROM '^daybook/(\d{4})$'), '0000');
  oldest text := (SELECT oldest_program FROM installation);
BEGIN
  IF current_setting('application_name') ~ '^daybook(/\d{4})?$' AND program < oldest THEN
    RAISE EXCEPTION USING ERRCODE = 'DB001',
      MESSAGE = format('the database is newer than this program (%s > %s)', oldest, program),
      HINT = 'Run the version of daybook that changed it, or a later one.';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER refuse_older_program BEFORE INSERT ON run EXECUTE FUNCTION refuse_older_program();
CREATE TRIGGER refuse_older_program BEFORE INSERT OR UPDATE ON lease EXECUTE FUNCTION refuse_older_program();
