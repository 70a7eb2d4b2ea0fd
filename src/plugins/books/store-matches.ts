/** Stores what the rules found: new matches, entries with their match, and each day's figures. What stays the same is not written. */
import { sql, type RawBuilder } from 'kysely';
import { eventRows, type NewEvent } from '../../store/events.ts';
import { rowOf, rowsOf } from '../../store/engine/database.ts';
import { toleranceRows } from './match-rules.ts';
import { openRows } from './open.ts';
import { BY_PERSON, byPerson, lookup, run, temporary, type Scope } from './work-rows.ts';

/** Whether rules decided about the row: at the edge of what was loaded, others decide. */
const isInZone = ({ isFull }: Scope): RawBuilder<boolean> =>
  isFull
    ? sql`true`
    : sql`EXISTS (SELECT FROM bk_zone WHERE bk_zone.currency = bk_row.currency AND bk_row.day BETWEEN first AND last)`;

/** Each group with its match: the one that it is already, or a new one. */
const groups = (scope: Scope) => sql`
  WITH made AS (
    SELECT group_id, bk_made.rule, min(currency) AS currency, coalesce(sum(amount) FILTER (WHERE NOT is_book), 0) AS ledger_amount,
      coalesce(sum(amount) FILTER (WHERE is_book), 0) AS book_amount, max(day) AS complete_on, count(*) AS entries,
      CASE WHEN count(match_id) = count(*) AND min(match_id) = max(match_id) AND NOT bool_or(is_moved) THEN min(match_id) END AS before
    FROM bk_made JOIN bk_row ON bk_row.id = bk_made.row_id
    GROUP BY group_id, bk_made.rule HAVING bool_or(${isInZone(scope)}) AND max(day) >= ${scope.startsOn}::date
  ), typed AS (
    SELECT made.*, ledger_amount - book_amount AS difference, CASE WHEN ledger_amount <> book_amount THEN tolerance.type END AS difference_type
    FROM made LEFT JOIN ${toleranceRows(scope.rules)} ON tolerance.currency = made.currency
  )
  SELECT typed.*, old.id IS NULL AS is_new, coalesce(old.id, nextval('book_match_id_seq')) AS match_id
  FROM typed LEFT JOIN ${lookup(
    'book_match',
    sql`id = before AND rule = typed.rule AND difference_type IS NOT DISTINCT FROM typed.difference_type
      AND (SELECT count(*) FROM book_match_entry WHERE match_id = before) = entries`,
  )} AS old ON true ORDER BY complete_on, group_id`;

/** Matches whose entries were matched again and are not in the same group as before. */
const over = (scope: Scope) => sql`
  (SELECT match_id FROM bk_row WHERE match_id IS NOT NULL AND NOT ${BY_PERSON} AND ${isInZone(scope)}
    UNION SELECT match_id FROM bk_gone WHERE match_id IS NOT NULL)
  EXCEPT SELECT match_id FROM bk_group WHERE NOT is_new`;

/** Decided rows as they are to be: `is_out` of an entry before the start that belongs to none from it on. It is not kept. */
const decided = (scope: Scope, columns: RawBuilder<unknown>) => {
  const { startsOn } = scope;
  return sql`(
    WITH early AS (
      SELECT own.id AS row_id FROM bk_row AS own JOIN bk_link ON book_id = own.id JOIN bk_row AS ledger ON ledger.id = ledger_id
      WHERE own.day < ${startsOn}::date AND ledger.day >= ${startsOn}::date
      UNION ALL SELECT ledger.id FROM bk_row AS ledger JOIN bk_link ON ledger_id = ledger.id JOIN bk_row AS own ON own.id = book_id
      WHERE ledger.day < ${startsOn}::date AND own.day >= ${startsOn}::date
    )
    SELECT ${columns}, bk_group.match_id AS new_match_id, bk_group.rule AS new_rule, bk_held.named AS new_named,
      bk_group.match_id IS NULL AND day < ${startsOn}::date AND bk_row.id NOT IN (SELECT row_id FROM early) AS is_out
    FROM bk_row LEFT JOIN bk_made ON bk_made.row_id = bk_row.id LEFT JOIN bk_group ON bk_group.group_id = bk_made.group_id
    LEFT JOIN bk_held ON bk_held.row_id = bk_row.id WHERE NOT ${byPerson(sql`bk_row.rule`)} AND ${isInZone(scope)})`;
};

