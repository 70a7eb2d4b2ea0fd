/**
 * Finds the breaks that a person resolved, for manifests and summaries. They remain breaks, and the verdict stays
 * `broken`.
 */
import type { Kysely, Transaction } from 'kysely';
import { dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { overlaps } from '../ledger/window.ts';
import { explainedBreaks, type ExplainedBreak } from '../store/breaks/break-cases.ts';
import type { DB } from '../store/engine/schema.ts';
import { type StatementRow } from '../store/statements/statements.ts';
import { lockAccountDays } from '../store/statements/due-days.ts';

/** The resolved breaks of a day, by currency; only currencies that have one. */
export type Explained = ReadonlyMap<string, readonly ExplainedBreak[]>;

export const NOTHING_EXPLAINED: Explained = new Map();

/** The resolved breaks of the day's `current` statements. Makes no query if none of them is broken. */
export async function explainedOf(
  db: Kysely<DB>,
  merchantNo: string,
  day: BusinessDay,
  zone: string,
  current: readonly StatementRow[],
): Promise<Explained> {
  const broken = new Set(current.filter((row) => row.break_count > 0).map(({ currency }) => currency));
  if (broken.size === 0) return NOTHING_EXPLAINED;
  const found = await explainedBreaks(db, merchantNo, dayWindow(day, zone));
  return Map.groupBy(
    found.filter(({ currency }) => broken.has(currency)),
    ({ currency }) => currency,
  );
}

/** The same of each of a merchant's broken statements of some days, in one query; only those that have one. */
export async function explainedOfEach(
  db: Kysely<DB>,
  merchantNo: string,
  zone: string,
  current: readonly StatementRow[],
): Promise<ReadonlyMap<StatementRow, readonly ExplainedBreak[]>> {
  const broken = current
    .filter((row) => row.break_count > 0)
    .map((row) => ({ row, window: dayWindow(row.day, zone) }));
  if (broken.length === 0) return new Map();
  const found = await explainedBreaks(db, merchantNo, {
    beginMs: Math.min(...broken.map(({ window }) => window.beginMs)),
    endMs: Math.max(...broken.map(({ window }) => window.endMs)),
  });
  return new Map(
    broken
      .map(
        ({ row, window }) =>
          [
            row,
            found.filter(({ currency, span }) => currency === row.currency && overlaps(span, window)),
          ] as const,
      )
      .filter(([, own]) => own.length > 0),
  );
}

/** Whether a statement of the day has breaks. */
export const hasBreaks = ({ current }: { readonly current: readonly StatementRow[] }): boolean =>
  current.some((row) => row.break_count > 0);

/**
 * Whether the breaks that were published as resolved are still the resolved ones. A person may resolve a break while
 * a run publishes. The account days are locked first: a person who resolves one after this waits until they are
 * published, and then makes them due again.
 */
export async function isStillExplained(
  trx: Transaction<DB>,
  merchantNo: string,
  day: BusinessDay,
  zone: string,
  { current, explained }: { readonly current: readonly StatementRow[]; readonly explained: Explained },
): Promise<boolean> {
  if (!hasBreaks({ current })) return true;
  await lockAccountDays(trx, merchantNo, day);
  const now = await explainedOf(trx, merchantNo, day, zone, current);
  return JSON.stringify([...now]) === JSON.stringify([...explained]);
}
