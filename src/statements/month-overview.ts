/** Reads what the overview of a merchant's month tells, all of one moment. */
import type { Kysely, Transaction } from 'kysely';
import type { Chosen } from '../ledger/account-filter.ts';
import { dayWindow } from '../ledger/business-day.ts';
import { quarantinedIn } from '../ledger/chain/quarantined-entries.ts';
import type { BusinessDay } from '../ledger/entry.ts';
import { readQuarantined } from '../platform/ledger-entry.ts';
import type { DB } from '../store/engine/schema.ts';
import { adjustmentsOf, closesOfMonth, type Adjustment, type MonthClose } from '../store/month-close.ts';
import { unreadableWithin } from '../store/quarantine.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { manifestOfDay } from '../store/statements/stored-files.ts';
import { accountMonths } from './account-months.ts';
import { explainedOfEach } from './explained.ts';
import { zoneIn } from './manifest.ts';
import type { AccountMonth, Month } from './month.ts';
import { openDaysOf, unpublishedText, type OpenDay } from './open-days.ts';

export interface MonthOverview {
  readonly merchantNo: string;
  readonly month: Month;
  /** IANA zone of the business days; null where no manifest names it. */
  readonly zone: string | null;
  /** When it was read. */
  readonly at: Date;
  /** Null: all accounts. */
  readonly currencies: Chosen;
  readonly accounts: readonly AccountMonth[];
  /** How many breaks of a day a person has resolved, by `accountDayName`; left out where none is. */
  readonly explained: ReadonlyMap<string, number>;
  /** Days, by `accountDayName`, of which entries came that cannot be read, whether or not a person has acknowledged them. */
  readonly unreadable: ReadonlySet<string>;
  readonly openDays: readonly Omit<OpenDay, 'todo'>[];
  /** In order; the last one counts. */
  readonly closes: readonly MonthClose[];
  /** What changed since the last close. */
  readonly adjustments: readonly Adjustment[];
}

export const accountDayName = ({
  currency,
  day,
}: {
  readonly currency: string;
  readonly day: BusinessDay;
}): string => `${currency} ${day}`;

export interface OverviewAsked {
  readonly merchantNo: string;
  readonly month: Month;
  readonly currencies: Chosen;
  readonly now: () => Date;
}

/** Null where nothing was published. */
export const monthOverview = (db: Kysely<DB>, asked: OverviewAsked): Promise<MonthOverview | null> =>
  db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute((trx) => overviewIn(trx, asked));

async function overviewIn(trx: Transaction<DB>, asked: OverviewAsked): Promise<MonthOverview | null> {
  const { merchantNo, month, currencies, now } = asked;
  const at = now();
  const { accounts } = await accountMonths(trx, merchantNo, month, currencies);
  const statements = accounts.flatMap((account) => account.statements);
  const last = statements.at(-1);
  if (last === undefined) return null;
  const recorded = await manifestOfDay(trx, merchantNo, last.day);
  const zone = recorded === undefined ? null : zoneIn(recorded);
  const closes = await closesOfMonth(trx, merchantNo, month.name);
  const isAsked = ({ currency }: Adjustment): boolean => accounts.some((one) => one.currency === currency);
  const explained = zone === null ? [] : await explainedOfEach(trx, merchantNo, zone, statements);
  return {
    ...{ merchantNo, month, zone, at, currencies, accounts, closes },
    explained: new Map([...explained].map(([row, breaks]) => [accountDayName(row), breaks.length])),
    unreadable: zone === null ? new Set() : await unreadableDays(trx, asked, statements, zone),
    openDays:
      zone === null
        ? accounts.flatMap(unpublishedOf)
        : await openDaysOf(trx, month, accounts, { zone, now: at }),
    adjustments: (await adjustmentsOf(trx, { merchants: [merchantNo], month: month.name })).filter(isAsked),
  };
}

/** Most unreadable entries of a merchant that are checked. */
const UNREADABLE_MAX = 10_000;

async function unreadableDays(
  trx: Transaction<DB>,
  { merchantNo, month: { from, to } }: OverviewAsked,
  statements: readonly StatementRow[],
  zone: string,
): Promise<ReadonlySet<string>> {
  const window = { beginMs: dayWindow(from, zone).beginMs, endMs: dayWindow(to, zone).endMs };
  const found = await unreadableWithin(trx, merchantNo, window, {
    read: readQuarantined,
    limit: UNREADABLE_MAX,
  });
  const isUnreadable = ({ currency, day }: StatementRow): boolean =>
    quarantinedIn({ currency, span: dayWindow(day, zone) }, found).length > 0;
  return new Set(statements.filter(isUnreadable).map(accountDayName));
}

const unpublishedOf = ({ currency, unpublished, statements }: AccountMonth): MonthOverview['openDays'] =>
  unpublished.map((day) => ({
    ...{ currency, day, cause: 'not-published' },
    why: unpublishedText(statements.some((row) => row.day === day)),
  }));
