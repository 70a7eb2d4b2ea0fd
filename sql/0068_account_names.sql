-- runs with: 0064
-- Merchants and their accounts have display names and own references. A table of its own: the merchant of the settings has no row in `merchant`.
CREATE TABLE account_name (
  merchant_no text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  name text,
  reference text,
  iban text,
  ledger_account text,
  PRIMARY KEY (merchant_no, currency)
);

COMMENT ON TABLE account_name IS 'Display names and own references that people gave to merchants and accounts. Nothing that is published has them.';
COMMENT ON COLUMN account_name.merchant_no IS 'The platform''s number of the merchant.';
COMMENT ON COLUMN account_name.currency IS 'Currency code of the account; empty for the merchant itself.';
COMMENT ON COLUMN account_name.name IS 'The display name. Null where there is none.';
COMMENT ON COLUMN account_name.reference IS 'Own reference of the merchant, such as its customer number. Null where there is none.';
COMMENT ON COLUMN account_name.iban IS 'IBAN of the account, or what it is identified by instead; without blanks. Null where there is none.';
COMMENT ON COLUMN account_name.ledger_account IS 'Number of the account in the general ledger. Null where there is none.';
