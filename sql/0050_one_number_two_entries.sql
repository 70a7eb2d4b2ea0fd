-- A number that alternates between two contents is used for two entries: one content stays, and it is reported once.
ALTER TABLE notice DROP CONSTRAINT notice_kind_check,
  ADD CONSTRAINT notice_kind_check CHECK (kind IN ('empty', 'first', 'shared', 'untyped', 'finer', 'reused'));
COMMENT ON COLUMN notice.kind IS
  'empty: a busy day without entries. first: a first opening that no entry made. shared: entries that two merchants '
  'have. untyped: entries without a transaction type. finer: amounts with more decimals than the currency has. reused: '
  'numbers that are used for two entries.';
COMMENT ON COLUMN notice.figures IS
  'What the sentence says. empty: fewest and most entries of that weekday before. first: opening. shared: count, a few '
  'batchNos, and whose statement was published before. untyped and finer: count and a few batchNos. reused: the same, '
  'and the two contents of the first, the one that is kept first.';
