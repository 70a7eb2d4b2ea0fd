/**
 * Handles stored entries that a certified reading did not hold. They are first noted as absent, and marked as
 * vanished once it is believed that they are gone. They are never deleted. Where a day lost too many at the same time, they
 * are held: only what a person accepted is believed then.
 */
import { sql, type RawBuilder } from 'kysely';
import type { Window, BusinessDay, Account } from '../ledger/entry.ts';
import { ofCurrency, ofAccounts, ofMerchants } from './account-filter.ts';
import { noteChangedDays } from './certificates.ts';
import { arrayLiteral, type Db, type Trx, rowsOf, rowOf } from './engine/database.ts';
import { heldCurrenciesOf } from './entries.ts';
import type { AccountFilter, Chosen } from '../ledger/account-filter.ts';

export interface PlannedWindow {
  readonly merchantNo: string;
  /** The entire window as it was planned. A reading may be a part of it. */
  readonly planned: Window;
  readonly currency: string | null;
  readonly runId: number;
  readonly now: Date;
}

export interface CompleteReading extends PlannedWindow {
  /** How many unreadable entries without batchNo came with it. Identical ones are counted each. */
  readonly namelessCount: number;
}

/**
 * Notes stored entries of `window` as absent if they came neither readable nor unreadable, and deletes the notes of
 * entries that came again. Returns how many entries of the planned window are absent now.
 *
 * Stored times are full seconds. So only seconds that lie completely in the window are judged: in a second that the
 * window cuts, the entry may lie on the other side. Reads one range of ledger_entry_in_time for each currency.
 */
export async function noteAbsent(
  trx: Trx,
  within: PlannedWindow & {
    readonly window: Window;
    /** An uncertified reading proves nothing absent. */
    readonly certified: boolean;
    readonly batchNos: readonly string[];
  },
): Promise<number> {
  const { merchantNo, window, planned, currency, batchNos, certified, runId, now } = within;
  const lastJudgedMs = certified ? window.endMs - 999 : window.beginMs - 1;
  const { absent } = await rowOf(trx)<{ absent: number }>`
    WITH RECURSIVE held (currency) AS (${heldCurrenciesOf(merchantNo, currency)}), came (batch_no) AS MATERIALIZED (
      SELECT unnest(${arrayLiteral(batchNos)}::text[])
    ), gone AS (
      SELECT lost.* FROM held CROSS JOIN LATERAL (
        SELECT e.batch_no, e.currency, e.booked_ms FROM ledger_entry e
        WHERE e.merchant_no = ${merchantNo} AND e.currency = held.currency AND e.vanished_at IS NULL
          AND e.booked_ms BETWEEN ${window.beginMs} AND ${lastJudgedMs}
          AND e.batch_no NOT IN (SELECT batch_no FROM came)
        OFFSET 0
      ) AS lost
    ), noted AS (
      INSERT INTO absent_entry (merchant_no, batch_no, currency, booked_ms, begin_ms, end_ms, absent_since, run_id)
      SELECT ${merchantNo}, batch_no, currency, booked_ms, ${planned.beginMs}::bigint, ${planned.endMs}::bigint,
        ${now}::timestamptz, ${runId}::bigint
      FROM gone
      ON CONFLICT DO NOTHING
      RETURNING 1
    ), known AS MATERIALIZED (
      SELECT a.batch_no, a.booked_ms, a.batch_no IN (SELECT batch_no FROM came) AS is_back
      FROM absent_entry a WHERE a.merchant_no = ${merchantNo}
    ), back AS (
      DELETE FROM absent_entry
      WHERE merchant_no = ${merchantNo} AND batch_no = ANY (ARRAY(SELECT batch_no FROM known WHERE is_back))
    )
    SELECT (SELECT count(*) FROM noted) + (
      SELECT count(*) FROM known
      WHERE NOT is_back AND booked_ms BETWEEN ${planned.beginMs} AND ${planned.endMs}
    ) AS absent`;
  return absent;
}

export interface AbsenceJudged {
  readonly vanished: number;
  /** A sentence that says why the planned window is not proven yet; null where nothing is absent any more. */
  readonly doubt: string | null;
  readonly isHeld: boolean;
}

interface CurrencyAbsence {
  readonly currency: string;
  readonly held: number;
  readonly absent: number;
  readonly open: number;
  /** How many of these a reading of an earlier run lacked as well, long enough ago. */
  readonly confirmed: number;
  readonly unaccepted: number;
}

/**
 * Judges what is noted of planned windows, once all that a run reads of the merchant is stored: only then it is known how many
 * are gone at the same time, and what came with another window. Marks as vanished what is believed, leaves the rest noted.
 */
