-- runs beside: none
-- Which programs may work with this database. A migration after this one that only adds what older programs need not know
-- names the oldest of them in its first line; one that takes something away says `none`.
ALTER TABLE installation ADD COLUMN oldest_program text NOT NULL DEFAULT '0063' CHECK (oldest_program ~ '^\d{4}$');
COMMENT ON COLUMN installation.oldest_program IS
  'A program may work with this database if it knows the migration of this number, also where it does not know later ones.';
