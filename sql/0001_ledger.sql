-- What the platform holds, what it held before, and how far it is proven. Amounts are unconstrained numeric:
-- numeric(p,s) would round silently. What orders rows is COLLATE "C", so that every server puts them in the same order.

CREATE TABLE merchant (
  merchant_no text COLLATE "C" PRIMARY KEY,
  -- null where the token comes from the settings; else 'v1:<key id>:<nonce>:<tag>:<ciphertext>', base64
  token_ciphertext text,
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')),
  added_at timestamptz NOT NULL
);

CREATE TABLE run (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  command text NOT NULL,
  -- wall-clock time a scheduled job was due at; null where a person started it
  slot text,
  holder text NOT NULL,
  from_day date,
  to_day date,
  started_at timestamptz NOT NULL,
  finished_at timestamptz,
  -- null while running, or when the process was killed
  exit_code integer,
  figures jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX run_started ON run (started_at DESC);
CREATE INDEX run_slot ON run (slot) WHERE slot IS NOT NULL;

-- One row a name; the epoch grows with every holder, and every write transaction checks it.
CREATE TABLE lease (
  name text PRIMARY KEY,
  epoch bigint NOT NULL,
  -- 'host:pid:boot', see src/store/process-identity.ts
  holder text NOT NULL,
  acquired_at timestamptz NOT NULL,
  -- null when released
  expires_at timestamptz
);

CREATE TABLE ledger_entry (
  merchant_no text COLLATE "C" NOT NULL,
  batch_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  transaction_type text NOT NULL,
  -- NaN sorts above Infinity, so both are refused
  credit numeric CHECK (credit >= 0 AND credit < 'Infinity'),
  debit numeric CHECK (debit >= 0 AND debit < 'Infinity'),
  balance numeric NOT NULL CHECK (balance > '-Infinity' AND balance < 'Infinity'),
  booked_at timestamp(0) NOT NULL,
  -- the instant of booked_at: tells the two passes of a repeated hour apart
  booked_ms bigint NOT NULL,
  first_seen_at timestamptz NOT NULL,
  version integer NOT NULL DEFAULT 1,
  vanished_at timestamptz,
  PRIMARY KEY (merchant_no, batch_no),
  CHECK ((credit IS NULL) <> (debit IS NULL))
);
-- Serves the chain and the statements (both read an account in time order), the search for vanished entries, and the
-- list of an account's currencies.
CREATE INDEX ledger_entry_in_time ON ledger_entry (merchant_no, currency, booked_ms, batch_no) WHERE vanished_at IS NULL;
CREATE INDEX ledger_entry_vanished ON ledger_entry (merchant_no, vanished_at) WHERE vanished_at IS NOT NULL;

-- Contents that were current once: the whole entry, kept when the platform changed it.
CREATE TABLE ledger_entry_version (
  merchant_no text COLLATE "C" NOT NULL,
  batch_no text COLLATE "C" NOT NULL,
  version integer NOT NULL,
  currency text COLLATE "C" NOT NULL,
  transaction_type text NOT NULL,
  credit numeric,
  debit numeric,
  balance numeric NOT NULL,
  booked_at timestamp(0) NOT NULL,
  booked_ms bigint NOT NULL,
  superseded_at timestamptz NOT NULL,
  run_id bigint REFERENCES run (id),
  PRIMARY KEY (merchant_no, batch_no, version)
);
CREATE INDEX ledger_entry_version_recent ON ledger_entry_version (superseded_at);

CREATE TABLE quarantined_entry (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  merchant_no text COLLATE "C" NOT NULL,
  batch_no text COLLATE "C",
  raw text NOT NULL,
  reason text NOT NULL,
  -- SHA-256 of raw, so that reading the same wreck again adds nothing
  fingerprint text NOT NULL,
  -- where it can lie: the window it came in, less the certified windows since then that did not hold it
  span int8multirange NOT NULL CHECK (NOT isempty(span)),
  begin_ms bigint NOT NULL GENERATED ALWAYS AS (lower(span)) STORED,
  end_ms bigint NOT NULL GENERATED ALWAYS AS (upper(span) - 1) STORED,
  first_seen_at timestamptz NOT NULL,
  run_id bigint REFERENCES run (id),
  -- set when certified windows no longer hold it anywhere
  released_at timestamptz,
  UNIQUE (merchant_no, fingerprint)
);

-- The certificates, and the spans whose last reading could not be certified. One row a span; a span read again with
-- the same figures is left as it stands. A span without certificate is younger than every certificate it overlaps: a
-- certified reading takes its window out of such spans.
CREATE TABLE sync_window (
  merchant_no text COLLATE "C" NOT NULL,
  -- '' where every currency was read
  currency text COLLATE "C" NOT NULL DEFAULT '',
  begin_ms bigint NOT NULL,
  end_ms bigint NOT NULL,
  -- records the platform said it has = distinct_count + quarantined_count, where certified
  total integer NOT NULL,
  distinct_count integer NOT NULL,
  quarantined_count integer NOT NULL DEFAULT 0,
  requests integer NOT NULL,
  -- null: the last reading could not be certified, and problem says why
  certified_at timestamptz,
  problem text,
  run_id bigint REFERENCES run (id),
  PRIMARY KEY (merchant_no, currency, begin_ms, end_ms),
  CHECK (begin_ms <= end_ms),
  CHECK ((certified_at IS NULL) = (problem IS NOT NULL))
);
-- With the primary key, finds the spans that overlap another: from its begin on, or up to its end, whichever is nearer.
CREATE INDEX sync_window_end ON sync_window (merchant_no, end_ms);
CREATE INDEX sync_window_uncertified ON sync_window (merchant_no, begin_ms) WHERE certified_at IS NULL;

-- Account days whose entries changed since their figures were made.
CREATE TABLE changed_day (
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  day date NOT NULL,
  PRIMARY KEY (merchant_no, currency, day)
);
