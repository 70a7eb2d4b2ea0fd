/**
 * What one matching works on, in temporary tables of its transaction: the entries whose match may change, and those around them
 * that decide on it. A matching of everything works on every entry.
 */
import { sql, type RawBuilder } from 'kysely';
import { type Trx, rowOf } from '../../store/engine/database.ts';

/** How far a change reaches, as a multiple of the rules' days: `sql/0072_books.sql` has the tables, `docs/books.md` the reasons. */
export const REACH = {
  /** Entries of the same amount whose match by their day or a near one may change. */
  amount: 3,
  /** Entries of any amount that are left, whose sum or tolerance may change. */
  left: 6,
} as const;

export interface Scope {
  readonly trx: Trx;
  readonly merchantNo: string;
  /** Most days between two entries of a match. */
  readonly days: number;
  /** Whether every entry is matched again. */
  readonly isFull: boolean;
}

/** Rules of people: their entries take part in no other rule. */
export const BY_PERSON = sql<boolean>`rule IN ('by-hand', 'write-off', 'apart')`;
const IS_LATE_RULE = sql<boolean>`rule IN ('sum', 'tolerance')`;

const run = (trx: Trx, ...statements: readonly RawBuilder<unknown>[]): Promise<void> =>
  statements.reduce<Promise<void>>(
    (before, statement) => before.then(async () => void (await statement.execute(trx))),
    Promise.resolve(),
  );
export { run };

/** An instant before any zone's day begins, and one after it ends, in ms. */
const DAY_BOUNDS = sql`e.booked_ms >= (extract(epoch FROM bk_day.day)::bigint - 54000) * 1000
  AND e.booked_ms < (extract(epoch FROM bk_day.day)::bigint + 144000) * 1000 AND e.booked_at::date = bk_day.day`;

const ROW_TABLE = sql`
  CREATE TEMPORARY TABLE bk_row (
    id int GENERATED ALWAYS AS IDENTITY, is_book boolean NOT NULL, batch_no text COLLATE "C", book_entry_id bigint,
    currency text COLLATE "C" NOT NULL, day date NOT NULL, amount numeric NOT NULL, version int NOT NULL, keys text[] COLLATE "C",
    match_id bigint, rule text, named text[] COLLATE "C", is_known boolean NOT NULL, is_changed boolean NOT NULL, is_moved boolean NOT NULL,
    reach int NOT NULL
  ) ON COMMIT DROP`;

/** The days whose entries are not those that were matched last. Own books of these days stay locked until the end. */
const CHANGED_DAYS = ({ merchantNo, isFull }: Scope) => sql`
  CREATE TEMPORARY TABLE bk_day ON COMMIT DROP AS
  WITH own AS MATERIALIZED (
    SELECT currency, day, matched_fingerprint, is_changed FROM book_day WHERE merchant_no = ${merchantNo} FOR UPDATE
  ), theirs AS (SELECT currency, day, fingerprint FROM day_entries WHERE merchant_no = ${merchantNo})
  SELECT currency, day, coalesce(fingerprint, 0) AS fingerprint FROM own FULL JOIN theirs USING (currency, day)
  WHERE ${isFull} OR own.is_changed OR coalesce(own.matched_fingerprint, 0) <> coalesce(theirs.fingerprint, 0)`;

