/** What shows which days of an account have figures of the stored entries and a statement of these, in a few plain statements. */
import { sql } from 'kysely';
import { addDays, dayOf, dayWindow, hasDay } from '../ledger/business-day.ts';
import type { AccountFilter } from '../ledger/account-filter.ts';
import type { Account, BusinessDay, Window } from '../ledger/entry.ts';
import { ALL_TIME, mergeWindows } from '../ledger/window.ts';
import { EVERY_CURRENCY, ofAccounts, ofCurrencies, ofMerchants } from './account-filter.ts';
import { figuredCurrencies } from './account-days.ts';
import { certifiedOfAccounts } from './certificates.ts';
import { arrayLiteral, type Db, rowsOf } from './engine/database.ts';
import { publishedAccounts } from './statements/statements.ts';

/** Which days of an account are proven, and how far a day is that is not over. */
export interface CertifiedDays {
  readonly windows: readonly Window[];
  readonly isComplete: (day: BusinessDay) => boolean;
  /** The last instant up to which the day is proven from its begin on; null where its begin is not. */
  readonly provenThrough: (day: BusinessDay) => number | null;
}

function certifiedDays(certified: readonly Window[], zone: string): CertifiedDays {
  const windows = mergeWindows(certified);
  const provenThrough = (day: BusinessDay): number | null => {
    const { beginMs } = dayWindow(day, zone);
    let [low, high] = [0, windows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (windows[middle]!.endMs < beginMs) low = middle + 1;
      else high = middle;
    }
    const found = windows[low];
    return found !== undefined && found.beginMs <= beginMs ? found.endMs : null;
  };
  const isComplete = (day: BusinessDay) => (provenThrough(day) ?? -1) >= dayWindow(day, zone).endMs;
  return { windows, isComplete, provenThrough };
}

/** A day whose opening was taken from its own first entry, and the day with figures before it. */
interface DerivedDay {
  readonly day: BusinessDay;
  readonly opening: string;
  readonly before: BusinessDay;
  readonly closing: string;
  readonly lastBookedMs: number | null;
}

export interface ChainFacts extends Account {
  /** Days whose entries are not those that their figures were made of. */
  readonly changed: readonly BusinessDay[];
  /** The account's first day with figures; null if there is none. */
  readonly begun: BusinessDay | null;
  /** Complete days without figures, from the first day on that the account is known to have. */
  readonly without: readonly BusinessDay[];
  /** The days with figures from the last one before `without` on. Before it, every complete day from `begun` on has some. */
  readonly figured: readonly BusinessDay[];
  /** Of `without`, the days that have a statement: it was adopted. */
  readonly stated: readonly BusinessDay[];
  readonly derived: readonly DerivedDay[];
  readonly certified: CertifiedDays;
}

type OfAccount = Readonly<{ merchant_no: string; currency: string }>;
type DayOfAccount = OfAccount & { readonly day: BusinessDay };

const keyOf = ({ merchant_no: merchantNo, currency }: OfAccount): string => `${merchantNo}\0${currency}`;

function byAccount<Row extends OfAccount>(rows: readonly Row[]): (account: OfAccount) => readonly Row[] {
  const groups = Map.groupBy(rows, keyOf);
  return (account) => groups.get(keyOf(account)) ?? [];
}

