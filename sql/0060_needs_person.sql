-- A registration whose answers contradict each other, or leave open whether the platform has it, needs a person.
ALTER TABLE beneficiary ADD COLUMN needs_person boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN beneficiary.needs_person IS
  'True while the platform''s answers contradict each other or leave open whether it has the registration.';
COMMENT ON COLUMN beneficiary.problem IS
  'Why it was refused, not answered or needs a person: a sentence without anything that was sent. Else null.';

-- What the platform called it stays when a person knows that it does not have it.
ALTER TABLE beneficiary DROP CONSTRAINT beneficiary_flow_needs_reply;
