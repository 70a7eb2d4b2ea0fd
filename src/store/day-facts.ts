/**
 * Collects what the state of account days is judged by (figures, certificates, open breaks, changes), and which of them
 * were revised since a person downloaded them.
 */
import { sql, type RawBuilder } from 'kysely';
import type { Account, BusinessDay, Verdict, Window } from '../ledger/entry.ts';
import { compareAmounts } from '../ledger/money.ts';
import { overlaps } from '../ledger/window.ts';
import { certifiedOfAccounts } from './certificates.ts';
import { arrayLiteral, type Db, rowsOf } from './engine/database.ts';
import { isRevisedSince, revisedSinceDownload, type Downloader } from './downloaded.ts';
import { EVERY_CURRENCY } from './account-filter.ts';
import type { Chosen } from '../ledger/account-filter.ts';
import { figuredCurrencies } from './account-days.ts';

interface DayFact {
  readonly verdict: Verdict;
  readonly entries: number;
  readonly closing: string;
  readonly revision: number | null;
  readonly isDue: boolean;
  /** Its opening was taken from its own first entry, as the day before was not known. */
  readonly isRestarted: boolean;
}

/** An open break, with the time from the entry before it to the entry after it. */
interface OpenBreak extends Window {
  readonly id: number;
  /** The balance found minus the one expected, in units of the currency. */
  readonly amount: string;
}

/** What is known of an account's days in a range. */
export interface AccountFacts {
  readonly account: Account;
  readonly firstDay: BusinessDay | null;
  readonly firstOpening: string | null;
  readonly days: ReadonlyMap<BusinessDay, DayFact>;
  /** The account's last day with figures before the range; null if there is none. */
  readonly lastBefore: BusinessDay | null;
  /** Days whose entries have changed since their figures were made, and the first such day before the range. */
  readonly changed: ReadonlySet<BusinessDay>;
  /** Days whose statement was revised since the person downloaded it. */
  readonly revised: ReadonlySet<BusinessDay>;
  readonly openBreaks: readonly OpenBreak[];
  /** Where entries can lie that could not be read and that no one has acknowledged. */
  readonly unreadable: readonly Window[];
  /** The same of those that somebody has acknowledged. */
  readonly acknowledged: readonly Window[];
  /** What is proven to be read completely, in order. */
  readonly certified: readonly Window[];
}

/** Whether nothing came before the first known day, as far as its opening tells. */
export const beganAtZero = ({ firstOpening }: Pick<AccountFacts, 'firstOpening'>): boolean =>
  firstOpening === null || compareAmounts(firstOpening, '0') === 0;

/** By id: what is missing may belong to each day from the entry before the break to the entry after it. */
export const openBreaksOn = ({ openBreaks }: Pick<AccountFacts, 'openBreaks'>, day: Window): OpenBreak[] =>
  openBreaks.filter((span) => overlaps(span, day)).sort((a, b) => a.id - b.id);

interface DaysAsked {
  readonly from: BusinessDay;
  readonly to: BusinessDay;
  readonly window: Window;
  /** Whose downloads count; null: no one's. */
  readonly by: Downloader | null;
}

