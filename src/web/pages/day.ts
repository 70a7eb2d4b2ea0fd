/** `/m/MERCHANT/CURRENCY/YYYY-MM-DD`: an account's day. */
import type { FastifyInstance } from 'fastify';
import { addDays, dayWindow, parseDay } from '../../ledger/business-day.ts';
import { quarantinedIn } from '../../ledger/chain/quarantined-entries.ts';
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import { covers } from '../../ledger/window.ts';
import { readQuarantined } from '../../platform/quarantined.ts';
import { dayPage } from '../../pages/day.ts';
import { WITHOUT_PAGE } from '../../pages/months.ts';
import type { AccountDayRow } from '../../store/account-days.ts';
import { listAccountDays } from '../../store/account-days.ts';
import { breaksOfDay } from '../../store/pages/breaks-of-day.ts';
import type { AccountFacts } from '../../store/pages/day-facts.ts';
import { countEntries, type DayOfAccount } from '../../store/pages/day-rows.ts';
import { unreadableWithin, type UnreadableWithin } from '../../store/quarantine.ts';
import { firstCertificates, statementsOfDay } from '../../store/statements/statements.ts';
import { comparisonOf } from './comparison.ts';
import { addPage, merchantIn, type Asked, type PagesContext } from './context.ts';
import { balanceOf } from './day-balance.ts';
import { rowsOf } from './day-rows.ts';
import { markedDays } from './months.ts';
import { PageRefusal } from './page-refusal.ts';
import { YEARS } from './years.ts';

const BREAKS_MAX = 50;
/** Of all accounts of the merchant; few of them are shown. */
const UNREADABLE_MAX = 500;
const CERTIFICATES_SHOWN_MAX = 20;
const CURRENCY = /^[A-Za-z0-9]{1,16}$/;

export function addDay(server: FastifyInstance, context: PagesContext): void {
  addPage(server, context, '/m/:merchant/:currency/:day', async (asked) => {
    const [account, day] = [accountIn(asked), dayIn(asked.part('day'))];
    const { db, zone } = context;
    const here = { account, window: dayWindow(day, zone) };
    const one = { merchants: [account.merchantNo], currencies: [account.currency], fromDay: day, toDay: day };
    const [marked, [figures = null], published, certified, found] = await Promise.all([
      markedDays(context, asked, [account], { from: day, to: day }),
      listAccountDays(db, one),
      statementsOfDay(db, account.merchantNo, day),
      firstCertificates(db, account, here.window, CERTIFICATES_SHOWN_MAX),
      breaksOfDay(db, here, day, BREAKS_MAX),
    ]);
    const { facts, days, closed } = marked[0]!;
    const mark = days[0]!;
    const revisions = published.filter(({ currency }) => currency === account.currency).reverse();
    const { isCurrent, total } = await freshnessOf(context, here, figures, facts.changed.has(day));
    if (figures === null && revisions.length === 0 && total === 0 && WITHOUT_PAGE.includes(mark.state))
      throw new PageRefusal(404);
    const [rows, balance, comparison] = await Promise.all([
      rowsOf(context, asked, here, { day, total, hasBreaks: found.inAll > 0 }),
      figures === null ? null : balanceOf(context, here, { day, figures, isCurrent, found, total }),
      comparisonOf(context, asked, revisions),
    ]);
    return dayPage(asked.view, {
      ...{ account, day, mark, figures, revisions, comparison, balance, rows, found },
      isUnreconciled: !isCurrent && total > 0 && covers(facts.certified, here.window),
      unreadable: await unreadableOf(context, here, facts),
      closed: closed && {
        number: closed.number,
        adjustment:
          closed.adjustments.find((one) => one.day === day && one.currency === account.currency) ?? null,
      },
      before: facts.firstDay !== null && day <= facts.firstDay ? null : addDays(day, -1),
      after: addDays(day, 1),
      certificates: certified.certificates,
      certificatesInAll: certified.inAll,
    });
  });
}

/** Those that can be of this account and day; queried only where some are not acknowledged. */
async function unreadableOf(
  { db }: PagesContext,
  { account, window }: DayOfAccount,
  facts: AccountFacts,
): Promise<UnreadableWithin[]> {
  if (facts.unreadable.length === 0) return [];
  const options = { read: readQuarantined, limit: UNREADABLE_MAX };
  const all = await unreadableWithin(db, account.merchantNo, window, options);
  return quarantinedIn({ currency: account.currency, span: window }, all);
}

export function accountIn(asked: Asked): Account {
  const currency = asked.part('currency');
  if (!CURRENCY.test(currency)) throw new PageRefusal(404);
  return { merchantNo: merchantIn(asked), currency };
}

/** Reads a day. Throws `PageRefusal` for what is none: 404 for one in the path, 400 for one that a form asks for. */
export function dayIn(text: string, status: 400 | 404 = 404): BusinessDay {
  try {
    if (YEARS.test(text)) return parseDay(text);
  } catch {
    // Refused below, with its page.
  }
  throw new PageRefusal(status);
}

interface Freshness {
  /** Whether the figures are of the entries as they are now. */
  readonly isCurrent: boolean;
  /** How many entries the day has. */
  readonly total: number;
}

/** Entries are counted only where no figures say how many there are: while a run is between reading and reconciling. */
async function freshnessOf(
  { db }: PagesContext,
  here: DayOfAccount,
  figures: AccountDayRow | null,
  isChanged: boolean,
): Promise<Freshness> {
  if (figures !== null && !isChanged)
    return { isCurrent: true, total: figures.credit_count + figures.debit_count };
  return { isCurrent: false, total: await countEntries(db, here) };
}
