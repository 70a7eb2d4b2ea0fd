-- The entries of the ledger as the platform showed them last. An entry is never deleted.
CREATE TABLE ledger_entry (
  merchant_no text COLLATE "C" NOT NULL,
  batch_no text COLLATE "C" NOT NULL, -- The platform's number of the entry. It names one entry of the merchant.
  currency text COLLATE "C" NOT NULL, -- Currency code, usually of ISO 4217.
  transaction_type text NOT NULL, -- The platform's code for the kind of entry (busiType).
  -- Amount added to the account, exact, in units of the currency. Null where the entry is a debit.
  credit numeric CHECK ((credit >= 0) AND (credit < 'Infinity')),
  -- Amount taken from the account, exact, in units of the currency. Null where the entry is a credit.
  debit numeric CHECK ((debit >= 0) AND (debit < 'Infinity')),
  -- Available balance of the account after the entry, exact, in units of the currency. It may be negative.
  balance numeric NOT NULL CHECK ((balance > '-Infinity') AND (balance < 'Infinity')),
  booked_at timestamp(0) without time zone NOT NULL, -- When the entry was booked, by the clock of the platform's zone, as the platform sent it.
  booked_ms bigint NOT NULL, -- The instant of booked_at, in ms since 1970. It separates the two passes of a repeated hour.
  first_seen_at timestamptz NOT NULL, -- When the entry was first stored.
  version integer NOT NULL DEFAULT 1, -- Which version of its content this is, from 1. Earlier ones are in ledger_entry_version.
  vanished_at timestamptz, -- When it was taken for certain that the platform no longer shows the entry. Null while it shows it.
  PRIMARY KEY (merchant_no, batch_no),
  CHECK ((credit IS NULL) <> (debit IS NULL))
);
CREATE INDEX ledger_entry_in_time ON ledger_entry (merchant_no, currency, booked_ms, batch_no) WHERE (vanished_at IS NULL);
CREATE INDEX ledger_entry_vanished ON ledger_entry (merchant_no, vanished_at) WHERE (vanished_at IS NOT NULL);
CREATE INDEX ledger_entry_vanished_in_time ON ledger_entry (merchant_no, currency, booked_ms) WHERE (vanished_at IS NOT NULL);
CREATE INDEX ledger_entry_number ON ledger_entry (batch_no, booked_ms);

-- Earlier contents of entries that the platform has changed since: the complete entry as it was.
CREATE TABLE ledger_entry_version (
  merchant_no text COLLATE "C" NOT NULL, batch_no text COLLATE "C" NOT NULL,
  version integer NOT NULL, -- Which version this content was, from 1.
  currency text COLLATE "C" NOT NULL, -- Currency code in this version.
  transaction_type text NOT NULL, -- The platform's code for the kind of entry in this version.
  credit numeric, -- Amount added in this version, in units of the currency. Null where it was a debit.
  debit numeric, -- Amount taken away in this version, in units of the currency. Null where it was a credit.
  balance numeric NOT NULL, -- Balance after the entry in this version, in units of the currency.
  booked_at timestamp(0) without time zone NOT NULL, -- When the entry was booked in this version, by the clock of the platform's zone.
  booked_ms bigint NOT NULL, -- The instant of booked_at, in ms since 1970.
  superseded_at timestamptz NOT NULL, -- When the next version took its place.
  run_id bigint REFERENCES run (id), -- The run that found the change. Null where none is on record.
  PRIMARY KEY (merchant_no, batch_no, version)
);
CREATE INDEX ledger_entry_version_recent ON ledger_entry_version (superseded_at);
CREATE INDEX ledger_entry_version_in_time ON ledger_entry_version (merchant_no, currency, booked_ms);

-- What came as an entry and cannot be read as one, or was not asked for. Its text is kept as it came.
CREATE TABLE quarantined_entry (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, merchant_no text COLLATE "C" NOT NULL,
  batch_no text COLLATE "C", -- The platform's number of the entry. Null where none can be read.
  raw text NOT NULL, -- The entry's JSON exactly as it came.
  reason text NOT NULL, -- Why it cannot be taken as an entry, as a sentence.
  fingerprint text NOT NULL, -- SHA-256 of raw, so that reading the same text again adds no row.
  -- Where the entry can lie, in ms since 1970: the window it came in, less the certified windows since then that did not hold it.
  span int8multirange NOT NULL CHECK (NOT isempty(span)),
  begin_ms bigint NOT NULL GENERATED ALWAYS AS (lower(span)) STORED, -- First ms of span.
  end_ms bigint NOT NULL GENERATED ALWAYS AS ((upper(span) - 1)) STORED, -- Last ms of span, included.
  first_seen_at timestamptz NOT NULL, -- When it was first stored.
  run_id bigint REFERENCES run (id), -- The run that stored it first. Null where none is on record.
  released_at timestamptz, -- When certified windows no longer held it anywhere. Null while the platform still sends it.
  acknowledged_at timestamptz, -- When a person closed it with a note. Null while it needs one.
  note text, -- The note of that person. Null while it is open.
  occurrences integer NOT NULL DEFAULT 1 CHECK (occurrences > 0), -- How often the same text came in one reading.
  -- The currency that raw names, in capitals. Null where it is unknown.
  currency text COLLATE "C" GENERATED ALWAYS AS (upper(substring((raw COLLATE "C"), '"currency"\s*:\s*"([A-Za-z]{3})"'))) STORED,
  UNIQUE (merchant_no, fingerprint),
  CHECK ((acknowledged_at IS NULL) = (note IS NULL))
);
CREATE INDEX quarantined_entry_batch_no ON quarantined_entry (batch_no) WHERE (batch_no IS NOT NULL);
CREATE INDEX quarantined_entry_open ON quarantined_entry (merchant_no) WHERE ((released_at IS NULL) AND (acknowledged_at IS NULL));

