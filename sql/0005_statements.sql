-- The figures of an account on one business day, as they are now. opening + credit_total - debit_total = closing, or the day is broken.
CREATE TABLE account_day (
  merchant_no text COLLATE "C" NOT NULL, currency text COLLATE "C" NOT NULL,
  day date NOT NULL, -- The business day: a calendar day in the platform's zone.
  opening numeric NOT NULL, -- The balance the day starts from, in units of the currency.
  credit_total numeric NOT NULL, -- Sum of the credits, in units of the currency.
  credit_count integer NOT NULL,
  debit_total numeric NOT NULL, -- Sum of the debits, in units of the currency.
  debit_count integer NOT NULL,
  closing numeric NOT NULL, -- The balance the day ends on, in units of the currency.
  -- continuous: the entries chain in order of time. reordered: they chain in another order. broken: no order makes the balance follow.
  verdict text NOT NULL CHECK (verdict IN ('continuous', 'reordered', 'broken')),
  break_count integer NOT NULL DEFAULT 0, -- How many breaks have an entry of the day on either side.
  last_batch_no text COLLATE "C", -- The last entry of the chain, where the next day takes up. Null where no entry lies on this day or before it.
  last_booked_ms bigint, -- When that entry was booked, in ms since 1970. Null where last_batch_no is.
  clean_end boolean NOT NULL DEFAULT true, -- False where entries of this day and the next had to trade places to chain: the chain cannot be taken up between them.
  restarted boolean NOT NULL DEFAULT false, -- True where the opening was derived from the day's first entry, as nothing proven lies before it.
  revision integer, -- Revision of the current statement. Null before the first.
  version integer NOT NULL DEFAULT 1, -- Raised in the transaction of each change that the statement or the manifest may have to tell.
  published_version integer NOT NULL DEFAULT 0, -- The version that publishing read when it last wrote or compared the statement. The day is due where version differs.
  breaks_after integer NOT NULL DEFAULT 0,
  jumps_in boolean NOT NULL DEFAULT false, -- True where the first entry does not start from the balance that an earlier day left: both days report that break.
  other_closings text NOT NULL DEFAULT '', -- Other balances that the day may close on just as well, joined by commas; empty where its closing is certain.
  begun_revision integer, -- A revision whose file was begun and whose row is not stored. The next run publishes it, whatever has changed since; null otherwise.
  PRIMARY KEY (merchant_no, currency, day)
);
CREATE INDEX account_day_restarted ON account_day (merchant_no) WHERE restarted;
CREATE INDEX account_day_due ON account_day (merchant_no, day) WHERE (version <> published_version);

-- Account days whose figures are still to be made anew: those of days that are not chained.
CREATE VIEW changed_day AS SELECT
  c.merchant_no, account.currency, c.day
FROM certificate c CROSS JOIN LATERAL (
  WITH RECURSIVE held (currency) AS (
    (SELECT currency FROM ledger_entry WHERE merchant_no = c.merchant_no AND vanished_at IS NULL ORDER BY currency LIMIT 1)
    UNION ALL
    SELECT (SELECT e.currency FROM ledger_entry e
      WHERE e.merchant_no = c.merchant_no AND e.vanished_at IS NULL AND e.currency > held.currency ORDER BY e.currency LIMIT 1)
    FROM held WHERE held.currency IS NOT NULL
  ), figured (currency) AS (
    (SELECT currency FROM account_day WHERE merchant_no = c.merchant_no ORDER BY currency LIMIT 1)
    UNION ALL
    SELECT (SELECT d.currency FROM account_day d WHERE d.merchant_no = c.merchant_no AND d.currency > figured.currency ORDER BY d.currency LIMIT 1)
    FROM figured WHERE figured.currency IS NOT NULL
  )
  SELECT currency FROM held WHERE EXISTS (
    SELECT FROM ledger_entry e
    WHERE e.merchant_no = c.merchant_no AND e.currency = held.currency AND e.vanished_at IS NULL AND e.booked_at::date = c.day
      AND e.booked_ms BETWEEN (extract(epoch FROM c.day) * 1000)::bigint - 86400000 AND (extract(epoch FROM c.day) * 1000)::bigint + 172800000
  )
  UNION
  SELECT currency FROM figured WHERE EXISTS (
    SELECT FROM account_day d WHERE d.merchant_no = c.merchant_no AND d.currency = figured.currency AND d.day = c.day
  )
) AS account
WHERE NOT c.chained;