/** Entries as they are now, of changed days: those that differ from what was matched; all of them where everything is matched. */
const CURRENT_ROWS = ({ merchantNo, isFull }: Scope) => {
  const differs = sql`(known.version IS DISTINCT FROM e.version OR known.day <> e.day OR known.amount <> e.amount
    OR known.currency <> e.currency)`;
  const columns = sql`known.match_id, book_match.rule, known.named, known.version IS NOT NULL, ${differs},
    known.version IS NOT NULL AND (known.day, known.amount, known.currency) IS DISTINCT FROM (e.day, e.amount, e.currency), 0`;
  const chosen = isFull ? sql`true` : differs;
  const ledger = isFull
    ? sql`ledger_entry AS e WHERE`
    : sql`bk_day JOIN ledger_entry AS e ON e.currency = bk_day.currency AND ${DAY_BOUNDS} WHERE`;
  const own = isFull
    ? sql`book_entry AS e WHERE`
    : sql`bk_day JOIN book_entry AS e ON e.currency = bk_day.currency AND e.day = bk_day.day WHERE`;
  return sql`
    INSERT INTO bk_row (is_book, batch_no, book_entry_id, currency, day, amount, version, keys, match_id, rule, named, is_known,
      is_changed, is_moved, reach)
    SELECT false, e.batch_no, NULL, e.currency, e.day, e.amount, e.version, NULL, ${columns}
    FROM (
      SELECT e.batch_no, e.currency, e.booked_at::date AS day, coalesce(e.credit, -e.debit) AS amount, e.version
      FROM ${ledger} e.merchant_no = ${merchantNo} AND e.vanished_at IS NULL
    ) AS e
    LEFT JOIN book_match_entry AS known ON known.merchant_no = ${merchantNo} AND known.batch_no = e.batch_no
    LEFT JOIN book_match ON book_match.id = known.match_id
    WHERE ${chosen}
    UNION ALL
    SELECT true, NULL, e.id, e.currency, e.day, e.amount, e.version, nullif(e.reference_keys, '{}'), ${columns}
    FROM (
      SELECT e.id, e.currency, e.day, e.amount, e.version, e.reference_keys
      FROM ${own} e.merchant_no = ${merchantNo} AND e.withdrawn_import_id IS NULL
    ) AS e
    LEFT JOIN book_match_entry AS known ON known.book_entry_id = e.id
    LEFT JOIN book_match ON book_match.id = known.match_id
    WHERE ${chosen}`;
};

/** Entries that were matched and are no more: vanished, withdrawn, or released from a decision. */
const GONE_ROWS = ({ merchantNo, isFull }: Scope) => sql`
  CREATE TEMPORARY TABLE bk_gone ON COMMIT DROP AS
  SELECT known.*, book_match.rule FROM book_match_entry AS known LEFT JOIN book_match ON book_match.id = known.match_id
  WHERE known.merchant_no = ${merchantNo}
    AND ${isFull ? sql`true` : sql`EXISTS (SELECT FROM bk_day WHERE (bk_day.currency, bk_day.day) = (known.currency, known.day))`}
    AND NOT EXISTS (SELECT FROM ledger_entry AS e
      WHERE e.merchant_no = ${merchantNo} AND e.batch_no = known.batch_no AND e.vanished_at IS NULL)
    AND NOT EXISTS (SELECT FROM book_entry AS e WHERE e.id = known.book_entry_id AND e.withdrawn_import_id IS NULL)`;

/** Matches of people with an entry that is gone, or is of another day, amount or account. */
const UNDONE_BY_PERSON = sql`
  CREATE TEMPORARY TABLE bk_undone ON COMMIT DROP AS
  SELECT match_id, bool_or(is_gone) AS is_gone FROM (
    SELECT match_id, true AS is_gone, rule FROM bk_gone UNION ALL SELECT match_id, false, rule FROM bk_row WHERE is_moved
  ) AS touched WHERE ${BY_PERSON} GROUP BY match_id`;

