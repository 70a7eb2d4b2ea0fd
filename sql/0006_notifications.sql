-- Results the platform pushes (sp3101, sp3401): every post as it came, committed before it is answered.

CREATE TABLE notification (
  -- chosen before the row is written: binds the ciphertext to the row, and writing it twice changes nothing
  id uuid PRIMARY KEY,
  -- for people, and the order of arrival
  number bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  kind text NOT NULL CHECK (kind IN ('onboarding', 'beneficiary')),
  -- SHA-256 of the secret in the path it came by
  notify_hash text NOT NULL,
  body_ciphertext text NOT NULL,
  received_at timestamptz NOT NULL,
  -- null: not looked at yet; waiting: our own request has no reply stored yet
  outcome text CHECK (
    outcome IN ('applied', 'duplicate', 'unknown', 'contradiction', 'second-token', 'malformed', 'waiting')
  ),
  -- a sentence for a person, with nothing in it that came with the post
  reason text,
  -- merOrderNo of the application or registration the path belongs to
  mer_order_no text,
  processed_at timestamptz,
  -- set when a person has dealt with it
  resolved_at timestamptz,
  note text,
  CHECK ((processed_at IS NULL) = (outcome IS NULL OR outcome = 'waiting')),
  CHECK ((resolved_at IS NULL) = (note IS NULL))
);
CREATE UNIQUE INDEX notification_number ON notification (number);
-- What processing has left to look at, in order of arrival.
CREATE INDEX notification_open ON notification (number) WHERE outcome IS NULL OR outcome = 'waiting';
-- What came before by the same path, for telling a replay.
CREATE INDEX notification_applied ON notification (notify_hash, number) WHERE outcome = 'applied';
-- What a person has to look at, few among many.
CREATE INDEX notification_unresolved ON notification (number)
  WHERE outcome IN ('contradiction', 'second-token', 'malformed') AND resolved_at IS NULL;
-- What strangers posted, of which only so much is kept.
CREATE INDEX notification_unknown ON notification (number) WHERE outcome = 'unknown';