-- Places where an account's balance does not follow from the entry before.
CREATE TABLE continuity_break (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Number of the break, counting up.
  merchant_no text COLLATE "C" NOT NULL, currency text COLLATE "C" NOT NULL,
  day date NOT NULL, -- Business day of the entry behind the break.
  after_batch_no text COLLATE "C", -- The entry in front of the break. Null where there is none.
  before_batch_no text COLLATE "C" NOT NULL, -- The entry behind the break.
  expected_balance numeric NOT NULL, -- The balance the chain had reached, in units of the currency.
  found_balance numeric NOT NULL, -- The balance the next entry starts from, in units of the currency.
  missing_net numeric NOT NULL, -- found_balance - expected_balance: the net amount of what is missing, a credit above zero.
  hint text NOT NULL, -- The most likely cause of the break, one word of a fixed list; unexplained where there is no evidence.
  hint_batch_no text COLLATE "C", -- The entry that the hint speaks of. Null where it speaks of none.
  begin_ms bigint NOT NULL, -- First ms of the span in which the missing thing can lie, since 1970.
  end_ms bigint NOT NULL, -- Last ms of that span, included.
  -- open: it stands. healed: a later reading brought what was missing. resolved: a person said that it is right as it is.
  status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'healed', 'resolved')),
  found_at timestamptz NOT NULL, -- When it was found.
  closed_at timestamptz, -- When it was healed or resolved. Null while it is open.
  note text, -- The note of the person who resolved it. Null while it is not resolved.
  run_id bigint REFERENCES run (id), -- The run that found it. Null where none is on record.
  healing_read_at timestamptz, -- When its span was last read again to heal it. Null: never yet.
  readings_unchanged smallint NOT NULL DEFAULT 0 -- How often in a row its span was read again without a change. From two on it is read again weekly.
);
CREATE INDEX continuity_break_account ON continuity_break (merchant_no, currency, day);
CREATE INDEX continuity_break_open ON continuity_break (merchant_no, id) WHERE (status = 'open');
CREATE INDEX continuity_break_resolved ON continuity_break (merchant_no, end_ms) WHERE (status = 'resolved');

-- The published revisions of statements. A row has the figures as published; account_day may have changed since.
CREATE TABLE statement (
  merchant_no text COLLATE "C" NOT NULL, currency text COLLATE "C" NOT NULL, day date NOT NULL,
  revision integer NOT NULL, -- Revision of the statement, from 1.
  sha256 text NOT NULL,
  byte_count bigint NOT NULL, -- Size of the file in bytes.
  row_count integer NOT NULL, -- How many entries the file has.
  object_key text NOT NULL,
  opening numeric NOT NULL, -- Opening as published, in units of the currency.
  credit_total numeric NOT NULL, -- Sum of the credits as published, in units of the currency.
  credit_count integer NOT NULL,
  debit_total numeric NOT NULL, -- Sum of the debits as published, in units of the currency.
  debit_count integer NOT NULL,
  closing numeric NOT NULL, -- Closing as published, in units of the currency.
  verdict text NOT NULL, -- Verdict as published: continuous, reordered or broken.
  break_count integer NOT NULL, -- How many breaks it was published with.
  restarted boolean NOT NULL DEFAULT false, -- True where the opening was derived from the day's first entry: it need not be the closing of the statement before.
  published_at timestamptz NOT NULL, -- When it was published.
  supersedes integer, -- The revision that this one replaced. Null for the first.
  reason text, -- Why it replaced that revision, as a sentence. Null for the first.
  run_id bigint REFERENCES run (id), -- The run that published it. Null where none is on record, as after statements adopt.
  breaks_after integer NOT NULL DEFAULT 0,
  columns text, -- The columns of the file, separated by commas. Null: the first seven, from before this was kept.
  -- How many entries that may be of the day came and could not be read, when it was published; null where that was not recorded.
  unreadable_count integer CHECK (unreadable_count >= 0),
  -- Other balances that the day might as well close on when it was published, joined by commas; empty where its closing was certain.
  other_closings text NOT NULL DEFAULT '',
  -- At how many places its rows do not lead on to each other, from its opening or to its closing, as entries of a neighbouring day lie there in the order of the balance
  -- chain.
  over_midnight integer NOT NULL DEFAULT 0,
  last_balance text, -- The balance after its last row, where that is not the closing for this reason. Null elsewhere.
  PRIMARY KEY (merchant_no, currency, day, revision)
);
CREATE INDEX statement_revised ON statement (merchant_no, day) WHERE (revision > 1);
CREATE INDEX statement_revised_at ON statement (published_at) WHERE (revision > 1);

