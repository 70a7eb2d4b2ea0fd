/** Reads what is published and proven of a merchant's days, for many days in one statement; for a night with what is due and its entries. */
import { sql, type RawBuilder } from 'kysely';
import { dayWindow } from '../../ledger/business-day.ts';
import type { BusinessDay, Window, LedgerEntry } from '../../ledger/entry.ts';
import { provenAmong, type CertificateRow } from '../certificates.ts';
import { arrayLiteral, type Db, rowsOf, type ValueOrSql } from '../engine/database.ts';
import { ASKED_MERCHANT, sharedRead } from '../engine/shared-statement.ts';
import { ENTRY } from '../entries.ts';
import {
  publishedAccounts,
  rowFrom,
  statementJson,
  SUMMARY_COLUMNS,
  type StatementRow,
  type SummaryRow,
} from './statements.ts';
import { MANIFEST_COLUMNS, STORED_COLUMNS, type ManifestRow, type StoredRow } from './stored-files.ts';
import { DAY_LISTS, DAYS_ASKED, type DayAsked, type DayFilter } from '../account-days.ts';
import { batchOf, dueWithNear, type DueBatch, type DueRow, type AccountOnDay } from './due-days.ts';

export interface PastOfDay {
  readonly day: BusinessDay;
  readonly statements: readonly StatementRow[];
  readonly summaries: readonly SummaryRow[];
  /** The manifest as it should be in the store; undefined before the first one. */
  readonly manifest: ManifestRow | undefined;
  /** What was last read back of it, and of its signature. */
  readonly storedManifest: StoredRow | undefined;
  readonly storedSignature: StoredRow | undefined;
  /** The last manifest in the merchant's chain when this was read; null where the chain has none yet. */
  readonly lastInChain: ChainedManifest | null;
  /** By currency: the current statement of the account's last published day before this one. */
  readonly previous: ReadonlyMap<string, StatementRow>;
  /** By currency: the account's next published day after this one. */
  readonly later: ReadonlyMap<string, BusinessDay>;
  readonly certificates: readonly CertificateRow[];
  /** The spans of the day that are proven for a currency, as `certifiedWindows` says it. */
  readonly proven: (currency: string) => Window[];
  /** How many entries of a currency came that may be of the day and cannot be read, acknowledged or not. */
  readonly unreadable: (currency: string) => number;
  /** How many of these no one has acknowledged. */
  readonly unreadableOpen: (currency: string) => number;
}

export interface NamedManifest {
  readonly day: BusinessDay;
  readonly revision: number;
  readonly sha256: string;
}

export interface ChainedManifest extends NamedManifest {
  readonly place: number;
}

const askedOf = (days: readonly BusinessDay[], zone: string): DayAsked[] =>
  days.map((day) => ({ day, window: dayWindow(day, zone) }));

interface UnreadableCount {
  readonly currency: string | null;
  readonly count: number;
  readonly isOpen: boolean;
}

interface PastRow {
  readonly day: BusinessDay;
  readonly statements: StatementRow[] | null;
  readonly previous: StatementRow[] | null;
  readonly later: Readonly<Record<string, BusinessDay>> | null;
  readonly summaries: SummaryRow[] | null;
  readonly manifest: ManifestRow | null;
  readonly stored: StoredRow | null;
  readonly stored_signature: StoredRow | null;
  readonly last_in_chain: ChainedManifest | null;
  readonly readings: CertificateRow[] | null;
  readonly doubts: (Window & { readonly currency: string })[] | null;
  readonly unreadable: UnreadableCount[] | null;
}

/** By day. Each part is found by an index, whatever is stored of other days. */
export async function pastOfDays(
  db: Db,
  merchantNo: string,
  days: readonly BusinessDay[],
  zone: string,
): Promise<ReadonlyMap<BusinessDay, PastOfDay>> {
  if (days.length === 0) return new Map();
  const asked = askedOf(days, zone);
  const rows = await rowsOf(db)<PastRow>`
    WITH RECURSIVE ${publishedAccounts(merchantNo)}, part AS (${daysAsked(asked)})
    ${pastOfPart(merchantNo)}`;
  return pastsByDay(rows, asked);
}

