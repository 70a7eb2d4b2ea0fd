-- What should lie in the object store: the database says it, and the store is made to follow.

-- The current manifest of each merchant's day. Written under the lease before the object, so that whoever takes over
-- knows what is still on its way.
CREATE TABLE statement_manifest (
  merchant_no text COLLATE "C" NOT NULL,
  day date NOT NULL,
  -- grows with every manifest whose content differs from the one before
  revision integer NOT NULL,
  -- of the lease it was written under
  epoch bigint NOT NULL,
  sha256 text NOT NULL,
  byte_count bigint NOT NULL,
  -- the object's text: certificates move on with every reading, so it could not be made again from them
  content text NOT NULL,
  PRIMARY KEY (merchant_no, day)
);

-- What was read back from the store under each key, so that a listing alone can tell that nothing was touched since.
CREATE TABLE stored_object (
  object_key text COLLATE "C" NOT NULL PRIMARY KEY,
  sha256 text NOT NULL,
  byte_count bigint NOT NULL,
  -- the store's own mark of these bytes; null where it gives none
  etag text
);
