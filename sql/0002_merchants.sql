-- A merchant whose ledger is read, or is about to be.
CREATE TABLE merchant (
  merchant_no text COLLATE "C" PRIMARY KEY,
  token_ciphertext text, -- The merchant's token, encrypted: v1:key id:nonce:tag:ciphertext, the last three in base64. Null where the token comes from the settings.
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'disabled')), -- active: its ledger is read. disabled: it is left out until somebody enables it.
  added_at timestamptz NOT NULL, -- When the merchant was added, or an approval brought it.
  joined_at timestamptz, -- When a first call with its token succeeded. Null: the merchant is known, and the nightly job does not read it yet.
  enabled_at timestamptz -- When it was last enabled or given a token by hand; null if neither happened.
);

-- Display names and own references that people gave to merchants and accounts. Nothing that is published has them.
CREATE TABLE account_name (
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL, -- Currency code of the account; empty for the merchant itself.
  name text, -- The display name. Null where there is none.
  reference text, -- Own reference of the merchant, such as its customer number. Null where there is none.
  iban text, -- IBAN of the account, or what it is identified by instead; without blanks. Null where there is none.
  ledger_account text, -- Number of the account in the general ledger. Null where there is none.
  PRIMARY KEY (merchant_no, currency)
);
