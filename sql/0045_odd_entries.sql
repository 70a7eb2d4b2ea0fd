-- An account of a currency that is new may lack its first entry although the merchant has older ones in another
-- currency, so the platform is also asked by currency. And entries that are odd by themselves are told with their day.
ALTER TABLE ledger_past ADD COLUMN currency text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE ledger_past DROP CONSTRAINT ledger_past_pkey, ADD PRIMARY KEY (merchant_no, currency);
COMMENT ON TABLE ledger_past IS
  'How many entries the platform said it has from before an instant. It is asked once for each merchant, and once for '
  'each of its currencies that begins later.';
COMMENT ON COLUMN ledger_past.currency IS 'The currency that was asked for; '''' for every currency together.';
COMMENT ON COLUMN ledger_past.total IS
  'How many entries it has from before. Null where the platform refused the question, or where a currency begins with '
  'the first day read, so that the answer would say nothing.';

ALTER TABLE notice DROP CONSTRAINT notice_kind_check,
  ADD CONSTRAINT notice_kind_check CHECK (kind IN ('empty', 'first', 'shared', 'untyped', 'finer'));
COMMENT ON COLUMN notice.kind IS
  'empty: a busy day without entries. first: a first opening that no entry made. shared: entries that two merchants '
  'have. untyped: entries without a transaction type. finer: amounts with more decimals than the currency has.';
COMMENT ON COLUMN notice.figures IS
  'What the sentence says. empty: fewest and most entries of that weekday before. first: opening. shared: count, a few '
  'batchNos, and whose statement was published before. untyped and finer: count and a few batchNos.';
