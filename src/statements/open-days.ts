/** Says which days keep a month from being closed, and why. */
import type { Kysely } from 'kysely';
import { accountsOf } from '../ledger/account-filter.ts';
import { dayWindow } from '../ledger/business-day.ts';
import type { BusinessDay, Window } from '../ledger/entry.ts';
import { wallSecond } from '../ledger/wall-time.ts';
import { listBreaks } from '../store/breaks/breaks.ts';
import { changedDays } from '../store/changed-days.ts';
import type { DB } from '../store/engine/schema.ts';
import { certifiedWindowsOf } from '../store/windows.ts';
import { isCertified, judgedDays } from './judged-days.ts';
import type { AccountMonth, Month } from './month.ts';

export type OpenCause = 'not-over' | 'uncertified' | 'not-reconciled' | 'not-published' | 'broken';

/** A day of an account that is not proven and published, or has a break that nobody resolved. */
export interface OpenDay {
  readonly currency: string;
  readonly day: BusinessDay;
  readonly cause: OpenCause;
  /** A sentence for a person. */
  readonly why: string;
  /** What to do about it. */
  readonly todo: string;
}

/** Open days as they are told to a person: those of one account and cause together, and each broken one by itself. */
export const openGroups = (openDays: readonly OpenDay[]): (readonly OpenDay[])[] =>
  [...Map.groupBy(openDays, ({ currency, cause }) => `${currency} ${cause}`).values()].flatMap((days) =>
    days[0]!.cause === 'broken' ? days.map((one) => [one]) : [days],
  );

export interface Clock {
  /** IANA zone of the business days. */
  readonly zone: string;
  readonly now: Date;
}

/** What is known of one account, to judge its days by. */
interface Known {
  readonly proven: readonly Window[];
  /** The first day whose entries changed since its figures were made. */
  readonly changedFrom: BusinessDay | undefined;
  readonly openDays: ReadonlySet<BusinessDay>;
  /** Numbers of open breaks, by day. */
  readonly breaks: ReadonlyMap<BusinessDay, readonly number[]>;
}

/** The open days of a merchant's month, by account and day. A few statements, however many days it has. */
export async function openDaysOf(
  db: Kysely<DB>,
  merchantNo: string,
  { from, to }: Month,
  accounts: readonly AccountMonth[],
  clock: Clock,
): Promise<OpenDay[]> {
  const within = { beginMs: dayWindow(from, clock.zone).beginMs, endMs: dayWindow(to, clock.zone).endMs };
  const proven = await certifiedWindowsOf(
    db,
    accounts.map(({ currency }) => ({ merchantNo, within, currency })),
  );
  const changed = new Map(
    (await changedDays(db, accountsOf(merchantNo))).map(({ account, days }) => [account.currency, days[0]]),
  );
  const breaks = Map.groupBy(
    await listBreaks(db, { ...accountsOf(merchantNo), fromDay: from, toDay: to }),
    ({ currency }) => currency,
  );
  return accounts.flatMap(({ currency, statements, openDays }, at) => {
    const own = Map.groupBy(breaks.get(currency) ?? [], ({ day }) => day);
    const known: Known = {
      proven: proven[at]!,
      changedFrom: changed.get(currency),
      openDays: new Set(openDays),
      breaks: new Map([...own].map(([day, rows]) => [day, rows.map(({ id }) => id)])),
    };
    const first = [...statements.map(({ day }) => day), ...openDays].sort()[0] ?? from;
    return judgedDays({ from, to }, first, known.proven, clock.zone).flatMap((day) => {
      const open = whyOpen(merchantNo, day, known, clock);
      return open === null ? [] : [{ currency, day, ...open }];
    });
  });
}

/** Null for a day that is proven, published and without an open break. */
function whyOpen(
  merchantNo: string,
  day: BusinessDay,
  { proven, changedFrom, openDays, breaks }: Known,
  { zone, now }: Clock,
): Pick<OpenDay, 'cause' | 'why' | 'todo'> | null {
  const window = dayWindow(day, zone);
  const flags = `--from ${day} --to ${day} --merchant ${merchantNo}`;
  if (now.getTime() <= window.endMs) {
    const why = `the day is not over before ${wallSecond(window.endMs + 1, zone)} (${zone})`;
    return { cause: 'not-over', why, todo: 'close the month once it is over' };
  }
  if (!isCertified(day, proven, zone)) {
    const why = 'not all of the day is under certificate';
    return { cause: 'uncertified', why, todo: `\`daybook run ${flags}\`` };
  }
  if (changedFrom !== undefined && changedFrom <= day) {
    const why = `entries of ${changedFrom} changed since the figures were made`;
    return { cause: 'not-reconciled', why, todo: `\`daybook run ${flags}\`` };
  }
  if (openDays.has(day)) {
    const why = 'it has no statement, or one that is out of date';
    return { cause: 'not-published', why, todo: `\`daybook publish ${flags}\`` };
  }
  const ids = breaks.get(day);
  if (ids === undefined) return null;
  const [why, id] = [`its balance chain is broken: ${ids.map((one) => `break ${one}`).join(', ')}`, ids[0]!];
  return {
    cause: 'broken',
    why,
    todo: `\`daybook breaks show ${id}\`, then \`breaks resolve ${id} --note TEXT\``,
  };
}