export async function judgeAbsent(trx: Trx, windows: readonly CompleteReading[]): Promise<AbsenceJudged[]> {
  if (windows.length === 0) return [];
  await hold(trx, windows[0]!);
  const judged: AbsenceJudged[] = [];
  for (const within of windows) judged.push(await judgeWindow(trx, within));
  return judged;
}

/** Where a reading brought unreadable entries without batchNo, each of them may be one of the absent: nothing is marked then. */
async function judgeWindow(trx: Trx, within: CompleteReading): Promise<AbsenceJudged> {
  const { merchantNo, planned, currency, namelessCount: nameless } = within;
  const absences = await absencesIn(trx, within);
  const none = { vanished: 0, doubt: null, isHeld: false };
  if (absences.length === 0) return none;
  const absent = absences.reduce((sum, one) => sum + one.absent, 0);
  const isHeld = absences.every(({ open }) => open === 0);
  if (nameless >= absent) {
    await sql`
      DELETE FROM absent_entry WHERE merchant_no = ${merchantNo} AND ${ofCurrency(currency)}
        AND booked_ms BETWEEN ${planned.beginMs} AND ${planned.endMs}`.execute(trx);
    return none;
  }
  if (nameless > 0) return { vanished: 0, doubt: unexplainedText(planned, absent, nameless), isHeld };
  const believed = absences.filter((one) => isBelievedAtOnce(one));
  const waiting = absences.filter((one) => !isBelievedAtOnce(one));
  const vanished = await markBelieved(trx, within, believed);
  const left = waiting.filter((one) => one.confirmed < one.open);
  if (left.length > 0) return { vanished, doubt: waitingText(planned, left), isHeld };
  const unaccepted = absences.reduce((sum, one) => sum + one.unaccepted, 0);
  return { vanished, doubt: unaccepted === 0 ? null : heldText(planned, unaccepted), isHeld: true };
}

/** A second reading only counts if an earlier run found the entry absent before this instant. */
const missedBefore = ({ now }: PlannedWindow): Date => new Date(now.getTime() - SECOND_READING_AFTER_MS);

/** A day on which the clocks change is so much longer or shorter than others. */
const CLOCK_CHANGE_MS = 2 * 3_600_000;
const DAY_MS = 24 * 3_600_000;

/** Holds what is absent of the merchant's days that lost too many entries at the same time, wherever they lie. */
async function hold(trx: Trx, { merchantNo, now }: PlannedWindow): Promise<void> {
  // By primary key, the keys as an array: so the planner cannot choose to read all entries.
  const rows = await rowsOf(trx)<AbsentDay & { batchNos: string[] }>`
    WITH absent AS MATERIALIZED (
      SELECT batch_no, absent_since, held_since IS NOT NULL AS is_held FROM absent_entry WHERE merchant_no = ${merchantNo}
    ), gone AS MATERIALIZED (
      SELECT batch_no, currency, credit, debit, balance, booked_at, booked_at::date AS day,
        booked_ms - (extract(epoch FROM booked_at - date_trunc('day', booked_at)) * 1000)::bigint AS begin_ms
      FROM ledger_entry WHERE merchant_no = ${merchantNo} AND batch_no = ANY (ARRAY(SELECT batch_no FROM absent))
    ), day AS MATERIALIZED (
      SELECT currency, day, count(*) AS absent, min(begin_ms) AS begin_ms, array_agg(batch_no) AS "batchNos",
        bool_or(is_held) AS "isHeld", min(absent_since) AS since
      FROM gone JOIN absent USING (batch_no) GROUP BY currency, day
    )
    SELECT currency, day, absent, "isHeld", "batchNos", stored.count AS stored, stored.newcomers
    FROM day CROSS JOIN LATERAL (
      SELECT count(*) AS count, count(*) FILTER (
        WHERE e.first_seen_at >= day.since AND NOT EXISTS (
          SELECT FROM gone g WHERE (g.booked_at, g.balance) = (e.booked_at, e.balance)
            AND (g.credit, g.debit) IS NOT DISTINCT FROM (e.credit, e.debit))) AS newcomers
      FROM ledger_entry e
      WHERE e.booked_at::date = day.day AND e.merchant_no = ${merchantNo} AND e.currency = day.currency AND e.vanished_at IS NULL
        AND e.booked_ms BETWEEN day.begin_ms - ${CLOCK_CHANGE_MS} AND day.begin_ms + ${DAY_MS + CLOCK_CHANGE_MS}
    ) AS stored`;
  const held = heldDays(rows);
  if (held.length === 0) return;
  await sql`
    UPDATE absent_entry SET held_since = ${now}
    WHERE merchant_no = ${merchantNo} AND held_since IS NULL
      AND batch_no = ANY (${arrayLiteral(held.flatMap(({ batchNos }) => batchNos))}::text[])`.execute(trx);
}

