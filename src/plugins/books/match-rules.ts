/** The rules as set operations on the temporary tables of `work-rows.ts`. Each tries what the earlier ones left. */
import { sql, type RawBuilder } from 'kysely';
import { arrayLiteral, type Trx, rowsOf } from '../../store/engine/database.ts';
import type { MatchRule, MatchRules } from '../../ledger/own-books.ts';
import { BY_PERSON, isInTime, lookup, run, temporary, type Scope } from './work-rows.ts';
import { completions, SUM_CANDIDATES_MAX, sumsOf } from './sums.ts';

/** Windows of sums that are read at once. */
const WINDOWS_AT_ONCE = 200;

/** The currencies' tolerances as rows with the alias `tolerance`. */
export const toleranceRows = ({ tolerances }: MatchRules): RawBuilder<unknown> => {
  const all = [...tolerances];
  return sql`unnest(${all.map(([currency]) => currency)}::text[], ${all.map(([, { max }]) => max)}::numeric[],
    ${all.map(([, { type }]) => type)}::text[]) AS tolerance (currency, max, type)`;
};

/** Rows of `bk_row` that are in no group and are free to be in one. */
const isLeft = (scope: Scope) => sql<boolean>`(NOT ${BY_PERSON} AND ${isInTime(scope, 'bk_row')}
  AND NOT EXISTS (SELECT FROM bk_made WHERE bk_made.row_id = bk_row.id)
  AND NOT EXISTS (SELECT FROM bk_held WHERE bk_held.row_id = bk_row.id))`;

/** Entries in groups and those that a reference holds back, links of references, and what equal amounts and sums find. */
const TABLES: readonly RawBuilder<unknown>[] = [
  sql`CREATE TEMPORARY TABLE bk_made (row_id int, group_id int, rule text) ON COMMIT DROP`,
  sql`CREATE TEMPORARY TABLE bk_held (row_id int, named text[]) ON COMMIT DROP`,
  sql`CREATE TEMPORARY TABLE bk_link (book_id int, ledger_id int) ON COMMIT DROP`,
  sql`CREATE TEMPORARY TABLE bk_pair (rule text, ledger_id int, book_id int) ON COMMIT DROP`,
  sql`CREATE TEMPORARY TABLE bk_solution (number int, target_id int, row_id int, by_chance boolean) ON COMMIT DROP`,
  sql`CREATE TEMPORARY TABLE bk_paired (id int, is_book boolean, currency text, day date, amount numeric, group_id int) ON COMMIT DROP`,
  sql`CREATE TEMPORARY TABLE bk_given_up (row_id int) ON COMMIT DROP`,
];

const LINKS = sql`SELECT book_id, ledger_id, count(*) OVER (PARTITION BY book_id) AS of_book, count(*) OVER (PARTITION BY ledger_id) AS of_ledger
  FROM bk_link`;

/**
 * Entries that name each other, as stars: one entry of one side and those of the other side that have no other link. A star
 * that agrees is a group; anything else is held back from the other rules.
 */