/** Of the merchants' accounts, in order: those with figures, with changed days or with adopted statements. */
export async function chainFacts(db: Db, accounts: AccountFilter, zone: string): Promise<ChainFacts[]> {
  const figured = await figuredAccounts(db, accounts);
  const changed = await flaggedDays(db, accounts);
  const stated = await statedAccounts(db, accounts);
  const derivedOf = byAccount(await derivedDays(db, accounts));
  const known = new Map<string, OfAccount>(
    [...figured, ...changed, ...stated].map((one) => [keyOf(one), one]),
  );
  const own = [...known].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one);
  const certified = await certifiedOfAccounts(
    db,
    own.map(({ merchant_no: merchantNo, currency }) => ({ merchantNo, currency })),
    ALL_TIME,
  );
  const [figuredOf, changedOf, statedOf] = [byAccount(figured), byAccount(changed), byAccount(stated)];
  const facts = own.map((account, nth) => ({
    merchantNo: account.merchant_no,
    currency: account.currency,
    changed: changedOf(account).map(({ day }) => day),
    begun: figuredOf(account)[0]?.begun ?? null,
    last: figuredOf(account)[0]?.last ?? null,
    firstStated: statedOf(account)[0]?.day ?? null,
    derived: derivedOf(account),
    certified: certifiedDays(certified[nth]!, zone),
  }));
  const withoutOf = byAccount(await completeWithoutFigures(db, facts, zone));
  const found: ChainFacts[] = [];
  for (const { last, firstStated: _, ...one } of facts) {
    const rows = withoutOf({ merchant_no: one.merchantNo, currency: one.currency });
    const [firstGap] = rows;
    found.push({
      ...one,
      without: rows.map(({ day }) => day),
      stated: rows.filter(({ isStated }) => isStated).map(({ day }) => day),
      figured:
        firstGap !== undefined ? await figuredFrom(db, one, firstGap.day) : last === null ? [] : [last],
    });
  }
  return found;
}

/** The accounts with figures, with their first and last day with some: each is found by jumps along the primary key. */
const figuredAccounts = (db: Db, { merchants, currencies }: AccountFilter) =>
  rowsOf(db)<OfAccount & { begun: BusinessDay; last: BusinessDay }>`
    SELECT asked.merchant_no, own.currency, first.day AS begun, last.day AS last
    FROM unnest(${arrayLiteral(merchants!)}::text[]) AS asked (merchant_no) CROSS JOIN LATERAL (
      WITH RECURSIVE figured (currency) AS (${figuredCurrencies(sql`asked.merchant_no`)})
      SELECT currency FROM figured WHERE currency IS NOT NULL AND ${ofCurrencies(currencies)}
    ) AS own CROSS JOIN LATERAL (
      SELECT day FROM account_day WHERE merchant_no = asked.merchant_no AND currency = own.currency ORDER BY day LIMIT 1
    ) AS first CROSS JOIN LATERAL (
      SELECT day FROM account_day WHERE merchant_no = asked.merchant_no AND currency = own.currency
      ORDER BY day DESC LIMIT 1
    ) AS last`;

/** Days whose entries changed after their figures were made. */
const flaggedDays = (db: Db, accounts: AccountFilter) => rowsOf(db)<DayOfAccount>`
  SELECT merchant_no, currency, day FROM changed_day WHERE ${ofAccounts(accounts)} ORDER BY day`;

/** The accounts with statements, with the day of the first one. */
const statedAccounts = (db: Db, { merchants, currencies }: AccountFilter) => rowsOf(db)<DayOfAccount>`
  SELECT asked.merchant_no, own.currency, first.day
  FROM unnest(${arrayLiteral(merchants!)}::text[]) AS asked (merchant_no) CROSS JOIN LATERAL (
    WITH RECURSIVE ${publishedAccounts(sql`asked.merchant_no`, 'published')}
    SELECT currency FROM published WHERE ${ofCurrencies(currencies)}
  ) AS own CROSS JOIN LATERAL (
    SELECT day FROM statement WHERE merchant_no = asked.merchant_no AND currency = own.currency ORDER BY day LIMIT 1
  ) AS first`;

/** Uses account_day_restarted: most accounts have one such day, their first, and nothing before it. */
const derivedDays = (db: Db, accounts: AccountFilter) => rowsOf(db)<OfAccount & DerivedDay>`
  SELECT own.merchant_no, own.currency, own.day, own.opening, earlier.day AS before, earlier.closing,
    earlier.last_booked_ms AS "lastBookedMs"
  FROM (SELECT * FROM account_day WHERE ${ofMerchants(accounts.merchants)} AND restarted OFFSET 0) AS own
  CROSS JOIN LATERAL (
    SELECT day, closing, last_booked_ms FROM account_day d
    WHERE d.merchant_no = own.merchant_no AND d.currency = own.currency AND d.day < own.day ORDER BY day DESC LIMIT 1
  ) AS earlier
  WHERE ${ofCurrencies(accounts.currencies)}
  ORDER BY own.day`;

