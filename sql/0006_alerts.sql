-- Events that are reported once: by a run, by an alert, or on the pages. Each is stored in one transaction with its cause.
CREATE TABLE event (
  -- Reported by a run: change (entries that the platform changed), revision (a published day with a new revision, or a late first one), and findings that break no
  -- balance: empty (a busy day without entries), first (a first opening that no entry made), shared (entries that two merchants have), untyped (entries without a
  -- transaction type), finer (amounts with more decimals than the currency has), reused (numbers that are used for two entries). Reported by an alert: new-break,
  -- amendment (a published day was revised), key-problem (a token does not work).
  kind text COLLATE "C" NOT NULL,
  merchant_no text COLLATE "C" NOT NULL, -- The platform's number of the merchant; of two the one that sorts first.
  subject text COLLATE "C" NOT NULL, -- What it is about, of this kind and merchant: a run, an account's day and its revision, a break; empty for the merchant.
  at timestamptz NOT NULL, -- When it was found; of a revision, when it was published.
  data jsonb NOT NULL, -- The figures and names that the report shows.
  run_id bigint, -- The run that found it. Null where that is not known.
  reported_at timestamptz, -- When the run or the alert that reports it was recorded. Null: the next one reports it.
  PRIMARY KEY (kind, merchant_no, subject)
);
CREATE INDEX event_unreported ON event (kind, merchant_no) WHERE (reported_at IS NULL);
CREATE INDEX event_late ON event (at) WHERE ((kind = 'revision') AND (subject ~~ '% r1'));

-- Messages to people: each once, however many places it goes to. Empty where no alerts are set up.
CREATE TABLE alert (
  id uuid PRIMARY KEY, -- Sent along with each try, so that a receiver can drop what it has already.
  kind text NOT NULL, -- What it is about, such as failed-night; the runbook has a heading for each.
  run_id bigint, -- The run that found it; null if none did.
  content jsonb NOT NULL, -- The sentences, what to do, and the first merchants and days. No token and no personal data.
  raised_at timestamptz NOT NULL -- When it was found.
);
CREATE INDEX alert_raised ON alert (raised_at);

-- Conditions that last, with when and how each was last reported. The row is deleted once the condition is over.
CREATE TABLE alert_condition (
  name text PRIMARY KEY, -- The condition, such as night.
  since timestamptz NOT NULL, -- When it began.
  reported_at timestamptz NOT NULL, -- When it was last reported.
  grade integer NOT NULL, -- Its severity when it was last reported: higher is more severe.
  count integer NOT NULL, -- How many it concerned when it was last reported, such as merchants.
  seen_at timestamptz -- When a process last saw it. Null if none noted that; then the last report counts.
);

-- What became of an alert at one of the places it goes to.
CREATE TABLE alert_delivery (
  alert_id uuid NOT NULL REFERENCES alert (id) ON DELETE CASCADE, -- The alert.
  target text NOT NULL, -- Which webhook or mailbox: its kind and a fingerprint, as addresses of webhooks are secrets.
  -- waiting: to be sent, or sent again; sent: the place took it; given-up: it did not in time.
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'given-up')),
  attempts integer NOT NULL DEFAULT 0,
  try_at timestamptz NOT NULL, -- When it is tried next, by the database's clock. While a process sends it, a moment in the near future.
  give_up_at timestamptz NOT NULL, -- From then on it is not tried again.
  ended_at timestamptz, -- When it was sent or given up; null while it waits.
  problem text, -- Why the last try failed; null if none did.
  took text[], -- Fingerprints of the addresses that took it, where a mail server took it for some only; null where it is all or none.
  PRIMARY KEY (alert_id, target)
);
CREATE INDEX alert_delivery_waiting ON alert_delivery (try_at) WHERE (state = 'waiting');
CREATE INDEX alert_delivery_given_up ON alert_delivery (ended_at) WHERE (state = 'given-up');

-- Statements by mail: who got which revision of which day or month, and when. Rows are never deleted, so that nothing is mailed twice.
CREATE TABLE statement_mail (
  recipient text COLLATE "C" NOT NULL, -- A fingerprint of the mail address; the address itself is in the settings alone.
  recipient_name text NOT NULL, -- The name of the recipient in the settings.
  merchant_no text COLLATE "C" NOT NULL, currency text COLLATE "C" NOT NULL,
  period text COLLATE "C" NOT NULL, -- The business day, or the month as YYYY-MM.
  revision integer NOT NULL, -- Revision of the day; of a month the sum of the revisions of its days, which grows with each of them.
  content jsonb NOT NULL, -- Sums that were mailed, the revision of each day, and a SHA-256 of it all.
  -- waiting: to be sent, or sent again; sent: the mail server took it; given-up: the server refused the recipient; replaced: a newer revision came before it was sent;
  -- unchanged: no mail, as the content is that of the mail before.
  state text NOT NULL CHECK (state IN ('waiting', 'sent', 'given-up', 'replaced', 'unchanged')),
  queued_at timestamptz NOT NULL, -- When it was found to be proven and not mailed yet.
  attempts integer NOT NULL DEFAULT 0,
  try_at timestamptz NOT NULL, -- When it may be tried next, by the database's clock.
  ended_at timestamptz, -- When it was sent, given up or replaced. Null while it waits.
  problem text, -- Why the last try failed. Null where none did.
  PRIMARY KEY (recipient, merchant_no, currency, period, revision)
);
CREATE INDEX statement_mail_waiting ON statement_mail (try_at) WHERE (state = 'waiting');
CREATE INDEX statement_mail_given_up ON statement_mail (ended_at) WHERE (state = 'given-up');
CREATE INDEX statement_mail_queued ON statement_mail (queued_at);
