-- The columns of a statement's file, as its header has them: a column added later must not make older files unreadable.
-- Null: those of the first seven columns, before this was kept.
ALTER TABLE statement ADD COLUMN columns text;
