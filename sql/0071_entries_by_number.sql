-- runs with: 0064
-- An entry is found by its number whatever its merchant: each night asks for every new entry whether another merchant has it.
CREATE INDEX ledger_entry_number ON ledger_entry (batch_no, booked_ms);
