-- A break between the last entry of one day and the first of a later one is told of both days.

-- Breaks between an entry of the day and the entry of another day that comes next; break_count holds them too.
ALTER TABLE account_day ADD COLUMN breaks_after integer NOT NULL DEFAULT 0;
-- The day's first entry does not start from the balance that an earlier day left: the break is told of that day as well.
ALTER TABLE account_day ADD COLUMN jumps_in boolean NOT NULL DEFAULT false;
ALTER TABLE statement ADD COLUMN breaks_after integer NOT NULL DEFAULT 0;

-- Breaks found before: the next reconciling tells the day in front of each.
INSERT INTO changed_day (merchant_no, currency, day)
SELECT DISTINCT found.merchant_no, found.currency, found.day
FROM continuity_break AS found
JOIN ledger_entry AS last ON last.merchant_no = found.merchant_no AND last.batch_no = found.after_batch_no
WHERE found.status <> 'healed' AND last.booked_at::date <> found.day
ON CONFLICT DO NOTHING;

-- Published statements that were replaced, or came late, and that no run has told yet: a run that is killed tells nothing.
CREATE TABLE untold_revision (
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  day date NOT NULL,
  revision integer NOT NULL,
  PRIMARY KEY (merchant_no, currency, day, revision),
  FOREIGN KEY (merchant_no, currency, day, revision) REFERENCES statement (merchant_no, currency, day, revision)
);