-- A merchant's business days as they were last read: one row a day, and the unit of proof. A day is complete where its last reading was certified and nothing of it is
-- in doubt.
CREATE TABLE certificate (
  merchant_no text COLLATE "C" NOT NULL,
  day date NOT NULL, -- The business day: a calendar day in the platform's zone.
  begin_ms bigint, -- First ms of the day that was read, since 1970.
  through_ms bigint, -- Last ms of the day that was read, included. Before the day's last one where the day was not over.
  total integer, -- How many records the platform said it has there. Where certified: entries + unreadable.
  entries integer, -- How many distinct entries came.
  unreadable integer, -- How many records came that could not be read as entries.
  requests integer, -- How many calls the reading took.
  read_at timestamptz, -- When a reading had these figures first. Null: entries of the day are stored, and the day itself was never read.
  problem text, -- Why the last reading could not be certified. Null where it is certified.
  run_id bigint REFERENCES run (id), -- The run of that reading. Null where none is on record.
  chained boolean NOT NULL DEFAULT false, -- False where entries or the certificate changed and figures are still to be made.
  compared boolean NOT NULL DEFAULT true, -- False where entries changed and are still to be compared with those of other merchants.
  changes integer NOT NULL DEFAULT 0, -- How often entries of the day were stored, changed or marked as vanished: who remembers the number sees whether they changed since.
  PRIMARY KEY (merchant_no, day),
  CHECK (begin_ms <= through_ms),
  CHECK (num_nulls(begin_ms, through_ms, total, entries, unreadable, requests, read_at) IN (0, 7)),
  CHECK ((read_at IS NOT NULL) OR ((problem IS NULL) AND (run_id IS NULL)))
);
CREATE INDEX certificate_to_chain ON certificate (merchant_no, day) WHERE (NOT chained);
CREATE INDEX certificate_to_compare ON certificate (merchant_no, day) WHERE (NOT compared);
CREATE INDEX certificate_failed ON certificate (merchant_no, day) WHERE (problem IS NOT NULL);

-- Stored entries that a certified reading did not hold, until that is believed or they come again.
CREATE TABLE absent_entry (
  merchant_no text COLLATE "C" NOT NULL, batch_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL, -- Currency code of the entry.
  booked_ms bigint NOT NULL, -- When the entry was booked, in ms since 1970.
  begin_ms bigint NOT NULL, -- First ms of the planned window whose reading missed it first, since 1970.
  end_ms bigint NOT NULL, -- Last ms of that window, included.
  absent_since timestamptz NOT NULL, -- When it was missed first.
  run_id bigint NOT NULL REFERENCES run (id), -- The run that missed it first.
  held_since timestamptz, -- Since when it is held: with it, all entries of a day or most entries of several days were missing. Null for others.
  accepted_at timestamptz, -- When a person confirmed that it is missing: the next reading without it marks it as vanished. Null until then.
  PRIMARY KEY (merchant_no, batch_no),
  CHECK ((booked_ms >= begin_ms) AND (booked_ms <= end_ms)),
  CHECK ((accepted_at IS NULL) OR (held_since IS NOT NULL))
);
CREATE INDEX absent_entry_in_time ON absent_entry (merchant_no, booked_ms);

