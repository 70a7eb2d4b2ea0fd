-- runs with: 0064
-- Statements that are mailed to people: who got which revision, and when.
CREATE TABLE statement_mail (
  recipient text COLLATE "C" NOT NULL,
  recipient_name text NOT NULL,
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  period text COLLATE "C" NOT NULL,
  revision integer NOT NULL,
  content jsonb NOT NULL,
  state text NOT NULL CHECK (state IN ('waiting', 'sent', 'given-up', 'replaced', 'unchanged')),
  queued_at timestamptz NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  try_at timestamptz NOT NULL,
  ended_at timestamptz,
  problem text,
  PRIMARY KEY (recipient, merchant_no, currency, period, revision)
);
CREATE INDEX statement_mail_waiting ON statement_mail (try_at) WHERE state = 'waiting';
CREATE INDEX statement_mail_given_up ON statement_mail (ended_at) WHERE state = 'given-up';
CREATE INDEX statement_mail_queued ON statement_mail (queued_at);

COMMENT ON TABLE statement_mail IS 'Statements by mail: who got which revision of which day or month, and when. Rows are never deleted, so that nothing is mailed twice.';
COMMENT ON COLUMN statement_mail.recipient IS 'A fingerprint of the mail address; the address itself is in the settings alone.';
COMMENT ON COLUMN statement_mail.recipient_name IS 'The name of the recipient in the settings.';
COMMENT ON COLUMN statement_mail.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN statement_mail.currency IS 'Currency code of the account.';
COMMENT ON COLUMN statement_mail.period IS 'The business day, or the month as YYYY-MM.';
COMMENT ON COLUMN statement_mail.revision IS 'Revision of the day; of a month the sum of the revisions of its days, which grows with each of them.';
COMMENT ON COLUMN statement_mail.content IS 'Sums that were mailed, the revision of each day, and a SHA-256 of it all.';
COMMENT ON COLUMN statement_mail.state IS 'waiting: to be sent, or sent again; sent: the mail server took it; given-up: the server refused the recipient; replaced: a newer revision came before it was sent; unchanged: no mail, as the content is that of the mail before.';
COMMENT ON COLUMN statement_mail.queued_at IS 'When it was found to be proven and not mailed yet.';
COMMENT ON COLUMN statement_mail.attempts IS 'How often it was tried, the one under way included.';
COMMENT ON COLUMN statement_mail.try_at IS 'When it may be tried next, by the database''s clock.';
COMMENT ON COLUMN statement_mail.ended_at IS 'When it was sent, given up or replaced. Null while it waits.';
COMMENT ON COLUMN statement_mail.problem IS 'Why the last try failed. Null where none did.';
