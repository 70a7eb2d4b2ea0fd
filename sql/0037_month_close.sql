-- A closed month: the list of its statements, frozen. Each later close of the month has the next number and names the
-- one before. A statement that was revised since is found by comparing the list with what is current.
CREATE TABLE month_close (
  merchant_no text COLLATE "C" NOT NULL,
  month date NOT NULL CHECK (extract(day FROM month) = 1),
  number integer NOT NULL CHECK (number > 0),
  audit_entry_id bigint NOT NULL UNIQUE REFERENCES audit_entry (id),
  despite text,
  open_days integer NOT NULL CHECK (open_days >= 0),
  object_key text NOT NULL,
  sha256 text NOT NULL,
  content text NOT NULL,
  signature text,
  PRIMARY KEY (merchant_no, month, number),
  CHECK (open_days = 0 OR despite IS NOT NULL)
);

CREATE TABLE month_close_statement (
  merchant_no text COLLATE "C" NOT NULL,
  month date NOT NULL,
  number integer NOT NULL,
  currency text COLLATE "C" NOT NULL,
  day date NOT NULL,
  revision integer NOT NULL,
  sha256 text NOT NULL,
  PRIMARY KEY (merchant_no, month, number, currency, day),
  FOREIGN KEY (merchant_no, month, number) REFERENCES month_close (merchant_no, month, number),
  FOREIGN KEY (merchant_no, currency, day, revision) REFERENCES statement (merchant_no, currency, day, revision)
);

-- `status` asks for the revised statements of all closed months. Few statements are ever revised.
CREATE INDEX statement_revised ON statement (merchant_no, day) WHERE revision > 1;

-- Who is logged in at the pages. The cookie holds a random number, this only its hash.
CREATE TABLE page_session (
  token_sha256 text PRIMARY KEY,
  way text NOT NULL CHECK (way IN ('password', 'oidc')),
  name text NOT NULL,
  groups text[] NOT NULL,
  proof_sha256 text,
  begun_at timestamptz NOT NULL,
  ends_at timestamptz NOT NULL
);
CREATE INDEX page_session_ends_at ON page_session (ends_at);

COMMENT ON TABLE month_close IS 'Months that a person closed. Rows are added, and nothing of them is changed, but for a signature that was missing.';
COMMENT ON COLUMN month_close.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN month_close.month IS 'First business day of the month.';
COMMENT ON COLUMN month_close.number IS 'Which close of this month it is, from 1. The last one counts.';
COMMENT ON COLUMN month_close.audit_entry_id IS 'Who closed it, when, and the note.';
COMMENT ON COLUMN month_close.despite IS 'Why it was closed though days were open; null where none was.';
COMMENT ON COLUMN month_close.open_days IS 'How many days of its accounts were open.';
COMMENT ON COLUMN month_close.object_key IS 'Where its file is in the object store.';
COMMENT ON COLUMN month_close.sha256 IS 'SHA-256 of the file, in hex.';
COMMENT ON COLUMN month_close.content IS 'Text of the file.';
COMMENT ON COLUMN month_close.signature IS 'The text of the signature file beside it; null where there is none.';
COMMENT ON TABLE month_close_statement IS 'The statements that a close froze.';
COMMENT ON COLUMN month_close_statement.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN month_close_statement.month IS 'First business day of the month.';
COMMENT ON COLUMN month_close_statement.number IS 'Which close of this month it is.';
COMMENT ON COLUMN month_close_statement.currency IS 'Currency code of the account.';
COMMENT ON COLUMN month_close_statement.day IS 'The business day.';
COMMENT ON COLUMN month_close_statement.revision IS 'Revision of the statement that was current then.';
COMMENT ON COLUMN month_close_statement.sha256 IS 'SHA-256 of that statement, in hex.';
COMMENT ON TABLE page_session IS 'Who is logged in at the pages. A row goes at logout, or some time after its end.';
COMMENT ON COLUMN page_session.token_sha256 IS 'SHA-256 of the random number in the cookie, in hex.';
COMMENT ON COLUMN page_session.way IS 'password: by a password of the settings; oidc: by the OpenID Connect provider.';
COMMENT ON COLUMN page_session.name IS 'Name of the person, as the way of login gave it.';
COMMENT ON COLUMN page_session.groups IS 'Groups of the person, as the provider gave them. Which role they have is looked up at each request.';
COMMENT ON COLUMN page_session.proof_sha256 IS 'SHA-256 of the hashed password that was right, or of the provider in the settings: another one ends the session.';
COMMENT ON COLUMN page_session.begun_at IS 'When the person logged in.';
COMMENT ON COLUMN page_session.ends_at IS 'From then on the session counts for nothing.';
