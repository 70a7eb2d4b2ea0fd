-- Where the nightly look at the days before those it reads stands: their total, and how far their pages were gone through.
CREATE TABLE older_days_look (
  merchant_no text COLLATE "C" PRIMARY KEY,
  from_day date NOT NULL,
  to_day date NOT NULL,
  -- what the platform said the days hold in all
  total bigint NOT NULL,
  -- whether that is what is stored of them, as read anew where it was not
  is_held boolean NOT NULL,
  looked_at timestamptz NOT NULL,
  -- a round is through once it has shown as many entries as there were when it began
  round_read integer NOT NULL,
  round_of integer NOT NULL,
  round_began_at timestamptz NOT NULL,
  -- which pages come first, as seen last
  page_order text NOT NULL CHECK (page_order IN ('oldest first', 'newest first', 'mixed'))
);