-- Files of the object store, those of a day together: what a summary or a manifest must hold, and what was last read back of each file, so that a listing alone can prove
-- that nothing has changed.
CREATE TABLE artifact (
  merchant_no text COLLATE "C" NOT NULL, day date NOT NULL, object_key text COLLATE "C" NOT NULL,
  -- summary; manifest: the current one; file: any other, such as a statement, whose revision is a row of statement.
  kind text NOT NULL CHECK (kind IN ('file', 'summary', 'manifest')),
  revision integer, -- Revision of a summary or manifest, from 1. Null for other files.
  sha256 text NOT NULL, -- SHA-256 that the file must have, in hex.
  byte_count bigint, -- Size of a manifest in bytes. Null for other files.
  published_at timestamptz, -- When a summary was published. Null for other files.
  epoch bigint, -- Epoch of the lease that a manifest was written under. Null for other files.
  -- Place of a manifest in the merchant's chain of manifests, from 1. Null for other files, and where it was made before there was a chain.
  place integer CHECK (place > 0),
  signature text, -- The text of a manifest's signature file. Null where there is none, and for other files.
  content text, -- The text of a manifest, and of a summary that names resolved breaks, as they could not be made again. Null for other files.
  stored_sha256 text, -- SHA-256 of the bytes that were last read back, in hex. Null until then.
  stored_bytes bigint, -- How many bytes were read back. Null until then.
  etag text, -- The store's own mark of these bytes. Null where it gives none, and until they were read back.
  PRIMARY KEY (merchant_no, day, object_key),
  CHECK ((kind <> 'summary') OR ((revision IS NOT NULL) AND (published_at IS NOT NULL))),
  CHECK ((kind <> 'manifest') OR ((revision IS NOT NULL) AND (byte_count IS NOT NULL) AND (epoch IS NOT NULL) AND (content IS NOT NULL))),
  CHECK ((stored_sha256 IS NULL) = (stored_bytes IS NULL))
);
CREATE INDEX artifact_place ON artifact (merchant_no, place) WHERE (place IS NOT NULL);

-- Months that a person closed. Rows are added, and nothing of them is changed, but for a signature that was missing and for the reopening.
CREATE TABLE month_close (
  merchant_no text COLLATE "C" NOT NULL, month date NOT NULL CHECK (EXTRACT(day FROM month) = (1)::numeric),
  number integer NOT NULL CHECK (number > 0), -- Which close of this month it is, from 1. The last one counts.
  audit_event_id bigint NOT NULL UNIQUE REFERENCES audit_event (id), -- Who closed it, when, and the note.
  despite text, -- Why it was closed though days were open; null where none was.
  open_days integer NOT NULL CHECK (open_days >= 0), -- How many days of its accounts were open.
  object_key text NOT NULL, -- Where its file is in the object store.
  sha256 text NOT NULL,
  content text NOT NULL, -- Text of the file.
  signature text, -- The text of the signature file. Null where there is none.
  frozen jsonb NOT NULL, -- The statements that it froze: by currency and business day (YYYY-MM-DD) the revision that was current then.
  prepared_event_id bigint UNIQUE REFERENCES audit_event (id), -- Who prepared it, when, and the note. Null where one person closed it.
  reopened_event_id bigint UNIQUE REFERENCES audit_event (id), -- Who reopened the month, when, and the reason. Null where no one did.
  PRIMARY KEY (merchant_no, month, number),
  CHECK ((open_days = 0) OR (despite IS NOT NULL))
);

