-- A break is a case: who took it, what was said of it, who resolved it, and who opened it again. Being found and being
-- healed are the break's own (found_at, closed_at); its steps are what people did.
CREATE TABLE break_step (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  break_id bigint NOT NULL REFERENCES continuity_break (id),
  kind text NOT NULL CHECK (kind IN ('taken', 'commented', 'resolved', 'reopened')),
  -- who did it, when, and the note
  audit_entry_id bigint NOT NULL UNIQUE REFERENCES audit_entry (id)
);
CREATE INDEX break_step_of_break ON break_step (break_id, id);

-- Breaks that were resolved before: by the last who did, where that was kept.
INSERT INTO break_step (break_id, kind, audit_entry_id)
SELECT found.id, 'resolved', deed.id
FROM continuity_break AS found
CROSS JOIN LATERAL (
  SELECT id FROM audit_entry
  WHERE command = 'breaks resolve' AND subject = found.id::text
  ORDER BY id DESC LIMIT 1
) AS deed
WHERE found.status = 'resolved';

-- A day's manifest and summary tell of its resolved breaks.
CREATE INDEX continuity_break_resolved ON continuity_break (merchant_no, end_ms) WHERE status = 'resolved';
-- The summary's text where it tells of resolved breaks: what was resolved at the time cannot be made again from what is
-- resolved now. Null where the day's statements alone make it.
ALTER TABLE statement_summary ADD COLUMN content text;
