/** Reads a merchant's month: the statements of each account, and its days without one that is up to date. */
import type { Kysely } from 'kysely';
import type { Chosen } from '../ledger/account-filter.ts';
import { daysFromTo } from '../ledger/business-day.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import type { DB } from '../store/engine/schema.ts';
import { monthRows } from '../store/statements/month-rows.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import type { AccountMonth, Month } from './month.ts';
import { currentOf } from './summary.ts';

export interface AccountMonths {
  readonly accounts: readonly AccountMonth[];
  /** Every revision, by day. */
  readonly byDay: ReadonlyMap<BusinessDay, readonly StatementRow[]>;
}

/** Of the merchant's accounts in these currencies, as far as they have begun by the end of the month. One statement. */
export async function accountMonths(
  db: Kysely<DB>,
  merchantNo: string,
  month: Month,
  currencies: Chosen,
): Promise<AccountMonths> {
  const known = await monthRows(db, { merchantNo, currencies }, month);
  const byDay = Map.groupBy(known.statements, ({ day }) => day);
  const current = Map.groupBy(
    [...byDay.values()].flatMap((rows) => currentOf(rows)),
    ({ currency }) => currency,
  );
  const due = Map.groupBy(known.due, ({ currency }) => currency);
  const accounts = [...known.firstDays]
    .filter(([, first]) => first <= month.to)
    .map(([currency, first]): AccountMonth => {
      const statements = current.get(currency) ?? [];
      const published = new Set(statements.map(({ day }) => day));
      for (const { day } of due.get(currency) ?? []) published.delete(day);
      const unpublished = daysFromTo(first > month.from ? first : month.from, month.to).filter(
        (day) => !published.has(day),
      );
      return { merchantNo, currency, statements, unpublished };
    });
  return { accounts, byDay };
}
