-- What the platform may leave out of a reply, what it tells beside a result, and what a person knows.

-- The platform said that it received the application, and named no bizFlow: it stands as unknown, and is not lost.
ALTER TABLE application ADD COLUMN is_received boolean NOT NULL DEFAULT false;
-- merNameEn of the last result: the merchant's name as the platform has it
ALTER TABLE application ADD COLUMN recorded_name_ciphertext text;

-- A rejection, or a receipt, may come without a bizFlowNo.
ALTER TABLE beneficiary DROP CONSTRAINT beneficiary_check2;
ALTER TABLE beneficiary ADD CONSTRAINT beneficiary_flow_needs_reply
  CHECK (biz_flow_no IS NULL OR status IN ('01', '03', '04'));
-- what a person said who settled it
ALTER TABLE beneficiary ADD COLUMN note text;

-- Items of the last reading that could not be kept, as they came: [{place, reason, raw}]
ALTER TABLE reference_list ADD COLUMN set_aside jsonb NOT NULL DEFAULT '[]';
