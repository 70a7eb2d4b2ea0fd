/**
 * What one matching works on, in temporary tables of its transaction: the entries that changed, those that references join with
 * them, and those of the days around, which decide on each other. A matching of everything works on every entry.
 */
import { sql, type RawBuilder } from 'kysely';
import { type Trx, rowOf } from '../../store/engine/database.ts';

/**
 * Whether and how an entry is matched follows from entries that are at most so many times the rules' days away, but for references:
 * 3 by equal amounts, 4 more by sums, 2 more for a pair that what is left explains as well. `docs/books.md` has the rules.
 */
const REACH = 9;

export interface Scope {
  readonly trx: Trx;
  readonly merchantNo: string;
  /** Most days between two entries of a match. */
  readonly days: number;
  /** Whether every entry is matched again. */
  readonly isFull: boolean;
  /** The first day of own books, or `-infinity`. An entry before it counts only with one from it on. */
  readonly startsOn: string;
}

/** Rules of people: their entries take part in no other rule. */
export const BY_PERSON = sql<boolean>`coalesce(rule IN ('by-hand', 'write-off', 'apart'), false)`;

export async function run(trx: Trx, ...statements: readonly RawBuilder<unknown>[]): Promise<void> {
  for (const statement of statements) await statement.execute(trx);
}

/** Entries that may be in a match by their amount: from a few days before the first one on. */
export const isInTime = ({ startsOn, days }: Scope, table: string): RawBuilder<boolean> =>
  sql`${sql.ref(table)}.day >= ${startsOn}::date - ${days}::int`;

const ROW_TABLE = sql`
  CREATE TEMPORARY TABLE bk_row (
    id int GENERATED ALWAYS AS IDENTITY, is_book boolean NOT NULL, batch_no text COLLATE "C", book_entry_id bigint,
    currency text COLLATE "C" NOT NULL, day date NOT NULL, amount numeric NOT NULL, version int NOT NULL, keys text[] COLLATE "C",
    match_id bigint, rule text, named text[] COLLATE "C", known_currency text COLLATE "C", known_day date, is_known boolean NOT NULL,
    is_changed boolean NOT NULL, is_moved boolean NOT NULL
  ) ON COMMIT DROP`;

/** The days whose entries are not those that were matched last. Own books of these days stay locked until the end. */
const CHANGED_DAYS = ({ merchantNo, isFull }: Scope) => sql`
  CREATE TEMPORARY TABLE bk_day ON COMMIT DROP AS
  WITH own AS MATERIALIZED (
    SELECT currency, day, matched_fingerprint, is_changed FROM book_day WHERE merchant_no = ${merchantNo} FOR UPDATE
  ), theirs AS (SELECT currency, day, fingerprint FROM day_entries WHERE merchant_no = ${merchantNo})
  SELECT currency, day, day AS first, day AS last, coalesce(fingerprint, 0) AS fingerprint FROM own FULL JOIN theirs USING (currency, day)
  WHERE ${isFull} OR own.is_changed OR coalesce(own.matched_fingerprint, 0) <> coalesce(theirs.fingerprint, 0)`;

/** Adds entries as they are now, `e`, with what they were when they were matched last. Those that are there already stay as they are. */
const added = (e: RawBuilder<unknown>, known: RawBuilder<unknown>, where: RawBuilder<unknown>) => sql`
  INSERT INTO bk_row (is_book, batch_no, book_entry_id, currency, day, amount, version, keys, match_id, rule, named, known_currency, known_day,
    is_known, is_changed, is_moved)
  SELECT e.*, known.match_id, rule, known.named, known.currency, known.day, known.version IS NOT NULL,
    (known.version, known.day, known.amount, known.currency) IS DISTINCT FROM (e.version, e.day, e.amount, e.currency),
    known.version IS NOT NULL AND (known.day, known.amount, known.currency) IS DISTINCT FROM (e.day, e.amount, e.currency)
  FROM (${e}) AS e LEFT JOIN book_match_entry AS known ON ${known} LEFT JOIN book_match ON book_match.id = known.match_id
  WHERE ${where} ON CONFLICT DO NOTHING`;

const TRUE = sql`true`;

const ledgerRows = ({ merchantNo }: Scope, from: RawBuilder<unknown>, where = TRUE): RawBuilder<unknown> =>
  added(
    sql`SELECT false, e.batch_no, NULL::bigint AS book_entry_id, e.currency, e.booked_at::date AS day, coalesce(e.credit, -e.debit) AS amount,
      e.version, NULL::text[] AS keys
    FROM ${from} WHERE e.merchant_no = ${merchantNo} AND e.vanished_at IS NULL`,
    sql`known.merchant_no = ${merchantNo} AND known.batch_no = e.batch_no`,
    where,
  );

