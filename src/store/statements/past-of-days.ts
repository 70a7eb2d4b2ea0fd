/** Reads what is published and proven of a merchant's days, a plain query for each part, and the entries of small days. */
import { sql } from 'kysely';
import { dayWindow } from '../../ledger/business-day.ts';
import type { BusinessDay, Window, LedgerEntry } from '../../ledger/entry.ts';
import type { CertificateRow } from '../certificates.ts';
import { arrayLiteral, type Db, rowsOf } from '../engine/database.ts';
import { ENTRY } from '../entries.ts';
import { currenciesOf, statementsOfDays, type StatementRow, type SummaryRow } from './statements.ts';
import { filesOfDays, type ManifestRow, type StoredRow } from './stored-files.ts';

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
  /** By currency: the account's last day before this one whose figures wait for a statement. */
  readonly waiting: ReadonlyMap<string, BusinessDay>;
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

/** A row about one of the days asked for. */
type Of<Row> = Row & { readonly of_day: BusinessDay };

interface UnreadableCount {
  readonly currency: string | null;
  readonly count: number;
  readonly isOpen: boolean;
}

/** By day. Each query goes along an index, whatever is stored of other days. */
export async function pastOfDays(
  db: Db,
  merchantNo: string,
  days: readonly BusinessDay[],
  zone: string,
): Promise<ReadonlyMap<BusinessDay, PastOfDay>> {
  if (days.length === 0) return new Map();
  const windows = new Map(days.map((day) => [day, dayWindow(day, zone)]));
  const currencies = await currenciesOf(db, merchantNo);
  const statements = Map.groupBy(await statementsOfDays(db, merchantNo, currencies, days), ({ day }) => day);
  const files = await filesOfDays(db, merchantNo, days);
  const last = (await lastInChain(db, merchantNo)) ?? null;
  const previous = byDay(await previousStatements(db, merchantNo, currencies, days));
  const waiting = byDay(await waitingDays(db, merchantNo, currencies, days));
  const later = byDay(await laterDays(db, merchantNo, currencies, days));
  const certificates = Map.groupBy(await completeDays(db, merchantNo, days), ({ day }) => day);
  const doubts = byDay(await doubtsOf(db, merchantNo, windows));
  const unreadable = byDay(await unreadableOf(db, merchantNo, windows));
  const pastOf = (day: BusinessDay): PastOfDay => {
    const own = certificates.get(day) ?? [];
    const complete = own.map((one) => ({ beginMs: one.begin_ms, endMs: one.through_ms }));
    const count = (rows: readonly UnreadableCount[] | undefined, currency: string): number =>
      (rows ?? [])
        .filter((one) => one.currency === null || one.currency === currency)
        .reduce((total, one) => total + one.count, 0);
    return {
      day,
      statements: statements.get(day) ?? [],
      ...{ summaries: [], manifest: undefined, storedManifest: undefined, storedSignature: undefined },
      ...files.get(day),
      lastInChain: last,
      previous: new Map((previous.get(day) ?? []).map((statement) => [statement.currency, statement])),
      waiting: new Map((waiting.get(day) ?? []).map((one) => [one.currency, one.day])),
      later: new Map((later.get(day) ?? []).map((one) => [one.currency, one.day])),
      certificates: own,
      proven: (currency) =>
        (doubts.get(day) ?? []).some((one) => one.currency === currency) ? [] : complete,
      unreadable: (currency) => count(unreadable.get(day), currency),
      unreadableOpen: (currency) =>
        count(
          unreadable.get(day)?.filter(({ isOpen }) => isOpen),
          currency,
        ),
    };
  };
  return new Map(days.map((day) => [day, pastOf(day)]));
}

const byDay = <Row>(rows: readonly Of<Row>[]): Map<BusinessDay, Of<Row>[]> =>
  Map.groupBy(rows, ({ of_day }) => of_day);

/** Rows `asked (of_day, currency)`: each day of each account. */
const accountsOnDays = (currencies: readonly string[], days: readonly BusinessDay[]) => sql`(
  SELECT of_day, asked.currency FROM unnest(${arrayLiteral(days)}::date[]) AS day (of_day),
    unnest(${arrayLiteral(currencies)}::text[]) AS asked (currency)
) AS asked`;