/** The complete days of a window; none where `from` is behind `to`. */
function completeRange({ beginMs, endMs }: Window, zone: string) {
  const first = dayOf(beginMs, zone);
  const from = dayWindow(first, zone).beginMs === beginMs ? first : addDays(first, 1);
  return { from, to: addDays(dayOf(endMs + 1, zone), -1) };
}

type KnownAccount = Pick<ChainFacts, 'merchantNo' | 'currency' | 'changed' | 'begun' | 'certified'> & {
  readonly firstStated: BusinessDay | null;
};

/** OFFSET 0 keeps the planner from reading the days of every merchant. */
async function completeWithoutFigures(
  db: Db,
  accounts: readonly KnownAccount[],
  zone: string,
): Promise<(DayOfAccount & { isStated: boolean })[]> {
  const ranges = accounts.flatMap(({ merchantNo, currency, changed, begun, firstStated, certified }) => {
    const [first] = [begun, changed[0], firstStated].filter((day) => day != null).sort();
    if (first === undefined) return [];
    return certified.windows
      .map((window) => completeRange(window, zone))
      .filter(({ from, to }) => from <= to && to >= first)
      .map(({ from, to }) => ({ merchantNo, currency, from: from < first ? first : from, to }));
  });
  if (ranges.length === 0) return [];
  const rows = await rowsOf(db)<DayOfAccount & { isStated: boolean }>`
    SELECT merchant_no, currency, complete::date AS day, EXISTS (
      SELECT FROM statement s
      WHERE s.merchant_no = own.merchant_no AND s.currency = own.currency AND s.day = complete::date OFFSET 0
    ) AS "isStated" FROM unnest(
      ${arrayLiteral(ranges.map(({ merchantNo }) => merchantNo))}::text[],
      ${arrayLiteral(ranges.map(({ currency }) => currency))}::text[],
      ${arrayLiteral(ranges.map(({ from }) => from))}::date[], ${arrayLiteral(ranges.map(({ to }) => to))}::date[]
    ) AS own (merchant_no, currency, from_day, to_day)
    CROSS JOIN LATERAL generate_series(from_day::timestamp, to_day, '1 day') AS complete
    WHERE NOT EXISTS (
      SELECT FROM account_day d
      WHERE d.merchant_no = own.merchant_no AND d.currency = own.currency AND d.day = complete::date OFFSET 0
    ) ORDER BY day`;
  return rows.filter(({ day }) => hasDay(day, zone));
}

async function figuredFrom(db: Db, account: Account, firstGap: BusinessDay): Promise<BusinessDay[]> {
  const ofAccount = db
    .selectFrom('account_day')
    .where('merchant_no', '=', account.merchantNo)
    .where('currency', '=', account.currency);
  const earlier = ofAccount.select(({ fn }) => fn.max('day').as('day')).where('day', '<', firstGap);
  const rows = await ofAccount
    .select('day')
    .where('day', '>=', ({ fn }) => fn.coalesce(earlier, sql.lit(firstGap)))
    .orderBy('day')
    .execute();
  return rows.map(({ day }) => day);
}

/**
 * What shows whether an account's proven days, its days with figures and its days with a current statement are the same days.
 */
export interface LawFacts extends ChainFacts {
  /** Days with figures whose current statement was not made of these and of their entries; or they have none. */
  readonly unpublished: readonly BusinessDay[];
  /** Days with a statement and without figures: it was adopted. */
  readonly stated: readonly BusinessDay[];
  /** Of `unpublished`, the days whose figures say that they are complete, or that they have no entries. */
  readonly complete: readonly BusinessDay[];
  /** Where entries of the account can lie that cannot be read and that no one has acknowledged. */
  readonly unreadable: readonly Window[];
  /** Days with a statement near a span whose last reading failed, or in which entries are absent and not held. */
  readonly doubted: readonly BusinessDay[];
}

