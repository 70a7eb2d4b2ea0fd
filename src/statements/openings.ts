/**
 * Checks the rule for published openings: a day opens on the closing of the account's published day before, or its
 * manifest says why it does not.
 */
import type { Kysely } from 'kysely';
import { dayOf, dayWindow } from '../ledger/business-day.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { compareAmounts } from '../ledger/money.ts';
import { subtractWindows } from '../ledger/window.ts';
import {
  looseOpenings,
  type AccountOnDay,
  type DaysOfAccounts,
  type LooseOpening,
} from '../store/statements/openings.ts';
import type { DB } from '../store/engine/schema.ts';
import { certifiedWindows } from '../store/windows.ts';

/** A published day whose opening does not follow from the published day before. Its manifest says so as well. */
export interface UnlinkedOpening {
  readonly account: Account;
  readonly day: BusinessDay;
  readonly opening: string;
  readonly previousDay: BusinessDay;
  readonly previousClosing: string;
  /** A clause for a person, with what to do. */
  readonly why: string;
}

/**
 * Checks the rule for `days`, for the published days of `within`, and for the account's next published day after
 * each. Returns those that need a person.
 */
export async function unlinkedOpenings(
  db: Kysely<DB>,
  days: readonly AccountOnDay[],
  { within, zone }: { readonly within: DaysOfAccounts | null; readonly zone: string },
): Promise<UnlinkedOpening[]> {
  const unlinked: UnlinkedOpening[] = [];
  for (const { restarted, ...loose } of await looseOpenings(db, days, within)) {
    const why = await whyUnlinked({ restarted, ...loose }, db, zone);
    if (why !== null) unlinked.push({ ...loose, why });
  }
  return unlinked;
}

/** Null if nothing is missing: all time in between is proven, and the opening equals the closing of the day before. */
async function whyUnlinked(loose: LooseOpening, db: Kysely<DB>, zone: string): Promise<string | null> {
  const { account, day, opening, restarted, previousDay, previousClosing } = loose;
  if (!restarted) {
    return (
      `opens on ${opening}, but ${previousDay} is published with the closing ${previousClosing}, as not every day is ` +
      `published as it now stands: run \`daybook publish\` without a range`
    );
  }
  const between = { beginMs: dayWindow(previousDay, zone).beginMs, endMs: dayWindow(day, zone).endMs };
  const certified = await certifiedWindows(db, account.merchantNo, between, account.currency);
  const missing = subtractWindows([between], certified);
  if (missing.length > 0) {
    const from = dayOf(missing[0]!.beginMs, zone);
    const to = dayOf(missing.at(-1)!.endMs, zone);
    return (
      `opens on ${opening}, taken from its first entry, because not all of the time after ${previousDay} is ` +
      `proven: run \`daybook run --from ${from} --to ${to}\``
    );
  }
  if (compareAmounts(opening, previousClosing) === 0) return null;
  return (
    `opens on ${opening}, taken from its first entry, though ${previousDay} closed on ${previousClosing} and all ` +
    `between is read: run \`daybook run\``
  );
}
