/**
 * What shows which days of an account have up-to-date figures, and what chaining makes of them. Days known to have figures
 * without a gap are not read again.
 */
import { sql, type RawBuilder } from 'kysely';
import type { BusinessDay, Window, Account } from '../ledger/entry.ts';
import { certifiedOfAccounts } from './certificates.ts';
import type { Chosen } from '../ledger/account-filter.ts';
import { addDays, zoneDays } from '../ledger/business-day.ts';
import {
  DAYS_ASKED,
  DAYS_BEFORE,
  DAYS_FROM,
  dayFigures,
  DAY_LISTS,
  type DayAsked,
  daysAround,
  figuredCurrencies,
  type DayFigures,
  type DaysAround,
  type FigureRow,
  figureColumns,
} from './account-days.ts';
import { arrayLiteral, type Db, rowsOf, type Trx } from './engine/database.ts';
import { ASKED_MERCHANT, sharedRead, withPlaces } from './engine/shared-statement.ts';
import { CHAIN_BATCH, chainEntriesOf, type ChainBatch, type FirstEntries } from './entries.ts';
import { firstWithBalance } from './ledger-past.ts';
import { publishedAccounts } from './statements/statements.ts';
import { ALL_TIME } from '../ledger/window.ts';
import { EVERY_CURRENCY } from './account-filter.ts';
import { forgetSum } from './historical-days.ts';
import { HELD_ALREADY, heldMerchants, type Lease } from './engine/lease.ts';
import { sharedWrite } from './engine/write-transaction.ts';

export interface ChainFacts {
  /** Days whose entries are not those that their figures were made of. */
  readonly changed: readonly BusinessDay[];
  /** The account's first day with figures; null if there is none. */
  readonly begun: BusinessDay | null;
  /** The days with figures from the first place on where a gap may be. Before it, every day from `begun` on has some. */
  readonly figured: readonly BusinessDay[];
  /** Days without figures that have a current statement. */
  readonly stated: readonly BusinessDay[];
  /** Days after the account's first one whose opening was taken from their own first entry, as the day before was not known. */
  readonly derived: readonly BusinessDay[];
  readonly certified: readonly Window[];
}

/** The values as a list, in order of days; an empty one where there are none. */
const listOf = (
  value: RawBuilder<unknown>,
  from: RawBuilder<unknown>,
  order = sql`day`,
): RawBuilder<unknown> => sql`coalesce((SELECT json_agg(${value} ORDER BY ${order}) FROM ${from}), '[]')`;
const DAY = sql`day`;

/**
 * Columns about a row `account (currency, begun, since, begin_ms, end_ms)` of a merchant: `begun` is the account's first day with
 * figures, `since` the first one after which a gap may be, the others where certificates are read. OFFSET 0
 * keeps the planner from any index but account_day_restarted.
 */
const chainFactColumns = (merchantNo: RawBuilder<unknown>): RawBuilder<unknown> => {
  const ofAccount = sql`merchant_no = ${merchantNo} AND currency = account.currency`;
  return sql`
      ${listOf(DAY, sql`account_day WHERE ${ofAccount} AND day BETWEEN account.since AND 'infinity'`)} AS figured,
      ${listOf(
        DAY,
        sql`(
          SELECT currency, day FROM account_day WHERE merchant_no = ${merchantNo} AND restarted OFFSET 0
        ) AS one WHERE currency = account.currency AND day > account.begun`,
      )} AS derived`;
};

/** The days with a statement and without figures of such a row. From `begun` to `since` every day has figures, so it reads nothing there. */
const statedWithoutFigures = (merchantNo: RawBuilder<unknown>): RawBuilder<unknown> => {
  const outside = (table: 'statement' | 'account_day', days: RawBuilder<unknown>) => sql`
    SELECT day FROM ${sql.table(table)}
    WHERE merchant_no = ${merchantNo} AND currency = account.currency AND ${days}`;
  const before = sql`day < coalesce(account.begun, 'infinity')`;
  // An upper end as well lets the planner expect few rows.
  const after = sql`day > account.since AND day < 'infinity'`;
  return sql`(${outside('statement', before)} UNION ALL ${outside('statement', after)}) EXCEPT ${outside('account_day', after)}`;
};

