/**
 * What one matching works on, in temporary tables of its transaction: the entries that changed, those that references join with
 * them, and those of the days around, which decide on each other. A matching of everything works on every entry.
 */
import { sql, type RawBuilder } from 'kysely';
import type { MatchRules } from '../../ledger/own-books.ts';
import { type Trx, rowOf } from '../../store/engine/database.ts';
import { heldCurrencies, isHeldOn } from '../../store/entries.ts';

/**
 * Whether and how an entry is matched follows from entries that are at most so many times the rules' days away, but for references:
 * 4 by equal amounts, 4 more by sums, 2 more for a pair that what is left explains as well. `docs/books.md` has the rules.
 */
const REACH = 10;

export interface Scope {
  readonly trx: Trx;
  readonly merchantNo: string;
  readonly rules: MatchRules;
  /** The rules and the start as one text: other ones match everything again. */
  readonly rulesText: string;
  readonly now: Date;
  readonly runId: number | null;
  /** Whether every entry is matched again. */
  readonly isFull: boolean;
  /** The first day of own books, or `-infinity`. An entry before it counts only with one from it on. */
  readonly startsOn: string;
}

/** Rules of people: their entries take part in no other rule. */
export const byPerson = (rule: RawBuilder<unknown>) =>
  sql<boolean>`coalesce(${rule} IN ('by-hand', 'write-off', 'apart'), false)`;
export const BY_PERSON = byPerson(sql`rule`);

type Statements = RawBuilder<unknown> | readonly RawBuilder<unknown>[];

export async function run(trx: Trx, ...statements: readonly Statements[]): Promise<void> {
  for (const statement of statements.flat()) await statement.execute(trx);
}

/** Makes a table of this transaction, of which the planner knows how large it is. */
export const temporary =
  (name: string) =>
  (...query: Parameters<typeof sql>): readonly RawBuilder<unknown>[] => [
    sql`CREATE TEMPORARY TABLE ${sql.raw(name)} ON COMMIT DROP AS ${sql(...query)}`,
    sql`ANALYZE ${sql.raw(name)}`,
  ];

/** Entries that may be in a match by their amount: from a few days before the first one on. */
export const isInTime = ({ startsOn, rules: { days } }: Scope, table: string): RawBuilder<boolean> =>
  sql`${sql.ref(table)}.day >= ${startsOn}::date - ${days}::int`;

const ROW_TABLE = sql`
  CREATE TEMPORARY TABLE bk_row (
    id int GENERATED ALWAYS AS IDENTITY, is_book boolean NOT NULL, batch_no text COLLATE "C", book_entry_id bigint,
    currency text COLLATE "C" NOT NULL, day date NOT NULL, second bigint, amount numeric NOT NULL, version int NOT NULL, keys text[] COLLATE "C",
    match_id bigint, rule text, named text[] COLLATE "C", known_currency text COLLATE "C", known_day date, is_known boolean NOT NULL,
    is_changed boolean NOT NULL, is_moved boolean NOT NULL
  ) ON COMMIT DROP`;

/** The days whose entries are not those that were matched last. Own books of these days stay locked until the end. */
const changedDays = ({ merchantNo, isFull }: Scope) => sql`
  WITH own AS MATERIALIZED (
    SELECT currency, day, matched_changes, is_changed FROM book_day WHERE merchant_no = ${merchantNo} FOR UPDATE
  ), held AS (
    WITH RECURSIVE held (currency) AS (${heldCurrencies(merchantNo)})
    SELECT currency FROM held WHERE currency IS NOT NULL UNION SELECT currency FROM own
  ), theirs AS (
    SELECT currency, day, changes FROM held CROSS JOIN certificate WHERE merchant_no = ${merchantNo} AND changes > 0
  )
  SELECT currency, day, day AS first, day AS last, coalesce(changes, 0) AS changes FROM own FULL JOIN theirs USING (currency, day)
  WHERE (${isFull} OR own.is_changed OR coalesce(own.matched_changes, 0) <> coalesce(theirs.changes, 0))
    AND (own.day IS NOT NULL OR ${isHeldOn(merchantNo, sql`theirs.currency`, sql`theirs.day`)})`;

const TRUE = sql`true`;