-- Months that a person prepared and that wait for approval by another person. The row goes when the month is closed or the preparation is withdrawn.
CREATE TABLE month_preparation (
  merchant_no text COLLATE "C" NOT NULL, month date NOT NULL CHECK (EXTRACT(day FROM month) = (1)::numeric),
  audit_event_id bigint NOT NULL UNIQUE REFERENCES audit_event (id), -- Who prepared it, when, and the note.
  despite text, -- Why it is to be closed though days are open. Null where none is.
  draft text NOT NULL, -- What is to be closed, as JSON: the statements, the adjustments and the open days.
  PRIMARY KEY (merchant_no, month)
);

-- What dashboards may rely on: these views keep their names, columns and meaning, whatever becomes of the tables under them.

-- An account's business day: what is known of it now, and what is published of it.
CREATE VIEW daybook_account_days AS SELECT
  merchant_no, currency, day,
  opening, -- The balance the day starts from, in units of the currency.
  credit_total, -- Sum of the credits, in units of the currency.
  credit_count,
  debit_total, -- Sum of the debits, in units of the currency.
  debit_count,
  closing, -- The balance the day ends on, in units of the currency.
  verdict, -- continuous, reordered or broken.
  break_count, -- How many breaks have an entry of the day on either side.
  revision, -- Revision of the current statement. Null before the first.
  revision IS NOT NULL AND version = published_version AS is_published -- True where the current statement says what these figures say.
FROM account_day;

-- Places where an account's balance does not follow from the entry before, neither healed nor resolved.
CREATE VIEW daybook_open_breaks AS SELECT
  id, -- Number of the break.
  merchant_no, currency,
  day, -- Business day of the entry behind the break.
  after_batch_no, -- The entry in front of the break. Null where there is none.
  before_batch_no, -- The entry behind the break.
  expected_balance, -- The balance the chain had reached, in units of the currency.
  found_balance, -- The balance the next entry starts from, in units of the currency.
  missing_net, -- found_balance - expected_balance: the net amount of what is missing, a credit above zero.
  hint, -- The most likely cause of the break; unexplained where there is no evidence.
  hint_batch_no, -- The entry that the hint speaks of. Null where it speaks of none.
  to_timestamp(begin_ms / 1000.0) AS begins_at, -- First instant at which something can be missing or too much.
  to_timestamp(end_ms / 1000.0) AS ends_at, -- Last instant at which something can be missing or too much.
  found_at -- When the break was found.
FROM continuity_break WHERE status = 'open';

-- How far ledgers are proven: an unbroken stretch of time under certificate. Two rows of a merchant have a gap between them.
CREATE VIEW daybook_coverage AS SELECT
  merchant_no,
  to_timestamp(lower(stretch) / 1000.0) AS proven_from, -- First instant of the stretch.
  to_timestamp(upper(stretch) / 1000.0) AS proven_until, -- First instant after the stretch, which is not proven.
  last_proven_at -- When the newest certificate of this merchant was made.
FROM (
  SELECT merchant_no, unnest(range_agg(int8range(begin_ms, through_ms, '[]'))) AS stretch, max(read_at) AS last_proven_at
  FROM certificate WHERE read_at IS NOT NULL AND problem IS NULL GROUP BY merchant_no
) AS proven;

-- The published revisions of statements.
CREATE VIEW daybook_statements AS SELECT
  merchant_no, currency, day,
  revision, -- Revision of the statement, from 1.
  revision = max(revision) OVER (PARTITION BY merchant_no, currency, day) AS is_current, -- True for the revision that stands.
  opening, -- Opening as published, in units of the currency.
  credit_total, -- Sum of the credits as published, in units of the currency.
  credit_count,
  debit_total, -- Sum of the debits as published, in units of the currency.
  debit_count,
  closing, -- Closing as published, in units of the currency.
  verdict, -- Verdict as published: continuous, reordered or broken.
  break_count, -- How many breaks it was published with.
  row_count, -- How many entries the file has.
  byte_count, -- Size of the file in bytes.
  sha256, object_key,
  published_at, -- When it was published.
  supersedes, -- The revision that this one replaced. Null for the first.
  reason -- Why it replaced that revision, as a sentence. Null for the first.
FROM statement;
