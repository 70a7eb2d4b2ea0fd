-- Where the nightly look at the days before those it reads stands: their total, and which page of them comes next.
CREATE TABLE older_days_look (
  merchant_no text COLLATE "C" PRIMARY KEY,
  from_day date NOT NULL,
  to_day date NOT NULL,
  -- what the platform said the days hold in all
  total bigint NOT NULL,
  -- whether that is what is stored of them, as read anew where it was not
  is_held boolean NOT NULL,
  looked_at timestamptz NOT NULL,
  -- a round goes through as many pages as there were when it began; pages are counted from 0
  next_page integer NOT NULL,
  pages integer NOT NULL,
  round_pages integer NOT NULL,
  round_began_at timestamptz NOT NULL,
  -- whether pages come oldest first, so that new entries move none of them
  is_oldest_first boolean NOT NULL
);
