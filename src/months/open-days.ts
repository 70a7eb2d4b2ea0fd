/** Says which days keep a month from being closed, and why. */
import { shellWord } from '../ledger/text.ts';
import { addDays, dayWindow, zoneDays } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { covers, overlaps, subtractWindows } from '../ledger/window.ts';
import { daysUncovered } from '../statements/withheld.ts';
import { stretches, type AccountMonth, type Month } from './month.ts';
import type { Kysely } from 'kysely';
import { wallSecond } from '../ledger/wall-time.ts';
import { addAmounts, compareAmounts, moneyText, subtractAmounts } from '../ledger/money.ts';
import type { DB } from '../store/engine/schema.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { dayFacts, openBreaksOn, type AccountFacts } from '../store/day-facts.ts';

/**
 * The days of the month by which an account is judged, in order: from `first`, its first day with figures, on, and every
 * day before that was never read, as it may have entries too. Days before `first` that certificates prove empty are no
 * days of the account.
 */
export const judgedDays = (
  { from, to }: Pick<Month, 'from' | 'to'>,
  first: BusinessDay,
  proven: readonly Window[],
  zone: string,
): BusinessDay[] =>
  zoneDays(from, to, zone).filter((day) => day >= first || !covers(proven, dayWindow(day, zone)));

/**
 * A day of an account that is not proven and published, or has a break or an unreadable entry that no one cleared up. A
 * day that has several causes, which do not follow from each other, is there once for each.
 */
export interface OpenDay {
  readonly currency: string;
  readonly day: BusinessDay;
  readonly cause:
    'not-over' | 'uncertified' | 'not-reconciled' | 'not-published' | 'broken' | 'unexplained' | 'unreadable';
  readonly why: string;
  readonly todo: string;
  /** Who can do it: no one, as it only takes time; who runs daybook; or an operator, who decides about it. */
  readonly who: 'no one' | 'command line' | 'operator';
  /** What the balances differ by, in units of the currency, where that is the cause. */
  readonly amount?: string;
  /** The breaks that are the cause. */
  readonly breaks?: readonly number[];
}

type Why = Omit<OpenDay, 'currency' | 'day'>;

/**
 * Open days as they are reported to a person: those of one account and cause together. Days that are broken, not
 * published or unexplained are together only if their reason is the same.
 */
export const openGroups = <Open extends Pick<OpenDay, 'currency' | 'cause' | 'why' | 'amount'>>(
  openDays: readonly Open[],
): (readonly Open[])[] =>
  [...Map.groupBy(openDays, ({ currency, cause }) => `${currency} ${cause}`).values()].flatMap((days) =>
    BY_REASON.includes(days[0]!.cause)
      ? [...Map.groupBy(days, ({ why, amount }) => `${why} ${amount}`).values()]
      : [days],
  );

const BY_REASON: readonly OpenDay['cause'][] = ['broken', 'not-published', 'unexplained'];

/** Why a day that is over and read completely is not published as it now stands. */
export const unpublishedText = (hasStatement: boolean): string =>
  hasStatement
    ? 'its published statement is out of date; the next run or `daybook publish` publishes a new revision'
    : 'it has no statement';

/** What to do about a group of open days: a command for all of them where they are days in a row. */
export function todoOf(group: readonly OpenDay[]): string {
  const [first, last] = [group[0]!, group.at(-1)!];
  if (first === last || !RANGE.test(first.todo)) return first.todo;
  const to = RANGE.exec(last.todo)![2]!;
  return stretches(group.map(({ day }) => day)).length === 1
    ? first.todo.replace(RANGE, (_, from: string) => `--from ${from} --to ${to}`)
    : `${first.todo}, and so on`;
}

const RANGE = /--from (\S+) --to (\S+)/;

export interface Clock {
  readonly zone: string;
  readonly now: Date;
}

/** The open days of a merchant's month, by account and day. One statement, however many days and accounts it has. */
export async function openDaysOf(
  db: Kysely<DB>,
  month: Month,
  accounts: readonly AccountMonth[],
  clock: Clock,
): Promise<OpenDay[]> {
  const { from, to } = month;
  const window = { beginMs: dayWindow(from, clock.zone).beginMs, endMs: dayWindow(to, clock.zone).endMs };
  const facts = await dayFacts(db, accounts, { from, to, window, by: null });
  return openDaysIn(month, accounts, facts, clock);
}

export const openDaysIn = (
  month: Month,
  accounts: readonly AccountMonth[],
  facts: readonly AccountFacts[],
  clock: Clock,
): OpenDay[] =>
  accounts.flatMap((account, at) => {
    const known = facts[at]!;
    const proven = subtractWindows(known.certified, known.unreadable);
    const unexplained = unexplainedDays(account);
    const days = judgedDays(month, known.firstDay ?? month.from, proven, clock.zone);
    return days.flatMap((day) => {
      const unproven = whyUnproven(account, day, known, clock);
      // A statement that is to be replaced is judged once it is.
      const isCurrent = unproven?.cause !== 'not-reconciled' && unproven?.cause !== 'not-published';
      const causes = [
        unproven,
        whyBroken(dayWindow(day, clock.zone), known),
        isCurrent ? unexplained.get(day) : null,
        whyUnreadable(dayWindow(day, clock.zone), known),
      ];
      return causes.flatMap((why) => (why ? [{ currency: account.currency, day, ...why }] : []));
    });
  });