/** Rows `(day, begin_ms, end_ms)`. */
const daysAsked = (days: readonly DayAsked[]): RawBuilder<unknown> => sql`
      SELECT * FROM unnest(
        ${arrayLiteral(days.map(({ day }) => day))}::date[],
        ${arrayLiteral(days.map(({ window }) => window.beginMs))}::bigint[],
        ${arrayLiteral(days.map(({ window }) => window.endMs))}::bigint[]
      ) AS part (day, begin_ms, end_ms)`;

/** A row for each day of `part`, which are rows as those of `daysAsked`; with `publishedAccounts` as `account`. */
function pastOfPart(merchantNo: ValueOrSql): RawBuilder<PastRow> {
  return sql<PastRow>`
    SELECT part.day,
      (SELECT jsonb_agg(own.row ORDER BY account.currency, own.revision)
       FROM account CROSS JOIN LATERAL (
         SELECT revision, ${statementJson('s')} AS row FROM statement s
         WHERE merchant_no = ${merchantNo} AND currency = account.currency AND day = part.day OFFSET 0
       ) AS own) AS statements,
      (SELECT jsonb_agg(before.row)
       FROM account CROSS JOIN LATERAL (
         SELECT ${statementJson('s')} AS row FROM statement s
         WHERE merchant_no = ${merchantNo} AND currency = account.currency AND day < part.day
         ORDER BY day DESC, revision DESC LIMIT 1
       ) AS before) AS previous,
      (SELECT jsonb_object_agg(account.currency, after.day)
       FROM account CROSS JOIN LATERAL (
         SELECT day FROM statement
         WHERE merchant_no = ${merchantNo} AND currency = account.currency AND day > part.day
         ORDER BY day LIMIT 1
       ) AS after) AS later,
      (SELECT jsonb_agg(to_jsonb(s) ORDER BY revision) FROM (
         SELECT ${SUMMARY_COLUMNS} FROM artifact WHERE ${ofDay(merchantNo)} AND kind = 'summary'
       ) AS s) AS summaries,
      (SELECT to_jsonb(m) FROM (
         SELECT ${MANIFEST_COLUMNS} FROM artifact WHERE ${ofDay(merchantNo)} AND kind = 'manifest'
       ) AS m) AS manifest,
      ${storedOf(merchantNo, '/manifest.json')} AS stored,
      ${storedOf(merchantNo, '/manifest.json.minisig')} AS stored_signature,
      ${lastInChain(merchantNo)} AS last_in_chain,
      (SELECT jsonb_agg(to_jsonb(w)) FROM certificate w
       WHERE ${ofDay(merchantNo)} AND read_at IS NOT NULL AND problem IS NULL) AS readings,
      (SELECT jsonb_agg(DISTINCT jsonb_build_object('currency', currency, 'beginMs', begin_ms, 'endMs', end_ms))
       FROM account_doubt
       WHERE merchant_no = ${merchantNo} AND begin_ms <= part.end_ms AND end_ms >= part.begin_ms) AS doubts,
      (SELECT jsonb_agg(jsonb_build_object(
         'currency', q.currency, 'count', occurrences, 'isOpen', acknowledged_at IS NULL))
       FROM quarantined_entry q
       WHERE merchant_no = ${merchantNo} AND released_at IS NULL
         AND span && int8range(part.begin_ms, part.end_ms, '[]')) AS unreadable
    FROM part`;
}

const ofDay = (merchantNo: ValueOrSql): RawBuilder<boolean> =>
  sql`merchant_no = ${merchantNo} AND day = part.day`;

/** What was last read back of the file of that name, whatever the merchant's folder is called. */
const storedOf = (merchantNo: ValueOrSql, name: string): RawBuilder<unknown> => sql`
      (SELECT to_jsonb(o) FROM (
         SELECT ${STORED_COLUMNS} FROM artifact
         WHERE ${ofDay(merchantNo)} AND stored_sha256 IS NOT NULL AND right(object_key, ${sql.lit(name.length)}) = ${sql.lit(name)}
       ) AS o)`;

