/** The rules as set operations on the temporary tables of `work-rows.ts`. Each tries what the earlier ones left. */
import { sql, type RawBuilder } from 'kysely';
import { type Trx, rowsOf } from '../../store/engine/database.ts';
import type { MatchRule, MatchRules } from './types.ts';
import { BY_PERSON, REACH, run, type Scope } from './work-rows.ts';
import { SUM_CANDIDATES_MAX, sumsOf } from './sums.ts';

/** Windows of sums that are read at once. */
const WINDOWS_AT_ONCE = 200;

const uses = (rules: MatchRules, rule: MatchRule): RawBuilder<boolean> => sql.lit(rules.rules.includes(rule));

/** The currencies' tolerances as rows with the alias `tolerance`. */
export const toleranceRows = ({ tolerances }: MatchRules): RawBuilder<unknown> => {
  const all = [...tolerances];
  return sql`unnest(${all.map(([currency]) => currency)}::text[], ${all.map(([, { max }]) => max)}::numeric[],
    ${all.map(([, { type }]) => type)}::text[]) AS tolerance (currency, max, type)`;
};

/** Rows of `bk_row` that are in no group and are free to be in one. */
export const IS_LEFT = sql<boolean>`(NOT coalesce(${BY_PERSON}, false)
  AND NOT EXISTS (SELECT FROM bk_made WHERE bk_made.row_id = bk_row.id)
  AND NOT EXISTS (SELECT FROM bk_held WHERE bk_held.row_id = bk_row.id))`;

/**
 * Entries that name each other, as stars: one entry of one side and those of the other side that have no other link. A star
 * that agrees is a group; anything else is held back from the other rules.
 */
const byReference = (rules: MatchRules): readonly RawBuilder<unknown>[] => [
  sql`CREATE TEMPORARY TABLE bk_made (row_id int NOT NULL, group_id int NOT NULL, rule text NOT NULL) ON COMMIT DROP`,
  sql`CREATE TEMPORARY TABLE bk_held (row_id int NOT NULL, named text[]) ON COMMIT DROP`,
  sql`CREATE TEMPORARY TABLE bk_link ON COMMIT DROP AS
    SELECT DISTINCT own.id AS book_id, ledger.id AS ledger_id FROM (
      SELECT id, unnest(keys) AS key FROM bk_row WHERE keys IS NOT NULL AND NOT coalesce(${BY_PERSON}, false)
    ) AS own JOIN bk_row AS ledger ON ledger.batch_no = own.key AND NOT coalesce(ledger.rule IN ('by-hand', 'write-off', 'apart'), false)
    WHERE ${uses(rules, 'reference')}`,
  sql`ANALYZE bk_link`,
  sql`CREATE TEMPORARY TABLE bk_star ON COMMIT DROP AS
    WITH link AS (
      SELECT book_id, ledger_id, count(*) OVER (PARTITION BY book_id) AS of_book, count(*) OVER (PARTITION BY ledger_id) AS of_ledger
      FROM bk_link
    ), star AS (
      SELECT book_id, ledger_id, CASE WHEN max(of_ledger) OVER (PARTITION BY book_id) = 1 THEN book_id
        WHEN max(of_book) OVER (PARTITION BY ledger_id) = 1 THEN ledger_id END AS group_id
      FROM link
    ), member AS (
      SELECT book_id AS row_id, group_id FROM star UNION SELECT ledger_id, group_id FROM star
    ), agreeing AS (
      SELECT group_id FROM member JOIN bk_row ON bk_row.id = member.row_id
      LEFT JOIN ${toleranceRows(rules)} ON tolerance.currency = bk_row.currency
      WHERE group_id IS NOT NULL GROUP BY group_id
      HAVING count(DISTINCT bk_row.currency) = 1
        AND abs(sum(CASE WHEN is_book THEN -amount ELSE amount END)) <= coalesce(min(tolerance.max), 0)
        AND sign(coalesce(sum(amount) FILTER (WHERE is_book), 0)) = sign(coalesce(sum(amount) FILTER (WHERE NOT is_book), 0))
    )
    SELECT row_id, member.group_id, agreeing.group_id IS NOT NULL AS agrees
    FROM member LEFT JOIN agreeing ON agreeing.group_id = member.group_id`,
  sql`INSERT INTO bk_made SELECT row_id, group_id, 'reference' FROM bk_star WHERE agrees`,
  sql`INSERT INTO bk_held
    SELECT bk_star.row_id, coalesce(array_agg(ledger.batch_no ORDER BY ledger.batch_no) FILTER (WHERE ledger.batch_no IS NOT NULL), '{}')
    FROM bk_star LEFT JOIN bk_link ON bk_link.book_id = bk_star.row_id LEFT JOIN bk_row AS ledger ON ledger.id = bk_link.ledger_id
    WHERE NOT agrees GROUP BY bk_star.row_id`,
  sql`ANALYZE bk_made`,
  sql`ANALYZE bk_held`,
];

