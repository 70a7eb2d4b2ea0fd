/** What a day's files tell of breaks that a person resolved: they stay breaks, and the verdict stays broken. */
import type { Kysely, Transaction } from 'kysely';
import { dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { explainedBreaks, type ExplainedBreak } from '../store/breaks/break-cases.ts';
import type { DB } from '../store/engine/schema.ts';
import { lockAccountDays, type StatementRow } from '../store/statements/statements.ts';

/** By currency, the resolved breaks of a day; only of currencies that have one. */
export type Explained = ReadonlyMap<string, readonly ExplainedBreak[]>;

export const NOTHING_EXPLAINED: Explained = new Map();

/** Of the day's `current` statements. Asks nothing where none of them is broken. */
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

/**
 * Whether what was published of the day's breaks is still so. People resolve breaks while a run publishes: the days are
 * locked first, so that whoever resolves after this finds them done, and makes them due again.
 */
export async function isStillExplained(
  trx: Transaction<DB>,
  merchantNo: string,
  day: BusinessDay,
  zone: string,
  { current, explained }: { readonly current: readonly StatementRow[]; readonly explained: Explained },
): Promise<boolean> {
  if (!current.some((row) => row.break_count > 0)) return true;
  await lockAccountDays(trx, merchantNo, day);
  const now = await explainedOf(trx, merchantNo, day, zone, current);
  return JSON.stringify([...now]) === JSON.stringify([...explained]);
}