/**
 * Entries are read of so many changed days of the merchant, and so many of each. Together they are no more than a batch
 * that the chain reads of a large day.
 */
const DAYS_MAX = 16;
export const ENTRIES_A_DAY_MAX = 300;
/** So many days after the last one with figures are checked even if they have not changed: they may be proven to be empty. */
const QUIET_DAYS_MAX = 7;

interface ToChainAsked {
  readonly merchantNo: string;
  readonly currencies: Chosen;
  readonly zone: string;
  /** Days whose entries are read if they changed or have no figures yet, in order, each with its window. */
  readonly days: readonly DayAsked[];
  readonly within: Window;
}

export interface AccountToChain extends ChainFacts {
  readonly account: Account;
  readonly last: BusinessDay | null;
  /** How far days with figures follow each other without a gap; null if there is none. */
  readonly gapless: Gapless | null;
  /** What the statements of the days `stated` say: these days were adopted. */
  readonly statements: readonly DayFigures[];
  readonly around: DaysAround;
  readonly entries: ReadonlyMap<BusinessDay, FirstEntries>;
  readonly busy: readonly BusinessDay[];
  readonly opensOnBalance: boolean;
}

/** Days that all have figures, from the account's first one on. */
export interface Gapless {
  readonly from: BusinessDay;
  readonly through: BusinessDay;
}

interface Row extends Omit<ChainFacts, 'stated'> {
  readonly currency: string;
  readonly last: BusinessDay | null;
  readonly since: BusinessDay | null;
  readonly statements: FigureRow[];
  readonly first: BusinessDay | null;
  readonly around: FigureRow[];
  readonly entries: (ChainBatch & { readonly day: BusinessDay })[];
  readonly busy: BusinessDay[];
  readonly opens_on_balance: boolean;
}

/** A day's figures as JSON. Amounts are text in it, as a number of JSON would lose digits. */
const STATED = sql`'currency', currency, 'day', day, 'opening', opening::text,
  'credit_total', credit_total::text, 'credit_count', credit_count, 'debit_total', debit_total::text,
  'debit_count', debit_count, 'closing', closing::text, 'verdict', verdict, 'break_count', break_count,
  'breaks_after', breaks_after, 'restarted', restarted`;
const FIGURES = sql`json_build_object(${STATED}, 'last_batch_no', last_batch_no, 'last_booked_ms', last_booked_ms,
  'other_closings', other_closings, 'clean_end', clean_end, 'jumps_in', jumps_in)`;
/** What a statement says, as figures. It does not tell where the chain stands at the day's end. */
const FIGURES_OF_STATEMENT = sql`json_build_object(${STATED}, 'last_batch_no', NULL, 'last_booked_ms', NULL,
  'other_closings', other_closings, 'clean_end', true, 'jumps_in', false)`;

/** The accounts with figures, with changed days or with statements: `first` is where they are checked, `since` where a gap may be. */
const ACCOUNTS_KNOWN = sql`
      SELECT own.currency, own.changed, own.last, coalesce(own.first, own.last, own.begun) AS first, own.begun,
        CASE WHEN gapless.figured_from = own.begun THEN gapless.figured_through ELSE own.begun END AS since,
        asked.begin_ms, asked.end_ms
      FROM (
        SELECT known.currency,
          (SELECT day FROM account_day d WHERE d.merchant_no = ${ASKED_MERCHANT} AND d.currency = known.currency
           ORDER BY day LIMIT 1) AS begun,
          ${listOf(DAY, sql`changed WHERE changed.currency = known.currency`)} AS changed,
          (SELECT min(day) FROM changed WHERE changed.currency = known.currency) AS first,
          (SELECT day FROM account_day d WHERE d.merchant_no = ${ASKED_MERCHANT} AND d.currency = known.currency
           ORDER BY day DESC LIMIT 1) AS last
        FROM (
          SELECT currency FROM figured UNION SELECT currency FROM changed UNION SELECT currency FROM published
        ) AS known
        WHERE known.currency IS NOT NULL
          AND (asked.chosen IS NULL OR known.currency = ANY (asked.chosen::text[]))
      ) AS own LEFT JOIN ledger_cursor AS gapless
        ON gapless.merchant_no = ${ASKED_MERCHANT} AND gapless.currency = own.currency`;

