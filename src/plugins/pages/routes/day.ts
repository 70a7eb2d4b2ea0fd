/** `/m/MERCHANT/CURRENCY/YYYY-MM-DD`: an account's day. */
import { addDays, dayBefore, dayWindow, hasDay, isDay } from '../../../ledger/business-day.ts';
import type { ChainEntry } from '../../../ledger/chain/chain-link.ts';
import { createChain, type ChainStart } from '../../../ledger/chain/chain.ts';
import { quarantinedIn } from '../../../ledger/hints/evidence.ts';
import type { Account, BusinessDay, Window } from '../../../ledger/entry.ts';
import { compareAmounts } from '../../../ledger/money.ts';
import { covers } from '../../../ledger/window.ts';
import type { BalanceDrawn } from '../html/chart.ts';
import { dayPage } from '../html/day.ts';
import { WITHOUT_PAGE } from '../html/months.ts';
import { readQuarantined } from '../../../platform/ledger-entry.ts';
import { type AccountDayRow, listAccountDays } from '../../../store/account-days.ts';
import { readAccountToChain } from '../../../store/entries.ts';
import {
  stretchEnds,
  type BalancePoint,
  breaksOfDay,
  type BreaksFound,
  countEntries,
  type DayOfAccount,
} from '../stored.ts';
import type { AccountFacts } from '../../../store/day-facts.ts';
import { lastRequestOf } from '../../../store/requests.ts';
import { unreadableWithin, type UnreadableWithin } from '../../../store/quarantine.ts';
import { certificatesOf } from '../../../store/certificates.ts';
import { statementsOfDay, type StatementRow } from '../../../store/statements/statements.ts';
import {
  merchantIn,
  type Asked,
  type PagesContext,
  YEARS,
  PageRefusal,
  type MakePage,
  withNames,
} from './context.ts';
import { rowsOf } from './day-rows.ts';
import { markedDays } from './home.ts';
import { StatementDamaged, rowsBetween } from '../../../statements/fetch.ts';
import { causesOf, type CausedRow } from '../../../statements/reason.ts';
import { tallyRows } from '../../../statements/differing-rows.ts';
import type { ComparisonShown } from '../html/revisions.ts';

const BREAKS_MAX = 50;
/** Of all accounts of the merchant; few of them are shown. */
const UNREADABLE_MAX = 500;
const CURRENCY = /^[A-Za-z0-9]{1,16}$/;

export const showDay: MakePage = async (context, asked) => {
  const [account, day] = [accountIn(asked), dayIn(asked.part('day'))];
  const { db, zone } = context;
  if (!hasDay(day, zone)) throw new PageRefusal(404);
  const here = { account, window: dayWindow(day, zone) };
  const one = { merchants: [account.merchantNo], currencies: [account.currency], fromDay: day, toDay: day };
  const [view, marked, [figures = null], published, certified, found] = await Promise.all([
    withNames(context, asked.view, [account.merchantNo]),
    markedDays(context, asked, [account], { from: day, to: day }),
    listAccountDays(db, one),
    statementsOfDay(db, account.merchantNo, day),
    certificatesOf(db, account.merchantNo, here.window),
    breaksOfDay(db, here, day, BREAKS_MAX),
  ]);
  const { facts, days, closed } = marked[0]!;
  const mark = days[0]!;
  const revisions = published.filter(({ currency }) => currency === account.currency).reverse();
  const revision = shownRevision(asked, revisions);
  const { isCurrent, total } = await freshnessOf(context, here, figures, facts.changed.has(day));
  if (figures === null && revisions.length === 0 && total === 0 && WITHOUT_PAGE.includes(mark.state))
    throw new PageRefusal(404);
  const [rows, balance, comparison] = await Promise.all([
    rowsOf(context, asked, here, { day, total, hasBreaks: found.inAll > 0 }),
    figures === null ? null : balanceOf(context, here, { day, figures, isCurrent, found, total }),
    comparisonOf(context, asked, revisions),
  ]);
  return dayPage(view, {
    ...{ account, day, mark, figures, revisions, revision, comparison, balance, rows, found },
    isUnreconciled: !isCurrent && total > 0 && covers(facts.certified, here.window),
    unreadable: await unreadableOf(context, here, facts),
    closed: closed && {
      number: closed.number,
      adjustment:
        closed.adjustments.find((one) => one.day === day && one.currency === account.currency) ?? null,
    },
    before: facts.firstDay !== null && day <= facts.firstDay ? null : dayBefore(day, zone),
    after: hasDay(addDays(day, 1), zone) ? addDays(day, 1) : addDays(day, 2),
    certificates: certified,
    lastRepeat: await lastRequestOf(db, { merchantNo: account.merchantNo, day }),
  });
};

