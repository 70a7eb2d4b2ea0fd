-- A run that ends between the file of a revision and its row leaves a file that nothing names, so the number is recorded first.
ALTER TABLE account_day ADD COLUMN begun_revision integer;
COMMENT ON COLUMN account_day.begun_revision IS
  'A revision whose file was begun and whose row is not stored. The next run publishes it, whatever has changed since; null otherwise.';
