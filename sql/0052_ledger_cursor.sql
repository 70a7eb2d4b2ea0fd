-- How far a merchant's ledger is known stood in three tables of one row each, and every row of them was read for itself.
CREATE TABLE ledger_cursor (
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  figured_from date,
  figured_through date CHECK (figured_through >= figured_from),
  past_before_ms bigint,
  past_total bigint,
  past_asked_at timestamptz,
  checked_from date,
  checked_to date,
  checked_total bigint,
  is_held boolean,
  checked_at timestamptz,
  by_figures bigint,
  round_read integer,
  round_of integer,
  round_began_at timestamptz,
  round_through_ms bigint,
  widest_ms bigint,
  page_order text CHECK (page_order IN ('oldest first', 'newest first', 'mixed')),
  refused_from_ms bigint,
  refused_to_ms bigint,
  refused_since timestamptz,
  PRIMARY KEY (merchant_no, currency),
  CONSTRAINT ledger_cursor_figured CHECK (num_nulls(figured_from, figured_through) <> 1),
  CONSTRAINT ledger_cursor_past CHECK (num_nulls(past_before_ms, past_asked_at) <> 1),
  CONSTRAINT ledger_cursor_checked CHECK (num_nulls(checked_from, checked_to, checked_total, is_held, checked_at, round_read,
    round_of, round_began_at, round_through_ms, page_order) IN (0, 10))
);
INSERT INTO ledger_cursor
SELECT merchant_no, currency, figured.from_day, figured.through_day, past.before_ms, past.total, past.asked_at,
  checked.from_day, checked.to_day, checked.total, checked.is_held, checked.checked_at, checked.by_figures,
  checked.round_read, checked.round_of, checked.round_began_at, checked.round_through_ms, checked.widest_ms,
  checked.page_order, checked.refused_from_ms, checked.refused_to_ms, checked.refused_since
FROM figured_days AS figured
FULL JOIN ledger_past AS past USING (merchant_no, currency)
FULL JOIN (SELECT *, '' COLLATE "C" AS currency FROM historical_check) AS checked USING (merchant_no, currency);
DROP TABLE figured_days, ledger_past, historical_check;

COMMENT ON TABLE ledger_cursor IS
  'How far the ledger of a merchant is known: one row for all currencies together, and one for each currency.';
