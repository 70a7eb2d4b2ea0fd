-- A break asks which entries of its account and span vanished or had another content. Few entries do.
CREATE INDEX ledger_entry_vanished_in_time ON ledger_entry (merchant_no, currency, booked_ms)
  WHERE vanished_at IS NOT NULL;
CREATE INDEX ledger_entry_version_in_time ON ledger_entry_version (merchant_no, currency, booked_ms);