/** What changes of the rows that are known. */
const written = (scope: Scope) => sql`
  SELECT * FROM ${decided(scope, sql`bk_row.*`)} AS own
  WHERE is_known AND (is_changed OR match_id IS DISTINCT FROM new_match_id OR named IS DISTINCT FROM new_named OR is_out)
  UNION ALL SELECT bk_row.*, match_id, rule, NULL, false FROM bk_row WHERE ${BY_PERSON} AND is_changed`;

const storeRows = (scope: Scope): readonly RawBuilder<unknown>[] => {
  const { merchantNo } = scope;
  const values = sql`match_id = new_match_id, rule = new_rule, currency = row.currency, day = row.day, second = row.second, amount = row.amount,
    version = row.version, named = new_named`;
  // The rows of `known` that are those of `row`: each side has an index of its own.
  const ofSides = (statement: (isSame: RawBuilder<unknown>) => RawBuilder<unknown>) => [
    statement(sql`known.merchant_no = ${merchantNo} AND known.batch_no = row.batch_no`),
    statement(sql`known.book_entry_id = row.book_entry_id`),
  ];
  return [
    sql`DELETE FROM book_match WHERE id IN (SELECT match_id FROM bk_over)`,
    sql`UPDATE book_match_entry SET match_id = NULL, rule = NULL WHERE match_id IN (SELECT match_id FROM bk_over)`,
    sql`INSERT INTO book_match (id, merchant_no, currency, rule, ledger_amount, difference, difference_type, complete_on, made_at)
      OVERRIDING SYSTEM VALUE SELECT match_id, ${merchantNo}, currency, rule, ledger_amount, difference, difference_type, complete_on, now()
      FROM bk_group WHERE is_new`,
    ...ofSides((isSame) => sql`DELETE FROM book_match_entry AS known USING bk_gone AS row WHERE ${isSame}`),
    ...ofSides(
      (isSame) => sql`DELETE FROM book_match_entry AS known USING bk_write AS row WHERE is_out AND ${isSame}`,
    ),
    ...ofSides(
      (isSame) =>
        sql`UPDATE book_match_entry AS known SET ${values} FROM bk_write AS row WHERE NOT is_out AND ${isSame}`,
    ),
    sql`INSERT INTO book_match_entry (match_id, rule, merchant_no, currency, batch_no, book_entry_id, day, second, amount, version, named)
      SELECT new_match_id, new_rule, ${merchantNo}, currency, batch_no, book_entry_id, day, second, amount, version, new_named
      FROM ${decided(scope, sql`bk_row.currency, batch_no, book_entry_id, day, second, amount, version, is_known`)} AS own
      WHERE NOT is_known AND NOT is_out ORDER BY day, new_match_id`,
  ];
};

/** A day's share of what only one side has is what its entries add up to, less what the matches that are complete on it hold. */
const figures = ({ merchantNo, isFull, rulesText }: Scope): readonly RawBuilder<unknown>[] => [
  ...temporary('bk_figure_day')`
    SELECT currency, day FROM bk_touch UNION SELECT currency, day FROM bk_write ${isFull ? sql`` : sql`UNION SELECT currency, day FROM bk_row WHERE NOT is_known`}`,
  sql`INSERT INTO book_day AS known (merchant_no, currency, day, matched_changes, matched_rules, is_changed, ledger_total, book_total, ledger_open,
      book_open, difference)
    SELECT ${merchantNo}, currency, day, changes, hashtextextended(${rulesText}, 0), false, ledger_total, book_total,
      ledger_total - ledger_matched, book_total - (ledger_matched - matched.difference), matched.difference
    FROM bk_figure_day AS own LEFT JOIN bk_day USING (currency, day)
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(amount) FILTER (WHERE batch_no IS NOT NULL), 0) AS ledger_total,
        coalesce(sum(amount) FILTER (WHERE batch_no IS NULL), 0) AS book_total
      FROM book_match_entry AS entry WHERE (entry.merchant_no, entry.currency, entry.day) = (${merchantNo}, own.currency, own.day)
    ) AS total
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(ledger_amount), 0) AS ledger_matched, coalesce(sum(made.difference), 0) AS difference FROM book_match AS made
      WHERE (made.merchant_no, made.currency, made.complete_on) = (${merchantNo}, own.currency, own.day) AND NOT waits_for_approval
    ) AS matched
    ON CONFLICT (merchant_no, currency, day) DO UPDATE SET
      matched_changes = coalesce(excluded.matched_changes, known.matched_changes), matched_rules = excluded.matched_rules,
      is_changed = known.is_changed AND excluded.matched_changes IS NULL, ledger_total = excluded.ledger_total,
      book_total = excluded.book_total, ledger_open = excluded.ledger_open, book_open = excluded.book_open, difference = excluded.difference`,
];