COMMENT ON COLUMN ledger_cursor.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN ledger_cursor.currency IS 'The currency; '''' for every currency together.';
COMMENT ON COLUMN ledger_cursor.figured_from IS
  'The account''s first day with figures. Null before it has some. Once an earlier day has some, both days say nothing.';
COMMENT ON COLUMN ledger_cursor.figured_through IS
  'Every day from the first one up to this one has figures. Later ones may have some too.';
COMMENT ON COLUMN ledger_cursor.past_before_ms IS
  'The instant, in ms since 1970, before which the platform was asked for the number of its entries; null if it was not.';
COMMENT ON COLUMN ledger_cursor.past_total IS
  'How many entries it has from before. Null where the platform refused the question, or where a currency begins with '
  'the first day read, so that the answer would say nothing.';
COMMENT ON COLUMN ledger_cursor.past_asked_at IS 'When it was asked.';
COMMENT ON COLUMN ledger_cursor.checked_from IS
  'First business day of the daily check of historical days, which lie before those a run reads. This and all columns '
  'below are null in the row of a currency, and before the first check.';
COMMENT ON COLUMN ledger_cursor.checked_to IS 'Last business day that was checked, included.';
COMMENT ON COLUMN ledger_cursor.checked_total IS 'How many entries the platform said that these days have.';
COMMENT ON COLUMN ledger_cursor.is_held IS 'Whether as many are stored, after days that differed were read again.';
COMMENT ON COLUMN ledger_cursor.checked_at IS 'When they were last checked.';
COMMENT ON COLUMN ledger_cursor.by_figures IS
  'Number of entries of these days by their figures. Null once their entries changed: the next check adds the figures up '
  'again.';
COMMENT ON COLUMN ledger_cursor.round_read IS 'How many entries this round has compared so far.';
COMMENT ON COLUMN ledger_cursor.round_of IS 'How many entries there were when the round began.';
COMMENT ON COLUMN ledger_cursor.round_began_at IS 'When the round began.';
COMMENT ON COLUMN ledger_cursor.round_through_ms IS
  'The instant, in ms since 1970, up to which this round has compared the entries.';
COMMENT ON COLUMN ledger_cursor.widest_ms IS
  'The longest window, in ms, that the platform answers in full; null while it has cut or refused none.';
COMMENT ON COLUMN ledger_cursor.page_order IS
  'In which order the platform sends pages: oldest first, newest first, or mixed where its pages are no spans of time.';
COMMENT ON COLUMN ledger_cursor.refused_from_ms IS
  'The first instant, in ms since 1970, that the platform refuses to show; null if it shows all.';
COMMENT ON COLUMN ledger_cursor.refused_to_ms IS 'The last such instant.';
COMMENT ON COLUMN ledger_cursor.refused_since IS 'When it refused for the first time.';

-- Late entries, and those that came in time, are one histogram.
CREATE TABLE lateness_count (
  merchant_no text COLLATE "C" NOT NULL,
  month date NOT NULL,
  days_min integer NOT NULL CHECK (days_min >= 0),
  days_max integer NOT NULL CHECK (days_max >= days_min),
  entries bigint NOT NULL CHECK (entries > 0 OR days_max = 0 AND entries = 0),
  sampled_on date CHECK ((sampled_on IS NULL) = (days_max > 0)),
  PRIMARY KEY (merchant_no, month, days_min, days_max)
);
INSERT INTO lateness_count (merchant_no, month, days_min, days_max, entries)
SELECT merchant_no, month, days_min, days_max, entries FROM late_entry_count;
INSERT INTO lateness_count SELECT merchant_no, month, 0, 0, entries, sampled_on FROM month_end_sample;
DROP TABLE late_entry_count, month_end_sample;

COMMENT ON TABLE lateness_count IS
  'How late entries come: how many came late, and by how many days, and how many the compared months have in all.';
COMMENT ON COLUMN lateness_count.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN lateness_count.month IS
  'First day of the month in which late entries were first seen, in UTC; of a compared month its first business day.';
COMMENT ON COLUMN lateness_count.days_min IS
  'Full days from the booked time to the certificate that did not have them: they were at least so late.';
COMMENT ON COLUMN lateness_count.days_max IS
  'Days, rounded up, from the booked time to when they were first seen: they were at most so late. 0: all entries of a '
  'month that was compared with the platform at its end, on days that were read before the next day was over.';
COMMENT ON COLUMN lateness_count.entries IS 'How many of them. Of a compared month, as when it was compared first.';
COMMENT ON COLUMN lateness_count.sampled_on IS
  'Of a compared month, the last business day on which the stored entries equalled the platform''s. Null for late ones.';

-- Which entries a day was compared with: the list of days to compare follows from it.
ALTER TABLE day_entries ADD COLUMN compared_fingerprint numeric;
UPDATE day_entries SET compared_fingerprint = fingerprint
WHERE NOT is_changed AND (merchant_no, currency, day) NOT IN (SELECT merchant_no, currency, day FROM uncompared_day);
ALTER TABLE day_entries ADD COLUMN is_uncompared boolean NOT NULL
  GENERATED ALWAYS AS (compared_fingerprint IS DISTINCT FROM fingerprint) STORED;
CREATE INDEX day_entries_uncompared ON day_entries (merchant_no, currency, day) WHERE is_uncompared;
DROP TABLE uncompared_day;
COMMENT ON COLUMN day_entries.compared_fingerprint IS
  'The fingerprint of the entries that were compared with those of other merchants; null before the first time.';
COMMENT ON COLUMN day_entries.is_uncompared IS 'It differs from the fingerprint: the next run compares the day.';

-- The rate of all callers together is one more time before which no call may begin.
INSERT INTO platform_hold (owner, held_until, recorded_at) SELECT 'the rate', free_at, '-infinity' FROM platform_limit;
DROP TABLE platform_limit;
COMMENT ON TABLE platform_hold IS
  'The platform''s requests to wait (Retry-After), so that no process calls earlier: one row for each caller. One row more '
  'says how far the limit of calls a second (PLATFORM_RATE_LIMIT) is given away, as all processes share it.';
COMMENT ON COLUMN platform_hold.owner IS
  'Whose calls wait: ''merchant'' and its number, ''the agent'' for calls that belong to no merchant, ''the rate'' for all.';
COMMENT ON COLUMN platform_hold.held_until IS
  'No call begins before. For the rate: the next process gets its part from then on, or from now if that is later.';
COMMENT ON COLUMN platform_hold.recorded_at IS 'When the latest request was recorded; -infinity for the rate.';

-- What there is once in a database.
ALTER TABLE database_identity RENAME TO installation;
ALTER TABLE installation RENAME CONSTRAINT database_identity_pkey TO installation_pkey;
ALTER TABLE installation RENAME CONSTRAINT database_identity_is_only_check TO installation_is_only_check;
ALTER TABLE installation
  ADD COLUMN clock_off_at timestamptz,
  ADD COLUMN clock_off text,
  ADD COLUMN nights_checked_at timestamptz NOT NULL DEFAULT '-infinity',
  ADD COLUMN runs_checked_at timestamptz NOT NULL DEFAULT '-infinity',
  ADD CONSTRAINT installation_clock_off CHECK (num_nulls(clock_off_at, clock_off) <> 1);
UPDATE installation SET clock_off_at = seen_off_at, clock_off = seen FROM platform_clock;
UPDATE installation SET nights_checked_at = checked_at FROM watchdog_check WHERE what = 'nights';
UPDATE installation SET runs_checked_at = checked_at FROM watchdog_check WHERE what = 'runs';
DROP TABLE platform_clock, watchdog_check;
COMMENT ON TABLE installation IS 'What there is once: the identity of this database, and what holds for every merchant.';
COMMENT ON COLUMN installation.id IS
  'Distinguishes this database from every other one. The object store''s mark names it; a restored backup keeps it.';
COMMENT ON COLUMN installation.clock_off_at IS
  'When the platform''s timestamps were first seen to differ, within the clock tolerance, from the times it filters by. '
  'Null while they were not.';
COMMENT ON COLUMN installation.clock_off IS 'What was seen then, as a sentence.';
COMMENT ON COLUMN installation.nights_checked_at IS
  'When a process last began to search for scheduled runs that were missed, by the database''s clock.';
COMMENT ON COLUMN installation.runs_checked_at IS
  'When a process last began to search for runs that were killed or failed without a report.';

-- A process of an earlier version knows the former tables: it loses its leases now, and ends.
UPDATE lease SET epoch = epoch + 1, expires_at = NULL WHERE expires_at IS NOT NULL;