/**
 * Reads all that chaining a merchant's changed days mostly needs, in one statement: most nights nothing else is asked.
 *
 * It is read outside the transaction that writes. Only the holder of the lease writes these tables, but for `publish_due`,
 * which is not read here, and no write succeeds without the lease: what was read still holds when figures are written.
 * The accounts are in order of currency. Each part is found by an index, whatever else is stored.
 */
export async function daysToChain(db: Db, asked: ToChainAsked): Promise<AccountToChain[]> {
  const rows = await readToChain(db, asked);
  const accounts = rows.map(({ currency }) => ({ merchantNo: asked.merchantNo, currency }));
  const certified = await certifiedOfAccounts(db, accounts, asked.within);
  return rows.map((row, at) => accountToChain(asked, { ...row, certified: certified[at]! }));
}

const readToChain = sharedRead<ToChainAsked, Row>(
  {
    chosen: ['text', ({ currencies }) => (currencies === null ? null : arrayLiteral(currencies))],
    ...DAY_LISTS,
    begin_ms: ['bigint', ({ within }) => within.beginMs],
    end_ms: ['bigint', ({ within }) => within.endMs],
  },
  sql`
    WITH RECURSIVE figured (currency) AS (${figuredCurrencies(ASKED_MERCHANT)}
    ), ${publishedAccounts(ASKED_MERCHANT, 'published')}, changed AS MATERIALIZED (
      SELECT currency, day, row_number() OVER (ORDER BY currency, day) AS nth
      FROM changed_day WHERE merchant_no = ${ASKED_MERCHANT}
    ), part AS MATERIALIZED (
      SELECT * FROM ${DAYS_ASKED}
    ), account AS MATERIALIZED (${ACCOUNTS_KNOWN})
    SELECT account.*, ${chainFactColumns(ASKED_MERCHANT)},
      coalesce((SELECT json_agg(last.figures ORDER BY bare.day) FROM (${statedWithoutFigures(ASKED_MERCHANT)}) AS bare CROSS JOIN LATERAL (
        SELECT ${FIGURES_OF_STATEMENT} AS figures FROM statement
        WHERE merchant_no = ${ASKED_MERCHANT} AND currency = account.currency AND day = bare.day
        ORDER BY revision DESC LIMIT 1
      ) AS last), '[]') AS statements,
      coalesce((SELECT json_agg(near.figures ORDER BY near.day) FROM (
        (SELECT day, ${FIGURES} AS figures FROM account_day
         WHERE merchant_no = ${ASKED_MERCHANT} AND currency = account.currency AND day < account.first
         ORDER BY day DESC LIMIT ${sql.lit(DAYS_BEFORE)})
        UNION ALL
        (SELECT day, ${FIGURES} AS figures FROM account_day
         WHERE merchant_no = ${ASKED_MERCHANT} AND currency = account.currency AND day >= account.first
         ORDER BY day LIMIT ${sql.lit(DAYS_FROM)})
      ) AS near), '[]') AS around,
      coalesce((SELECT json_agg(row_to_json(own)) FROM (
        SELECT part.day, batch.*
        FROM part LEFT JOIN changed ON changed.currency = account.currency AND changed.day = part.day
        CROSS JOIN LATERAL (
          SELECT ${CHAIN_BATCH} FROM (
            SELECT * FROM ledger_entry
            WHERE merchant_no = ${ASKED_MERCHANT} AND currency = account.currency AND vanished_at IS NULL
              AND booked_ms BETWEEN part.begin_ms AND part.end_ms
            ORDER BY booked_ms, batch_no LIMIT ${sql.lit(ENTRIES_A_DAY_MAX)}
          ) AS batch
        ) AS batch
        WHERE coalesce(changed.nth <= ${sql.lit(DAYS_MAX)},
          part.day BETWEEN account.last + 1 AND account.last + ${sql.lit(QUIET_DAYS_MAX)})
      ) AS own), '[]') AS entries,
      coalesce((SELECT json_agg(busy.day) FROM (SELECT min(day) AS from_day, max(day) AS to_day FROM part) AS days
       CROSS JOIN LATERAL (
         SELECT day FROM account_day
         WHERE merchant_no = ${ASKED_MERCHANT} AND currency = account.currency
           AND day BETWEEN days.from_day AND days.to_day AND credit_count + debit_count > 0 OFFSET 0
       ) AS busy), '[]') AS busy,
      EXISTS (${firstWithBalance(ASKED_MERCHANT)}) AS opens_on_balance
    FROM account ORDER BY account.currency`,
);