const ownRows = (
  { merchantNo }: Scope,
  from: RawBuilder<unknown>,
  where = TRUE,
  isOfMerchant = sql`e.merchant_no = ${merchantNo}`,
): RawBuilder<unknown> =>
  added(
    sql`SELECT true, NULL::text AS batch_no, e.id AS book_entry_id, e.currency, e.day, e.amount, e.version, nullif(e.reference_keys, '{}') AS keys
    FROM ${from} WHERE ${isOfMerchant} AND e.withdrawn_import_id IS NULL`,
    sql`known.book_entry_id = e.book_entry_id`,
    where,
  );

/** The entries of both sides on spans of days. `booked_ms` has an index: a span begins and ends with that of any zone. */
const rowsOn = (scope: Scope, spans: RawBuilder<unknown>, where = TRUE): RawBuilder<unknown>[] => [
  ledgerRows(
    scope,
    sql`${spans} AS span JOIN ledger_entry AS e ON e.currency = span.currency AND e.booked_at::date BETWEEN span.first AND span.last
      AND e.booked_ms >= (extract(epoch FROM span.first)::bigint - 54000) * 1000
      AND e.booked_ms < (extract(epoch FROM span.last)::bigint + 144000) * 1000`,
    where,
  ),
  ownRows(
    scope,
    sql`${spans} AS span JOIN book_entry AS e ON e.currency = span.currency AND e.day BETWEEN span.first AND span.last`,
    where,
  ),
];

/** Every entry. Of those before the start only what references or people may join with later ones. */
const allRows = (scope: Scope): RawBuilder<unknown>[] => [
  ownRows(scope, sql`book_entry AS e`, sql`${isInTime(scope, 'e')} OR keys IS NOT NULL OR ${BY_PERSON}`),
  ledgerRows(scope, sql`ledger_entry AS e`, sql`${isInTime(scope, 'e')} OR ${BY_PERSON}`),
  ledgerRows(
    scope,
    sql`(SELECT DISTINCT unnest(keys) AS batch_no FROM bk_row) AS named JOIN ledger_entry AS e ON e.batch_no = named.batch_no
      AND e.booked_at < ${scope.startsOn}::date - ${scope.days}::int`,
    sql`NOT ${BY_PERSON}`,
  ),
];

/** Entries of the changed days that were matched and are no more: vanished, withdrawn, or before the start. */
const GONE_ROWS = ({ merchantNo, isFull }: Scope) => sql`
  CREATE TEMPORARY TABLE bk_gone ON COMMIT DROP AS
  SELECT known.*, book_match.rule FROM book_match_entry AS known LEFT JOIN book_match ON book_match.id = known.match_id
  WHERE known.merchant_no = ${merchantNo} AND ${isFull ? TRUE : sql`(known.currency, known.day) IN (SELECT currency, day FROM bk_day)`}
    AND NOT EXISTS (SELECT FROM bk_row WHERE bk_row.batch_no = known.batch_no)
    AND NOT EXISTS (SELECT FROM bk_row WHERE bk_row.book_entry_id = known.book_entry_id)`;

/** Matches of people with an entry that is gone, or is of another day, amount or account. */
const UNDONE_BY_PERSON = sql`
  CREATE TEMPORARY TABLE bk_undone ON COMMIT DROP AS
  SELECT match_id, bool_or(is_gone) AS is_gone FROM (
    SELECT match_id, true AS is_gone, rule FROM bk_gone UNION ALL SELECT match_id, false, rule FROM bk_row WHERE is_moved
  ) AS touched WHERE ${BY_PERSON} GROUP BY match_id`;

/** As `own` the own entries, of any merchant, that name the batch of the row `named`. Of one key at a time: the index is certain. */
export const NAMING = sql`LATERAL (
  SELECT id, merchant_no FROM book_entry
  WHERE reference_keys @> ARRAY[named.batch_no] AND reference_keys <> '{}' AND withdrawn_import_id IS NULL OFFSET 0
) AS own`;

/**
 * Adds the entries that those behind the row `after` lead to: those of the same match, what they name and what names them, now and when
 * they were matched last. A table just imported into has no statistics yet: to be certain of the index, a lookup is of one key.
 */
