/** One account day's statement as a stream of bytes: read, chained, spelled out, and checked against its figures. Small days are read together and held. */
import type { Kysely } from 'kysely';
import { dayWindow } from '../ledger/business-day.ts';
import { entriesIn, sameStated } from '../ledger/chain/figures.ts';
import type { Account, BusinessDay, LedgerEntry, Figures, StatedFigures } from '../ledger/entry.ts';
import type { DB } from '../store/engine/schema.ts';
import type { DueAccountDay, DueAccounts } from '../store/statements/due-days.ts';
import { entriesOfDays } from '../store/statements/past-of-days.ts';
import { foldDays, type ChainedDay } from '../ledger/chain/account-days.ts';
import { createChain } from '../ledger/chain/chain.ts';
import type { ChainStep } from '../ledger/chain/chain-link.ts';
import { compareAmounts, fromScaled, toScaled } from '../ledger/money.ts';
import {
  type DayFigures,
  daysTogetherWith,
  type DaysTogether,
  daysTogether,
  figuresOf,
} from '../store/account-days.ts';
import { readAccount } from '../store/entries.ts';
import type { StatementRow } from '../store/statements/statements.ts';
import { digestOf } from '../objects/object-store.ts';
import { columnsOfStatement, STATEMENT_COLUMNS, type EntryColumn } from './formats/format.ts';
import { type RowCells } from '../verify/csv.ts';
import { CSV } from './formats/csv.ts';

/** Most entries of the days held at once: a few megabytes with the files made of them. */
const HELD_ENTRIES_MAX = 4_000;

interface HeldDays {
  readonly together: (account: Account, day: BusinessDay) => DaysTogether | undefined;
  readonly entries: (account: Account, day: BusinessDay) => readonly LedgerEntry[] | undefined;
}

export interface Portion {
  readonly days: readonly DueAccounts[];
  /** Null for one day that is too large to be held: its entries are read while its files are written. */
  readonly held: HeldDays | null;
}

interface DaysToHold {
  readonly db: Kysely<DB>;
  readonly zone: string;
  readonly merchantNo: string;
  readonly days: readonly DueAccounts[];
}

/** Hands out the days in order: as many small days together as can be held, a large day alone. */
export async function* portionsOf(of: DaysToHold): AsyncGenerator<Portion> {
  const { db, days } = of;
  let small: DueAccounts[] = [];
  let together = new Map<string, DaysTogether>();
  let entries = 0;
  const portion = async (): Promise<Portion> => {
    const portion = { days: small, held: await hold(of, together) };
    small = [];
    together = new Map<string, DaysTogether>();
    entries = 0;
    return portion;
  };
  for (const day of days) {
    const own = await togetherOf(db, day.accounts);
    const count = [...own.values()].reduce((sum, one) => sum + entriesOf(one), 0);
    if (small.length > 0 && entries + count > HELD_ENTRIES_MAX) yield await portion();
    if (count > HELD_ENTRIES_MAX) {
      yield { days: [day], held: null };
      continue;
    }
    small.push(day);
    for (const [key, one] of own) together.set(key, one);
    entries += count;
  }
  if (small.length > 0) yield await portion();
}

const keyOf = ({ currency }: Pick<Account, 'currency'>, day: BusinessDay): string => `${day} ${currency}`;

async function togetherOf(
  db: Kysely<DB>,
  accounts: readonly DueAccountDay[],
): Promise<Map<string, DaysTogether>> {
  const found = new Map<string, DaysTogether>();
  for (const due of accounts)
    found.set(keyOf(due.account, due.day), await daysTogetherWith(db, due.account, due));
  return found;
}

const entriesOf = ({ days }: DaysTogether): number => days.reduce((sum, day) => sum + entriesIn(day), 0);

async function hold(
  { db, zone, merchantNo }: DaysToHold,
  together: ReadonlyMap<string, DaysTogether>,
): Promise<HeldDays> {
  const all = [...together.values()].flatMap(({ days }) => days);
  const wanted = new Map(all.map(({ currency, day }) => [keyOf({ currency }, day), { currency, day }]));
  const windows = [...wanted.values()].map((one) => ({ ...one, window: dayWindow(one.day, zone) }));
  const read = await entriesOfDays(db, merchantNo, windows);
  const entries = new Map([...wanted.keys()].map((key, nth) => [key, read[nth]!]));
  return {
    together: (account, day) => together.get(keyOf(account, day)),
    entries: (account, day) => entries.get(keyOf(account, day)),
  };
}