-- How far the ledger of a merchant is known: one row for all currencies together, and one for each currency.
CREATE TABLE ledger_cursor (
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL, -- The currency; '' for every currency together.
  past_before_ms bigint, -- The instant, in ms since 1970, before which the platform was asked for the number of its entries; null if it was not.
  -- How many entries it has from before. Null where the platform refused the question, or where a currency begins with the first day read, so that the answer would say
  -- nothing.
  past_total bigint,
  past_asked_at timestamptz, -- When it was asked.
  -- First business day of the daily check of historical days, which lie before those a run reads. This and all columns below are null in the row of a currency, and
  -- before the first check.
  checked_from date,
  checked_to date, -- Last business day that was checked, included.
  checked_total bigint, -- How many entries the platform said that these days have.
  is_held boolean, -- Whether as many are stored, after days that differed were read again.
  checked_at timestamptz, -- When they were last checked.
  by_figures bigint, -- Number of entries of these days by their figures. Null once their entries changed: the next check adds the figures up again.
  round_read integer, -- How many entries this round has compared so far.
  round_of integer, -- How many entries there were when the round began.
  round_began_at timestamptz, -- When the round began.
  round_through_ms bigint, -- The instant, in ms since 1970, up to which this round has compared the entries.
  widest_ms bigint, -- The longest window, in ms, that the platform answers in full; null while it has cut or refused none.
  -- In which order the platform sends pages: oldest first, newest first, or mixed where its pages are no spans of time.
  page_order text CHECK (page_order IN ('oldest first', 'newest first', 'mixed')),
  refused_from_ms bigint, -- The first instant, in ms since 1970, that the platform refuses to show; null if it shows all.
  refused_to_ms bigint, -- The last such instant.
  refused_since timestamptz, -- When it refused for the first time.
  PRIMARY KEY (merchant_no, currency),
  CONSTRAINT ledger_cursor_past CHECK (num_nulls(past_before_ms, past_asked_at) <> 1),
  CONSTRAINT ledger_cursor_checked CHECK (num_nulls(checked_from, checked_to, checked_total, is_held, checked_at, round_read, round_of, round_began_at, round_through_ms, page_order) IN (0, 10))
);

-- How late entries come: how many came late, and by how many days, and how many the compared months have in all.
CREATE TABLE lateness_count (
  merchant_no text COLLATE "C" NOT NULL,
  month date NOT NULL, -- First day of the month in which late entries were first seen, in UTC; of a compared month its first business day.
  days_min integer NOT NULL CHECK (days_min >= 0), -- Full days from the booked time to the certificate that did not have them: they were at least so late.
  -- Days, rounded up, from the booked time to when they were first seen: they were at most so late. 0: all entries of a month that was compared with the platform at its
  -- end, on days that were read before the next day was over.
  days_max integer NOT NULL,
  entries bigint NOT NULL, -- How many of them. Of a compared month, as when it was compared first.
  sampled_on date, -- Of a compared month, the last business day on which the stored entries equalled the platform's. Null for late ones.
  PRIMARY KEY (merchant_no, month, days_min, days_max),
  CHECK (days_max >= days_min),
  CHECK ((entries > 0) OR ((days_max = 0) AND (entries = 0))),
  CHECK ((sampled_on IS NULL) = (days_max > 0))
);

-- Accounts without an entry for longer than ever before. What follows the newest entry is not proven until an entry comes, a person accepts the silence, or it is old
-- enough to be believed.
CREATE TABLE silent_account (
  merchant_no text COLLATE "C" NOT NULL, currency text COLLATE "C" NOT NULL,
  is_of_all boolean NOT NULL, -- Whether no account of the merchant has a newer entry, and that is what is odd. The times and figures are of all accounts then.
  begin_ms bigint NOT NULL, -- The ms after the newest entry, since 1970.
  end_ms bigint NOT NULL, -- Last ms of the last day that was read, included.
  newest_day date NOT NULL, -- The last day with entries.
  newest_ms bigint NOT NULL, -- When the newest entry was booked, in ms since 1970.
  usual_tail_ms bigint CHECK (usual_tail_ms >= 0), -- Longest time in ms from the last entry of such a day to its end before. Null unless that day itself ends too early.
  silent_days integer NOT NULL, -- Days without entries since then, less weekdays on which the account never has any.
  longest_days integer NOT NULL CHECK (longest_days >= 0), -- The most such days in a row before.
  noticed_at timestamptz NOT NULL, -- When a run noticed it first.
  accepted_at timestamptz, -- When a person accepted that nothing was booked; null before.
  PRIMARY KEY (merchant_no, currency),
  CHECK (end_ms >= begin_ms),
  CHECK ((silent_days > 0) OR (usual_tail_ms IS NOT NULL))
);

-- Accounts that another ledger was answered for: these days are not proven of the account until a certified reading shows its own.
CREATE TABLE foreign_account_day (
  merchant_no text COLLATE "C" NOT NULL, currency text COLLATE "C" NOT NULL, day date NOT NULL,
  begin_ms bigint NOT NULL, -- First ms of the day that was read, since 1970.
  end_ms bigint NOT NULL, -- Last ms of the day that was read, included.
  run_id bigint REFERENCES run (id), -- The run that was answered so. Null where none is on record.
  PRIMARY KEY (merchant_no, currency, day),
  CHECK (begin_ms <= end_ms)
);

-- What keeps days of one account from being proven, though the merchant's day is under certificate: absent entries, a silence, another ledger.
CREATE VIEW account_doubt AS SELECT
  merchant_no, currency,
  begin_ms, -- First ms in doubt, since 1970.
  end_ms -- Last ms in doubt, included.
FROM (
  SELECT merchant_no, currency, begin_ms, end_ms FROM absent_entry
  UNION ALL SELECT merchant_no, currency, begin_ms, end_ms FROM silent_account WHERE accepted_at IS NULL
  UNION ALL SELECT merchant_no, currency, begin_ms, end_ms FROM foreign_account_day
) AS doubt;
