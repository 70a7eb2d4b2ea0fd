-- The platform's lists (sp2502) that were read completely at least once.
CREATE TABLE reference_list (
  -- bank, occupation, business_nature, purpose or payout_method.
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('bank', 'occupation', 'business_nature', 'purpose', 'payout_method')),
  country text COLLATE "C" NOT NULL DEFAULT '', -- Country of a list of banks or payout methods, ISO 3166 alpha-2; '' where the list belongs to no country.
  read_at timestamptz NOT NULL, -- When the last reading was asked for.
  item_count integer NOT NULL, -- How many items the list had. 0: the platform found nothing.
  set_aside jsonb NOT NULL DEFAULT '[]'::jsonb, -- Items of the last reading that could not be kept, as they came: an array of {place, reason, raw}.
  PRIMARY KEY (kind, country),
  CHECK ((country <> '') = (kind IN ('bank', 'payout_method')))
);

-- The items of these lists: what each code means, and how long the platform has listed it.
CREATE TABLE reference_item (
  kind text COLLATE "C" NOT NULL, -- Kind of the list.
  country text COLLATE "C" NOT NULL DEFAULT '', -- Country of the list; '' where it belongs to no country.
  code text COLLATE "C" NOT NULL CHECK (code <> 'ALL0000001'), -- The platform's code.
  name text NOT NULL, -- What the code stands for, as the platform says it.
  method_type text CHECK (method_type IN ('WALLET', 'BANK')), -- Of a payout method: WALLET or BANK. Null for the other kinds.
  is_prompt boolean NOT NULL DEFAULT false, -- True for a prompt to enter something of one's own, which is not to be sent as a code.
  first_seen_at timestamptz NOT NULL, -- When the list had the item first.
  last_seen_at timestamptz, -- When the list had it last. Null while it has it.
  PRIMARY KEY (kind, country, code),
  FOREIGN KEY (kind, country) REFERENCES reference_list(kind, country),
  CHECK ((method_type IS NOT NULL) = (kind = 'payout_method'))
);
