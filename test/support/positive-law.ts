/**
 * The law of green, read from tables and published files alone: the days proven since an account's first are its days with
 * figures, and its days with a current statement, whose rows are the stored entries. A day that is proven behind days that are not counts
 * as well: what is withheld of it, a run has to name.
 */
import { sql, type Kysely } from 'kysely';
import type { DB } from '../../src/store/engine/schema.ts';
import { readPublished, rowsOf } from '../simulation/published.ts';

export interface LawAsked {
  readonly db: Kysely<DB>;
  /** Where the published files lie. */
  readonly folder: string;
  readonly merchantNo: string;
  readonly nowMs: number;
  /** The first instant of a business day. */
  readonly beginOf: (day: string) => number;
}

/** What differs from the law, one sentence for each account's day. */
export interface Differences {
  /** Proven days without figures. */
  readonly figures: readonly string[];
  /** Proven days without a current statement, current statements of other days, and other rows than the entries. */
  readonly statements: readonly string[];
}

export interface Span {
  readonly beginMs: number;
  readonly endMs: number;
}

const nextDay = (day: string, by = 1): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + by * 86_400_000).toISOString().slice(0, 10);

export async function differencesFromLaw(asked: LawAsked): Promise<Differences> {
  const { db, folder, merchantNo, nowMs, beginOf } = asked;
  const entries = await db
    .selectFrom('ledger_entry')
    .select(['currency', 'batch_no', 'booked_at', 'transaction_type', 'credit', 'debit', 'balance'])
    .where('merchant_no', '=', merchantNo)
    .where('vanished_at', 'is', null)
    .execute();
  const figured = await db
    .selectFrom('account_day')
    .select(['currency', 'day'])
    .where('merchant_no', '=', merchantNo)
    .execute();
  const published = [...(await readPublished(folder, merchantNo)).statements.values()];
  const { covers } = await provenOf(db, merchantNo);
  const figures: string[] = [];
  const statements: string[] = [];
  const currencies = new Set([...entries, ...figured, ...published].map(({ currency }) => currency));
  for (const currency of [...currencies].sort()) {
    const of = <Row extends { readonly currency: string }>(rows: readonly Row[]) =>
      rows.filter((row) => row.currency === currency);
    const entriesOn = Map.groupBy(of(entries), ({ booked_at }) => booked_at.slice(0, 10));
    const withFigures = new Set(of(figured).map(({ day }) => day));
    const current = new Map(of(published).map((one) => [one.day, one]));
    const days = [...entriesOn.keys(), ...withFigures, ...current.keys()].sort();
    let begun = false;
    for (let day = days[0]!; beginOf(nextDay(day)) <= nowMs; day = nextDay(day)) {
      const isCovered = covers(currency, { beginMs: beginOf(day), endMs: beginOf(nextDay(day)) - 1 });
      begun ||= entriesOn.has(day) || withFigures.has(day) || current.has(day);
      const known = isCovered && begun;
      const name = `${currency} ${day}`;
      if (known && !withFigures.has(day)) figures.push(`${name} is proven and has no figures`);
      const statement = current.get(day);
      if (known && statement === undefined) statements.push(`${name} is proven and has no statement`);
      if (statement === undefined) continue;
      if (!known) statements.push(`${name} has a statement and is not proven`);
      const cellOf = (cell: string | null) => cell ?? '';
      const stored = (entriesOn.get(day) ?? []).map((row) =>
        [
          row.batch_no,
          row.booked_at,
          row.currency,
          row.transaction_type,
          cellOf(row.credit),
          cellOf(row.debit),
          row.balance,
        ].join(),
      );
      const rows = rowsOf(statement.text ?? '').map((cells) => cells.slice(0, 7).join());
      if (stored.sort().join('\n') !== rows.sort().join('\n'))
        statements.push(
          `${name} has a statement with other rows than its ${stored.length} entries: ${rows.length}`,
        );
    }
  }
  return { figures, statements };
}

/** What certificates cover of a currency: days that were certified when they were read last, less those of which entries are in doubt. */
export async function provenOf(db: Kysely<DB>, merchantNo: string) {
  const { rows: days } = await sql<{ begin: number; end: number }>`
    SELECT begin_ms AS begin, through_ms AS end FROM certificate
    WHERE merchant_no = ${merchantNo} AND read_at IS NOT NULL AND problem IS NULL`.execute(db);
  const { rows: open } = await sql<{ currency: string; begin: number; end: number }>`
    SELECT currency, begin_ms AS begin, end_ms AS end FROM absent_entry WHERE merchant_no = ${merchantNo}
    UNION ALL SELECT currency, begin_ms, end_ms FROM silent_account WHERE merchant_no = ${merchantNo} AND accepted_at IS NULL
    UNION ALL SELECT currency, begin_ms, end_ms FROM foreign_account_day WHERE merchant_no = ${merchantNo}`.execute(
    db,
  );
  const covers = (currency: string, { beginMs, endMs }: Span): boolean => {
    const isDoubted = (day: { begin: number; end: number }) =>
      open.some((one) => one.currency === currency && one.begin <= day.end && one.end >= day.begin);
    let reached = beginMs;
    for (const one of days.filter((day) => !isDoubted(day)).sort((a, b) => a.begin - b.begin))
      if (one.begin <= reached) reached = Math.max(reached, one.end + 1);
    return reached > endMs;
  };
  return { covers };
}
