-- Beneficiaries registered with the platform (sp1401): each is recorded, encrypted, before anything of it is sent.

-- Keys of fingerprints, by what they fingerprint. Random, encrypted, and never another one: fingerprints must compare
-- whatever became of the secret keys since.
CREATE TABLE fingerprint_key (
  name text COLLATE "C" PRIMARY KEY,
  key_ciphertext text NOT NULL
);

CREATE TABLE beneficiary (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- the caller's own number: one over all merchants, as the platform takes a number it knows for a repetition
  mer_order_no text COLLATE "C" NOT NULL UNIQUE,
  merchant_no text COLLATE "C" NOT NULL,
  -- B enterprise, C individual
  biz_mode text NOT NULL CHECK (biz_mode IN ('B', 'C')),
  -- fingerprint of the account that is to be paid
  payee_key text NOT NULL,
  -- sending: recorded, and no reply stored yet; refused: the platform did not take it; the rest is the platform's own:
  -- 01 under review, 03 rejected, 04 approved
  status text NOT NULL DEFAULT 'sending' CHECK (status IN ('sending', 'refused', '01', '03', '04')),
  -- the whole request, as it is sent again
  payload_ciphertext text NOT NULL,
  -- SHA-256 of the secret in our own callbackUrl; null where results go elsewhere, or nowhere
  notify_hash text UNIQUE,
  biz_flow_no text,
  payee_id text,
  resp_code text,
  -- a call may have reached the platform whose reply is not stored
  may_have_arrived boolean NOT NULL DEFAULT false,
  -- why it was refused or not answered: a sentence without anything that was sent
  problem text,
  sends integer NOT NULL DEFAULT 0,
  -- the call being made just now, the process that makes it, and when it has ended for certain
  claim uuid,
  claimed_by text,
  claimed_until timestamptz,
  recorded_at timestamptz NOT NULL,
  replied_at timestamptz,
  -- when a notification moved it out of review
  decided_at timestamptz,
  CHECK ((claim IS NULL) = (claimed_by IS NULL) AND (claim IS NULL) = (claimed_until IS NULL)),
  CHECK (claim IS NULL OR status = 'sending'),
  CHECK ((status IN ('01', '03', '04')) = (biz_flow_no IS NOT NULL))
);
-- A payee is under review once, whoever asks: the second of two processes fails here.
CREATE UNIQUE INDEX beneficiary_in_review ON beneficiary (merchant_no, payee_key) WHERE status IN ('sending', '01');
-- The payee's approved registrations.
CREATE INDEX beneficiary_payee ON beneficiary (merchant_no, payee_key) WHERE status = '04';
