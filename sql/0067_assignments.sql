-- runs with: 0064
-- A break may be assigned to somebody else, with a date by which it is due. Assignments of before are to who made them.
ALTER TABLE audit_event
  ADD COLUMN assigned_to text,
  ADD COLUMN due_on date;

COMMENT ON COLUMN audit_event.assigned_to IS 'To whom a break was assigned. Null for other events, and where it is to who did it.';
COMMENT ON COLUMN audit_event.due_on IS 'The day by which the assigned break is due. Null where there is none.';
