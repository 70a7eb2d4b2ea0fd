-- Each manifest names the one that its merchant had before it, and may have a signature beside it.
ALTER TABLE statement_manifest ADD COLUMN place integer CHECK (place > 0), ADD COLUMN signature text;
CREATE INDEX statement_manifest_place ON statement_manifest (merchant_no, place) WHERE place IS NOT NULL;
COMMENT ON COLUMN statement_manifest.place IS
  'Its place in the merchant''s chain of manifests, from 1; null where it was made before there was a chain.';
COMMENT ON COLUMN statement_manifest.signature IS
  'The text of the signature file beside it; null where there is none.';