export async function lawFacts(db: Db, merchants: readonly string[], zone: string): Promise<LawFacts[]> {
  const accounts = { merchants, currencies: null };
  const unpublished = byAccount(await unpublishedDays(db, accounts));
  const unreadable = byAccount(await unreadableSpans(db, accounts));
  const doubted = byAccount(await doubtedDays(db, accounts));
  const stated = byAccount(await statedWithoutFigures(db, accounts));
  return (await chainFacts(db, accounts, zone)).map((facts) => {
    const account = { merchant_no: facts.merchantNo, currency: facts.currency };
    const days = unpublished(account);
    const every = unreadable({ ...account, currency: EVERY_CURRENCY });
    return {
      ...facts,
      stated: stated(account).map(({ day }) => day),
      unpublished: days.map(({ day }) => day),
      complete: days.filter((one) => one.isComplete).map(({ day }) => day),
      unreadable: [...unreadable(account), ...every],
      doubted: doubted(account).map(({ day }) => day),
    };
  });
}

const statedWithoutFigures = (db: Db, accounts: AccountFilter) => rowsOf(db)<DayOfAccount>`
  SELECT DISTINCT merchant_no, currency, day FROM statement s
  WHERE ${ofAccounts(accounts)} AND NOT EXISTS (
    SELECT FROM account_day d
    WHERE d.merchant_no = s.merchant_no AND d.currency = s.currency AND d.day = s.day OFFSET 0
  ) ORDER BY day`;

/**
 * The days that are due, but for those whose current statement has the same figures and near which a person closed or opened a
 * break since: the statement stands, and the next run tells of the break.
 */
const unpublishedDays = (db: Db, accounts: AccountFilter) => rowsOf(db)<
  DayOfAccount & { isComplete: boolean }
>`
  SELECT merchant_no, currency, day, verdict <> 'broken' OR credit_count + debit_count = 0 AS "isComplete"
  FROM (SELECT * FROM account_day WHERE ${ofAccounts(accounts)} AND version <> published_version OFFSET 0) AS d
  WHERE NOT EXISTS (
    SELECT FROM (
      SELECT * FROM statement
      WHERE merchant_no = d.merchant_no AND currency = d.currency AND day = d.day ORDER BY revision DESC LIMIT 1
    ) AS s JOIN continuity_break b ON b.merchant_no = s.merchant_no AND b.currency = s.currency
      AND s.day BETWEEN to_timestamp(b.begin_ms / 1000)::date - 1 AND to_timestamp(b.end_ms / 1000)::date + 1
    WHERE (s.opening, s.credit_total, s.credit_count, s.debit_total, s.debit_count, s.closing)
        = (d.opening, d.credit_total, d.credit_count, d.debit_total, d.debit_count, d.closing)
      AND EXISTS (
        SELECT FROM audit_event
        WHERE command IN ('breaks resolve', 'breaks reopen') AND subject = b.id::text AND at >= s.published_at
      )
  ) ORDER BY day`;

const unreadableSpans = (db: Db, accounts: AccountFilter) => rowsOf(db)<OfAccount & Window>`
  SELECT merchant_no, coalesce(currency, ${EVERY_CURRENCY}) AS currency, lower(part) AS "beginMs", upper(part) - 1 AS "endMs"
  FROM quarantined_entry CROSS JOIN LATERAL unnest(span) AS part
  WHERE ${ofMerchants(accounts.merchants)} AND released_at IS NULL AND acknowledged_at IS NULL`;

const doubtedDays = (db: Db, accounts: AccountFilter) => rowsOf(db)<DayOfAccount>`
  SELECT DISTINCT own.merchant_no, own.currency, own.day FROM (
    SELECT merchant_no, NULL AS currency, begin_ms, through_ms AS end_ms FROM certificate
    WHERE ${ofMerchants(accounts.merchants)} AND problem IS NOT NULL
    UNION ALL
    SELECT merchant_no, currency, begin_ms, end_ms FROM absent_entry
    WHERE ${ofMerchants(accounts.merchants)} AND held_since IS NULL
    UNION ALL
    SELECT merchant_no, currency, begin_ms, end_ms FROM foreign_account_day WHERE ${ofMerchants(accounts.merchants)}
  ) AS open JOIN account_day AS own ON own.merchant_no = open.merchant_no
    AND coalesce(open.currency, own.currency) = own.currency AND own.revision IS NOT NULL
    AND own.day BETWEEN to_timestamp(open.begin_ms / 1000)::date - 1 AND to_timestamp(open.end_ms / 1000)::date + 1
  ORDER BY own.day`;
