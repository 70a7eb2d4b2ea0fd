-- Columns of many tables:
--   merchant_no: The platform's number of the merchant.
--   currency: Currency code of the account.
--   day: The business day.
--   id: Number of the row, counting up.
--   attempts: How often it was tried, the one under way included.
--   batch_no: The platform's number of the entry.
--   breaks_after: Of break_count, those between an entry of the day and the next entry, which is of another day.
--   content_sha256: SHA-256 of what was read, in hex.
--   credit_count: How many credits.
--   debit_count: How many debits.
--   month: First business day of the month.
--   object_key: Key of the file, below STATEMENTS_URL.
--   sha256: SHA-256 of the file, in hex.

-- What there is once: the identity of this database, and what holds for every merchant.
CREATE TABLE installation (
  -- Identity of the database, which the mark of its store names. `statements adopt` makes a new one, so that the database it was copied from is refused.
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  is_only boolean DEFAULT true PRIMARY KEY CHECK (is_only), -- Always true, so that there is one row.
  -- When the platform's timestamps were first seen to differ, within the clock tolerance, from the times it filters by. Null while they were not.
  clock_off_at timestamptz,
  clock_off text, -- What was seen then, as a sentence.
  -- When a process last began to search for scheduled runs that were missed, by the database's clock.
  nights_checked_at timestamptz NOT NULL DEFAULT '-infinity',
  runs_checked_at timestamptz NOT NULL DEFAULT '-infinity', -- When a process last began to search for runs that were killed or failed without a report.
  -- A program may work with this database if it knows the migration of this number, also where it does not know later ones.
  oldest_program text NOT NULL DEFAULT '0009' CHECK (oldest_program ~ '^\d{4}$'),
  store_turn uuid, -- The turn that the mark of the store names; null before the first.
  store_turn_next uuid, -- The turn that is being written into the mark; null where none is.
  CONSTRAINT installation_clock_off CHECK (num_nulls(clock_off_at, clock_off) <> 1)
);
INSERT INTO installation DEFAULT VALUES;

-- Check values that distinguish a wrong secret key from the right one.
CREATE TABLE secret_key_check (
  key_id text COLLATE "C" PRIMARY KEY, -- Id of the key in DAYBOOK_SECRET_KEYS.
  check_value text COLLATE "C" NOT NULL CHECK (check_value ~ '^[0-9a-f]{64}$') -- HMAC-SHA256 of the id by the key, in hex. It says nothing about the key.
);

-- Keys of fingerprints, by what they fingerprint. A key is random and stays the same.
CREATE TABLE fingerprint_key (
  name text COLLATE "C" PRIMARY KEY, -- What is fingerprinted with it.
  key_ciphertext text NOT NULL -- The key, encrypted with the secret keys.
);

-- Manual actions that somebody has to answer for. Rows are added and never changed.
CREATE TABLE audit_event (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL, -- When it was done; for all logins but the owner's by the database's clock.
  by_whom text NOT NULL, -- The name given with --by, else the user of the system; at the pages, who is logged in. No more than the word of login.
  command text NOT NULL, -- The command as it is typed, without options.
  subject text NOT NULL, -- What it was about: a number or a file. Never a secret or personal data.
  note text, -- The note that was given. Null where there was none.
  assigned_to text, -- To whom a break was assigned. Null for other events, and where it is to who did it.
  due_on date, -- The day by which the assigned break is due. Null where there is none.
  login text -- The login that added the row, as the database itself knows it, whatever the insert says. Never null.
);
CREATE INDEX audit_event_at ON audit_event (at DESC, id DESC);
CREATE INDEX audit_event_download ON audit_event (left(subject, 200) COLLATE "C", left(by_whom, 200) COLLATE "C", at) WHERE (command = 'statements get');
CREATE INDEX audit_event_of_break ON audit_event (subject, id) WHERE (command IN ('breaks take', 'breaks comment', 'breaks resolve', 'breaks reopen'));
CREATE INDEX audit_event_of_book_entry ON audit_event (subject, id DESC) WHERE (command = 'books assign');

-- The platform's requests to wait (Retry-After), so that no process calls earlier: one row for each caller. One row more says how far the limit of calls a second
-- (PLATFORM_RATE_LIMIT) is given away, as all processes share it.
CREATE TABLE platform_hold (
  owner text PRIMARY KEY, -- Whose calls wait: 'merchant' and its number, 'the agent' for calls that belong to no merchant, 'the rate' for all.
  held_until timestamptz NOT NULL, -- No call begins before. For the rate: the next process gets its part from then on, or from now if that is later.
  recorded_at timestamptz NOT NULL -- When the latest request was recorded; -infinity for the rate.
);
CREATE INDEX platform_hold_recorded_at ON platform_hold (recorded_at);

-- Who is logged in at the pages. A row goes at logout, or some time after its end.
CREATE TABLE page_session (
  token_sha256 text PRIMARY KEY, -- SHA-256 of the random number in the cookie, in hex.
  -- password: by a password of the settings; oidc: by the OpenID Connect provider; link: by the link that serve printed.
  way text NOT NULL CHECK (way IN ('password', 'oidc', 'link')),
  name text NOT NULL, -- Name of the person, as the way of login gave it.
  groups text[] NOT NULL, -- Groups of the person, as the provider sent them. Each request derives the role from them.
  proof_sha256 text, -- SHA-256 of the hashed password that was right, or of the provider in the settings: another one ends the session.
  begun_at timestamptz NOT NULL, -- When the person logged in.
  ends_at timestamptz NOT NULL -- When it ends unless it is used before. Use moves it, up to the longest time of a login.
);
CREATE INDEX page_session_ends_at ON page_session (ends_at);

-- Only the owner of the table says when something was done: a rehearsal in the past does.
CREATE FUNCTION stamp_audit_event() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER') THEN NEW.at := now(); END IF;
  NEW.login := session_user;
  RETURN NEW;
END $$;
CREATE TRIGGER audit_event_came BEFORE INSERT ON audit_event FOR EACH ROW EXECUTE FUNCTION stamp_audit_event();
