-- What a post at the door costs and where it came from, so that noise can be bounded and a replay told at a glance.

ALTER TABLE notification
  -- the address it was posted from, as far as the proxies that are trusted tell it
  ADD COLUMN source text,
  -- of the ciphertext
  ADD COLUMN body_bytes integer NOT NULL DEFAULT 0,
  -- keyed digest of the result that was applied: the same result has the same one
  ADD COLUMN result_digest text;
UPDATE notification SET body_bytes = octet_length(body_ciphertext);
-- What strangers posted, of which only so many, so much and so old is kept: read from the index alone.
DROP INDEX notification_unknown;
CREATE INDEX notification_unknown ON notification (number) INCLUDE (body_bytes, received_at)
  WHERE outcome = 'unknown';
-- What processing has left to look at, path by path.
DROP INDEX notification_open;
CREATE INDEX notification_open ON notification (notify_hash, number) WHERE outcome IS NULL OR outcome = 'waiting';