const SAME_AMOUNT = sql`(other.currency, other.amount) = (own.currency, own.amount)`;

/** How many of both sides are left of each amount and day, and one of each side; without those that are one and one, and certain. */
const bySameDay = (rules: MatchRules, days: number): readonly RawBuilder<unknown>[] => [
  sql`CREATE TEMPORARY TABLE bk_key ON COMMIT DROP AS
    SELECT currency, amount, day, count(*) FILTER (WHERE NOT is_book)::int AS ledger, count(*) FILTER (WHERE is_book)::int AS book,
      min(id) FILTER (WHERE NOT is_book) AS ledger_id, min(id) FILTER (WHERE is_book) AS book_id
    FROM bk_row WHERE ${IS_LEFT} GROUP BY currency, amount, day`,
  sql`ANALYZE bk_key`,
  sql`CREATE TEMPORARY TABLE bk_pair ON COMMIT DROP AS
    SELECT ledger_id, book_id FROM bk_key AS own WHERE ${uses(rules, 'same-day')} AND (ledger, book) = (1, 1)
      AND NOT EXISTS (SELECT FROM bk_key AS other WHERE ${SAME_AMOUNT} AND (other.ledger, other.book) <> (1, 1)
        AND other.day BETWEEN own.day - ${days}::int AND own.day + ${days}::int)`,
  pairsMade('same-day'),
  sql`ANALYZE bk_made`,
];

const pairsMade = (rule: MatchRule): RawBuilder<unknown> => sql`
  INSERT INTO bk_made SELECT unnest(ARRAY[ledger_id, book_id]), ledger_id, ${rule} FROM bk_pair`;

const near = (days: number) => sql`(
  PARTITION BY currency, amount ORDER BY day
  RANGE BETWEEN make_interval(days => ${days}) PRECEDING AND make_interval(days => ${days}) FOLLOWING)`;

/** One and one of equal amounts within the days, where neither has another candidate. */
const byNearDay = (rules: MatchRules, days: number): readonly RawBuilder<unknown>[] => [
  sql`CREATE TEMPORARY TABLE bk_near_pair ON COMMIT DROP AS
    WITH counted AS (
      SELECT *, sum(ledger) OVER near AS ledger_near, sum(book) OVER near AS book_near
      FROM bk_key WHERE NOT EXISTS (SELECT FROM bk_pair WHERE bk_pair.ledger_id = bk_key.ledger_id)
      WINDOW near AS ${near(days)}
    )
    SELECT own.ledger_id, other.book_id FROM counted AS own JOIN counted AS other ON ${SAME_AMOUNT}
      AND other.day BETWEEN own.day - ${days}::int AND own.day + ${days}::int
    WHERE ${uses(rules, 'near-day')} AND (own.ledger, own.book_near, other.book, other.ledger_near) = (1, 1, 1, 1)`,
  sql`DROP TABLE bk_pair`,
  sql`ALTER TABLE bk_near_pair RENAME TO bk_pair`,
  pairsMade('near-day'),
  sql`DROP TABLE bk_pair`,
  sql`ANALYZE bk_made`,
];

/** Tries the rules that compare an entry with those of its own amount or its own reference. */
export async function matchAlike(scope: Scope, rules: MatchRules): Promise<void> {
  const { trx, days, isFull } = scope;
  await run(trx, ...byReference(rules), ...bySameDay(rules, days), ...byNearDay(rules, days));
  if (isFull) return;
  // At the edge of what was loaded, a group may lack the entry that forbids it. There the matches are as they were.
  await run(
    trx,
    sql`DELETE FROM bk_made WHERE group_id IN (
      SELECT group_id FROM bk_made JOIN bk_row ON id = row_id GROUP BY group_id HAVING min(reach) > ${REACH.amount * days})`,
  );
}