/** The one that is asked for, or the newest. Throws `PageRefusal` for a revision that there is not. */
function shownRevision({ query }: Asked, revisions: readonly StatementRow[]): StatementRow | undefined {
  const wanted = query('revision');
  if (wanted === null) return revisions[0];
  const found = revisions.find(({ revision }) => String(revision) === wanted);
  if (found === undefined) throw new PageRefusal(404);
  return found;
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
  if (!YEARS.test(text) || !isDay(text)) throw new PageRefusal(status);
  return text;
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

/** A day with more entries is drawn from some of them. */
const POINTS_MAX = 288;
const MINUTE_MS = 60_000;
/** Of each stretch the lowest, the highest and the last are drawn. An hour is a multiple of a stretch. */
const STRETCH_MS = 15 * MINUTE_MS;
/** A day with more entries is sampled: a page must load quickly. */
const READ_COMPLETELY_MAX = 5_000;
/** Of a large day the end of each stretch is drawn. */
const STRETCH_OF_LARGE_MS = 10 * MINUTE_MS;
/** Entries that determine the balance at the end of a stretch: mostly those of some seconds. */
const ENTRIES_A_STRETCH = 16;

interface DayToDraw {
  readonly day: BusinessDay;
  readonly figures: AccountDayRow;
  /** Whether the figures are of the entries as they are now. */
  readonly isCurrent: boolean;
  readonly found: BreaksFound;
  /** How many entries the day has. */
  readonly total: number;
}

/** Null where there is nothing to draw. */
async function balanceOf(
  context: PagesContext,
  here: DayOfAccount,
  asked: DayToDraw,
): Promise<BalanceDrawn | null> {
  const { day, figures, isCurrent, found, total } = asked;
  if (total === 0) return null;
  const drawn =
    total > READ_COMPLETELY_MAX ? await endsOf(context, here, day) : await completeDay(context, here, asked);
  const last = drawn.points.at(-1);
  const points =
    isCurrent && last !== undefined
      ? [...drawn.points.slice(0, -1), { ...last, balance: figures.closing }]
      : drawn.points;
  return {
    ...{ currency: here.account.currency, day, window: here.window, opening: figures.opening },
    ...{ points, drawnFrom: drawn.drawnFrom, breaks: found.breaks, breaksInAll: found.inAll },
  };
}

type Drawn = Pick<BalanceDrawn, 'points' | 'drawnFrom'>;

/** Every entry of the day in the order of the statement; of many, the extremes of the balance. */
async function completeDay(
  { db, settings: { clockToleranceS } }: PagesContext,
  { account, window }: DayOfAccount,
  { figures, isCurrent }: DayToDraw,
): Promise<Drawn> {
  const start: ChainStart = { balance: figures.opening, batchNo: null, bookedMs: window.beginMs - 1_000 };
  const chain = createChain({
    clockToleranceS,
    start: isCurrent && !figures.restarted ? start : null,
    preferred: { opening: figures.opening, closing: figures.closing },
  });
  const points: BalancePoint[] = [];
  const take = (steps: ReturnType<typeof chain.end>): void => {
    for (const { entry } of steps) points.push({ bookedMs: entry.bookedMs, balance: entry.balance });
  };
  for await (const entries of readAccountToChain(db, account, window)) take(chain.push(entries));
  take(chain.end());
  return points.length <= POINTS_MAX
    ? { points, drawnFrom: 'all' }
    : { points: extremesOf(points, window), drawnFrom: 'extremes' };
}

/** The lowest, the highest and the last point of each stretch, in their order: no balance of the day is beyond them. */
function extremesOf(points: readonly BalancePoint[], { beginMs }: Window): BalancePoint[] {
  const stretches = Map.groupBy(points, ({ bookedMs }) => Math.floor((bookedMs - beginMs) / STRETCH_MS));
  return [...stretches.values()].flatMap((own) => {
    const lowest = own.reduce((a, b) => (compareAmounts(b.balance, a.balance) < 0 ? b : a));
    const highest = own.reduce((a, b) => (compareAmounts(b.balance, a.balance) > 0 ? b : a));
    const kept = new Set([lowest, highest, own.at(-1)!]);
    return own.filter((point) => kept.has(point));
  });
}

/** A balance at the end of each stretch of a large day. */
async function endsOf(
  { db, settings: { clockToleranceS } }: PagesContext,
  here: DayOfAccount,
  day: BusinessDay,
): Promise<Drawn> {
  const limit = ENTRIES_A_STRETCH;
  const ends = await stretchEnds(db, here, day, { widthMs: STRETCH_OF_LARGE_MS, limit });
  const points = ends.map((own) => {
    const chain = createChain({ clockToleranceS, start: null });
    const steps = [...chain.push(own.length < limit ? own : fullSeconds(own)), ...chain.end()];
    const { bookedMs, balance } = steps.at(-1)!.entry;
    return { bookedMs, balance };
  });
  return { points, drawnFrom: 'ends' };
}

/** Without the first second, of which some entries may not have been read, unless there is no other. */
function fullSeconds(entries: readonly ChainEntry[]): readonly ChainEntry[] {
  const from = entries.findIndex(({ bookedMs }) => bookedMs !== entries[0]!.bookedMs);
  return from === -1 ? entries : entries.slice(from);
}

const ROWS_SHOWN_MAX = 50;
/** Files of more rows take seconds to read. */
const ROWS_COMPARED_MAX = 100_000;

/** `?revision=2&against=1`; null unless both are asked for. Throws `PageRefusal` for a revision that there is not. */
async function comparisonOf(
  { db, objects }: PagesContext,
  { query }: Asked,
  revisions: readonly StatementRow[],
): Promise<ComparisonShown | null> {
  const [newer, older] = [query('revision'), query('against')];
  if (newer === null || older === null) return null;
  const [before, after] = [older, newer].map((text) =>
    revisions.find(({ revision }) => String(revision) === text),
  );
  if (before === undefined || after === undefined || before.revision >= after.revision)
    throw new PageRefusal(404);
  const rows = before.row_count + after.row_count;
  if (rows > ROWS_COMPARED_MAX) return { before, after, rows: { tooLarge: rows } };
  const tally = tallyRows(ROWS_SHOWN_MAX);
  try {
    for await (const row of rowsBetween(objects, before, after)) tally.take(row);
  } catch (error) {
    if (error instanceof StatementDamaged) return { before, after, rows: { problem: error.message } };
    throw error;
  }
  const shown: CausedRow[] = [];
  for await (const some of causesOf(db, tally.shown, before, after)) shown.push(...some);
  return { before, after, rows: { shown, counts: tally.counts } };
}
