-- One table of what must lie in the object store: a day's summaries and manifest, and of each of its files what was read back.
CREATE TABLE artifact (
  merchant_no text COLLATE "C" NOT NULL,
  day date NOT NULL,
  object_key text COLLATE "C" NOT NULL,
  kind text NOT NULL CHECK (kind IN ('file', 'summary', 'manifest')),
  revision integer,
  sha256 text NOT NULL,
  byte_count bigint,
  published_at timestamptz,
  epoch bigint,
  place integer CHECK (place > 0),
  signature text,
  content text,
  stored_sha256 text,
  stored_bytes bigint,
  etag text,
  PRIMARY KEY (merchant_no, day, object_key),
  CHECK (kind <> 'summary' OR (revision IS NOT NULL AND published_at IS NOT NULL)),
  CHECK (kind <> 'manifest'
    OR (revision IS NOT NULL AND byte_count IS NOT NULL AND epoch IS NOT NULL AND content IS NOT NULL)),
  CHECK ((stored_sha256 IS NULL) = (stored_bytes IS NULL))
);

INSERT INTO artifact (merchant_no, day, object_key, kind, revision, sha256, published_at, content)
SELECT merchant_no, day, object_key, 'summary', revision, sha256, published_at, content FROM statement_summary;

-- A merchant's folder: its number with all but letters, digits, '-', '_' and inner dots percent-encoded.
CREATE TABLE published_merchant AS
SELECT merchant_no, 'merchant=' || (
  SELECT string_agg(CASE
    WHEN letter ~ '^[A-Za-z0-9_-]$' COLLATE "C" OR (letter = '.' AND nth > length(merchant_no) - length(ltrim(merchant_no, '.')))
    THEN letter
    ELSE (
      SELECT string_agg('%' || upper(lpad(to_hex(get_byte(convert_to(letter, 'UTF8'), at)), 2, '0')), '' ORDER BY at)
      FROM generate_series(0, octet_length(letter) - 1) AS at
    ) END, '' ORDER BY nth)
  FROM regexp_split_to_table(merchant_no, '') WITH ORDINALITY AS one (letter, nth)
) AS folder
FROM (
  SELECT merchant_no FROM statement UNION SELECT merchant_no FROM statement_summary
  UNION SELECT merchant_no FROM statement_manifest
) AS known;

INSERT INTO artifact (merchant_no, day, object_key, kind, revision, sha256, byte_count, epoch, place, signature, content)
SELECT merchant_no, day, folder || '/date=' || to_char(day, 'YYYY-MM-DD') || '/manifest.json', 'manifest', revision, sha256,
  byte_count, epoch, place, signature, content
FROM statement_manifest JOIN published_merchant USING (merchant_no);

INSERT INTO artifact AS known (merchant_no, day, object_key, kind, sha256, stored_sha256, stored_bytes, etag)
SELECT merchant_no, substring(split_part(object_key, '/', 2) FROM 6)::date, object_key, 'file', sha256, sha256, byte_count, etag
FROM stored_object JOIN published_merchant ON folder = split_part(object_key, '/', 1)
WHERE split_part(object_key, '/', 2) ~ '^date=\d{4}-\d\d-\d\d$'
ON CONFLICT (merchant_no, day, object_key) DO UPDATE SET
  stored_sha256 = excluded.stored_sha256, stored_bytes = excluded.stored_bytes, etag = excluded.etag;

DROP TABLE published_merchant;
DROP TABLE statement_summary;
DROP TABLE statement_manifest;
DROP TABLE stored_object;
CREATE INDEX artifact_place ON artifact (merchant_no, place) WHERE place IS NOT NULL;

-- The statements that a close froze are few and read with it.
ALTER TABLE month_close ADD COLUMN frozen jsonb;
UPDATE month_close AS closed SET frozen = coalesce((
  SELECT jsonb_object_agg(currency, days) FROM (
    SELECT currency, jsonb_object_agg(to_char(day, 'YYYY-MM-DD'), revision) AS days
    FROM month_close_statement AS own
    WHERE (own.merchant_no, own.month, own.number) = (closed.merchant_no, closed.month, closed.number)
    GROUP BY currency
  ) AS account
), '{}');
ALTER TABLE month_close ALTER COLUMN frozen SET NOT NULL;
DROP TABLE month_close_statement;

COMMENT ON TABLE artifact IS
  'Files of the object store, those of a day together: what a summary or a manifest must hold, and what was last read back of each '
  'file, so that a listing alone can prove that nothing has changed.';
COMMENT ON COLUMN artifact.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN artifact.day IS 'The business day.';
COMMENT ON COLUMN artifact.object_key IS 'Key of the file, below STATEMENTS_URL.';
COMMENT ON COLUMN artifact.kind IS
  'summary; manifest: the current one; file: any other, such as a statement, whose revision is a row of statement.';
COMMENT ON COLUMN artifact.revision IS 'Revision of a summary or manifest, from 1. Null for other files.';
COMMENT ON COLUMN artifact.sha256 IS 'SHA-256 that the file must have, in hex.';
COMMENT ON COLUMN artifact.byte_count IS 'Size of a manifest in bytes. Null for other files.';
COMMENT ON COLUMN artifact.published_at IS 'When a summary was published. Null for other files.';
COMMENT ON COLUMN artifact.epoch IS 'Epoch of the lease that a manifest was written under. Null for other files.';
COMMENT ON COLUMN artifact.place IS
  'Place of a manifest in the merchant''s chain of manifests, from 1. Null for other files, and where it was made before there '
  'was a chain.';
COMMENT ON COLUMN artifact.signature IS 'The text of a manifest''s signature file. Null where there is none, and for other files.';
COMMENT ON COLUMN artifact.content IS
  'The text of a manifest, and of a summary that names resolved breaks, as they could not be made again. Null for other files.';
COMMENT ON COLUMN artifact.stored_sha256 IS 'SHA-256 of the bytes that were last read back, in hex. Null until then.';
COMMENT ON COLUMN artifact.stored_bytes IS 'How many bytes were read back. Null until then.';
COMMENT ON COLUMN artifact.etag IS 'The store''s own mark of these bytes. Null where it gives none, and until they were read back.';
COMMENT ON COLUMN month_close.frozen IS
  'The statements that it froze: by currency and business day (YYYY-MM-DD) the revision that was current then.';
