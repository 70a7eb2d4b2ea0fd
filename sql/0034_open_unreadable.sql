-- Unreadable entries that nobody has acknowledged are few among all that ever came. They are counted for `status` and for
-- metrics, as often as somebody asks.
CREATE INDEX quarantined_entry_open ON quarantined_entry (merchant_no) WHERE released_at IS NULL AND acknowledged_at IS NULL;