const byReference = (rules: MatchRules): readonly RawBuilder<unknown>[] => [
  sql`INSERT INTO bk_link
    SELECT DISTINCT own.id, ledger.id FROM (
      SELECT id, unnest(keys) AS key FROM bk_row WHERE keys IS NOT NULL AND NOT ${BY_PERSON}
    ) AS own JOIN bk_row AS ledger ON ledger.batch_no = own.key AND NOT ${BY_PERSON}`,
  sql`ANALYZE bk_link`,
  // Most links are one and one of the same amount.
  sql`INSERT INTO bk_made SELECT unnest(ARRAY[book_id, ledger_id]), book_id, 'reference' FROM (${LINKS}) AS link
    JOIN bk_row AS own ON own.id = book_id JOIN bk_row AS ledger ON ledger.id = ledger_id
    WHERE (of_book, of_ledger) = (1, 1) AND (own.currency, own.amount) = (ledger.currency, ledger.amount)`,
  sql`ANALYZE bk_made`,
  ...temporary('bk_star')`
    WITH link AS (
      ${LINKS} WHERE NOT EXISTS (SELECT FROM bk_made WHERE row_id = book_id)
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
      HAVING min(bk_row.currency) = max(bk_row.currency)
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
  sql`ANALYZE bk_made, bk_held`,
];

const SAME_AMOUNT = sql`(other.currency, other.amount) = (own.currency, own.amount)`;

const near = (days: number) => sql`(
  PARTITION BY currency, amount ORDER BY day
  RANGE BETWEEN make_interval(days => ${days}) PRECEDING AND make_interval(days => ${days}) FOLLOWING)`;

const PAIRS_MADE: readonly RawBuilder<unknown>[] = [
  sql`INSERT INTO bk_made SELECT unnest(ARRAY[ledger_id, book_id]), ledger_id, rule FROM bk_pair`,
  sql`ANALYZE bk_made`,
];

/**
 * One and one of a second, where every other entry of the amount within the days is in such a pair, too. An entry that is left over could
 * be the counterpart of any of them, where the book's clock is late or rounds.
 */
const bySameTime = (scope: Scope): readonly RawBuilder<unknown>[] => [
  ...temporary('bk_second')`
    SELECT currency, amount, day, min(id) FILTER (WHERE NOT is_book) AS ledger_id, min(id) FILTER (WHERE is_book) AS book_id,
      second IS NOT NULL AND count(*) FILTER (WHERE is_book) = 1 AND count(*) FILTER (WHERE NOT is_book) = 1 AS is_pair
    FROM bk_row WHERE ${isLeft(scope)} GROUP BY currency, amount, day, second`,
  sql`INSERT INTO bk_pair SELECT 'same-time', ledger_id, book_id FROM (
      SELECT *, bool_and(is_pair) OVER near AS is_only FROM bk_second WINDOW near AS ${near(scope.rules.days)}
    ) AS own WHERE is_only`,
  ...PAIRS_MADE,
  sql`DELETE FROM bk_pair`,
];

/** The entries that are left, by amount and day: how many of each side, and one of them. */
const leftByAmount = (scope: Scope) => temporary('bk_key')`
    SELECT currency, amount, day, count(*) FILTER (WHERE NOT is_book)::int AS ledger, count(*) FILTER (WHERE is_book)::int AS book,
      min(id) FILTER (WHERE NOT is_book) AS ledger_id, min(id) FILTER (WHERE is_book) AS book_id
    FROM bk_row WHERE ${isLeft(scope)} GROUP BY currency, amount, day`;

/** One and one of a day, where every other entry of the amount within the days is in such a pair, too. */
const bySameDay = (days: number): readonly RawBuilder<unknown>[] => [
  sql`INSERT INTO bk_pair SELECT 'same-day', ledger_id, book_id FROM bk_key AS own WHERE (ledger, book) = (1, 1)
    AND NOT EXISTS (SELECT FROM bk_key AS other WHERE ${SAME_AMOUNT} AND (other.ledger, other.book) <> (1, 1)
      AND other.day BETWEEN own.day - ${days}::int AND own.day + ${days}::int)`,
  sql`ANALYZE bk_pair`,
];

/** One and one of equal amounts within the days, where neither has another candidate. */
const byNearDay = (days: number): readonly RawBuilder<unknown>[] => [
  sql`INSERT INTO bk_pair
    WITH counted AS (
      SELECT *, sum(ledger) OVER near AS ledger_near, sum(book) OVER near AS book_near
      FROM bk_key WHERE NOT EXISTS (SELECT FROM bk_pair WHERE bk_pair.ledger_id = bk_key.ledger_id)
      WINDOW near AS ${near(days)}
    )
    SELECT 'near-day', own.ledger_id, other.book_id FROM counted AS own JOIN counted AS other ON ${SAME_AMOUNT}
      AND other.day BETWEEN own.day - ${days}::int AND own.day + ${days}::int
    WHERE (own.ledger, own.book_near, other.book, other.ledger_near) = (1, 1, 1, 1)`,
];

/** The entries that equal amounts left, and whether one of the other side has the same amount within the days. */
const openRows = (scope: Scope): readonly RawBuilder<unknown>[] => [
  ...temporary('bk_open')`
    SELECT id, is_book, currency, day, amount,
      CASE WHEN is_book THEN count(*) FILTER (WHERE NOT is_book) OVER near ELSE count(*) FILTER (WHERE is_book) OVER near END > 0 AS has_equal
    FROM bk_row WHERE ${isLeft(scope)} WINDOW near AS ${near(scope.rules.days)}`,
  sql`CREATE UNIQUE INDEX ON bk_open (id)`,
  sql`CREATE INDEX ON bk_open (currency, is_book, day, amount)`,
];

/** For each account's day and side: how many entries are left, and how many of the other side within the days, if there are any. */
const windows = (days: number) =>
  temporary('bk_window')`
    WITH open AS (SELECT currency, day, is_book, count(*)::int AS targets FROM bk_open WHERE amount <> 0 GROUP BY 1, 2, 3)
    SELECT currency, day, is_book, coalesce(targets, 0) AS targets, candidates
    FROM (
      SELECT currency, day + apart AS day, NOT is_book AS is_book, sum(targets)::int AS candidates
      FROM open CROSS JOIN generate_series(-${days}::int, ${days}::int) AS apart GROUP BY 1, 2, 3
    ) AS near LEFT JOIN open USING (currency, day, is_book)`;

/** Windows that are searched. */
const IS_SEARCHED = sql`candidates BETWEEN 1 AND ${sql.lit(SUM_CANDIDATES_MAX)}`;

/** The pairs of equal amounts on days of windows that are searched, and around these. */
const paired = (days: number): readonly RawBuilder<unknown>[] => [
  sql`INSERT INTO bk_paired
    SELECT id, is_book, currency, day, amount, group_id FROM bk_made JOIN bk_row ON id = row_id
    WHERE bk_made.rule IN ('same-time', 'same-day', 'near-day') AND amount <> 0 AND (currency, day) IN (
      SELECT currency, day + apart FROM bk_window CROSS JOIN generate_series(-${days}::int, ${days}::int) AS apart WHERE ${IS_SEARCHED})`,
  sql`CREATE INDEX ON bk_paired (currency, is_book, day)`,
  sql`ANALYZE bk_paired`,
];

interface SumWindow {
  readonly currency: string;
  readonly day: string;
  readonly isBook: boolean;
  /** Entries in pairs of equal amounts: of the day and side, and of the other side within the days. */
  readonly pairs: number;
  readonly pairsNear: number;
  readonly targets: readonly WindowRow[];
  readonly candidates: readonly WindowRow[];
}
type WindowRow = readonly [id: number, amount: string, hasEqual: boolean];
const isAlone = ([, , hasEqual]: WindowRow): boolean => !hasEqual;
const amountsOf = (rows: readonly WindowRow[]): string[] => rows.map(([, amount]) => amount);

/** The windows that satisfy a condition and can be searched, in parts. */
async function* sumWindows(
  trx: Trx,
  days: number,
  isChosen: RawBuilder<unknown>,
): AsyncGenerator<SumWindow[]> {
  for (let offset = 0, windows: SumWindow[]; ; offset += WINDOWS_AT_ONCE) {
    windows = await rowsOf(trx)<SumWindow>`
      SELECT currency, day, is_book AS "isBook",
        (SELECT count(*)::int FROM bk_paired AS pair
          WHERE (pair.currency, pair.is_book, pair.day) = (win.currency, win.is_book, win.day)) AS pairs,
        (SELECT count(*)::int FROM bk_paired AS pair WHERE (pair.currency, pair.is_book) = (win.currency, NOT win.is_book)
          AND pair.day BETWEEN win.day - ${days}::int AND win.day + ${days}::int) AS "pairsNear",
        (SELECT coalesce(json_agg(json_build_array(id, amount::text, has_equal)), '[]') FROM bk_open AS target
          WHERE (target.currency, target.day, target.is_book) = (win.currency, win.day, win.is_book) AND amount <> 0) AS targets,
        (SELECT json_agg(json_build_array(id, amount::text, has_equal)) FROM bk_open AS one WHERE (one.currency, one.is_book) =
          (win.currency, NOT win.is_book) AND one.day BETWEEN win.day - ${days}::int AND win.day + ${days}::int AND amount <> 0) AS candidates
      FROM bk_window AS win WHERE ${IS_SEARCHED} AND ${isChosen}
      ORDER BY currency, day, is_book LIMIT ${WINDOWS_AT_ONCE} OFFSET ${offset}`;
    yield windows;
    if (windows.length < WINDOWS_AT_ONCE) return;
  }
}

/** Searches each window, and stores what adds up. */
async function searchSums(trx: Trx, days: number, entriesMax: number): Promise<void> {
  let number = 0;
  for await (const part of sumWindows(trx, days, sql`targets > 0 AND candidates > 1`)) {
    const found: (readonly [number, number, number, boolean])[] = [];
    for (const { targets, candidates } of part) {
      const amounts = amountsOf(candidates);
      for (const [targetId, target] of targets) {
        // With too many sums, each candidate may be in one.
        const all = { places: candidates.map((_, place) => place), mayBeChance: true };
        for (const { places, mayBeChance } of sumsOf(target, amounts, entriesMax) ?? [all]) {
          number++;
          for (const id of [targetId, ...places.map((place) => candidates[place]![0])])
            found.push([number, targetId, id, mayBeChance]);
        }
      }
    }
    if (found.length > 0)
      await sql`INSERT INTO bk_solution SELECT (one->>0)::int, (one->>1)::int, (one->>2)::int, (one->>3)::boolean
        FROM json_array_elements(${JSON.stringify(found)}::json) AS one`.execute(trx);
  }
}

/** A solution is certain if it is its entries' only one, if nothing else explains them, and if all around it was searched. */
const certainSums = (days: number): RawBuilder<unknown> => sql`
  INSERT INTO bk_made
  SELECT row_id, target_id, 'sum' FROM bk_solution WHERE number IN (
    SELECT number FROM (SELECT *, count(*) OVER (PARTITION BY row_id) AS solutions FROM bk_solution) AS counted
    JOIN bk_open ON bk_open.id = counted.row_id
    GROUP BY number
    HAVING max(solutions) = 1 AND NOT bool_or(by_chance) AND NOT bool_or(has_equal)
      AND NOT bool_or(EXISTS (SELECT FROM bk_window WHERE candidates > ${SUM_CANDIDATES_MAX} AND targets > 0 AND (bk_window.currency, bk_window.is_book) =
        (bk_open.currency, NOT bk_open.is_book) AND bk_window.day BETWEEN bk_open.day - ${days}::int AND bk_open.day + ${days}::int)))`;

/** For each of some rows: the rows of the other side that are left, within the days and the tolerance, on the side of a fee. */
const edgesOf = (rules: MatchRules, rows: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  (SELECT one.id, one.amount <> other.amount AS differs, other.has_equal,
    CASE WHEN one.is_book THEN one.id ELSE other.id END AS book_id, CASE WHEN one.is_book THEN other.id ELSE one.id END AS ledger_id
  FROM ${rows} AS one JOIN ${toleranceRows(rules)} ON tolerance.currency = one.currency
  CROSS JOIN generate_series(-${sql.lit(rules.days)}, ${sql.lit(rules.days)}) AS apart (days)
  CROSS JOIN ${lookup(
    'bk_open AS other',
    sql`(other.currency, other.is_book, other.day) = (one.currency, NOT one.is_book, one.day + apart.days) AND sign(other.amount) = sign(one.amount)
      AND other.amount BETWEEN one.amount - CASE WHEN one.is_book THEN tolerance.max ELSE 0 END
        AND one.amount + CASE WHEN one.is_book THEN 0 ELSE tolerance.max END`,
  )} AS other) AS edge`;

/** One and one within the days and the tolerance, where neither has another candidate. */
const byTolerance = (rules: MatchRules): RawBuilder<unknown> => sql`
  INSERT INTO bk_made SELECT unnest(ARRAY[ledger_id, book_id]), ledger_id, 'tolerance' FROM (
    SELECT *, count(*) OVER (PARTITION BY book_id) AS of_book, count(*) OVER (PARTITION BY ledger_id) AS of_ledger
    FROM (SELECT DISTINCT book_id, ledger_id, differs, has_equal FROM ${edgesOf(rules, sql`(SELECT * FROM bk_open WHERE NOT has_equal)`)}) AS edge
  ) AS edge
  WHERE (of_book, of_ledger) = (1, 1) AND differs AND NOT has_equal
    AND NOT EXISTS (SELECT FROM bk_solution WHERE row_id IN (ledger_id, book_id))`;

/** Gives up the entries in pairs that with entries that are left would be a sum: as the one, or as one of the many. */
async function giveUpCompletions(trx: Trx, { days, sumEntriesMax: entriesMax }: MatchRules): Promise<void> {
  for await (const part of sumWindows(trx, days, sql`(targets > 0 OR candidates > 1)`))
    for (const { currency, day, isBook, targets, candidates, pairs, pairsNear } of part) {
      const all = amountsOf(candidates);
      await giveUp(
        isBook,
        0,
        completions(null, amountsOf(candidates.filter(isAlone)), { entriesMax, among: pairs }),
      );
      for (const target of amountsOf(targets.filter(isAlone)))
        await giveUp(!isBook, days, completions(target, all, { entriesMax, among: pairsNear }));
      async function giveUp(isOfBook: boolean, apart: number, amounts: readonly string[]): Promise<void> {
        if (amounts.length > 0)
          await sql`INSERT INTO bk_given_up SELECT id FROM bk_paired WHERE (currency, is_book) = (${currency}, ${isOfBook}::boolean)
            AND day BETWEEN ${day}::date - ${apart}::int AND ${day}::date + ${apart}::int AND amount = ANY (${arrayLiteral(amounts)}::numeric[])`.execute(
            trx,
          );
      }
    }
}

/**
 * Gives up pairs of equal amounts of which an entry is, by its sum or its tolerance, explained as well by entries that no rule matched:
 * then both may be faults of different entries.
 */
async function giveUpPairs({ trx, rules }: Scope): Promise<void> {
  await run(
    trx,
    sql`DELETE FROM bk_open USING bk_made WHERE row_id = id`,
    sql`ANALYZE bk_open`,
    sql`DROP TABLE bk_window`,
    windows(rules.days),
    paired(rules.days),
  );
  if (rules.rules.includes('sum')) await giveUpCompletions(trx, rules);
  const searched = sql`(SELECT bk_paired.* FROM bk_paired JOIN bk_window USING (currency, day, is_book) WHERE ${IS_SEARCHED})`;
  if (rules.rules.includes('tolerance'))
    await run(
      trx,
      sql`INSERT INTO bk_given_up SELECT id FROM ${edgesOf(rules, searched)} WHERE differs AND NOT has_equal`,
    );
  await run(
    trx,
    sql`DELETE FROM bk_made WHERE group_id IN (SELECT group_id FROM bk_paired JOIN bk_given_up ON row_id = id)`,
  );
}

/** Puts the entries that belong together into groups (`bk_made`), and those that a reference holds back into `bk_held`. */
export async function matchRows(scope: Scope): Promise<void> {
  const { trx, rules } = scope;
  const { days } = rules;
  const uses = (rule: MatchRule, statements: readonly RawBuilder<unknown>[]) =>
    rules.rules.includes(rule) ? statements : [];
  await run(
    trx,
    TABLES,
    uses('reference', byReference(rules)),
    uses('same-time', bySameTime(scope)),
    leftByAmount(scope),
  );
  await run(trx, uses('same-day', bySameDay(days)), uses('near-day', byNearDay(days)), PAIRS_MADE);
  await run(trx, openRows(scope), windows(days));
  if (rules.rules.includes('sum')) {
    await searchSums(trx, days, rules.sumEntriesMax);
    await run(trx, sql`ANALYZE bk_solution`, certainSums(days));
  }
  await run(trx, uses('tolerance', [byTolerance(rules)]));
  await giveUpPairs(scope);
}