/** Facts of each account, in their order: one statement, every part of it along an index, however many are asked for. */
export async function dayFacts(
  db: Db,
  accounts: readonly Account[],
  { from, to, window, by }: DaysAsked,
): Promise<AccountFacts[]> {
  if (accounts.length === 0) return [];
  const rows = await rowsOf(db)<FactRow>`
    WITH asked AS (
      SELECT *, ${window.beginMs}::bigint AS begin_ms, ${window.endMs}::bigint AS end_ms FROM unnest(
        (SELECT ${arrayLiteral(accounts.map(({ merchantNo }) => merchantNo))}::text[]),
        (SELECT ${arrayLiteral(accounts.map(({ currency }) => currency))}::text[])
      ) WITH ORDINALITY AS asked (merchant_no, currency, nth)
    )
    SELECT 'day' AS kind, nth::int, d.day, d.verdict, d.credit_count + d.debit_count AS entries, d.revision,
      d.version <> d.published_version AS "isDue", d.restarted AS "isRestarted", d.closing AS amount, NULL::bigint AS id,
      NULL::bigint AS "beginMs", NULL::bigint AS "endMs"
    FROM asked JOIN account_day d ON ${OF_ASKED} AND d.day BETWEEN ${from} AND ${to}
    UNION ALL
    SELECT 'first', nth::int, first.day, NULL, NULL, NULL, NULL, NULL, first.opening, NULL, NULL, NULL
    FROM asked CROSS JOIN LATERAL (
      SELECT d.day, d.opening FROM account_day d WHERE ${OF_ASKED} ORDER BY d.day LIMIT 1
    ) AS first
    UNION ALL
    SELECT 'before', nth::int, before.day, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM asked CROSS JOIN LATERAL (
      SELECT d.day FROM account_day d WHERE ${OF_ASKED} AND d.day < ${from} ORDER BY d.day DESC LIMIT 1
    ) AS before
    UNION ALL
    SELECT 'changed', nth::int, d.day, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM asked JOIN changed_day d ON ${OF_ASKED} AND d.day BETWEEN ${from} AND ${to}
    UNION ALL
    SELECT 'changed', nth::int, earlier.day, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM asked CROSS JOIN LATERAL (
      SELECT d.day FROM changed_day d WHERE ${OF_ASKED} AND d.day < ${from} ORDER BY d.day LIMIT 1
    ) AS earlier
    UNION ALL
    SELECT 'revised', nth::int, day, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "withoutMs"
    FROM (${revisedSinceDownload({ from, to, by: by?.name ?? null })}) AS revised
    UNION ALL
    SELECT 'break', nth::int, NULL, NULL, NULL, NULL, NULL, NULL,
      d.found_balance - d.expected_balance, d.id, d.begin_ms, d.end_ms
    FROM asked JOIN continuity_break d ON ${OF_ASKED} AND d.status = 'open'
      AND d.begin_ms <= asked.end_ms AND d.end_ms >= asked.begin_ms
    UNION ALL
    SELECT CASE WHEN lying.is_open THEN 'unreadable' ELSE 'acknowledged' END, nth::int, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, lower(part), upper(part) - 1
    FROM asked CROSS JOIN LATERAL (${UNREADABLE_SPANS}) AS lying CROSS JOIN LATERAL unnest(lying.spans) AS part`;
  const certified = await certifiedOfAccounts(db, accounts, window);
  const byAccount = Map.groupBy(rows, ({ nth }) => nth);
  return accounts.map((account, at) => ({
    ...factsOf(account, byAccount.get(at + 1) ?? [], by),
    certified: certified[at]!,
  }));
}

/** Rows `d` of the account of a row `asked`. */
export const OF_ASKED = sql`d.merchant_no = asked.merchant_no AND d.currency = asked.currency`;

/** Of a row `asked (merchant_no, currency, begin_ms, end_ms)`: those of its currency, and those whose currency is unknown. There are few of a merchant. */
export const UNREADABLE_SPANS = sql`
  SELECT q.acknowledged_at IS NULL AS is_open, range_agg(part) AS spans
  FROM quarantined_entry q CROSS JOIN LATERAL unnest(q.span) AS part
  WHERE q.merchant_no = asked.merchant_no AND q.released_at IS NULL
    AND q.begin_ms <= asked.end_ms AND q.end_ms >= asked.begin_ms
    AND coalesce(q.currency, asked.currency) = asked.currency
  GROUP BY 1`;

interface FactRow {
  readonly kind: 'day' | 'first' | 'before' | 'changed' | 'revised' | 'break' | 'unreadable' | 'acknowledged';
  readonly nth: number;
  readonly day: BusinessDay | null;
  /** Of kind `day` alone. */
  readonly verdict: Verdict | null;
  readonly entries: number | null;
  readonly revision: number | null;
  readonly isDue: boolean | null;
  readonly isRestarted: boolean | null;
  /** Of kind `day` its closing, of kind `first` its opening, of kind `break` its difference. */
  readonly amount: string | null;
  /** Of kind `break` alone. */
  readonly id: number | null;
  /** Of spans alone. */
  readonly beginMs: number | null;
  /** Of spans, and of kind `revised` as `withoutMs`. */
  readonly endMs: number | null;
}

