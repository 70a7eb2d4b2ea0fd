/** Reads a merchant's month: the statements of each account, and its days without one that is up to date. */
import type { Kysely } from 'kysely';
import { accountsOf, type Chosen } from '../ledger/account-filter.ts';
import { daysFromTo } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { listAccountDays } from '../store/account-days.ts';
import { firstDays } from '../store/account-ends.ts';
import type { DB } from '../store/engine/schema.ts';
import { listStatements, type StatementRow } from '../store/statements/statements.ts';
import type { AccountMonth, Month } from './month.ts';
import { currentOf } from './summary.ts';

export interface AccountMonths {
  readonly accounts: readonly AccountMonth[];
  /** Every revision, by day. */
  readonly byDay: ReadonlyMap<BusinessDay, readonly StatementRow[]>;
}

/** Of the merchant's accounts in these currencies, as far as they have begun by the end of the month. */
export async function accountMonths(
  db: Kysely<DB>,
  merchantNo: string,
  month: Month,
  currencies: Chosen,
): Promise<AccountMonths> {
  const filter = { ...accountsOf(merchantNo, currencies), fromDay: month.from, toDay: month.to };
  const byDay = Map.groupBy(await listStatements(db, filter), ({ day }) => day);
  const current = [...byDay.values()].flatMap((rows) => currentOf(rows));
  const due = new Set(
    (await listAccountDays(db, filter))
      .filter((row) => row.publish_due || row.revision === null)
      .map(({ currency, day }) => `${currency} ${day}`),
  );
  const accounts = [...(await firstDays(db, merchantNo, currencies))]
    .filter(([, first]) => first <= month.to)
    .map(([currency, first]): AccountMonth => {
      const statements = current.filter((row) => row.currency === currency);
      const published = new Set(statements.map(({ day }) => day));
      const openDays = daysFromTo(first > month.from ? first : month.from, month.to).filter(
        (day) => !published.has(day) || due.has(`${currency} ${day}`),
      );
      return { merchantNo, currency, statements, openDays };
    });
  return { accounts, byDay };
}
