/** `/`: what each account holds, and its days of a month. */
import { closedMonths } from '../../../months/stored.ts';
import { addDays, dayWindow, zoneDays } from '../../../ledger/business-day.ts';
import type { Account, BusinessDay } from '../../../ledger/entry.ts';
import { homePage } from '../html/home.ts';
import type { MarkedAccount } from '../html/months.ts';
import { dayNotes, dayState } from '../../../run/day-state.ts';
import { monthOf, type Month } from '../../../months/month.ts';
import { provenBalances } from '../../../run/proven.ts';
import { accountsPage, dayFacts, openBreaksOn } from '../../../store/day-facts.ts';
import { unreadableByMerchant } from '../../../store/quarantine.ts';
import { lastGoodReadings } from '../../../store/runs.ts';
import { type Asked, type PagesContext, YEARS, PageRefusal, type MakePage, withNames } from './context.ts';

/** Rows of the grid: with 31 marks each the page stays well below 100 kB. */
const ACCOUNTS_A_PAGE = 20;
const CONTAINS_CHARACTERS_MAX = 140;

export const showHome: MakePage = async (context, asked) => {
  const { db, zone, now } = context;
  const { view, person, query, today } = asked;
  const month = monthIn(query('month') ?? addDays(today, -1).slice(0, 7));
  const contains = (query('q') ?? '').trim().normalize('NFC').slice(0, CONTAINS_CHARACTERS_MAX);
  const after = accountIn(query('after'));
  const found = await accountsPage(db, {
    merchants: person.merchants,
    contains,
    after,
    limit: ACCOUNTS_A_PAGE + 1,
  });
  const accounts = found.slice(0, ACCOUNTS_A_PAGE);
  const merchants = [...new Set(accounts.map(({ merchantNo }) => merchantNo))];
  const [named, marked, balances, lastGood, unreadable] = await Promise.all([
    withNames(context, view, merchants),
    markedDays(context, asked, accounts, month),
    provenBalances(db, accounts, { zone, now: now() }),
    lastGoodReadings(db, merchants),
    unreadableByMerchant(db, merchants),
  ]);
  const ageOf = ({ merchantNo }: Account) => {
    const at = lastGood.get(merchantNo)?.at;
    return at === undefined ? null : { at, ageMs: now().getTime() - at.getTime() };
  };
  return homePage(named, {
    ...{ month, contains },
    isOver: month.to < today,
    accounts: accounts.map((account, nth) => ({
      marked: marked[nth]!,
      balance: balances[nth]!,
      unreadable: unreadable.get(account.merchantNo) ?? 0,
      lastGood: ageOf(account),
    })),
    isFirst: after === null,
    next: found.length > accounts.length ? accounts.at(-1)! : null,
  });
};

/** Reads a month `YYYY-MM`. Throws `PageRefusal`. */
export function monthIn(text: string): Month {
  const month = monthOf(text);
  if (month === null || !YEARS.test(text)) throw new PageRefusal(400);
  return month;
}

/** After which account a further page begins. Throws `PageRefusal`. */
function accountIn(text: string | null): Account | null {
  if (text === null) return null;
  const [, merchantNo, currency] = /^(.+) (\S+)$/.exec(text) ?? [];
  if (merchantNo === undefined || currency === undefined) throw new PageRefusal(400);
  return { merchantNo, currency };
}

/** The days of these accounts, all of one month, each with its state. Nothing is asked about closes that are known not to be. */
export async function markedDays(
  { db, zone }: PagesContext,
  { person, today }: Asked,
  accounts: readonly Account[],
  { from, to }: Pick<Month, 'from' | 'to'>,
  mayBeClosed = true,
): Promise<MarkedAccount[]> {
  const window = { beginMs: dayWindow(from, zone).beginMs, endMs: dayWindow(to, zone).endMs };
  const merchants = [...new Set(accounts.map(({ merchantNo }) => merchantNo))];
  const [facts, closes] = await Promise.all([
    dayFacts(db, accounts, { from, to, window, by: { name: person.name, zone } }),
    merchants.length === 0 || !mayBeClosed
      ? []
      : closedMonths(db, { merchants, month: from.slice(0, 'YYYY-MM'.length) }),
  ]);
  const closed = new Map(closes.map((one) => [one.merchantNo, one]));
  const adjusted = new Set(
    closes.flatMap(({ adjustments }) => adjustments).map((one) => keyOf(one, one.day)),
  );
  const days = zoneDays(from, to, zone);
  return facts.map((one) => ({
    account: one.account,
    facts: one,
    days: days.map((day) => ({
      day,
      state: dayState(one, day, { zone, today }),
      notes: dayNotes(one, day, { zone, today }),
      isRevised: one.revised.has(day),
      isAdjusted: adjusted.has(keyOf(one.account, day)),
      breaks: one.openBreaks.length === 0 ? [] : openBreaksOn(one, dayWindow(day, zone)).map(({ id }) => id),
    })),
    closed: closed.get(one.account.merchantNo) ?? null,
  }));
}

const keyOf = ({ merchantNo, currency }: Account, day: BusinessDay): string =>
  JSON.stringify([merchantNo, currency, day]);
