/** `/m/MERCHANT/CURRENCY/YYYY-MM-DD`: an account's day. */
import type { FastifyInstance } from 'fastify';
import { addDays, dayWindow, parseDay } from '../../ledger/business-day.ts';
import type { Account, BusinessDay } from '../../ledger/entry.ts';
import { covers } from '../../ledger/window.ts';
import { dayPage } from '../../pages/day.ts';
import type { AccountDayRow } from '../../store/account-days.ts';
import { listAccountDays } from '../../store/account-days.ts';
import { certifiedWindows } from '../../store/certified-windows.ts';
import { changedDays } from '../../store/changed-days.ts';
import { breaksOfDay } from '../../store/pages/breaks-of-day.ts';
import { countEntries, type DayOfAccount } from '../../store/pages/day-rows.ts';
import { certificatesOf, statementsOfDay } from '../../store/statements/statements.ts';
import { comparisonOf } from './comparison.ts';
import { addPage, merchantIn, type Asked, type PagesContext } from './context.ts';
import { balanceOf } from './day-balance.ts';
import { rowsOf } from './day-rows.ts';
import { markedDays } from './months.ts';
import { PageRefusal } from './page-refusal.ts';

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
    const [marked, [figures = null], published, certificates, found, [changed]] = await Promise.all([
      markedDays(context, asked, [account], { from: day, to: day }),
      listAccountDays(db, one),
      statementsOfDay(db, account.merchantNo, day),
      certificatesOf(db, account.merchantNo, here.window, account.currency),
      breaksOfDay(db, here, day, BREAKS_MAX),
      changedDays(db, { merchants: one.merchants, currencies: one.currencies }),
    ]);
    const { days, closed } = marked[0]!;
    const mark = days[0]!;
    const revisions = published.filter(({ currency }) => currency === account.currency).reverse();
    const isChanged = changed?.days.includes(day) === true;
    const { isCurrent, total, isUnreconciled } = await standingOf(context, here, figures, isChanged);
    if (figures === null && revisions.length === 0 && total === 0 && mark.state === 'before')
      throw new PageRefusal(404);
    const [rows, balance, comparison] = await Promise.all([
      rowsOf(context, asked, here, { day, total, hasBreaks: found.inAll > 0 }),
      figures === null ? null : balanceOf(context, here, { day, figures, isCurrent, found, total }),
      comparisonOf(context, asked, revisions),
    ]);
    return dayPage(asked.view, {
      ...{ account, day, mark, figures, revisions, comparison, balance, rows, found, isUnreconciled },
      closed: closed && {
        number: closed.number,
        adjustment:
          closed.adjustments.find((one) => one.day === day && one.currency === account.currency) ?? null,
      },
      before: addDays(day, -1),
      after: addDays(day, 1),
      certificates: certificates.slice(0, CERTIFICATES_SHOWN_MAX),
      certificatesInAll: certificates.length,
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

interface Standing {
  /** Whether the figures are of the entries as they are now. */
  readonly isCurrent: boolean;
  /** How many entries the day has. */
  readonly total: number;
  readonly isUnreconciled: boolean;
}

/** Entries are counted only where no figures say how many there are: while a run is between reading and reconciling. */
async function standingOf(
  { db }: PagesContext,
  here: DayOfAccount,
  figures: AccountDayRow | null,
  isChanged: boolean,
): Promise<Standing> {
  const { account, window } = here;
  const { merchantNo, currency } = account;
  if (figures !== null && !isChanged)
    return { isCurrent: true, total: figures.credit_count + figures.debit_count, isUnreconciled: false };
  const total = await countEntries(db, here);
  const proven = await certifiedWindows(db, merchantNo, window, currency);
  return { isCurrent: false, total, isUnreconciled: total > 0 && covers(proven, window) };
}
