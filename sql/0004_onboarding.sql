-- Applications for merchants (sp1101), and merchants that an approval brought before their ledger is read.

-- The first authenticated call that succeeded; null: known, but not read by the nightly job yet.
ALTER TABLE merchant ADD COLUMN joined_at timestamptz;
UPDATE merchant SET joined_at = added_at;

CREATE TABLE application (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- ours or the file's; known before the row is written: binds the ciphertexts to it
  mer_order_no text COLLATE "C" NOT NULL UNIQUE,
  -- the platform's number; null until its receipt, or a result, told it
  biz_flow text COLLATE "C" UNIQUE,
  -- submitting: recorded, and the call is on its way or its process died; unknown: nobody can tell whether the platform
  -- has it; refused: the platform certainly does not have it
  state text NOT NULL DEFAULT 'submitting' CHECK (
    state IN ('submitting', 'accepted', 'refused', 'unknown', 'approved', 'supplement', 'rejected')
  ),
  payload_ciphertext text NOT NULL,
  -- SHA-256 of the secret in the callbackUrl; null where the file gave an address of its own
  notify_hash text UNIQUE,
  -- assigned by the approval
  merchant_no text COLLATE "C" CHECK ((merchant_no IS NOT NULL) = (state = 'approved')),
  -- sent with a resubmission, where the platform told one
  process_version text,
  -- why it is unknown or refused: a sentence without anything of the payload
  problem text,
  -- what the platform said of it: its refusal, or a result's message; may repeat the payload
  detail_ciphertext text,
  -- an earlier application that a person replaced by this one
  replaces bigint UNIQUE REFERENCES application (id),
  -- the process that submits it, 'host:pid:boot'
  holder text NOT NULL,
  submitted_at timestamptz NOT NULL,
  changed_at timestamptz NOT NULL
);
-- What a new application must not repeat, and what a process may have left behind.
CREATE INDEX application_open ON application (id) WHERE state IN ('submitting', 'accepted', 'unknown');
