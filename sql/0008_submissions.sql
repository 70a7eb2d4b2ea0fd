-- Applications for merchants (sp1101), each recorded before it is sent.
CREATE TABLE application (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Number of the application, counting up.
  mer_order_no text COLLATE "C" NOT NULL UNIQUE, -- Our own number of the application, from the file or made here (merOrderNo).
  biz_flow text COLLATE "C" UNIQUE, -- The platform's number of the application (bizFlow). Null until a receipt or a result contains it.
  -- submitting: recorded, the call has not ended. accepted: received, under review. refused: the platform certainly does not have it. unknown: no evidence either way.
  -- approved, supplement, rejected: its result.
  state text NOT NULL DEFAULT 'submitting' CHECK (state IN ('submitting', 'accepted', 'refused', 'unknown', 'approved', 'supplement', 'rejected')),
  payload_ciphertext text, -- The complete application, encrypted. Null once it was forgotten.
  notify_hash text UNIQUE, -- SHA-256 of the secret in the callback address. Null where the file gave an address of its own.
  merchant_no text COLLATE "C", -- The merchant number that the approval assigned. Null unless approved.
  process_version text, -- The processVersion that a resubmission has to send. Null where the platform sent none.
  problem text, -- Why it is unknown or refused: a sentence without anything of the payload. Null where it is neither.
  detail_ciphertext text, -- What the platform said of it, a refusal or the message of a result, encrypted. Null where it said nothing.
  replaces bigint UNIQUE REFERENCES application (id), -- The earlier application that a person replaced by this one. Null where it replaces none.
  holder text NOT NULL, -- The process that submits it, as host:pid:boot.
  submitted_at timestamptz NOT NULL, -- When it was recorded, right before it was sent.
  changed_at timestamptz NOT NULL, -- When its state changed last.
  -- True where the platform said that it received the application and named no bizFlow: it stands as unknown, and is not lost.
  is_received boolean NOT NULL DEFAULT false,
  recorded_name_ciphertext text, -- The merchant's name as the platform has it (merNameEn of the last result), encrypted. Null where no result has it.
  forgotten_at timestamptz, -- When its personal data was taken out. Null while it is kept.
  CHECK ((merchant_no IS NOT NULL) = (state = 'approved')),
  CHECK ((forgotten_at IS NOT NULL) OR (payload_ciphertext IS NOT NULL))
);
CREATE INDEX application_open ON application (id) WHERE (state IN ('submitting', 'accepted', 'unknown'));

-- Beneficiaries registered with the platform (sp1401), each recorded before anything of it is sent.
CREATE TABLE beneficiary (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Number of the registration, counting up.
  mer_order_no text COLLATE "C" NOT NULL UNIQUE, -- Our own number of the registration (merOrderNo). It is used once over all merchants.
  merchant_no text COLLATE "C" NOT NULL,
  biz_mode text NOT NULL CHECK (biz_mode IN ('B', 'C')), -- B: an enterprise. C: an individual.
  payee_key text NOT NULL, -- Fingerprint of the account that is to be paid. Two registrations of one payee have the same.
  -- sending: recorded, and no reply is stored yet. refused: the platform did not take it. 01: under review. 03: rejected. 04: approved.
  status text NOT NULL DEFAULT 'sending' CHECK (status IN ('sending', 'refused', '01', '03', '04')),
  payload_ciphertext text NOT NULL, -- The complete request, encrypted, as it is sent again.
  notify_hash text UNIQUE, -- SHA-256 of the secret in our own callback address. Null where results go elsewhere, or nowhere.
  biz_flow_no text, -- The platform's number of the registration (bizFlowNo). Null until a reply contains it.
  payee_id text, -- The platform's number of the beneficiary (payeeId). Null until a reply or a result contains it.
  resp_code text, -- The platform's respCode of the reply. Null where there is no reply, or it has none.
  may_have_arrived boolean NOT NULL DEFAULT false, -- True where a call may have reached the platform and its reply is not stored.
  problem text, -- Why it was refused, not answered or needs a person: a sentence without anything that was sent. Else null.
  sends integer NOT NULL DEFAULT 0, -- How often it was sent.
  claim uuid, -- The call that is being made just now. Null between calls.
  claimed_by text, -- The process that makes the call, as host:pid:boot. Null between calls.
  claimed_until timestamptz, -- When that call has ended for certain. Null between calls.
  recorded_at timestamptz NOT NULL, -- When it was recorded.
  replied_at timestamptz, -- When the platform's reply was stored. Null before that.
  decided_at timestamptz, -- When a result or a person moved it out of review. Null before that.
  note text, -- The note of the person who settled it. Null while it is not settled.
  needs_person boolean NOT NULL DEFAULT false, -- True while the platform's answers contradict each other or leave open whether it has the registration.
  CHECK (((claim IS NULL) = (claimed_by IS NULL)) AND ((claim IS NULL) = (claimed_until IS NULL))),
  CHECK ((claim IS NULL) OR (status = 'sending'))
);
CREATE UNIQUE INDEX beneficiary_in_review ON beneficiary (merchant_no, payee_key) WHERE (status IN ('sending', '01'));
CREATE INDEX beneficiary_payee ON beneficiary (merchant_no, payee_key) WHERE (status = '04');

-- Results that the platform pushed (sp3101, sp3401): every post as it came, kept before it is answered.
CREATE TABLE notification (
  id uuid PRIMARY KEY, -- Chosen before the row is written. The ciphertext is bound to it.
  number bigint GENERATED ALWAYS AS IDENTITY, -- Number of the post, for people, in order of arrival.
  kind text NOT NULL CHECK (kind IN ('onboarding', 'beneficiary')), -- onboarding or beneficiary.
  notify_hash text NOT NULL, -- SHA-256 of the secret in the path that it came by.
  body_ciphertext text, -- The body, encrypted. Null once it was forgotten.
  received_at timestamptz NOT NULL, -- When it came.
  -- Its outcome: applied, duplicate, unknown (its path belongs to nothing any more), contradiction, second-token, malformed; waiting while our own request has no reply stored. Null: not processed yet.
  outcome text CHECK (outcome IN ('applied', 'duplicate', 'unknown', 'contradiction', 'second-token', 'malformed', 'waiting')),
  reason text, -- Why, as a sentence with nothing in it that came with the post. Null where there is nothing to say.
  mer_order_no text, -- Our own number of the application or registration that the path belongs to. Null where it belongs to none.
  processed_at timestamptz, -- When its outcome was settled. Null before that.
  resolved_at timestamptz, -- When a person resolved it. Null while it is not resolved.
  note text, -- The note of that person. Null while it is not resolved.
  source text, -- The address it was posted from, as far as trusted proxies forward it. Null where it is not known.
  result_digest text, -- Keyed digest of the result that was applied: the same result has the same one. Null where none was.
  forgotten_at timestamptz, -- When its body was taken out. Null while it is kept.
  CHECK ((processed_at IS NULL) = ((outcome IS NULL) OR (outcome = 'waiting'))),
  CHECK ((resolved_at IS NULL) = (note IS NULL)),
  CHECK ((forgotten_at IS NULL) = (body_ciphertext IS NOT NULL))
);
CREATE UNIQUE INDEX notification_number ON notification (number);
CREATE INDEX notification_path ON notification (notify_hash, received_at);
CREATE INDEX notification_unresolved ON notification (number) WHERE ((outcome IN ('contradiction', 'second-token', 'malformed')) AND (resolved_at IS NULL));
CREATE INDEX notification_open ON notification (number) WHERE ((outcome IS NULL) OR (outcome = 'waiting'));