/** By the columns that it has: later ones are no change. Rows are read only if the figures are equal. Throws `StatementMisfit`. */
export async function isAsPublished(
  current: StatementRow,
  figures: StatedFigures,
  options: DayContentOptions,
): Promise<boolean> {
  if (!sameStated(figuresOf(current), figures)) return false;
  const content = contentAsPublished(current, options);
  return content !== null && (await digestOf(content)).sha256 === current.sha256;
}

/** The rows as they are now, in the columns of a published statement; null if one is not known here. Reading throws `StatementMisfit`. */
export function contentAsPublished(
  { merchant_no, currency, day, columns }: StatementRow,
  options: DayContentOptions,
): AsyncIterable<Uint8Array> | null {
  const own = columnsOfStatement(columns, options.columns ?? STATEMENT_COLUMNS);
  return own === null
    ? null
    : dayContent({ merchantNo: merchant_no, currency }, day, { ...options, columns: own });
}

export interface DayContentOptions {
  readonly db: Kysely<DB>;
  readonly zone: string;
  readonly clockToleranceS: number;
  readonly signal: AbortSignal;
  /** The columns of a statement; if left out, STATEMENT_COLUMNS. */
  readonly columns?: readonly EntryColumn[];
  /** Days that need not be read any more. */
  readonly held?: HeldDays | null;
  /** Called with each complete reading of the rows. */
  readonly onRows?: (overMidnight: OverMidnight) => void;
}

/** Where a day's rows do not lead from its opening to its closing, as entries of a neighbouring day lie among them. */
export interface OverMidnight {
  readonly places: number;
  /** The balance after the last row; null where that is the closing. */
  readonly lastBalance: string | null;
}

/** The stored entries do not give the day's figures, or the day has none. */
export class StatementMisfit extends Error {
  override readonly name = 'StatementMisfit';
}

/** This database has not read the day: its statement was adopted. */
export class NoFigures extends StatementMisfit {}

/**
 * The CSV of an account day in chain order. Entries are chained over just the days whose entries trade places with
 * this one's, so that the bytes depend on nothing else. Throws `StatementMisfit`, at the end at the latest, where the
 * rows do not lead from the day's opening to its closing with its breaks, counts and sums: an upload fed from it then
 * fails as well.
 */
export async function* dayContent(
  account: Account,
  day: BusinessDay,
  options: DayContentOptions,
): AsyncGenerator<Uint8Array> {
  const { columns = STATEMENT_COLUMNS } = options;
  const together = options.held?.together(account, day) ?? (await daysTogether(options.db, account, day));
  if (together === null) throw new NoFigures(`${nameOf(account, day)} has no figures to publish`);
  const rows = rowsOf(account, day, together, { ...options, columns });
  yield* CSV.write({ columns, rows });
}

async function* rowsOf(
  account: Account,
  day: BusinessDay,
  together: DaysTogether,
  options: DayContentOptions & { readonly columns: readonly EntryColumn[] },
): AsyncGenerator<readonly RowCells[]> {
  const { db, zone, clockToleranceS, signal, columns, held } = options;
  const start = startOf(together);
  const [first, last] = [together.days[0]!, together.days.at(-1)!];
  const preferred = { opening: start === null ? first.opening : null, closing: last.closing };
  const chain = createChain<LedgerEntry>({ clockToleranceS, start, preferred });
  const check = checkSteps(account, day, start?.balance ?? null);
  const led = createLed(ownOf(day, together));
  const rowsIn = (steps: readonly ChainStep<LedgerEntry>[]): RowCells[] => {
    check.take(steps);
    const own = steps.filter((step) => step.day === day);
    led.take(own);
    return own.map(({ entry }) => columns.map(({ cell }) => cell(entry)));
  };
  for (const chained of together.days) {
    const own = held?.entries(account, chained.day);
    const batches = own === undefined ? readAccount(db, account, dayWindow(chained.day, zone)) : [own];
    for await (const entries of batches) {
      signal.throwIfAborted();
      const rows = rowsIn(chain.push(entries, chained.day));
      if (rows.length > 0) yield rows;
    }
  }
  const rest = rowsIn(chain.end());
  check.end(together);
  options.onRows?.(led.end());
  if (rest.length > 0) yield rest;
}