const knownRow = (reach: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  known.batch_no IS NULL, known.batch_no, known.book_entry_id, known.currency, known.day, known.amount, known.version,
  nullif(own.reference_keys, '{}'), known.match_id, book_match.rule, known.named, true, false, false, ${reach}`;
const NOT_YET = sql`NOT EXISTS (SELECT FROM bk_row WHERE bk_row.batch_no = known.batch_no)
  AND NOT EXISTS (SELECT FROM bk_row WHERE bk_row.book_entry_id = known.book_entry_id)
  AND NOT EXISTS (SELECT FROM bk_gone WHERE bk_gone.batch_no = known.batch_no)
  AND NOT EXISTS (SELECT FROM bk_gone WHERE bk_gone.book_entry_id = known.book_entry_id)`;
const KNOWN_WITH_MATCH = sql`LEFT JOIN book_match ON book_match.id = known.match_id
  LEFT JOIN book_entry AS own ON own.id = known.book_entry_id`;

const addKnown = (from: RawBuilder<unknown>, reach: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  INSERT INTO bk_row (is_book, batch_no, book_entry_id, currency, day, amount, version, keys, match_id, rule, named, is_known,
    is_changed, is_moved, reach)
  SELECT ${knownRow(reach)} FROM ${from}`;

/**
 * The entries that a changed one leads to: its match, what it names and what names it, now and when it was matched last. `after` is
 * the last row that was followed before.
 */
const connected = ({ merchantNo }: Scope, after: number): RawBuilder<unknown> => {
  const row = sql`bk_row.id > ${after}`;
  const byNumber = sql`JOIN book_match_entry AS known ON known.merchant_no = ${merchantNo} AND known.batch_no = names`;
  const byMatch = (from: RawBuilder<unknown>) =>
    sql`SELECT known.* FROM ${from} JOIN book_match_entry AS known ON known.match_id = of.match_id`;
  return addKnown(
    sql`(
      ${byMatch(sql`(SELECT DISTINCT match_id FROM bk_row WHERE ${row} AND match_id IS NOT NULL
        AND (NOT ${BY_PERSON} OR match_id IN (SELECT match_id FROM bk_undone))) AS of`)}
      UNION ${byMatch(sql`(SELECT DISTINCT match_id FROM bk_gone WHERE ${after} = 0) AS of`)}
      UNION SELECT known.* FROM (
        SELECT unnest(keys) AS names FROM bk_row WHERE ${row} UNION SELECT unnest(named) FROM bk_row WHERE ${row}
        UNION SELECT unnest(named) FROM bk_gone WHERE ${after} = 0
      ) AS named ${byNumber}
      UNION SELECT known.* FROM (
        SELECT batch_no FROM bk_row WHERE ${row} AND batch_no IS NOT NULL
        UNION SELECT batch_no FROM bk_gone WHERE ${after} = 0 AND batch_no IS NOT NULL
      ) AS ledger JOIN book_entry AS e ON e.reference_keys @> ARRAY[ledger.batch_no] AND e.reference_keys <> '{}'
        AND e.withdrawn_import_id IS NULL AND e.merchant_no = ${merchantNo}
      JOIN book_match_entry AS known ON known.book_entry_id = e.id
    ) AS known ${KNOWN_WITH_MATCH} WHERE ${NOT_YET}`,
    sql`0`,
  );
};

/** The amounts and days that changed or may have become free, as they were and as they are. */
const TOUCHED = ({ merchantNo }: Scope) => sql`
  CREATE TEMPORARY TABLE bk_touch ON COMMIT DROP AS
  SELECT currency, amount, day FROM bk_row UNION SELECT currency, amount, day FROM bk_gone
  UNION SELECT known.currency, known.amount, known.day FROM bk_row JOIN book_match_entry AS known
    ON known.merchant_no = ${merchantNo} AND known.batch_no = bk_row.batch_no WHERE bk_row.is_moved
  UNION SELECT known.currency, known.amount, known.day FROM bk_row JOIN book_match_entry AS known
    ON known.book_entry_id = bk_row.book_entry_id WHERE bk_row.is_moved`;

/** The other entries of the amounts that were touched, on days near enough to decide on what becomes of these. */
const aroundAmounts = ({ merchantNo, days }: Scope): RawBuilder<unknown> => {
  const within = sql`${2 * REACH.amount * days}::int`;
  return addKnown(
    sql`(
      SELECT DISTINCT ON (near.batch_no, near.book_entry_id) near.*, abs(near.day - bk_touch.day) AS reach
      FROM bk_touch JOIN book_match_entry AS near ON near.merchant_no = ${merchantNo} AND near.currency = bk_touch.currency
        AND near.amount = bk_touch.amount AND near.day BETWEEN bk_touch.day - ${within} AND bk_touch.day + ${within}
      WHERE near.named IS NULL ORDER BY near.batch_no, near.book_entry_id, abs(near.day - bk_touch.day)
    ) AS known ${KNOWN_WITH_MATCH} WHERE ${NOT_YET} AND (rule IS NULL OR rule <> 'reference' AND NOT ${BY_PERSON})`,
    sql`known.reach`,
  );
};

/** Loads the entries of the rules that compare amounts. Returns false, and loads none, where no day changed. */
export async function loadRows(scope: Scope): Promise<boolean> {
  const { trx, isFull } = scope;
  await CHANGED_DAYS(scope).execute(trx);
  const { isChanged } = await rowOf(trx)<{
    isChanged: boolean;
  }>`SELECT EXISTS (SELECT FROM bk_day) AS "isChanged"`;
  if (!isChanged) return false;
  await run(trx, ROW_TABLE, CURRENT_ROWS(scope), GONE_ROWS(scope), UNDONE_BY_PERSON);
  if (!isFull) {
    await run(
      trx,
      sql`CREATE UNIQUE INDEX ON bk_row (batch_no)`,
      sql`CREATE UNIQUE INDEX ON bk_row (book_entry_id)`,
    );
    await run(trx, sql`CREATE INDEX ON bk_row (id)`, sql`ANALYZE bk_row`, sql`ANALYZE bk_gone`);
    for (let after = 0, last = await lastRow(trx), isFirst = true; isFirst || last > after; isFirst = false) {
      await connected(scope, after).execute(trx);
      [after, last] = [last, await lastRow(trx)];
    }
  }
  await run(trx, TOUCHED(scope));
  if (!isFull) await run(trx, sql`ANALYZE bk_touch`, aroundAmounts(scope));
  await run(
    trx,
    sql`UPDATE bk_row SET rule = NULL WHERE match_id IN (SELECT match_id FROM bk_undone)`,
    sql`ANALYZE bk_row`,
  );
  return true;
}

const lastRow = async (trx: Trx): Promise<number> =>
  (await rowOf(trx)<{ last: number }>`SELECT coalesce(max(id), 0) AS last FROM bk_row`).last;

/**
 * Adds the entries that are left around those whose being left changed, for the rules that compare other amounts. `bk_zone` has the
 * days on which such a rule may decide anew.
 */
export async function loadLeft(scope: Scope, isLeft: RawBuilder<boolean>): Promise<void> {
  const { trx, merchantNo, days, isFull } = scope;
  if (isFull) return;
  const reach = REACH.left * days;
  const ranges = (name: string, width: number): RawBuilder<unknown> => sql`
    CREATE TEMPORARY TABLE ${sql.raw(name)} ON COMMIT DROP AS
    SELECT currency, lower(span) AS first, upper(span) - 1 AS last FROM (
      SELECT currency, unnest(range_agg(daterange(day - ${width}::int, day + ${width}::int, '[]'))) AS span FROM (
        SELECT currency, day FROM bk_touch
        UNION SELECT currency, day FROM bk_row WHERE reach <= ${REACH.amount * days}
          AND ${isLeft} <> (match_id IS NULL AND named IS NULL OR coalesce(${IS_LATE_RULE}, false))
      ) AS changed GROUP BY currency
    ) AS spans`;
  await run(
    trx,
    ranges('bk_zone', reach),
    ranges('bk_around', 2 * reach),
    addKnown(
      sql`(
        SELECT near.* FROM bk_around JOIN book_match_entry AS near ON near.merchant_no = ${merchantNo}
          AND near.currency = bk_around.currency AND near.day BETWEEN bk_around.first AND bk_around.last
        WHERE near.match_id IS NULL AND near.named IS NULL
        UNION SELECT near.* FROM bk_around JOIN book_match AS late ON late.merchant_no = ${merchantNo}
          AND late.currency = bk_around.currency AND late.complete_on BETWEEN bk_around.first AND bk_around.last + ${2 * days}::int
          AND late.rule IN ('sum', 'tolerance')
          JOIN book_match_entry AS near ON near.match_id = late.id
      ) AS known ${KNOWN_WITH_MATCH} WHERE ${NOT_YET}`,
      sql`${2 * reach + 1}::int`,
    ),
    sql`ANALYZE bk_row`,
  );
}
