-- What is made of the ledger: figures a day, breaks, and the statements published.

CREATE TABLE account_day (
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  day date NOT NULL,
  opening numeric NOT NULL,
  credit_total numeric NOT NULL,
  credit_count integer NOT NULL,
  debit_total numeric NOT NULL,
  debit_count integer NOT NULL,
  closing numeric NOT NULL,
  verdict text NOT NULL CHECK (verdict IN ('continuous', 'reordered', 'broken')),
  break_count integer NOT NULL DEFAULT 0,
  -- the chain's last entry: where the next day takes up
  last_batch_no text COLLATE "C",
  last_booked_ms bigint,
  -- false where entries of this day and the next had to trade places to chain: the chain can not be taken up between them
  clean_end boolean NOT NULL DEFAULT true,
  -- the opening was derived from the first entry, as nothing proven lies before it
  restarted boolean NOT NULL DEFAULT false,
  -- revision of the published statement, null before the first
  revision integer,
  -- set when figures or entries changed since the statement was last written or compared
  publish_due boolean NOT NULL DEFAULT true,
  PRIMARY KEY (merchant_no, currency, day)
);
CREATE INDEX account_day_restarted ON account_day (merchant_no) WHERE restarted;
CREATE INDEX account_day_due ON account_day (merchant_no, day) WHERE publish_due;

CREATE TABLE continuity_break (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  day date NOT NULL,
  after_batch_no text COLLATE "C",
  before_batch_no text COLLATE "C" NOT NULL,
  expected_balance numeric NOT NULL,
  found_balance numeric NOT NULL,
  missing_net numeric NOT NULL,
  hint text NOT NULL,
  hint_batch_no text COLLATE "C",
  begin_ms bigint NOT NULL,
  end_ms bigint NOT NULL,
  status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'healed', 'resolved')),
  found_at timestamptz NOT NULL,
  closed_at timestamptz,
  note text,
  run_id bigint REFERENCES run (id)
);
CREATE INDEX continuity_break_account ON continuity_break (merchant_no, currency, day);

CREATE TABLE statement (
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  day date NOT NULL,
  revision integer NOT NULL,
  sha256 text NOT NULL,
  byte_count bigint NOT NULL,
  row_count integer NOT NULL,
  object_key text NOT NULL,
  -- the figures as published: account_day may have moved on since
  opening numeric NOT NULL,
  credit_total numeric NOT NULL,
  credit_count integer NOT NULL,
  debit_total numeric NOT NULL,
  debit_count integer NOT NULL,
  closing numeric NOT NULL,
  verdict text NOT NULL,
  break_count integer NOT NULL,
  -- the opening was derived from the first entry: it need not be the closing of the statement before
  restarted boolean NOT NULL DEFAULT false,
  published_at timestamptz NOT NULL,
  -- the revision this one replaces, and why
  supersedes integer,
  reason text,
  run_id bigint REFERENCES run (id),
  PRIMARY KEY (merchant_no, currency, day, revision)
);

CREATE TABLE statement_summary (
  merchant_no text COLLATE "C" NOT NULL,
  day date NOT NULL,
  revision integer NOT NULL,
  sha256 text NOT NULL,
  object_key text NOT NULL,
  published_at timestamptz NOT NULL,
  PRIMARY KEY (merchant_no, day, revision)
);
