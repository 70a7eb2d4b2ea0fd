/**
 * Says why an account's due day is not published yet, and checks the rule for published openings: a day opens on the
 * closing of the account's published day before, or its manifest says why it does not.
 */
import type { Kysely } from 'kysely';
import { dayOf, dayWindow } from '../ledger/business-day.ts';
import type { Account, BusinessDay, Figures, Window } from '../ledger/entry.ts';
import { compareAmounts, moneyText } from '../ledger/money.ts';
import { counted, shellWord } from '../ledger/text.ts';
import { wallSecond, wallSpan } from '../ledger/wall-time.ts';
import { subtractWindows } from '../ledger/window.ts';
import { certifiedWindows } from '../store/certificates.ts';
import type { DB } from '../store/engine/schema.ts';
import {
  looseOpenings,
  type AccountOnDay,
  type DueAccountDay,
  type DaysOfAccounts,
  type LooseOpening,
} from '../store/statements/due-days.ts';
import type { PastOfDay } from '../store/statements/past-of-days.ts';
import type { StatementRow } from '../store/statements/statements.ts';

const SPANS_NAMED_MAX = 3;

export interface WithheldDay {
  readonly account: Account;
  readonly day: BusinessDay;
  /**
   * `misfit`: its stored entries do not give its figures. `shared`: its entries may be another merchant's. `held`: entries of
   * its account are held; or it would be revised, or follows such a day, while entries of another account are held. `unreadable`: its figures lack entries that cannot be
   * read. `no-opening`: it has no entries, and the balance before it is not known.
   */
  readonly cause:
    | 'not-over'
    | 'not-reconciled'
    | 'uncertified'
    | 'misfit'
    | 'shared'
    | 'held'
    | 'unreadable'
    | 'no-opening';
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
  /** What of the merchant is held; null or left out if nothing is. Then no published day is revised: what came may be of another ledger. */
  readonly heldEntries?: HeldEntries | null;
}

/** Accounts of which nothing is published, neither new days nor revisions: their entries are held, or another ledger was answered. */
export interface HeldEntries {
  readonly isHeld: (account: Account) => boolean;
  /** Nothing that came in this run is believed. */
  readonly isOfAnotherLedger: boolean;
}

/**
 * Whether figures may not be published while entries of their day cannot be read: they say that the day is complete, or that it has no
 * entries. A break that is found says that something is missing.
 */
const saysComplete = ({
  verdict,
  creditCount,
  debitCount,
}: Pick<Figures, 'verdict' | 'creditCount' | 'debitCount'>): boolean =>
  verdict !== 'broken' || creditCount + debitCount === 0;

export function whyWithheld(
  { account, day, ...near }: AccountOnDay & Pick<DueAccountDay, 'own' | 'before'>,
  past: PastOfDay,
  { changed, withheld }: { readonly changed: ChangedFrom; readonly withheld: readonly WithheldDay[] },
  { zone, now, sharedFrom, heldEntries = null }: WithheldOptions,
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
  if (heldEntries?.isHeld(account) === true)
    return { account, day, cause: 'held', why: heldEntries.isOfAnotherLedger ? ANOTHER_LEDGER : HELD };
  const unreconciled = notReconciled({ account, day }, changed);
  if (unreconciled !== null) return unreconciled;
  const missing = subtractWindows([window], past.proven(account.currency));
  if (missing.length === 0) {
    const due = { account, day, ...near };
    const held = heldEntries !== null ? whyHeld(due, past, withheld) : null;
    return held ?? whyUnreadable(due, past) ?? whyAfterUnreadable(due, withheld) ?? whyAdopted(due, past);
  }
  const spans = missing
    .slice(0, SPANS_NAMED_MAX)
    .map((span) => wallSpan(span, zone))
    .join(', ');
  const more = missing.length > SPANS_NAMED_MAX ? ` and ${missing.length - SPANS_NAMED_MAX} more spans` : '';
  return { account, day, cause: 'uncertified', why: `no certificate covers ${spans}${more}` };
}