async function absencesIn(trx: Trx, within: PlannedWindow): Promise<CurrencyAbsence[]> {
  const { merchantNo, planned, currency, runId } = within;
  return rowsOf(trx)<CurrencyAbsence>`
    WITH absent AS (
      SELECT currency, count(*) AS absent,
        count(*) FILTER (WHERE held_since IS NULL) AS open,
        count(*) FILTER (WHERE held_since IS NULL AND absent_since <= ${missedBefore(within)} AND run_id <> ${runId})
          AS confirmed,
        count(*) FILTER (WHERE held_since IS NOT NULL AND accepted_at IS NULL) AS unaccepted
      FROM absent_entry WHERE merchant_no = ${merchantNo} AND ${ofCurrency(currency)}
        AND booked_ms BETWEEN ${planned.beginMs} AND ${planned.endMs}
      GROUP BY currency
    )
    SELECT absent.*, (
      SELECT count(*) FROM ledger_entry e
      WHERE e.merchant_no = ${merchantNo} AND e.currency = absent.currency AND e.vanished_at IS NULL
        AND e.booked_ms BETWEEN ${planned.beginMs} AND ${planned.endMs}
    ) AS held
    FROM absent ORDER BY currency`;
}

/**
 * Marks all absent entries of the given currencies, and of the others those that a second reading confirmed; of those that
 * are held, what a person accepted. Goes by
 * primary key. The keys are passed as arrays, so that the planner cannot choose to read the entire table.
 */
async function markBelieved(
  trx: Trx,
  within: PlannedWindow,
  complete: readonly CurrencyAbsence[],
): Promise<number> {
  const { merchantNo, planned, currency, runId, now } = within;
  const marked = await rowsOf(trx)<{ day: BusinessDay }>`
    WITH believed AS (
      DELETE FROM absent_entry
      WHERE merchant_no = ${merchantNo} AND ${ofCurrency(currency)}
        AND booked_ms BETWEEN ${planned.beginMs} AND ${planned.endMs}
        AND (accepted_at IS NOT NULL OR (held_since IS NULL AND (
          currency = ANY (${arrayLiteral(complete.map((one) => one.currency))}::text[])
          OR (absent_since <= ${missedBefore(within)} AND run_id <> ${runId})
        )))
      RETURNING batch_no
    )
    UPDATE ledger_entry SET vanished_at = ${now}
    WHERE merchant_no = ${merchantNo} AND batch_no = ANY (ARRAY(SELECT batch_no FROM believed))
      AND vanished_at IS NULL
    RETURNING booked_at::date AS day`;
  await noteChangedDays(
    trx,
    merchantNo,
    marked.map(({ day }) => day),
  );
  return marked.length;
}

/**
 * If a reading lacks more than this share of a window's entries in a currency, it is more likely that the platform
 * has a fault. When entries are really taken back, they are seldom so many at once.
 */
const ABSENT_SHARE_MAX = 0.5;
/**
 * Fewer absent entries than this are believed at once, even if they are more than that share: two of three are no
 * outage.
 */
const ABSENT_FEW = 3;
/** How much later another run has to read the same. By then outages are over, or people know of them. */
export const SECOND_READING_AFTER_MS = 3_600_000;

/**
 * Whether one reading is enough. It never is if no entry would be left in the window, even if there was only one. So a
 * total of 0 alone never empties a statement.
 */
function isBelievedAtOnce({ held, absent }: CurrencyAbsence): boolean {
  if (absent >= held) return false;
  return absent < ABSENT_FEW || absent <= held * ABSENT_SHARE_MAX;
}

const waitingText = (planned: Window, waiting: readonly CurrencyAbsence[]): string => {
  const reported = waiting
    .map(({ currency, held, absent }) => `${absent} of ${held} in ${currency}`)
    .join(', ');
  return (
    `${windowText(planned)} waits for a second reading: the platform no longer held entries that are stored ` +
    `(${reported}). They stay as they are until a later run, at least ${SECOND_READING_AFTER_MS / 60_000} minutes ` +
    'after the first, misses them too.'
  );
};

const unexplainedText = (planned: Window, absent: number, nameless: number): string =>
  `${windowText(planned)} lacks ${absent} entries that are stored, and ${nameless} unreadable ` +
  `${nameless === 1 ? 'one' : 'ones'} without batchNo may be among them: which are gone is unknown. ` +
  'Ask the platform to correct what `daybook quarantine` shows.';