/** Follows the balance from the opening over the rows to the closing. */
function createLed({ opening, closing }: DayFigures) {
  let places = 0;
  let reached: string | null = null;
  const take = (steps: readonly ChainStep[]): void => {
    for (const { entry, before, scale, break: found } of steps) {
      const from = reached ?? opening;
      if (found === null && compareAmounts(fromScaled(before, scale), from) !== 0) places += 1;
      reached = entry.balance;
    }
  };
  const end = (): OverMidnight => {
    const isClosed = reached === null || compareAmounts(reached, closing) === 0;
    return { places: places + Number(!isClosed), lastBalance: isClosed ? null : reached };
  };
  return { take, end };
}

const ownOf = (day: BusinessDay, { days }: DaysTogether): DayFigures => days.find((one) => one.day === day)!;

function startOf({ days: [first], before }: DaysTogether) {
  if (first!.restarted || before === undefined || before.lastBookedMs === null) return null;
  return { balance: before.closing, batchNo: before.lastBatchNo, bookedMs: before.lastBookedMs };
}

function checkSteps(account: Account, day: BusinessDay, opening: string | null) {
  const fold = foldDays({ opening, minorUnits: null });
  let written: ChainedDay | undefined;
  let last: ChainStep | null = null;
  const keep = (days: readonly ChainedDay[]): void => {
    written = days.find((one) => one.day === day) ?? written;
  };
  const take = (steps: readonly ChainStep[]): void => {
    for (const step of steps) {
      if (last !== null && step.break === null && !leadsOn(last, step)) {
        throw new StatementMisfit(
          `${nameOf(account, day)}: ${step.entry.batchNo} does not start from the balance ${last.entry.balance} of ` +
            `${last.entry.batchNo} before it, and no break says so`,
        );
      }
      last = step;
    }
    keep(fold.push(steps));
  };
  const end = (together: DaysTogether): void => {
    const { days, before } = together;
    keep(fold.end());
    const figures = ownOf(day, together);
    const found = written ?? quietDay(figures, before, days);
    const differences = differencesOf(found, figures);
    if (differences.length === 0) return;
    throw new StatementMisfit(`${nameOf(account, day)}: ${differences.join('; ')}`);
  };
  return { take, end };
}

/** Scales may differ, as later amounts may have more decimals. */
function leadsOn(last: ChainStep, { before, scale }: ChainStep): boolean {
  return last.scale === scale
    ? last.after === before
    : toScaled(fromScaled(last.after, last.scale), scale) === before;
}

/** A day without rows: it passes on the balance of the day before, where it takes up from one. */
function quietDay(
  { day, opening, restarted }: DayFigures,
  before: DayFigures | undefined,
  days: readonly DayFigures[],
): Figures {
  const earlier = days.findLast((one) => one.day < day) ?? before;
  const balance = restarted || earlier === undefined ? opening : earlier.closing;
  return {
    ...{
      opening: balance,
      creditTotal: '0',
      creditCount: 0,
      debitTotal: '0',
      debitCount: 0,
      closing: balance,
    },
    ...{ verdict: 'continuous', breakCount: 0, breaksAfter: 0 },
  };
}

/**
 * Where the rows differ from the day's figures, a clause each. A break between an entry of this day and one of another
 * day shows only if the two days are chained together; all other such breaks are taken from the figures.
 */
function differencesOf(found: Figures, figures: DayFigures): string[] {
  const unseen = Math.max(0, figures.breaksAfter - found.breaksAfter);
  const amount = (what: string, own: string, said: string) =>
    compareAmounts(own, said) === 0 ? [] : [`the ${what} is ${own} by its rows and ${said} by its figures`];
  const count = (what: string, own: number | string, said: number | string) =>
    own === said ? [] : [`${what}: ${own} by its rows and ${said} by its figures`];
  return [
    ...amount('opening', found.opening, figures.opening),
    ...amount('sum of credits', found.creditTotal, figures.creditTotal),
    ...count('credits', found.creditCount, figures.creditCount),
    ...amount('sum of debits', found.debitTotal, figures.debitTotal),
    ...count('debits', found.debitCount, figures.debitCount),
    ...amount('closing', found.closing, figures.closing),
    ...count('breaks', found.breakCount + unseen, figures.breakCount),
    ...count('verdict', unseen > 0 ? 'broken' : found.verdict, figures.verdict),
  ];
}

const nameOf = ({ merchantNo, currency }: Account, day: BusinessDay): string =>
  `account day ${merchantNo} ${currency} ${day}`;
