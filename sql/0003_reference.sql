-- The platform's lists (sp2502): what each code means, and since when and until when the platform has listed it.

-- One row a list that was ever read whole: banks and payout methods per country, the others once.
CREATE TABLE reference_list (
  kind text COLLATE "C" NOT NULL
    CHECK (kind IN ('bank', 'occupation', 'business_nature', 'purpose', 'payout_method')),
  -- ISO alpha-2; '' where the list is no country's
  country text COLLATE "C" NOT NULL DEFAULT '',
  -- when the last reading was asked for
  read_at timestamptz NOT NULL,
  -- 0: the platform found nothing
  item_count integer NOT NULL,
  PRIMARY KEY (kind, country),
  CHECK ((country <> '') = (kind IN ('bank', 'payout_method')))
);

CREATE TABLE reference_item (
  kind text COLLATE "C" NOT NULL,
  country text COLLATE "C" NOT NULL DEFAULT '',
  -- the platform's word for an empty list is no item of one
  code text COLLATE "C" NOT NULL CHECK (code <> 'ALL0000001'),
  name text NOT NULL,
  -- WALLET or BANK, for payout methods
  method_type text CHECK (method_type IN ('WALLET', 'BANK')),
  -- a prompt to enter something of one's own, which is not to be sent as a code
  is_prompt boolean NOT NULL DEFAULT false,
  first_seen_at timestamptz NOT NULL,
  -- null while the list has it: last seen when the list was last read; so an unchanged list writes one row
  last_seen_at timestamptz,
  PRIMARY KEY (kind, country, code),
  FOREIGN KEY (kind, country) REFERENCES reference_list (kind, country),
  CHECK ((method_type IS NOT NULL) = (kind = 'payout_method'))
);
