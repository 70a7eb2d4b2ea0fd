/**
 * The law of what is to be chained, worked out from all rows: an account's certified days, and those with entries, less the
 * days whose figures were made of the stored entries and open on what is known of the time before them.
 */
import { sql, type Kysely } from 'kysely';
import { addDays, dayBefore, dayWindow } from '../../src/ledger/business-day.ts';
import { daysOutOfDate } from '../../src/reconcile/up-to-date.ts';
import { chainFacts } from '../../src/store/chain-facts.ts';
import { accountsOf } from '../../src/ledger/account-filter.ts';
import type { DB } from '../../src/store/engine/schema.ts';
import { provenOf, type Span } from './positive-law.ts';

export interface ChainLawAsked {
  readonly db: Kysely<DB>;
  readonly merchantNo: string;
  readonly zone: string;
  /** Any days: where rows are read at once. */
  readonly near: string;
}

/** Days that daybook would chain now and the law would not, or the other way round. */
export async function notChainedByLaw(asked: ChainLawAsked): Promise<string[]> {
  const { db, merchantNo, zone } = asked;
  const accounts = await chainFacts(db, accountsOf(merchantNo), zone);
  const chosen = new Set(
    accounts.flatMap((facts) => daysOutOfDate(facts, zone).map((day) => `${facts.currency} ${day}`)),
  );
  const due = await toChainByLaw(asked);
  const differing = [
    ...[...due].flatMap(([day, why]) => (chosen.has(day) ? [] : [`${day} is to be chained, as ${why}`])),
    ...[...chosen].filter((day) => !due.has(day)).map((day) => `${day} would be chained without need`),
  ];
  return differing.map((one) => `the days to chain are not those of the law: ${one}`);
}

/** A day as all its rows show it. */
interface Day {
  readonly currency: string;
  readonly day: string;
  /** It is not to be chained, and its figures are not the sums of its entries. */
  readonly is_forgotten: boolean;
  readonly is_figured: boolean;
  readonly is_stated: boolean;
  /** Its day is to be chained. */
  readonly is_changed: boolean;
  readonly first_ms: number | null;
  readonly restarted: boolean | null;
  readonly opening: string | null;
  readonly closing: string | null;
  readonly last_booked_ms: number | null;
}

const daysOf = async (db: Kysely<DB>, merchantNo: string): Promise<Day[]> => {
  const { rows } = await sql<Day>`
    WITH held AS (
      SELECT currency, booked_at::date AS day, min(booked_ms) AS first_ms,
        ARRAY[count(credit), count(debit), coalesce(sum(credit), 0), coalesce(sum(debit), 0)] AS sums
      FROM ledger_entry WHERE merchant_no = ${merchantNo} AND vanished_at IS NULL GROUP BY 1, 2
    ), figured AS (SELECT * FROM account_day WHERE merchant_no = ${merchantNo}),
    open AS (SELECT day FROM certificate WHERE merchant_no = ${merchantNo} AND NOT chained),
    stated AS (SELECT DISTINCT currency, day, true AS is_stated FROM statement WHERE merchant_no = ${merchantNo})
    SELECT currency, day, day NOT IN (SELECT day FROM open) AND figured.opening IS NOT NULL
        AND coalesce(held.sums, '{0,0,0,0}') <> ARRAY[credit_count, debit_count, credit_total, debit_total] AS is_forgotten,
      figured.opening IS NOT NULL AS is_figured,
      coalesce(is_stated, false) AS is_stated,
      (held.day IS NOT NULL OR figured.day IS NOT NULL) AND day IN (SELECT day FROM open) AS is_changed,
      held.first_ms, restarted, opening, closing, last_booked_ms
    FROM held FULL JOIN figured USING (currency, day)
      FULL JOIN stated USING (currency, day)
    ORDER BY currency, day`.execute(db);
  return rows;
};

/** By currency and day, why. */
async function toChainByLaw({ db, merchantNo, zone }: ChainLawAsked): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const { covers } = await provenOf(db, merchantNo);
  for (const [currency, rows] of Map.groupBy(await daysOf(db, merchantNo), (row) => row.currency)) {
    const isCertified = (span: Span) => covers(currency, span);
    const put = (day: string, why: string) => found.set(`${currency} ${day}`, why);
    const byDay = new Map(rows.map((row) => [row.day, row]));
    let isKnown = false;
    let before: Day | undefined;
    const last = rows.at(-1)!.day;
    for (let day = rows[0]!.day; day <= last || isKnown; day = addDays(day, 1)) {
      const own = byDay.get(day);
      const isCovered = isCertified(dayWindow(day, zone));
      const holds = own?.is_figured === true || own?.is_changed === true;
      isKnown = isCovered && (isKnown || holds || own?.is_stated === true);
      if (own?.is_forgotten === true) put(day, 'its figures are not those of its entries');
      if (own?.is_changed === true) put(day, 'its entries changed');
      else if (isKnown && own?.is_figured !== true) put(day, 'it has no figures');
      else if (own?.is_figured === true && opensWrongly(own, before, isCertified, zone))
        put(day, 'it opens on another balance than is known');
      if (own?.is_figured === true) before = own;
    }
  }
  return found;
}

/** Whether a day with figures does not open on what the day with figures before it leaves. A chain goes on over complete days alone. */
function opensWrongly(
  { day, restarted, opening }: Day,
  before: Day | undefined,
  isCertified: (span: Span) => boolean,
  zone: string,
): boolean {
  if (before === undefined) return false;
  const isSame = Number(opening) === Number(before.closing);
  if (restarted !== true) return !isSame;
  const isJoined =
    before.day === dayBefore(day, zone) &&
    [before.day, day].every((one) => isCertified(dayWindow(one, zone)));
  return isJoined && (before.last_booked_ms !== null || !isSame);
}