const lastInChain = (merchantNo: ValueOrSql): RawBuilder<unknown> => sql`
      (SELECT jsonb_build_object('day', day, 'revision', revision, 'sha256', sha256, 'place', place)
       FROM artifact WHERE merchant_no = ${merchantNo} AND place IS NOT NULL
       ORDER BY place DESC LIMIT 1)`;

function pastsByDay(
  rows: readonly PastRow[],
  days: readonly DayAsked[],
): ReadonlyMap<BusinessDay, PastOfDay> {
  const windows = new Map(days.map(({ day, window }) => [day, window]));
  return new Map(rows.map((row) => [row.day, pastOfDay(row, windows.get(row.day)!)]));
}

function pastOfDay(row: PastRow, window: Window): PastOfDay {
  const certificates = (row.readings ?? []).map((one) => ({ ...one, read_at: new Date(one.read_at) }));
  const complete = certificates.map(({ begin_ms: beginMs, through_ms: endMs }) => ({ beginMs, endMs }));
  const previous = (row.previous ?? []).map(rowFrom);
  return {
    day: row.day,
    statements: (row.statements ?? []).map(rowFrom),
    summaries: (row.summaries ?? []).map(rowFrom),
    manifest: row.manifest ?? undefined,
    storedManifest: row.stored ?? undefined,
    storedSignature: row.stored_signature ?? undefined,
    lastInChain: row.last_in_chain,
    previous: new Map(previous.map((statement) => [statement.currency, statement])),
    later: new Map(Object.entries(row.later ?? {})),
    certificates,
    proven: (currency) => provenAmong(complete, row.doubts ?? [], window, currency),
    unreadable: (currency) => countIn(row.unreadable, currency),
    unreadableOpen: (currency) =>
      countIn(
        row.unreadable?.filter(({ isOpen }) => isOpen),
        currency,
      ),
  };
}

const countIn = (unreadable: readonly UnreadableCount[] | null | undefined, currency: string): number =>
  (unreadable ?? [])
    .filter((one) => one.currency === null || one.currency === currency)
    .reduce((total, { count }) => total + count, 0);

interface DayOfAccount {
  readonly currency: string;
  readonly day: BusinessDay;
  readonly window: Window;
}

/** In the order of the days, as `readAccount` hands them out; the caller knows that they are few. */
export async function entriesOfDays(
  db: Db,
  merchantNo: string,
  days: readonly DayOfAccount[],
): Promise<LedgerEntry[][]> {
  const found = days.map((): LedgerEntry[] => []);
  if (days.length === 0) return found;
  const rows = await rowsOf(db)<LedgerEntry & { readonly nth: number }>`
    SELECT asked.nth::int AS nth, own.* FROM unnest(
      ${arrayLiteral(days.map(({ currency }) => currency))}::text[],
      ${arrayLiteral(days.map(({ window }) => window.beginMs))}::bigint[],
      ${arrayLiteral(days.map(({ window }) => window.endMs))}::bigint[]
    ) WITH ORDINALITY AS asked (currency, begin_ms, end_ms, nth)
    CROSS JOIN LATERAL (
      SELECT ${ENTRY} FROM ledger_entry
      WHERE merchant_no = ${merchantNo} AND currency = asked.currency AND vanished_at IS NULL
        AND booked_ms BETWEEN asked.begin_ms AND asked.end_ms
      ORDER BY booked_ms, batch_no
    ) AS own
    ORDER BY asked.nth, own."bookedMs", own."batchNo"`;
  for (const { nth, ...entry } of rows) found[nth - 1]!.push(entry);
  return found;
}

/** Most entries that come with the due days; those of further days are read in portions. */
const ENTRIES_MAX = 1_000;

export interface FirstDue {
  readonly changed: readonly AccountOnDay[];
  readonly batch: DueBatch | null;
  /** Of the due days among those asked for. */
  readonly past: ReadonlyMap<BusinessDay, PastOfDay>;
  /** Of the first of these days, as far as they are few; as `readAccount` hands them out. */
  readonly entries: readonly EntriesOfDay[];
}

export interface EntriesOfDay {
  readonly currency: string;
  readonly day: BusinessDay;
  readonly entries: readonly LedgerEntry[];
}

