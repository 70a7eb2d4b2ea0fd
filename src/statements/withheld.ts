/** Says why an account's due day is not published yet. */
import { dayWindow } from '../ledger/business-day.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import { counted } from '../ledger/text.ts';
import { wallSecond, wallSpan } from '../ledger/wall-time.ts';
import { subtractWindows } from '../ledger/window.ts';
import type { AccountOnDay } from '../store/statements/due-days.ts';
import type { PastOfDay } from '../store/statements/past-of-days.ts';

const SPANS_NAMED_MAX = 3;

export interface WithheldDay {
  readonly account: Account;
  readonly day: BusinessDay;
  /** `misfit`: its stored entries do not give its figures. `shared`: its entries may be another merchant's. */
  readonly cause: 'not-over' | 'not-reconciled' | 'uncertified' | 'misfit' | 'shared';
  readonly why: string;
}

/** For each account, the first day whose entries changed after its figures were made. */
export type ChangedFrom = Map<string, AccountOnDay>;

/** For an account, the first day that may hold entries of another merchant; by `accountKey`. */
export type SharedFrom = ReadonlyMap<
  string,
  { readonly day: BusinessDay; readonly otherMerchantNo: string; readonly count: number }
>;

export const accountKey = ({ merchantNo, currency }: Account): string =>
  JSON.stringify([merchantNo, currency]);

interface WithheldOptions {
  readonly zone: string;
  readonly now: () => Date;
  /** If left out, no account has such a day. */
  readonly sharedFrom?: SharedFrom;
}

export function whyWithheld(
  { account, day }: AccountOnDay,
  past: PastOfDay,
  changed: ChangedFrom,
  { zone, now, sharedFrom }: WithheldOptions,
): WithheldDay | null {
  const window = dayWindow(day, zone);
  if (now().getTime() <= window.endMs) {
    const why = `the day is not over before ${wallSecond(window.endMs + 1, zone)} (${zone})`;
    return { account, day, cause: 'not-over', why };
  }
  const shared = sharedFrom?.get(accountKey(account));
  if (shared !== undefined && shared.day <= day) {
    const { day: since, otherMerchantNo, count } = shared;
    const entries = counted(count, 'entry', 'entries');
    const under = `${count === 1 ? 'is' : 'are'} stored under merchant ${otherMerchantNo} as well`;
    const why =
      since === day
        ? `${entries} of it ${under}, and later days wait for it`
        : `it follows ${since}, of which ${entries} ${under}`;
    return { account, day, cause: 'shared', why };
  }
  const unreconciled = notReconciled({ account, day }, changed);
  if (unreconciled !== null) return unreconciled;
  const missing = subtractWindows([window], past.proven(account.currency));
  if (missing.length === 0) return null;
  const spans = missing
    .slice(0, SPANS_NAMED_MAX)
    .map((span) => wallSpan(span, zone))
    .join(', ');
  const more = missing.length > SPANS_NAMED_MAX ? ` and ${missing.length - SPANS_NAMED_MAX} more spans` : '';
  return { account, day, cause: 'uncertified', why: `no certificate covers ${spans}${more}` };
}

/** Whether entries of that day or of one before it changed; null if not. */
export function notReconciled({ account, day }: AccountOnDay, changed: ChangedFrom): WithheldDay | null {
  const from = changed.get(accountKey(account))?.day;
  return from === undefined || from > day ? null : { account, day, ...changedSince(from) };
}

/** Accounts with changed days and no due day: what is published of them is out of date, up to the last day asked for. */
export function changedOnly(
  changed: ChangedFrom,
  withheld: readonly WithheldDay[],
  { toDay, zone, now }: WithheldOptions & { readonly toDay?: BusinessDay },
): WithheldDay[] {
  const reported = new Set(
    withheld
      .filter(({ cause }) => cause === 'not-reconciled' || cause === 'misfit')
      .map(({ account }) => accountKey(account)),
  );
  return [...changed.values()]
    .filter(({ account, day }) => !reported.has(accountKey(account)) && (toDay === undefined || day <= toDay))
    .filter(({ day }) => dayWindow(day, zone).endMs < now().getTime())
    .map(({ account, day }) => ({ account, day, ...changedSince(day) }));
}

const changedSince = (changedFrom: BusinessDay) => ({
  cause: 'not-reconciled' as const,
  why: `entries of ${changedFrom} changed since the figures were made: run \`daybook reconcile\` (or \`run\`) first`,
});