const linkedRows = (scope: Scope, after: number, isFollowed: RawBuilder<unknown>): RawBuilder<unknown>[] => {
  const row = sql`bk_row.id > ${after} AND ${isFollowed}`;
  const gone = sql`${after} = 0`;
  const sameMatch = sql`book_match_entry WHERE match_id IN (
    SELECT match_id FROM bk_row WHERE ${row} AND (NOT ${BY_PERSON} OR match_id IN (SELECT match_id FROM bk_undone))
    UNION SELECT match_id FROM bk_gone WHERE ${gone})`;
  return [
    ledgerRows(
      scope,
      sql`(SELECT unnest(keys) AS batch_no FROM bk_row WHERE ${row} UNION SELECT unnest(named) FROM bk_row WHERE ${row}
        UNION SELECT unnest(named) FROM bk_gone WHERE ${gone} UNION SELECT batch_no FROM ${sameMatch}
      ) AS named JOIN ledger_entry AS e ON e.batch_no = named.batch_no`,
    ),
    ownRows(
      scope,
      sql`(SELECT own.id FROM (
          SELECT batch_no FROM bk_row WHERE ${row} AND NOT is_book UNION SELECT batch_no FROM bk_gone WHERE ${gone}
        ) AS named CROSS JOIN ${NAMING} WHERE own.merchant_no = ${scope.merchantNo}
        UNION SELECT book_entry_id FROM ${sameMatch}
      ) AS naming CROSS JOIN LATERAL (SELECT * FROM book_entry WHERE id = naming.id OFFSET 0) AS e`,
      TRUE,
      TRUE,
    ),
  ];
};

/** Follows the changed entries behind a row, until they lead to no other one. */
async function follow(scope: Scope, from: number): Promise<void> {
  const lastRow = async (): Promise<number> =>
    (await rowOf(scope.trx)<{ last: number }>`SELECT coalesce(max(id), 0) AS last FROM bk_row`).last;
  let [after, last, isFollowed] = [from, await lastRow(), sql`is_changed`];
  do {
    await run(scope.trx, ...linkedRows(scope, after, isFollowed));
    [after, last, isFollowed] = [last, await lastRow(), TRUE];
  } while (last > after);
}

/** The days on which an entry changed, came or went. */
const TOUCHED = sql`
  CREATE TEMPORARY TABLE bk_touch ON COMMIT DROP AS
  SELECT currency, day FROM bk_day UNION SELECT currency, day FROM bk_gone UNION SELECT currency, day FROM bk_row
  UNION SELECT known_currency, known_day FROM bk_row WHERE is_known`;

/** The days that are at most so far from these. */
const spans = (name: string, width: number): RawBuilder<unknown> => sql`
  CREATE TEMPORARY TABLE ${sql.raw(name)} ON COMMIT DROP AS
  SELECT currency, lower(span) AS first, upper(span) - 1 AS last FROM (
    SELECT currency, unnest(range_agg(daterange(day - ${width}::int, day + ${width}::int, '[]'))) AS span FROM bk_touch GROUP BY currency
  ) AS spans`;

/** Loads the entries to match. Returns false, and loads none, where no day changed. On the days of `bk_zone` their matches may change. */
export async function loadRows(scope: Scope): Promise<boolean> {
  const { trx, days, isFull } = scope;
  await run(trx, CHANGED_DAYS(scope));
  const { isChanged } = await rowOf(trx)<{
    isChanged: boolean;
  }>`SELECT EXISTS (SELECT FROM bk_day) AS "isChanged"`;
  if (!isChanged) return false;
  await run(trx, ROW_TABLE);
  if (isFull) await run(trx, ...allRows(scope), sql`ANALYZE bk_row`);
  else
    await run(
      trx,
      sql`CREATE UNIQUE INDEX ON bk_row (batch_no)`,
      sql`CREATE UNIQUE INDEX ON bk_row (book_entry_id)`,
      sql`ANALYZE bk_day`,
      ...rowsOn(scope, sql`bk_day`),
      sql`ANALYZE bk_row`,
    );
  await run(trx, GONE_ROWS(scope), UNDONE_BY_PERSON);
  if (!isFull) {
    await run(trx, sql`DELETE FROM bk_row WHERE NOT is_changed`, sql`ANALYZE bk_row`, sql`ANALYZE bk_gone`);
    await follow(scope, 0);
  }
  await run(trx, TOUCHED, sql`ANALYZE bk_touch`);
  if (!isFull) {
    await run(trx, spans('bk_zone', REACH * days), spans('bk_around', 2 * REACH * days));
    const { last } = await rowOf(trx)<{ last: number }>`SELECT coalesce(max(id), 0) AS last FROM bk_row`;
    // What references and people join is not changed, and in no other rule.
    const isFree = sql`known.named IS NULL AND rule IS DISTINCT FROM 'reference' AND NOT ${BY_PERSON} AND ${isInTime(scope, 'e')}`;
    await run(trx, ...rowsOn(scope, sql`bk_around`, isFree));
    await follow(scope, last);
  }
  await run(
    trx,
    sql`UPDATE bk_row SET rule = NULL WHERE match_id IN (SELECT match_id FROM bk_undone)`,
    sql`ANALYZE bk_row`,
  );
  return true;
}