/**
 * The rows of a table that satisfy a condition, for each row before it. A table just imported into has no statistics yet, and may be read
 * completely for a few rows: this way the index is certain.
 */
export const lookup = (table: string, condition: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`LATERAL (SELECT * FROM ${sql.raw(table)} WHERE ${condition} OFFSET 0)`;

/** Adds entries as they are now, `e`, with what they were when they were matched last. Those that are there already stay as they are. */
const added = (
  { isFull }: Scope,
  e: RawBuilder<unknown>,
  isKnown: RawBuilder<unknown>,
  where: RawBuilder<unknown>,
) => sql`
  INSERT INTO bk_row (is_book, batch_no, book_entry_id, currency, day, second, amount, version, keys, match_id, rule, named, known_currency, known_day,
    is_known, is_changed, is_moved)
  SELECT e.*, known.match_id, known.rule, known.named, known.currency, known.day, known.version IS NOT NULL,
    (known.version, known.day, known.amount, known.currency) IS DISTINCT FROM (e.version, e.day, e.amount, e.currency),
    known.version IS NOT NULL AND (known.day, known.amount, known.currency) IS DISTINCT FROM (e.day, e.amount, e.currency)
  FROM (${e}) AS e LEFT JOIN ${isFull ? sql`book_match_entry AS known ON ${isKnown}` : sql`${lookup('book_match_entry AS known', isKnown)} AS known ON true`}
  WHERE ${where} ON CONFLICT DO NOTHING`;

const ledgerRows = (scope: Scope, from: RawBuilder<unknown>, where = TRUE): RawBuilder<unknown> =>
  added(
    scope,
    sql`SELECT false, e.batch_no, NULL::bigint AS book_entry_id, e.currency, e.booked_at::date AS day,
      div(e.booked_ms, 1000)::bigint AS second, coalesce(e.credit, -e.debit) AS amount,
      e.version, NULL::text[] AS keys
    FROM ${from} WHERE e.merchant_no = ${scope.merchantNo} AND e.vanished_at IS NULL`,
    sql`known.merchant_no = ${scope.merchantNo} AND known.batch_no = e.batch_no`,
    where,
  );

const ownRows = (scope: Scope, from: RawBuilder<unknown>, where = TRUE): RawBuilder<unknown> =>
  added(
    scope,
    sql`SELECT true, NULL::text AS batch_no, e.id AS book_entry_id, e.currency, e.day,
      floor(extract(epoch FROM e.booked_at))::bigint AS second, e.amount, e.version, nullif(e.reference_keys, '{}') AS keys
    FROM ${from} WHERE e.merchant_no = ${scope.merchantNo} AND e.withdrawn_import_id IS NULL`,
    sql`known.book_entry_id = e.book_entry_id`,
    where,
  );

/** The entries of both sides on spans of days. `booked_ms` has an index: a span begins and ends with that of any zone. */
const rowsOn = (scope: Scope, spans: RawBuilder<unknown>, where = TRUE): RawBuilder<unknown>[] => {
  const ofAccount = sql`merchant_no = ${scope.merchantNo} AND currency = span.currency`;
  const ledger = sql`${ofAccount} AND vanished_at IS NULL AND booked_at::date BETWEEN span.first AND span.last
    AND booked_ms >= (extract(epoch FROM span.first)::bigint - 54000) * 1000
    AND booked_ms < (extract(epoch FROM span.last)::bigint + 144000) * 1000`;
  const own = sql`${ofAccount} AND withdrawn_import_id IS NULL AND day BETWEEN span.first AND span.last`;
  return [
    ledgerRows(scope, sql`${spans} AS span CROSS JOIN ${lookup('ledger_entry', ledger)} AS e`, where),
    ownRows(scope, sql`${spans} AS span CROSS JOIN ${lookup('book_entry', own)} AS e`, where),
  ];
};

/** Entries as they were matched last, on days that did not change. What references and people join is in no other rule. */
const rowsAround = (scope: Scope): RawBuilder<unknown>[] => {
  const { merchantNo, startsOn } = scope;
  const isFree = sql`named IS NULL AND rule IS DISTINCT FROM 'reference' AND NOT ${BY_PERSON}`;
  const before = sql`(SELECT currency, greatest(first, ${startsOn}::date - ${scope.rules.days}::int) AS first, least(last, ${startsOn}::date - 1) AS last
    FROM bk_around WHERE first < ${startsOn}::date)`;
  const around = sql`merchant_no = ${merchantNo} AND currency = span.currency AND day BETWEEN span.first AND span.last AND ${isFree}`;
  return [
    sql`INSERT INTO bk_row (is_book, batch_no, book_entry_id, currency, day, second, amount, version, match_id, rule, known_currency, known_day, is_known,
        is_changed, is_moved)
      SELECT batch_no IS NULL, batch_no, book_entry_id, e.currency, day, second, amount, version, match_id, rule, e.currency, day, true, false, false
      FROM bk_around AS span CROSS JOIN ${lookup('book_match_entry', around)} AS e
      WHERE ${isInTime(scope, 'e')} AND NOT EXISTS (SELECT FROM bk_gone WHERE bk_gone.batch_no = e.batch_no)
        AND NOT EXISTS (SELECT FROM bk_gone WHERE bk_gone.book_entry_id = e.book_entry_id)
      ON CONFLICT DO NOTHING`,
    // Those before the start are kept only where a match joins them with later ones.
    ...rowsOn(scope, before, isFree),
  ];
};

/** Every entry. Of those before the start only what references or people may join with later ones. */
const allRows = (scope: Scope): RawBuilder<unknown>[] => [
  ownRows(scope, sql`book_entry AS e`, sql`${isInTime(scope, 'e')} OR keys IS NOT NULL OR ${BY_PERSON}`),
  ledgerRows(scope, sql`ledger_entry AS e`, sql`${isInTime(scope, 'e')} OR ${BY_PERSON}`),
  ledgerRows(
    scope,
    sql`(SELECT DISTINCT unnest(keys) AS batch_no FROM bk_row) AS named JOIN ledger_entry AS e ON e.batch_no = named.batch_no
      AND e.booked_at < ${scope.startsOn}::date - ${scope.rules.days}::int`,
    sql`NOT ${BY_PERSON}`,
  ),
];

/** Entries of the changed days that were matched and are no more: vanished, withdrawn, or before the start. */
const goneRows = ({ merchantNo, isFull }: Scope) => sql`
  SELECT known.* FROM book_match_entry AS known
  WHERE known.merchant_no = ${merchantNo} AND ${isFull ? TRUE : sql`(known.currency, known.day) IN (SELECT currency, day FROM bk_day)`}
    AND NOT EXISTS (SELECT FROM bk_row WHERE bk_row.batch_no = known.batch_no)
    AND NOT EXISTS (SELECT FROM bk_row WHERE bk_row.book_entry_id = known.book_entry_id)`;

/** Matches of people with an entry that is gone, or is of another day, amount or account. */
const UNDONE_BY_PERSON = sql`
  SELECT match_id, bool_or(is_gone) AS is_gone FROM (
    SELECT match_id, true AS is_gone, rule FROM bk_gone UNION ALL SELECT match_id, false, rule FROM bk_row WHERE is_moved
  ) AS touched WHERE ${BY_PERSON} GROUP BY match_id`;

/** As `own` the own entries, of any merchant, that name the batch of the row `named`. */
export const NAMING = sql`${lookup(
  'book_entry',
  sql`reference_keys @> ARRAY[named.batch_no] AND reference_keys <> '{}' AND withdrawn_import_id IS NULL`,
)} AS own`;

/**
 * Adds the entries that those behind the row `after` lead to: those of the same match, what they name and what names them, now and when
 * they were matched last.
 */
const linkedRows = (scope: Scope, after: number, isFollowed: RawBuilder<unknown>): RawBuilder<unknown>[] => {
  const row = sql`bk_row.id > ${after} AND ${isFollowed}`;
  const gone = sql`${after} = 0`;
  const isOfMerchant = sql`merchant_no = ${scope.merchantNo}`;
  const sameMatch = sql`(
    SELECT match_id FROM bk_row WHERE ${row} AND (NOT ${BY_PERSON} OR match_id IN (SELECT match_id FROM bk_undone))
    UNION SELECT match_id FROM bk_gone WHERE ${gone}
  ) AS made CROSS JOIN ${lookup('book_match_entry', sql`match_id = made.match_id`)} AS entry`;
  return [
    ledgerRows(
      scope,
      sql`(SELECT unnest(keys) AS batch_no FROM bk_row WHERE ${row} UNION SELECT unnest(named) FROM bk_row WHERE ${row}
        UNION SELECT unnest(named) FROM bk_gone WHERE ${gone} UNION SELECT batch_no FROM ${sameMatch}
      ) AS named CROSS JOIN ${lookup('ledger_entry', sql`${isOfMerchant} AND batch_no = named.batch_no`)} AS e`,
    ),
    ownRows(
      scope,
      sql`(SELECT own.id FROM (
          SELECT batch_no FROM bk_row WHERE ${row} AND NOT is_book UNION SELECT batch_no FROM bk_gone WHERE ${gone}
        ) AS named CROSS JOIN ${NAMING} WHERE own.${isOfMerchant}
        UNION SELECT book_entry_id FROM ${sameMatch}
      ) AS naming CROSS JOIN ${lookup('book_entry', sql`id = naming.id`)} AS e`,
    ),
  ];
};

/** Follows the changed entries behind a row, until they lead to no other one. */
async function follow(scope: Scope, from: number): Promise<void> {
  let [after, last, isFollowed] = [from, await lastRow(scope.trx), sql`is_changed`];
  do {
    await run(scope.trx, linkedRows(scope, after, isFollowed));
    [after, last, isFollowed] = [last, await lastRow(scope.trx), TRUE];
  } while (last > after);
}

const lastRow = async (trx: Trx): Promise<number> =>
  (await rowOf(trx)<{ last: number }>`SELECT coalesce(max(id), 0) AS last FROM bk_row`).last;

/** The days on which an entry changed, came or went. */
const TOUCHED = sql`
  SELECT currency, day FROM bk_day UNION SELECT currency, day FROM bk_gone UNION SELECT currency, day FROM bk_row
  UNION SELECT known_currency, known_day FROM bk_row WHERE is_known`;

/** The days that are at most so far from these. */
const spans = (width: number): RawBuilder<unknown> => sql`
  SELECT currency, lower(span) AS first, upper(span) - 1 AS last FROM (
    SELECT currency, unnest(range_agg(daterange(day - ${width}::int, day + ${width}::int, '[]'))) AS span FROM bk_touch GROUP BY currency
  ) AS spans`;

/** Loads the entries to match. Returns false, and loads none, where no day changed. On the days of `bk_zone` their matches may change. */
export async function loadRows(scope: Scope): Promise<boolean> {
  const { trx, rules, isFull } = scope;
  await run(trx, temporary('bk_day')`${changedDays(scope)}`, ROW_TABLE);
  const { isChanged } = await rowOf(trx)<{
    isChanged: boolean;
  }>`SELECT EXISTS (SELECT FROM bk_day) AS "isChanged"`;
  if (!isChanged) return false;
  if (!isFull)
    await run(
      trx,
      sql`CREATE UNIQUE INDEX ON bk_row (batch_no)`,
      sql`CREATE UNIQUE INDEX ON bk_row (book_entry_id)`,
    );
  await run(trx, isFull ? allRows(scope) : rowsOn(scope, sql`bk_day`), sql`ANALYZE bk_row`);
  await run(trx, temporary('bk_gone')`${goneRows(scope)}`, temporary('bk_undone')`${UNDONE_BY_PERSON}`);
  if (!isFull) {
    await run(trx, sql`DELETE FROM bk_row WHERE NOT is_changed`, sql`ANALYZE bk_row`);
    await follow(scope, 0);
  }
  await run(trx, temporary('bk_touch')`${TOUCHED}`);
  if (!isFull) {
    await run(
      trx,
      temporary('bk_zone')`${spans(REACH * rules.days)}`,
      temporary('bk_around')`${spans(2 * REACH * rules.days)}`,
    );
    const last = await lastRow(trx);
    await run(trx, rowsAround(scope));
    await follow(scope, last);
  }
  const isUndone = sql`match_id IN (SELECT match_id FROM bk_undone)`;
  await run(trx, sql`UPDATE bk_row SET rule = NULL WHERE ${isUndone}`, sql`ANALYZE bk_row`);
  return true;
}