/** Amounts as text, as JSON numbers would lose digits. */
const dueRowJson: RawBuilder<unknown> = sql`to_jsonb(due_row) || jsonb_build_object(
  'opening', opening::text, 'credit_total', credit_total::text, 'debit_total', debit_total::text,
  'closing', closing::text)`;

interface DueAsked extends Pick<DayFilter, 'fromDay' | 'toDay'> {
  readonly merchantNo: string;
  readonly days: readonly DayAsked[];
}

const readFirstDue = sharedRead<DueAsked, FoundRow>(
  {
    from_day: ['date', ({ fromDay }) => fromDay ?? '-infinity'],
    to_day: ['date', ({ toDay }) => toDay ?? 'infinity'],
    ...DAY_LISTS,
  },
  sql`
    WITH RECURSIVE ${publishedAccounts(ASKED_MERCHANT)},
    ${dueWithNear(sql`is_due AND merchant_no = ${ASKED_MERCHANT} AND day BETWEEN asked.from_day AND asked.to_day`)},
    part AS MATERIALIZED (
      SELECT * FROM ${DAYS_ASKED}
      WHERE day IN (SELECT day FROM due)
    ),
    few AS MATERIALIZED (
      SELECT currency, day, begin_ms, end_ms
      FROM (SELECT *, sum(entries) OVER (ORDER BY day, currency) AS total FROM due) AS summed JOIN part USING (day)
      WHERE total <= ${sql.lit(ENTRIES_MAX)}
    )
    SELECT
      (SELECT json_agg(json_build_object('currency', currency, 'day', day)) FROM (
         SELECT currency, min(day) AS day FROM changed_day WHERE merchant_no = ${ASKED_MERCHANT} GROUP BY currency
       ) AS first) AS changed,
      (SELECT json_agg(${dueRowJson} ORDER BY due_day, currency, day) FROM due_row) AS due,
      (SELECT json_agg(to_json(past)) FROM (${pastOfPart(ASKED_MERCHANT)}) AS past) AS past,
      (SELECT json_agg(json_build_array(few.currency, few.day, own.entries)) FROM few CROSS JOIN LATERAL (
         SELECT json_agg(json_build_array(batch_no, transaction_type, credit::text, debit::text, balance::text,
           booked_at::text, booked_ms) ORDER BY booked_ms, batch_no) AS entries
         FROM ledger_entry
         WHERE merchant_no = ${ASKED_MERCHANT} AND currency = few.currency AND vanished_at IS NULL
           AND booked_ms BETWEEN few.begin_ms AND few.end_ms
       ) AS own) AS entries`,
);

/** What is due of one merchant; `days` are those whose past is read as well. One statement. */
export async function firstDueOf(
  db: Db,
  merchantNo: string,
  within: Pick<DayFilter, 'fromDay' | 'toDay'>,
  { days, zone }: { readonly days: readonly BusinessDay[]; readonly zone: string },
): Promise<FirstDue> {
  const asked = askedOf(days, zone);
  const [found] = await readFirstDue(db, { ...within, merchantNo, days: asked });
  const { changed, due, past, entries } = found!;
  return {
    changed: (changed ?? []).map(({ currency, day }) => ({ account: { merchantNo, currency }, day })),
    batch: batchOf(due ?? []),
    past: pastsByDay(past ?? [], asked),
    entries: (entries ?? []).map(([currency, day, cells]) => ({
      currency,
      day,
      entries: (cells ?? []).map((entry) => entryOf(currency, entry)),
    })),
  };
}

interface FoundRow {
  readonly changed: readonly { readonly currency: string; readonly day: BusinessDay }[] | null;
  readonly due: DueRow[] | null;
  readonly past: PastRow[] | null;
  readonly entries: readonly (readonly [string, BusinessDay, readonly EntryCells[] | null])[] | null;
}

type EntryCells = readonly [string, string, string | null, string | null, string, string, number];

const entryOf = (
  currency: string,
  [batchNo, transactionType, credit, debit, balance, bookedAt, bookedMs]: EntryCells,
): LedgerEntry => ({ batchNo, currency, transactionType, credit, debit, balance, bookedAt, bookedMs });