function factsOf(
  account: Account,
  rows: readonly FactRow[],
  by: Downloader | null,
): Omit<AccountFacts, 'certified'> {
  const of = (kind: FactRow['kind']) => rows.filter((row) => row.kind === kind);
  const days = (kind: FactRow['kind']) => new Set(of(kind).map(({ day }) => day!));
  const spans = (kind: FactRow['kind']): Window[] =>
    of(kind).map(({ beginMs, endMs }) => ({ beginMs: beginMs!, endMs: endMs! }));
  const [first] = of('first');
  const [before] = of('before');
  return {
    account,
    firstDay: first?.day ?? null,
    firstOpening: first?.amount ?? null,
    lastBefore: before?.day ?? null,
    days: new Map(
      of('day').map(({ day, verdict, entries, amount, revision, isDue, isRestarted }) => [
        day!,
        { verdict, entries, closing: amount, revision, isDue, isRestarted } as DayFact,
      ]),
    ),
    changed: days('changed'),
    revised: new Set(
      of('revised').flatMap(({ day, endMs }) =>
        by !== null && isRevisedSince({ day: day!, withoutMs: endMs }, by) ? [day!] : [],
      ),
    ),
    openBreaks: of('break').map(({ id, amount, beginMs, endMs }) => ({
      ...{ id: id!, amount: amount!, beginMs: beginMs!, endMs: endMs! },
    })),
    unreadable: spans('unreadable'),
    acknowledged: spans('acknowledged'),
  };
}

interface AccountsAsked {
  readonly merchants: Chosen;
  /** Part of the merchant's number, or of a name or reference of it or the account, in any case; '' for all. */
  readonly contains: string;
  readonly after: Account | null;
  readonly limit: number;
}

/** Accounts by merchant and currency. One jump along the key of account_day finds each. */
export async function accountsPage(
  db: Db,
  { merchants, contains, after, limit }: AccountsAsked,
): Promise<Account[]> {
  const source = merchants === null ? everyAccount(after) : accountsOf(merchants, after);
  return rowsOf(db)<Account>`
    ${source}
    SELECT merchant_no AS "merchantNo", currency FROM account
    WHERE merchant_no IS NOT NULL AND ${contains === '' ? sql`true` : isFound(contains)}
    LIMIT ${limit}`;
}

const isFound = (contains: string): RawBuilder<boolean> => sql`(
  strpos(lower(merchant_no), ${contains.toLowerCase()}) > 0 OR EXISTS (
    SELECT FROM account_name n CROSS JOIN LATERAL unnest(ARRAY[n.name, n.reference, n.iban, n.ledger_account]) AS given (text)
    WHERE n.merchant_no = account.merchant_no AND n.currency IN (${EVERY_CURRENCY}, account.currency)
      AND strpos(lower(given.text), lower(${contains})) > 0
  ))`;

const behind = (after: Account | null): RawBuilder<boolean> =>
  after === null ? sql`true` : sql`(merchant_no, currency) > (${after.merchantNo}, ${after.currency})`;

const everyAccount = (after: Account | null): RawBuilder<unknown> => sql`
  WITH RECURSIVE account (merchant_no, currency) AS (
    (SELECT merchant_no, currency FROM account_day WHERE ${behind(after)}
      ORDER BY merchant_no, currency LIMIT 1)
    UNION ALL
    SELECT next.* FROM account CROSS JOIN LATERAL (
      SELECT d.merchant_no, d.currency FROM account_day d
      WHERE (d.merchant_no, d.currency) > (account.merchant_no, account.currency)
      ORDER BY d.merchant_no, d.currency LIMIT 1
    ) AS next
  )`;

const accountsOf = (merchants: readonly string[], after: Account | null): RawBuilder<unknown> => sql`
  WITH account AS (
    SELECT * FROM (
      SELECT own.merchant_no COLLATE "C" AS merchant_no, held.currency
      FROM unnest(${arrayLiteral(merchants)}::text[]) AS own (merchant_no)
      CROSS JOIN LATERAL (
        WITH RECURSIVE figured (currency) AS (${figuredCurrencies(sql`own.merchant_no`)})
        SELECT currency FROM figured WHERE currency IS NOT NULL
      ) AS held
    ) AS every WHERE ${behind(after)}
    ORDER BY merchant_no, currency
  )`;
