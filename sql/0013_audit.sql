-- Who did what by hand: everything that shows a secret or personal data, or decides in the platform's place.
CREATE TABLE audit_entry (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL,
  -- the name given with --by, else the system's user
  by_whom text NOT NULL,
  -- as it is typed: 'breaks resolve'
  command text NOT NULL,
  -- what it was about: a number, a file; never what that held
  subject text NOT NULL,
  note text
);
CREATE INDEX audit_entry_at ON audit_entry (at DESC, id DESC);

-- Personal data can be taken out of what is closed; that it was there stays known.
ALTER TABLE application ALTER COLUMN payload_ciphertext DROP NOT NULL, ADD COLUMN forgotten_at timestamptz;
ALTER TABLE application ADD CHECK (forgotten_at IS NOT NULL OR payload_ciphertext IS NOT NULL);
ALTER TABLE notification ALTER COLUMN body_ciphertext DROP NOT NULL, ADD COLUMN forgotten_at timestamptz;
ALTER TABLE notification ADD CHECK ((forgotten_at IS NULL) = (body_ciphertext IS NOT NULL));