function lastInRow(first: BusinessDay, days: readonly BusinessDay[], zone: string): BusinessDay {
  let last = first;
  for (const day of days) {
    if (zoneDays(addDays(last, 1), addDays(day, -1), zone).length > 0) break;
    last = day;
  }
  return last;
}

function accountToChain(
  { merchantNo, zone }: Pick<ToChainAsked, 'merchantNo' | 'zone'>,
  { currency, since, first, opens_on_balance: opensOnBalance, ...row }: Row,
): AccountToChain {
  const entries = new Map<BusinessDay, FirstEntries>();
  for (const batch of row.entries) {
    const read = chainEntriesOf(batch);
    if (read !== null) entries.set(batch.day, { entries: read, limit: ENTRIES_A_DAY_MAX });
  }
  const statements = row.statements.map(dayFigures);
  return {
    account: { merchantNo, currency },
    changed: row.changed,
    derived: row.derived,
    begun: row.begun,
    stated: statements.map(({ day }) => day),
    last: row.last,
    gapless: row.begun === null ? null : { from: row.begun, through: lastInRow(since!, row.figured, zone) },
    figured: row.figured,
    statements,
    around: daysAround(row.around.map(dayFigures), first ?? statements[0]!.day),
    certified: row.certified,
    entries,
    busy: row.busy,
    opensOnBalance,
  };
}

/**
 * Reads what shows whether an account's proven days, its days with figures and its days with a current statement are the same
 * days. Days that are known to have figures without a gap are not read again, so it costs little however long the history is.
 */
export interface LawFacts extends Account, ChainFacts {
  /** Days with figures whose current statement was not made of these and of their entries; or they have none. */
  readonly unpublished: readonly BusinessDay[];
  /** Of these, the ones whose figures say that they are complete, or that they have no entries. */
  readonly complete: readonly BusinessDay[];
  /** Where entries of the account can lie that cannot be read and that no one has acknowledged. */
  readonly unreadable: readonly Window[];
  /** Days with a statement near a span whose last reading failed, or in which entries are absent and not held. */
  readonly doubted: readonly BusinessDay[];
}

const UNPUBLISHED = sql`is_due AND published_hash IS DISTINCT FROM content_hash`;

export async function lawFacts(db: Db, merchants: readonly string[]): Promise<LawFacts[]> {
  const accounts = await storedFacts(db, merchants);
  const certified = await certifiedOfAccounts(db, accounts, ALL_TIME);
  return accounts.map((facts, at) => ({ ...facts, certified: certified[at]! }));
}

