/** `/m/MERCHANT/CURRENCY/YYYY-MM-DD`: an account's day. */
import type { FastifyInstance } from 'fastify';
import { addDays, dayWindow, parseDay } from '../../ledger/business-day.ts';
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import type { BalanceDrawn } from '../../pages/chart.ts';
import { dayPage } from '../../pages/day.ts';
import type { AccountDayRow } from '../../store/account-days.ts';
import { listAccountDays } from '../../store/account-days.ts';
import type { BreakRow } from '../../store/breaks/breaks.ts';
import { balancePoints } from '../../store/pages/balance-points.ts';
import { breaksOfDay } from '../../store/pages/breaks-of-day.ts';
import type { DayOfAccount } from '../../store/pages/day-rows.ts';
import { firstCertificates, statementsOfDay } from '../../store/statements/statements.ts';
import { comparisonOf } from './comparison.ts';
import { addPage, merchantIn, type Asked, type PagesContext } from './context.ts';
import { allInOrder, rowsOf } from './day-rows.ts';
import { markedDays } from './months.ts';
import { PageRefusal } from './page-refusal.ts';

/** Most points that the balance is drawn from; a day with fewer entries is drawn from all of them. */
const POINTS_MAX = 288;
const BREAKS_MAX = 50;
const CERTIFICATES_SHOWN_MAX = 20;
const CURRENCY = /^[A-Za-z0-9]{1,16}$/;
const YEARS = /^(?:19|20|21)\d\d-/;

export function addDay(server: FastifyInstance, context: PagesContext): void {
  addPage(server, context, '/m/:merchant/:currency/:day', async (asked) => {
    const [account, day] = [accountIn(asked), dayIn(asked.part('day'))];
    const { db, zone } = context;
    const here = { account, window: dayWindow(day, zone) };
    const one = { merchants: [account.merchantNo], currencies: [account.currency], fromDay: day, toDay: day };
    const [marked, [figures = null], published, certified, breaks] = await Promise.all([
      markedDays(context, asked, [account], { from: day, to: day }),
      listAccountDays(db, one),
      statementsOfDay(db, account.merchantNo, day),
      firstCertificates(db, account, here.window, CERTIFICATES_SHOWN_MAX),
      breaksOfDay(db, here, day, BREAKS_MAX),
    ]);
    const { days, closed } = marked[0]!;
    const mark = days[0]!;
    const revisions = published.filter(({ currency }) => currency === account.currency).reverse();
    if (figures === null && revisions.length === 0 && mark.state === 'before') throw new PageRefusal(404);
    const total = figures === null ? 0 : figures.credit_count + figures.debit_count;
    const [rows, balance, comparison] = await Promise.all([
      rowsOf(context, asked, here, { day, total, breaks }),
      figures === null ? null : balanceOf(context, here, { day, figures, breaks, total }),
      comparisonOf(context, asked, revisions),
    ]);
    return dayPage(asked.view, {
      ...{ account, day, mark, figures, revisions, comparison, balance, rows, breaks },
      closed: closed && {
        number: closed.number,
        adjustment:
          closed.adjustments.find((one) => one.day === day && one.currency === account.currency) ?? null,
      },
      before: addDays(day, -1),
      after: addDays(day, 1),
      certificates: certified.certificates,
      certificatesInAll: certified.inAll,
    });
  });
}

export function accountIn(asked: Asked): Account {
  const currency = asked.part('currency');
  if (!CURRENCY.test(currency)) throw new PageRefusal(404);
  return { merchantNo: merchantIn(asked), currency };
}

/** Reads a day. Throws `PageRefusal` for what is none. */
export function dayIn(text: string): BusinessDay {
  try {
    if (YEARS.test(text)) return parseDay(text);
  } catch {
    // Refused below, with its page.
  }
  throw new PageRefusal(404);
}

async function balanceOf(
  { db, settings }: PagesContext,
  here: DayOfAccount,
  {
    day,
    figures,
    breaks,
    total,
  }: {
    readonly day: BusinessDay;
    readonly figures: AccountDayRow;
    readonly breaks: readonly BreakRow[];
    readonly total: number;
  },
): Promise<BalanceDrawn | null> {
  if (total === 0) return null;
  const isPart = total > POINTS_MAX;
  const points = isPart
    ? await balancePoints(db, here, POINTS_MAX)
    : await allInOrder(db, here, POINTS_MAX, settings.clockToleranceS);
  const { currency } = here.account;
  return { currency, day, window: here.window, opening: figures.opening, points, isPart, breaks };
}
