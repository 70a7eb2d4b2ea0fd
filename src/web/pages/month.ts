/** `/m/MERCHANT/YYYY-MM`: a merchant's month. */
import type { FastifyInstance } from 'fastify';
import { addDays } from '../../ledger/business-day.ts';
import { monthPage } from '../../pages/month.ts';
import { accountMonths } from '../../statements/account-months.ts';
import { addPage, merchantIn, type PagesContext } from './context.ts';
import { markedDays, monthIn } from './months.ts';

export function addMonth(server: FastifyInstance, context: PagesContext): void {
  addPage(server, context, '/m/:merchant/:month', async (asked) => {
    const merchantNo = merchantIn(asked);
    const month = monthIn(asked.part('month'));
    const { accounts } = await accountMonths(context.db, merchantNo, month, null);
    const currency = asked.query('currency');
    const account = accounts.find((one) => one.currency === currency) ?? accounts[0];
    const marked = account && (await markedDays(context, asked, [account], month));
    return monthPage(asked.view, {
      ...{ merchantNo, month, accounts },
      before: addDays(month.from, -1).slice(0, 7),
      after: addDays(month.to, 1).slice(0, 7),
      today: asked.today,
      chosen: account === undefined ? null : { account, days: marked![0]!.days },
    });
  });
}