/** The entries that the earlier rules left, and whether one of the other side has the same amount within the days. */
const openRows = ({ days, isFull }: Scope): RawBuilder<unknown> => sql`
  CREATE TEMPORARY TABLE bk_open ON COMMIT DROP AS
  SELECT id, is_book, currency, day, amount,
    CASE WHEN is_book THEN count(*) FILTER (WHERE NOT is_book) OVER near ELSE count(*) FILTER (WHERE is_book) OVER near END > 0 AS has_equal
  FROM bk_row
  WHERE ${IS_LEFT} AND ${
    isFull
      ? sql`true`
      : sql`(reach <= ${REACH.amount * days}
        OR named IS NULL AND (match_id IS NULL OR rule IN ('sum', 'tolerance')))`
  }
  WINDOW near AS ${near(days)}`;

/** For each account's day and side with entries that are left: how many candidates the other side has within the days. */
const SUM_WINDOWS = (days: number) => sql`
  CREATE TEMPORARY TABLE bk_window ON COMMIT DROP AS
  SELECT currency, day, is_book, candidates FROM (
    SELECT currency, day, is_book, entries, sum(CASE WHEN is_book THEN 0 ELSE entries END) OVER near AS of_ledger,
      sum(CASE WHEN is_book THEN entries ELSE 0 END) OVER near AS of_book
    FROM (SELECT currency, day, is_book, count(*) AS entries FROM bk_open WHERE amount <> 0 GROUP BY 1, 2, 3) AS counted
    WINDOW near AS (PARTITION BY currency ORDER BY day
      RANGE BETWEEN make_interval(days => ${days}) PRECEDING AND make_interval(days => ${days}) FOLLOWING)
  ) AS counted, LATERAL (SELECT CASE WHEN is_book THEN of_ledger ELSE of_book END AS candidates) AS side
  WHERE candidates >= 2`;

interface SumWindow {
  readonly currency: string;
  readonly day: string;
  readonly isBook: boolean;
  readonly targets: readonly (readonly [id: number, amount: string])[];
  readonly candidates: readonly (readonly [id: number, amount: string])[];
}

const sumWindows = (trx: Trx, days: number, offset: number) => rowsOf(trx)<SumWindow>`
  SELECT currency, day, is_book AS "isBook",
    (SELECT json_agg(json_build_array(id, amount::text)) FROM bk_open AS target WHERE (target.currency, target.day, target.is_book) =
      (win.currency, win.day, win.is_book) AND amount <> 0) AS targets,
    (SELECT json_agg(json_build_array(id, amount::text)) FROM bk_open AS one WHERE (one.currency, one.is_book) =
      (win.currency, NOT win.is_book) AND one.day BETWEEN win.day - ${days}::int AND win.day + ${days}::int AND amount <> 0) AS candidates
  FROM bk_window AS win WHERE candidates <= ${SUM_CANDIDATES_MAX}
  ORDER BY currency, day, is_book LIMIT ${WINDOWS_AT_ONCE} OFFSET ${offset}`;

const SOLUTION_TABLE = sql`
  CREATE TEMPORARY TABLE bk_solution (number int NOT NULL, target_id int NOT NULL, row_id int NOT NULL, by_chance boolean NOT NULL)
  ON COMMIT DROP`;

/** Searches each window, and stores what adds up. A window with more than can be searched stays in `bk_window` as such. */
async function searchSums(trx: Trx, days: number, entriesMax: number): Promise<void> {
  let number = 0;
  for (let offset = 0; ; offset += WINDOWS_AT_ONCE) {
    const windows = await sumWindows(trx, days, offset);
    const found: number[][] = [];
    for (const { currency, day, isBook, targets, candidates } of windows) {
      const amounts = candidates.map(([, amount]) => amount);
      for (const [targetId, target] of targets) {
        const solutions = sumsOf(target, amounts, entriesMax);
        if (solutions === null) {
          await sql`UPDATE bk_window SET is_unsearched = true
            WHERE (currency, day, is_book) = (${currency}, ${day}::date, ${isBook})`.execute(trx);
        }
        for (const { places, mayBeChance } of solutions ?? []) {
          number++;
          for (const id of [targetId, ...places.map((place) => candidates[place]![0])])
            found.push([number, targetId, id, Number(mayBeChance)]);
        }
      }
    }
    const column = (at: number): number[] => found.map((row) => row[at]!);
    if (found.length > 0)
      await sql`INSERT INTO bk_solution SELECT number, target_id, row_id, by_chance = 1 FROM unnest(${column(0)}::int[], ${column(1)}::int[],
        ${column(2)}::int[], ${column(3)}::int[]) AS found (number, target_id, row_id, by_chance)`.execute(
        trx,
      );
    if (windows.length < WINDOWS_AT_ONCE) return;
  }
}