export function whyUnreadable(
  { account, day, own }: AccountOnDay & { readonly own: Figures },
  past: Pick<PastOfDay, 'unreadableOpen'>,
): WithheldDay | null {
  const count = past.unreadableOpen(account.currency);
  if (count === 0 || !saysComplete(own)) return null;
  const read = own.creditCount + own.debitCount;
  const entries = counted(count, 'entry', 'entries');
  const why =
    read === 0
      ? `none of its entries can be read: ${count} in quarantine`
      : `${entries} that may be of it cannot be read, and its other ${counted(read, 'entry', 'entries')} would pass for all`;
  return { account, day, cause: 'unreadable', why };
}

/** A day without entries proves no opening: where entries before it cannot be read, the balance that it opens on may be of before them. */
function whyAfterUnreadable(
  { account, day, own }: AccountOnDay & { readonly own: Figures },
  withheld: readonly WithheldDay[],
): WithheldDay | null {
  if (own.creditCount + own.debitCount > 0) return null;
  const isOfAccount = (one: WithheldDay): boolean => accountKey(one.account) === accountKey(account);
  const first = withheld.find((one) => one.cause === 'unreadable' && one.day < day && isOfAccount(one));
  if (first === undefined) return null;
  const why = `it has no entries, and follows ${first.day}, of which entries cannot be read`;
  return { account, day, cause: 'unreadable', why };
}

/**
 * Whether its statement stays as it was adopted: its opening could only be derived, as the statement before it was adopted as
 * well, and its day was not read. Null if not.
 */
function whyAdopted(
  { account, day, own, before }: AccountOnDay & Pick<DueAccountDay, 'own' | 'before'>,
  { statements, previous }: PastOfDay,
): WithheldDay | null {
  const { currency, merchantNo } = account;
  const unread = previous.get(currency);
  const isRead = unread === undefined || (before !== undefined && before.day >= unread.day);
  if (!own.restarted || isRead || !statements.some((one) => one.currency === currency)) return null;
  const why =
    `${unread.day} is published with the closing ${moneyText(unread.closing, currency)}, and this database has not read it since ` +
    `its statement was adopted. Run \`daybook backfill --from ${unread.day} --to ${unread.day} --merchant ${shellWord(merchantNo)}\``;
  return { account, day, cause: 'uncertified', why };
}

const HELD =
  'entries of this account are held, and until they are back or accepted as gone no day of the account is published';
const ANOTHER_LEDGER =
  'another ledger was answered in place of its own, and no day is published in such a run';

/** Days before `day` were asked about before. */
function whyHeld(
  { account, day, own }: AccountOnDay & { readonly own: Figures },
  { statements }: PastOfDay,
  withheld: readonly WithheldDay[],
): WithheldDay | null {
  const first = withheld.find(
    (one) => one.cause === 'held' && accountKey(one.account) === accountKey(account),
  );
  const isPublished = statements.some(({ currency }) => currency === account.currency);
  const isEmpty = own.creditCount + own.debitCount === 0;
  if (!isPublished && !isEmpty && first === undefined) return null;
  const why =
    !isPublished && isEmpty
      ? 'it came without entries, and until the entries of this merchant that are held are back or accepted as gone no such day is published'
      : first === undefined
        ? 'entries of this merchant are held, and until they are back or accepted as gone no published day is revised'
        : `it follows ${first.day}, which is not revised while entries of this merchant are held`;
  return { account, day, cause: 'held', why };
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

export type OpeningMismatch = Omit<LooseOpening, 'restarted'> & { readonly why: string };

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
  const unread = daysUncovered(between, certified, zone);
  if (unread !== null) {
    return (
      `opens on ${opening}, derived from its first entry, because some days after ${previousDay} were not read ` +
      `completely: run \`daybook run --from ${unread.from} --to ${unread.to}\``
    );
  }
  if (compareAmounts(opening, previousClosing) === 0) return null;
  return (
    `opens on ${opening}, derived from its first entry, though ${previousDay} closed on ${previousClosing} and all days ` +
    `between were read: run \`daybook run\``
  );
}

/** The days from the first instant of the span that these windows do not cover to the last one; null where they cover all of it. */
export function daysUncovered(
  span: Window,
  windows: readonly Window[],
  zone: string,
): { readonly from: BusinessDay; readonly to: BusinessDay } | null {
  const [first, ...others] = subtractWindows([span], windows);
  if (first === undefined) return null;
  return { from: dayOf(first.beginMs, zone), to: dayOf((others.at(-1) ?? first).endMs, zone) };
}