const previousStatements = (
  db: Db,
  merchantNo: string,
  currencies: readonly string[],
  days: readonly BusinessDay[],
) => rowsOf(db)<Of<StatementRow>>`
  SELECT asked.of_day, before.* FROM ${accountsOnDays(currencies, days)} CROSS JOIN LATERAL (
    SELECT * FROM statement
    WHERE merchant_no = ${merchantNo} AND currency = asked.currency AND day < asked.of_day
    ORDER BY day DESC, revision DESC LIMIT 1
  ) AS before`;

type DayOfCurrency = Of<{ readonly currency: string; readonly day: BusinessDay }>;

/** Along account_day_due; by the account's own key the planner would read all days that the account ever had. */
const waitingDays = (
  db: Db,
  merchantNo: string,
  currencies: readonly string[],
  days: readonly BusinessDay[],
) => rowsOf(db)<DayOfCurrency>`
  SELECT asked.of_day, asked.currency, waiting.day FROM ${accountsOnDays(currencies, days)} CROSS JOIN LATERAL (
    SELECT day FROM account_day
    WHERE merchant_no = ${merchantNo} AND currency || '' = asked.currency AND day < asked.of_day
      AND version <> published_version
    ORDER BY day DESC LIMIT 1
  ) AS waiting`;

const laterDays = (
  db: Db,
  merchantNo: string,
  currencies: readonly string[],
  days: readonly BusinessDay[],
) => rowsOf(db)<DayOfCurrency>`
  SELECT asked.of_day, asked.currency, later.day FROM ${accountsOnDays(currencies, days)} CROSS JOIN LATERAL (
    SELECT day FROM statement
    WHERE merchant_no = ${merchantNo} AND currency = asked.currency AND day > asked.of_day
    ORDER BY day LIMIT 1
  ) AS later`;

const lastInChain = (db: Db, merchantNo: string): Promise<ChainedManifest | undefined> =>
  db
    .selectFrom('artifact')
    .select(['day', 'sha256'])
    .select([sql<number>`revision`.as('revision'), sql<number>`place`.as('place')])
    .where('merchant_no', '=', merchantNo)
    .where('place', 'is not', null)
    .orderBy('place', 'desc')
    .limit(1)
    .executeTakeFirst();

type Windows = ReadonlyMap<BusinessDay, Window>;

/** Rows `asked (of_day, day_begin, day_end)`. */
const windowsAsked = (windows: Windows) => sql`unnest(
  ${arrayLiteral([...windows.keys()])}::date[],
  ${arrayLiteral([...windows.values()].map(({ beginMs }) => beginMs))}::bigint[],
  ${arrayLiteral([...windows.values()].map(({ endMs }) => endMs))}::bigint[]
) AS asked (of_day, day_begin, day_end)`;

const completeDays = (db: Db, merchantNo: string, days: readonly BusinessDay[]) =>
  db
    .selectFrom('certificate')
    .select(['day', 'begin_ms', 'through_ms', 'total', 'entries', 'unreadable', 'read_at'])
    .where('merchant_no', '=', merchantNo)
    .where(sql<boolean>`day = ANY (${arrayLiteral(days)}::date[])`)
    .where('read_at', 'is not', null)
    .where('problem', 'is', null)
    .$narrowType<CertificateRow>()
    .execute();

const doubtsOf = (db: Db, merchantNo: string, windows: Windows) => rowsOf(db)<
  Of<{ readonly currency: string }>
>`
  SELECT DISTINCT asked.of_day, own.currency
  FROM ${windowsAsked(windows)} JOIN account_doubt AS own
    ON own.merchant_no = ${merchantNo} AND own.begin_ms <= day_end AND own.end_ms >= day_begin`;

const unreadableOf = (db: Db, merchantNo: string, windows: Windows) => rowsOf(db)<Of<UnreadableCount>>`
  SELECT asked.of_day, own.currency, own.occurrences AS count, own.acknowledged_at IS NULL AS "isOpen"
  FROM ${windowsAsked(windows)} JOIN quarantined_entry AS own
    ON own.merchant_no = ${merchantNo} AND own.released_at IS NULL AND own.span && int8range(day_begin, day_end, '[]')`;

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
