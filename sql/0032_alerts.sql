-- What people are told, and what became of each message at each place it goes to. Filled only where alerts are set up.
CREATE TABLE alert (
  id uuid PRIMARY KEY,
  kind text NOT NULL,
  run_id bigint,
  content jsonb NOT NULL,
  raised_at timestamptz NOT NULL
);
CREATE INDEX alert_raised ON alert (raised_at);

CREATE TABLE alert_delivery (
  alert_id uuid NOT NULL REFERENCES alert (id) ON DELETE CASCADE,
  target text NOT NULL,
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'given-up')),
  attempts integer NOT NULL DEFAULT 0,
  try_at timestamptz NOT NULL,
  give_up_at timestamptz NOT NULL,
  ended_at timestamptz,
  problem text,
  PRIMARY KEY (alert_id, target)
);
CREATE INDEX alert_delivery_waiting ON alert_delivery (try_at) WHERE state = 'waiting';
CREATE INDEX alert_delivery_given_up ON alert_delivery (ended_at) WHERE state = 'given-up';

-- Trouble that lasts: told when it begins, again when it gets worse, once a day, and when it is over.
CREATE TABLE alert_condition (
  name text PRIMARY KEY,
  since timestamptz NOT NULL,
  told_at timestamptz NOT NULL,
  grade integer NOT NULL,
  count integer NOT NULL
);

-- What happened once and is to be told once, many of a kind in one alert.
CREATE TABLE alert_fact (
  kind text NOT NULL,
  subject text COLLATE "C" NOT NULL,
  merchant_no text COLLATE "C" NOT NULL,
  detail jsonb NOT NULL,
  run_id bigint,
  found_at timestamptz NOT NULL,
  told_at timestamptz,
  PRIMARY KEY (kind, subject)
);
CREATE INDEX alert_fact_untold ON alert_fact (kind) WHERE told_at IS NULL;

COMMENT ON TABLE alert IS 'Messages to people: each once, however many places it goes to. Empty where no alerts are set up.';
COMMENT ON COLUMN alert.id IS 'Sent along with each try, so that a receiver can drop what it has already.';
COMMENT ON COLUMN alert.kind IS 'What it is about, such as failed-night; the runbook has a heading for each.';
COMMENT ON COLUMN alert.run_id IS 'The run that found it; null if none did.';
COMMENT ON COLUMN alert.content IS 'The sentences, what to do, and the first merchants and days. No token and no personal data.';
COMMENT ON COLUMN alert.raised_at IS 'When it was found.';
COMMENT ON TABLE alert_delivery IS 'What became of an alert at one of the places it goes to.';
COMMENT ON COLUMN alert_delivery.alert_id IS 'The alert.';
COMMENT ON COLUMN alert_delivery.target IS 'Which webhook or mailbox: its kind and a fingerprint, as addresses of webhooks are secrets.';
COMMENT ON COLUMN alert_delivery.state IS 'waiting: to be sent, or sent again; sent: the place took it; given-up: it did not in time.';
COMMENT ON COLUMN alert_delivery.attempts IS 'How often it was tried, the one under way included.';
COMMENT ON COLUMN alert_delivery.try_at IS 'When it is tried next, by the database''s clock. While a process sends it, a moment in the near future.';
COMMENT ON COLUMN alert_delivery.give_up_at IS 'From then on it is not tried again.';
COMMENT ON COLUMN alert_delivery.ended_at IS 'When it was sent or given up; null while it waits.';
COMMENT ON COLUMN alert_delivery.problem IS 'Why the last try failed; null if none did.';
COMMENT ON TABLE alert_condition IS 'Trouble that lasts, with when and how it was last told. A row goes once it is over.';
COMMENT ON COLUMN alert_condition.name IS 'What lasts, such as night.';
COMMENT ON COLUMN alert_condition.since IS 'When it began.';
COMMENT ON COLUMN alert_condition.told_at IS 'When it was last told.';
COMMENT ON COLUMN alert_condition.grade IS 'How grave it was when it was last told: higher is graver.';
COMMENT ON COLUMN alert_condition.count IS 'How many it was about when it was last told, such as merchants.';
COMMENT ON TABLE alert_fact IS 'What happened once and is told once. It is stored together with what caused it.';
COMMENT ON COLUMN alert_fact.kind IS 'break: a new break; revised: a published day has a new revision; token: the platform refuses a merchant''s token.';
COMMENT ON COLUMN alert_fact.subject IS 'What it happened to, such as the number of the break.';
COMMENT ON COLUMN alert_fact.merchant_no IS 'The merchant.';
COMMENT ON COLUMN alert_fact.detail IS 'What the alert says about it.';
COMMENT ON COLUMN alert_fact.run_id IS 'The run that found it; null if none did.';
COMMENT ON COLUMN alert_fact.found_at IS 'When it was found.';
COMMENT ON COLUMN alert_fact.told_at IS 'When an alert told it; null until then.';