/** A solution is certain if it is its entries' only one, if nothing else explains them, and if all around it was searched. */
const certainSums = (days: number): RawBuilder<unknown> => sql`
  INSERT INTO bk_made
  SELECT row_id, target_id, 'sum' FROM bk_solution JOIN bk_open ON bk_open.id = bk_solution.row_id
  WHERE number IN (
    SELECT number FROM (SELECT *, count(*) OVER (PARTITION BY row_id) AS solutions FROM bk_solution) AS counted
    JOIN bk_open ON bk_open.id = counted.row_id
    GROUP BY number
    HAVING max(solutions) = 1 AND NOT bool_or(by_chance) AND NOT bool_or(has_equal)
      AND NOT bool_or(EXISTS (SELECT FROM bk_window WHERE is_unsearched AND (bk_window.currency, bk_window.is_book) =
        (bk_open.currency, NOT bk_open.is_book) AND bk_window.day BETWEEN bk_open.day - ${days}::int AND bk_open.day + ${days}::int)))`;

/** For each row that is left and has no equal one: the rows of the other side within the days and the tolerance. */
const edgesOf = (rules: MatchRules, days: number, isBook: boolean): RawBuilder<unknown> => {
  const within = isBook
    ? sql`other.amount BETWEEN one.amount - tolerance.max AND one.amount`
    : sql`other.amount BETWEEN one.amount AND one.amount + tolerance.max`;
  return sql`
    SELECT ${isBook ? sql`one.id, other.id` : sql`other.id, one.id`}, one.amount <> other.amount
    FROM bk_open AS one JOIN ${toleranceRows(rules)} ON tolerance.currency = one.currency
    CROSS JOIN generate_series(-${sql.lit(days)}, ${sql.lit(days)}) AS apart (days)
    JOIN bk_open AS other ON (other.currency, other.is_book, other.day) = (one.currency, ${!isBook}, one.day + apart.days) AND ${within}
      AND sign(other.amount) = sign(one.amount)
    WHERE one.is_book = ${isBook} AND NOT one.has_equal AND ${uses(rules, 'tolerance')}
      AND NOT EXISTS (SELECT FROM bk_made WHERE row_id = one.id) AND NOT EXISTS (SELECT FROM bk_made WHERE row_id = other.id)`;
};

/** One and one within the days and the tolerance, on the side of a fee, where neither has another candidate. */
const byTolerance = (rules: MatchRules, days: number): readonly RawBuilder<unknown>[] => [
  sql`CREATE TEMPORARY TABLE bk_edge (book_id int, ledger_id int, differs boolean) ON COMMIT DROP`,
  sql`INSERT INTO bk_edge ${edgesOf(rules, days, true)} UNION ${edgesOf(rules, days, false)}`,
  sql`INSERT INTO bk_made
    SELECT unnest(ARRAY[ledger_id, book_id]), ledger_id, 'tolerance' FROM (
      SELECT *, count(*) OVER (PARTITION BY book_id) AS of_book, count(*) OVER (PARTITION BY ledger_id) AS of_ledger FROM bk_edge
    ) AS edge
    WHERE (of_book, of_ledger) = (1, 1) AND differs
      AND NOT EXISTS (SELECT FROM bk_open WHERE id IN (ledger_id, book_id) AND has_equal)
      AND NOT EXISTS (SELECT FROM bk_solution WHERE row_id IN (ledger_id, book_id))`,
];

/** Tries the rules that compare what is left with other amounts. */
export async function matchLeft(scope: Scope, rules: MatchRules): Promise<void> {
  const { trx, days } = scope;
  await run(
    trx,
    openRows(scope),
    sql`CREATE UNIQUE INDEX ON bk_open (id)`,
    sql`CREATE INDEX ON bk_open (currency, is_book, day, amount)`,
    sql`ANALYZE bk_open`,
    SUM_WINDOWS(days),
    sql`ALTER TABLE bk_window ADD COLUMN is_unsearched boolean NOT NULL DEFAULT false`,
    sql`UPDATE bk_window SET is_unsearched = true WHERE candidates > ${SUM_CANDIDATES_MAX}`,
    SOLUTION_TABLE,
  );
  if (rules.rules.includes('sum')) {
    await searchSums(trx, days, rules.sumEntriesMax);
    await run(trx, sql`ANALYZE bk_solution`, certainSums(days));
  }
  await run(trx, ...byTolerance(rules, days));
}