/** Throws if the days' figures are not those of the entries that are unmatched: a fault of daybook's own. The matching is rolled back. */
async function assertIdentity({ trx, merchantNo }: Scope): Promise<void> {
  const [wrong] = await rowsOf(trx)<{ currency: string }>`
    SELECT currency FROM (
      SELECT currency, ledger_open, book_open FROM book_day WHERE merchant_no = ${merchantNo}
      UNION ALL
      SELECT currency, CASE WHEN batch_no IS NULL THEN 0 ELSE -amount END, CASE WHEN batch_no IS NULL THEN -amount ELSE 0 END
      FROM ${openRows({ merchants: [merchantNo], currencies: null })} AS entry
    ) AS open GROUP BY currency HAVING sum(ledger_open) <> 0 OR sum(book_open) <> 0 LIMIT 1`;
  if (wrong !== undefined)
    throw new Error(
      `merchant ${merchantNo}: figures of ${wrong.currency} are not those of its unmatched entries`,
    );
}

export interface Undone {
  /** Matches of people that were undone, as their entries changed. */
  readonly byHand: number;
  /** Entries that a rule had matched and that are unmatched now. */
  readonly byRule: number;
}

/** Reports what was matched before and is not now. */
async function reportUndone({ trx, merchantNo, now, runId }: Scope): Promise<Undone> {
  const byHand = await rowsOf(trx)<{ id: number; rule: string; currency: string; isGone: boolean }>`
    SELECT id, rule, currency, is_gone AS "isGone" FROM bk_undone JOIN book_match ON id = match_id ORDER BY id`;
  const byRule = await rowsOf(trx)<{ currency: string; entries: number }>`
    SELECT currency, count(*)::int AS entries FROM bk_write
    WHERE match_id IS NOT NULL AND new_match_id IS NULL AND match_id NOT IN (SELECT match_id FROM bk_undone) GROUP BY currency`;
  const events = [
    ...byHand.map(({ id, ...data }) => ({ subject: `match ${id}`, data: { byHand: true, ...data } })),
    ...byRule.map(({ currency, entries }) => ({
      subject: `${currency} ${now.toISOString()}`,
      data: { byHand: false, currency, entries },
    })),
  ].map((event): NewEvent => ({ kind: 'unmatched', merchantNo, ...event }));
  if (events.length > 0)
    await sql`INSERT INTO event (kind, merchant_no, subject, data, run_id, at)
      SELECT sent.*, ${runId}::bigint, ${now}::timestamptz FROM ${eventRows(events)}
      ON CONFLICT (kind, merchant_no, subject) DO NOTHING`.execute(trx);
  return { byHand: byHand.length, byRule: byRule.reduce((sum, { entries }) => sum + entries, 0) };
}

export interface Stored {
  readonly made: readonly { readonly rule: string; readonly matches: number }[];
  readonly undone: Undone;
  /** Entries that were read. */
  readonly entries: number;
}

export async function storeMatches(scope: Scope): Promise<Stored> {
  const { trx } = scope;
  await run(trx, sql`ANALYZE bk_made`, temporary('bk_group')`${groups(scope)}`);
  await run(trx, temporary('bk_over')`${over(scope)}`, temporary('bk_write')`${written(scope)}`);
  const undone = await reportUndone(scope);
  await run(trx, storeRows(scope), figures(scope));
  await assertIdentity(scope);
  const made = await rowsOf(trx)<{ rule: string; matches: number }>`
    SELECT rule, count(*)::int AS matches FROM bk_group WHERE is_new GROUP BY rule`;
  const { entries } = await rowOf(trx)<{ entries: number }>`SELECT count(*)::int AS entries FROM bk_row`;
  return { made, undone, entries };
}