/** By day, why statements of the account do not lead from one to the next though none of them has a break there. */
function unexplainedDays({ merchantNo, statements }: AccountMonth): ReadonlyMap<BusinessDay, Why> {
  const found = new Map<BusinessDay, Why>();
  const note = (day: BusinessDay, from: BusinessDay, amount: string, why: string): void => {
    const todo = `\`daybook run --from ${from} --to ${day} --merchant ${merchantNo}\``;
    found.set(day, { cause: 'unexplained', why, todo, who: 'command line', amount });
  };
  for (const [at, one] of statements.entries()) {
    const before = statements[at - 1];
    if (one.break_count === 0 && compareAmounts(missingNetIn(one), '0') !== 0)
      note(
        one.day,
        one.day,
        negated(missingNetIn(one)),
        'opening plus credits minus debits is not the closing, and no break says why',
      );
    if (before === undefined || before.break_count + one.break_count > 0) continue;
    if (compareAmounts(before.closing, one.opening) !== 0)
      note(
        one.day,
        before.day,
        subtractAmounts(one.opening, before.closing),
        `it opens on ${moneyText(one.opening, one.currency)}, ${before.day} closed on ${moneyText(before.closing, one.currency)}, and no break says why`,
      );
  }
  return found;
}

const missingNetIn = ({ opening, credit_total, debit_total, closing }: StatementRow): string =>
  subtractAmounts(subtractAmounts(addAmounts(opening, credit_total), debit_total), closing);

const negated = (amount: string): string => subtractAmounts('0', amount);

/** The first step that the day lacks until it is published: each waits for the one before. Null where it lacks none. */
function whyUnproven(
  { merchantNo, unpublished, statements }: AccountMonth,
  day: BusinessDay,
  facts: AccountFacts,
  { zone, now }: Clock,
): Why | null {
  const { certified, changed } = facts;
  const window = dayWindow(day, zone);
  const flags = `--from ${day} --to ${day} --merchant ${shellWord(merchantNo)}`;
  const byCommand = { who: 'command line' } as const;
  if (now.getTime() <= window.endMs) {
    const why = `the day is not over before ${wallSecond(window.endMs + 1, zone)} (${zone})`;
    return { cause: 'not-over', why, todo: 'close the month once it is over', who: 'no one' };
  }
  if (!covers(certified, window)) {
    const why = 'the day was not read completely';
    return { cause: 'uncertified', why, todo: `\`daybook run ${flags}\``, ...byCommand };
  }
  const changedFrom = [...changed].sort()[0];
  if (changedFrom !== undefined && changedFrom <= day) {
    const why = `entries of ${changedFrom} changed since the figures were made`;
    return { cause: 'not-reconciled', why, todo: `\`daybook run ${flags}\``, ...byCommand };
  }
  if (!unpublished.includes(day)) return null;
  const unread = facts.days.has(day) ? null : unreadBefore(day, facts, zone);
  if (unread !== null) {
    const { from, to } = unread;
    const why = 'the balance that it opens on is not known, as days before it were not read completely';
    const todo = `\`daybook run --from ${from} --to ${to} --merchant ${shellWord(merchantNo)}\``;
    return { cause: 'not-published', why, todo, ...byCommand };
  }
  // The entries that cannot be read are a cause of their own, and no command publishes the day before they are cleared up.
  if (facts.unreadable.some((span) => overlaps(span, window))) return null;
  const why = unpublishedText(statements.some((row) => row.day === day));
  return { cause: 'not-published', why, todo: `\`daybook publish ${flags}\``, ...byCommand };
}

/**
 * What is not proven between the last day with figures and the day, which has none; null if there is nothing. Of days before the month it
 * is not known what is proven: all of them count.
 */
function unreadBefore(
  day: BusinessDay,
  { days, lastBefore, certified }: AccountFacts,
  zone: string,
): Pick<Month, 'from' | 'to'> | null {
  const before =
    [...days.keys()]
      .filter((one) => one < day)
      .sort()
      .at(-1) ?? lastBefore;
  if (before === null) return null;
  const from = days.has(before) ? before : addDays(before, 1);
  const span = { beginMs: dayWindow(from, zone).beginMs, endMs: dayWindow(addDays(day, -1), zone).endMs };
  return daysUncovered(span, certified, zone);
}

function whyBroken(window: Window, known: AccountFacts): Why | null {
  const breaks = openBreaksOn(known, window);
  const [first, ...others] = breaks;
  if (first === undefined) return null;
  return {
    cause: 'broken',
    why: `its balance chain is broken: ${breaks.map((one) => `break ${one.id}`).join(', ')}`,
    todo:
      `\`daybook breaks show ${first.id}\`, then \`breaks resolve ${first.id} --note TEXT\`` +
      (others.length === 0 ? '' : '; the same for each other break'),
    who: 'operator',
    amount: breaks.map(({ amount }) => amount).reduce(addAmounts),
    breaks: breaks.map(({ id }) => id),
  };
}

const whyUnreadable = (window: Window, { unreadable }: AccountFacts): Why | null =>
  unreadable.some((span) => overlaps(span, window))
    ? {
        cause: 'unreadable',
        why: 'an entry of this day could not be read',
        todo: '`daybook quarantine`, then `quarantine acknowledge ID --note TEXT`',
        who: 'operator',
      }
    : null;
