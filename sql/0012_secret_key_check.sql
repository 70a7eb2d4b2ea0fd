-- What tells a wrong key from the right one: a value that only the key itself can make, by the id it is known under. A
-- key that is not the one known fails here, before anything is encrypted that nobody could read again.
CREATE TABLE secret_key_check (
  key_id text COLLATE "C" PRIMARY KEY,
  -- keyed digest (HMAC-SHA256) of the id, in hex; says nothing about the key
  check_value text COLLATE "C" NOT NULL CHECK (check_value ~ '^[0-9a-f]{64}$')
);