const heldText = (planned: Window, held: number): string =>
  `${windowText(planned)} lacks ${held} stored ${held === 1 ? 'entry' : 'entries'} of days that lost too many at the same ` +
  'time: held until they come back, or a person accepts it with `daybook amendments accept --note TEXT`.';

interface AbsentDay {
  readonly currency: string;
  readonly day: BusinessDay;
  readonly stored: number;
  readonly absent: number;
  /** How many of the stored ones came since the absent ones were missed first, with other contents than these. */
  readonly newcomers: number;
  readonly isHeld: boolean;
}

/**
 * The days whose absent entries are held: no reading, however often it is repeated, makes them vanish. Those are days of
 * which no entry is left, or of several entries none but newcomers; days of an account that lack more than half of their
 * entries together, where they are several; and days that are held already, until their entries come back one and all.
 */
function heldDays<Day extends AbsentDay>(days: readonly Day[]): Day[] {
  const byAccount = Map.groupBy(days, ({ currency }) => currency);
  return [...byAccount.values()].flatMap((own) => {
    const sum = (figure: 'stored' | 'absent') => own.reduce((total, one) => total + one[figure], 0);
    const areMost =
      own.length > 1 && sum('absent') >= ABSENT_FEW && sum('absent') > sum('stored') * ABSENT_SHARE_MAX;
    const isEmptied = ({ stored, absent, newcomers }: Day): boolean =>
      absent >= stored || (absent >= ABSENT_FEW && absent >= stored - newcomers);
    return own.filter((one) => areMost || one.isHeld || isEmptied(one));
  });
}

const windowText = ({ beginMs, endMs }: Window): string =>
  `the window ${new Date(beginMs).toISOString()} to ${new Date(endMs).toISOString()}`;

export interface HeldDay extends Account {
  readonly day: BusinessDay;
  readonly entries: number;
  readonly since: Date;
  /** When a person accepted all of it, so that the next reading that misses it marks it as vanished; null before. */
  readonly acceptedAt: Date | null;
}

export const heldDaysOf = (db: Db, merchants: Chosen) => rowsOf(db)<HeldDay>`
    SELECT merchant_no AS "merchantNo", currency, ${DAY_OF_ABSENT} AS day, count(*) AS entries, min(held_since) AS since,
      CASE WHEN bool_and(accepted_at IS NOT NULL) THEN max(accepted_at) END AS "acceptedAt"
    FROM absent_entry WHERE ${ofMerchants(merchants)} AND held_since IS NOT NULL
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`;

export async function absentWindowsOf(
  db: Db,
  merchants: readonly string[],
): Promise<ReadonlyMap<string, readonly Window[]>> {
  const rows = await db
    .selectFrom('absent_entry')
    .select(['merchant_no as merchantNo', 'begin_ms as beginMs', 'end_ms as endMs'])
    .distinct()
    .where(sql<boolean>`${ofMerchants(merchants)}`)
    .execute();
  return Map.groupBy(rows, ({ merchantNo }) => merchantNo);
}

/** How many of these entries a person accepted as gone. */
export async function acceptedAmong(
  db: Db,
  merchantNo: string,
  batchNos: readonly string[],
): Promise<number> {
  const { count } = await rowOf(db)<{ count: number }>`
    SELECT count(*) AS count FROM absent_entry
    WHERE merchant_no = ${merchantNo} AND accepted_at IS NOT NULL AND batch_no = ANY (${arrayLiteral(batchNos)}::text[])`;
  return count;
}

interface HeldFilter extends AccountFilter {
  readonly from: BusinessDay | undefined;
  readonly to: BusinessDay | undefined;
}

/**
 * Accepts what is held of these days and no one has accepted yet: the next reading that misses it marks it as vanished.
 * Returns what was accepted, day by day.
 */
export const acceptHeld = (trx: Trx, { from, to, ...accounts }: HeldFilter, now: Date) => rowsOf(trx)<
  Omit<HeldDay, 'acceptedAt'>
>`
    WITH accepted AS (
      UPDATE absent_entry SET accepted_at = ${now}
      WHERE ${ofAccounts(accounts)} AND held_since IS NOT NULL AND accepted_at IS NULL
        AND ${DAY_OF_ABSENT} BETWEEN ${from ?? '-infinity'}::date AND ${to ?? 'infinity'}::date
      RETURNING merchant_no, currency, ${DAY_OF_ABSENT} AS day, held_since
    )
    SELECT merchant_no AS "merchantNo", currency, day, count(*) AS entries, min(held_since) AS since
    FROM accepted GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`;

const DAY_OF_ABSENT: RawBuilder<BusinessDay> = sql`(
  SELECT booked_at::date FROM ledger_entry e
  WHERE e.merchant_no = absent_entry.merchant_no AND e.batch_no = absent_entry.batch_no
)`;