function storedFacts(db: Db, merchants: readonly string[]): Promise<Omit<LawFacts, 'certified'>[]> {
  const merchantNo = sql`account.merchant_no`;
  const ofAccount = sql`merchant_no = account.merchant_no AND currency = account.currency`;
  return rowsOf(db)`
    WITH asked AS (SELECT unnest(${arrayLiteral(merchants)}::text[]) COLLATE "C" AS merchant_no),
    known AS (
      SELECT asked.merchant_no, own.currency FROM asked CROSS JOIN LATERAL (
        WITH RECURSIVE figured (currency) AS (${figuredCurrencies(sql`asked.merchant_no`)}),
        ${publishedAccounts(sql`asked.merchant_no`, 'published')}
        SELECT currency FROM figured WHERE currency IS NOT NULL UNION SELECT currency FROM published
        UNION SELECT currency FROM changed_day WHERE merchant_no = asked.merchant_no
      ) AS own
    ),
    account AS MATERIALIZED (
      SELECT known.*, first.day AS begun,
        CASE WHEN gapless.figured_from = first.day THEN gapless.figured_through ELSE first.day END AS since,
        ${ALL_TIME.beginMs}::bigint AS begin_ms, ${ALL_TIME.endMs}::bigint AS end_ms
      FROM known LEFT JOIN ledger_cursor AS gapless USING (merchant_no, currency) LEFT JOIN LATERAL (
        SELECT day FROM account_day WHERE merchant_no = known.merchant_no AND currency = known.currency
        ORDER BY day LIMIT 1
      ) AS first ON true
    )
    SELECT account.merchant_no AS "merchantNo", account.currency, account.begun,
      ${chainFactColumns(merchantNo)},
      ${listOf(DAY, sql`(${statedWithoutFigures(merchantNo)}) AS bare`)} AS stated,
      ${listOf(DAY, sql`changed_day WHERE ${ofAccount}`)} AS changed,
      ${listOf(DAY, sql`account_day WHERE ${ofAccount} AND ${UNPUBLISHED}`)} AS unpublished,
      ${listOf(
        DAY,
        sql`account_day WHERE ${ofAccount} AND ${UNPUBLISHED} AND (verdict <> 'broken' OR credit_count + debit_count = 0)`,
      )} AS complete,
      ${listOf(
        sql`json_build_object('beginMs', lower(span), 'endMs', upper(span) - 1)`,
        sql`(SELECT unnest(q.span) AS span FROM quarantined_entry q
          WHERE q.merchant_no = account.merchant_no AND q.released_at IS NULL AND q.acknowledged_at IS NULL
            AND coalesce(q.currency, account.currency) = account.currency) AS q`,
        sql`span`,
      )} AS unreadable,
      coalesce((SELECT json_agg(DISTINCT own.day) FROM (
         SELECT begin_ms, through_ms AS end_ms FROM certificate
         WHERE merchant_no = account.merchant_no AND problem IS NOT NULL
         UNION ALL SELECT begin_ms, end_ms FROM foreign_account_day WHERE ${ofAccount}
         UNION ALL SELECT begin_ms, end_ms FROM absent_entry WHERE ${ofAccount} AND held_since IS NULL
       ) AS open JOIN account_day AS own ON ${ofAccount} AND own.revision IS NOT NULL
         AND own.day BETWEEN to_timestamp(open.begin_ms / 1000)::date - 1 AND to_timestamp(open.end_ms / 1000)::date + 1
      ), '[]') AS doubted
    FROM account ORDER BY account.merchant_no, account.currency`;
}

/** `isSame`: only that they still hold is stored. The day's statement is due where its entries changed since all the same. */
interface ChainedFigures extends DayFigures {
  readonly isSame?: boolean;
}

interface CurrencyDay {
  readonly currency: string;
  readonly day: BusinessDay;
}

export interface Chained {
  readonly figures: readonly ChainedFigures[];
  /** Days to take off the list of changed ones. A sum of figures that one of them belongs to is forgotten. */
  readonly done: readonly CurrencyDay[];
  readonly left: readonly CurrencyDay[];
  /** Of each account, the days that are known to have figures without a gap; no search checks there again. */
  readonly gapless?: readonly (Gapless & { readonly currency: string })[];
}

export async function saveChained(trx: Trx, merchantNo: string, made: Chained): Promise<void> {
  await saving([{ merchantNo, made }], HELD_ALREADY).execute(trx);
}

/**
 * Saves it in one statement, which asks for the lease itself: no one can take it over before the rows are stored. Throws
 * `LeaseLost`, or `StoreUnreachable` once the retries are used up.
 */
export async function saveChainedUnderLease(
  db: Db,
  lease: Lease,
  merchantNo: string,
  made: Chained,
): Promise<void> {
  await save(db, lease, { merchantNo, made });
}

interface ToSave {
  readonly merchantNo: string;
  readonly made: Chained;
}

const save = sharedWrite<ToSave, true>(async (db, asks, held) => {
  const { rows } = await saving(asks, held).execute(db);
  const places = new Set(rows.map(({ nth }) => nth));
  return asks.map((_, at) => places.has(at + 1) || null);
});

