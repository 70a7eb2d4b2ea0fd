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
} from '../store/statements/due-days.ts';
import type { DB } from '../store/engine/schema.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { certifiedWindows } from '../store/certificates.ts';
import { accountKey } from './withheld.ts';

export interface OpeningMismatch {
  readonly account: Account;
  readonly day: BusinessDay;
  readonly opening: string;
  readonly previousDay: BusinessDay;
  readonly previousClosing: string;
  readonly why: string;
}

/** A published day, and the account's published days next to it as they were read before it was published. */
export interface PublishedDay extends AccountOnDay {
  readonly statement: Pick<StatementRow, 'day' | 'opening' | 'closing' | 'restarted'>;
  readonly previous: PublishedDay['statement'] | undefined;
  readonly later: BusinessDay | undefined;
}

/** The others continue the account's statement before them, and the day after each is among `days` as well. */
export function daysToCheck(days: readonly PublishedDay[]): PublishedDay[] {
  const accounts = Map.groupBy(days, ({ account }) => accountKey(account));
  return [...accounts.values()].flatMap((own) => {
    const byDay = new Map(own.map((one) => [one.day, one]));
    const inOrder = [...byDay.values()].sort((a, b) => (a.day < b.day ? -1 : 1));
    return inOrder.filter(({ statement, previous, later }, nth) => {
      const before = inOrder[nth - 1]?.statement;
      const last = before !== undefined && before.day >= (previous?.day ?? '') ? before : previous;
      const continues =
        last === undefined || (!statement.restarted && compareAmounts(statement.opening, last.closing) === 0);
      return !continues || (later !== undefined && !byDay.has(later));
    });
  });
}

/** For `days`, for the published days of `within`, and for the account's next published day after each. Returns those that need a person. */
export async function openingMismatches(
  db: Kysely<DB>,
  days: readonly AccountOnDay[],
  { within, zone }: { readonly within: DaysOfAccounts | null; readonly zone: string },
): Promise<OpeningMismatch[]> {
  const unlinked: OpeningMismatch[] = [];
  for (const { restarted, ...loose } of await looseOpenings(db, days, within)) {
    const why = await whyMismatched({ restarted, ...loose }, db, zone);
    if (why !== null) unlinked.push({ ...loose, why });
  }
  return unlinked;
}

/** Null if nothing is missing: all time in between is proven, and the opening equals the closing of the day before. */
async function whyMismatched(loose: LooseOpening, db: Kysely<DB>, zone: string): Promise<string | null> {
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
      `opens on ${opening}, derived from its first entry, because some days after ${previousDay} were not read ` +
      `completely: run \`daybook run --from ${from} --to ${to}\``
    );
  }
  if (compareAmounts(opening, previousClosing) === 0) return null;
  return (
    `opens on ${opening}, derived from its first entry, though ${previousDay} closed on ${previousClosing} and all days ` +
    `between were read: run \`daybook run\``
  );
}
