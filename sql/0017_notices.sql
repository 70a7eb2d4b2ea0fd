-- What is odd about a ledger though no balance breaks: a busy day without entries, a first opening out of nothing, an
-- entry that two merchants have. Each is told once.
CREATE TABLE notice (
  merchant_no text COLLATE "C" NOT NULL,
  kind text NOT NULL CHECK (kind IN ('empty', 'first', 'shared')),
  -- '' where every account of the merchant is meant
  currency text COLLATE "C" NOT NULL DEFAULT '',
  day date NOT NULL,
  -- of the two merchants that have an entry the later one by number; '' for the other kinds
  other_merchant_no text COLLATE "C" NOT NULL DEFAULT '',
  -- what the sentence says: counts, an opening, a few batch numbers
  figures jsonb NOT NULL,
  found_at timestamptz NOT NULL,
  run_id bigint NOT NULL REFERENCES run (id),
  -- when a run that tells it was on record; null: the next run tells it
  told_at timestamptz,
  PRIMARY KEY (merchant_no, kind, currency, day, other_merchant_no)
);
CREATE INDEX notice_untold ON notice (merchant_no) WHERE told_at IS NULL;

-- How many entries the platform said it has from before an instant, so that it is asked once.
CREATE TABLE ledger_past (
  merchant_no text COLLATE "C" PRIMARY KEY,
  before_ms bigint NOT NULL,
  -- null where the platform refused the question
  total bigint,
  asked_at timestamptz NOT NULL
);