/** A row for each of `held`; of the others nothing is saved. May be sent again if the answer to it was lost. */
const saving = (asks: readonly ToSave[], held: RawBuilder<unknown>): RawBuilder<{ readonly nth: number }> => {
  const figures = asks.flatMap(({ merchantNo, made }) =>
    made.figures.map((one) => ({ ...columnsOf(one), merchant_no: merchantNo })),
  );
  return sql<{ readonly nth: number }>`
    WITH held AS MATERIALIZED ${heldMerchants(asks, held)},
    done AS MATERIALIZED (SELECT * FROM ${dayRows(asks.map(({ made }) => made.done))} JOIN held USING (nth)),
    saved AS (
      INSERT INTO account_day AS known (merchant_no, ${COLUMNS}, publish_due, entries_fingerprint)
      SELECT held.merchant_no, ${COLUMNS}, made.publish_due, coalesce((
        SELECT changes FROM certificate
        WHERE (merchant_no, day) = (held.merchant_no, made.day)
      ), 0) FROM held JOIN ${rowsToStore(figures)} AS made USING (merchant_no)
      ON CONFLICT (merchant_no, currency, day) DO UPDATE SET (${COLUMNS}, publish_due, entries_fingerprint) = ROW (
        ${EXCLUDED},
        known.publish_due OR excluded.publish_due OR known.entries_fingerprint <> excluded.entries_fingerprint,
        excluded.entries_fingerprint
      )
    ), listed AS (
      INSERT INTO certificate (merchant_no, day)
      SELECT DISTINCT held.merchant_no, one.day
      FROM ${dayRows(asks.map(({ made }) => made.left))} JOIN held USING (nth)
      ON CONFLICT (merchant_no, day) DO UPDATE SET chained = false
    ), gapless AS (
      INSERT INTO ledger_cursor AS known (merchant_no, currency, figured_from, figured_through)
      SELECT held.merchant_no, one.currency, one.from_day, one.through_day
      FROM ${gaplessRows(asks)} JOIN held USING (nth)
      ON CONFLICT (merchant_no, currency) DO UPDATE
        SET figured_from = excluded.figured_from, figured_through = excluded.figured_through
      WHERE (known.figured_from, known.figured_through)
        IS DISTINCT FROM (excluded.figured_from, excluded.figured_through)
    ), stale AS (${forgetSum(sql`done`)})
    SELECT nth::int AS nth FROM held`;
};

/** The days of each, with its place from 1. */
function dayRows(daysOfEach: readonly (readonly CurrencyDay[])[]): RawBuilder<unknown> {
  const days = withPlaces(daysOfEach);
  return sql`unnest(
    ${arrayLiteral(days.map(({ nth }) => nth))}::int[], ${arrayLiteral(days.map(({ currency }) => currency))}::text[],
    ${arrayLiteral(days.map(({ day }) => day))}::date[]
  ) AS one (nth, currency, day)`;
}

function gaplessRows(asks: readonly ToSave[]): RawBuilder<unknown> {
  const rows = withPlaces(asks.map(({ made }) => made.gapless ?? []));
  return sql`unnest(
    ${arrayLiteral(rows.map(({ nth }) => nth))}::int[], ${arrayLiteral(rows.map(({ currency }) => currency))}::text[],
    ${arrayLiteral(rows.map(({ from }) => from))}::date[], ${arrayLiteral(rows.map(({ through }) => through))}::date[]
  ) AS one (nth, currency, from_day, through_day)`;
}

const columnsOf = (figures: ChainedFigures) => ({
  publish_due: figures.isSame !== true,
  currency: figures.currency,
  day: figures.day,
  ...figureColumns(figures),
  last_batch_no: figures.lastBatchNo,
  last_booked_ms: figures.lastBookedMs,
  clean_end: figures.isOrderFinal,
  jumps_in: figures.startsWithBreak,
});

const NAMES =
  'currency, day, opening, credit_total, credit_count, debit_total, debit_count, closing, verdict, break_count, ' +
  'breaks_after, restarted, other_closings, last_batch_no, last_booked_ms, clean_end, jumps_in';
const COLUMNS = sql.raw(NAMES);
const EXCLUDED = sql.raw(NAMES.replaceAll(/\w+/g, 'excluded.$&'));

/** As JSON, in which amounts are text: a number of JSON would lose digits. */
const rowsToStore = (figures: readonly object[]): RawBuilder<unknown> =>
  sql`json_populate_recordset(NULL::account_day, ${JSON.stringify(figures)}::json)`;
