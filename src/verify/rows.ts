/** What the rows of a published statement contradict of what is said of them. */
import { addAmounts, subtractAmounts, compareAmounts } from '../ledger/money.ts';
import type { Figures } from '../ledger/entry.ts';
import { type StatementReader, columnsOf } from './formats.ts';
import { counted } from '../ledger/text.ts';
import { dayOf, dayWindow, instantsOf, isTimeZone } from '../ledger/business-day.ts';
import type { ManifestStatement } from './manifest.ts';

export interface RowAmounts {
  readonly credit: string;
  readonly debit: string;
  readonly balance: string;
}

type Sums = Pick<Figures, 'creditTotal' | 'creditCount' | 'debitTotal' | 'debitCount'>;

/** `take` returns the balance that the row starts from. */
export function createSums(): { readonly take: (row: RowAmounts) => string; readonly end: () => Sums } {
  let [creditTotal, creditCount, debitTotal, debitCount] = ['0', 0, '0', 0];
  return {
    take: ({ credit, debit, balance }) => {
      if (credit === '') {
        debitTotal = addAmounts(debitTotal, debit);
        debitCount += 1;
        return addAmounts(balance, debit);
      }
      creditTotal = addAmounts(creditTotal, credit);
      creditCount += 1;
      return subtractAmounts(balance, credit);
    },
    end: () => ({ creditTotal, creditCount, debitTotal, debitCount }),
  };
}

/** The columns that are checked in each row, in whatever order the file has them. */
const COLUMNS_CHECKED = ['batch_no', 'booked_at', 'currency', 'credit', 'debit', 'balance'] as const;
/** Most problems that are reported of one file; the rest are counted. */
const PROBLEMS_SHOWN_MAX = 20;
const AMOUNT = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
const BOOKED_AT = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/;
/** So near midnight an entry may have traded places with one of the neighbouring day, which this file does not hold. */
const MIDNIGHT_MS = 60_000;

type StatedRows = Sums &
  Pick<
    ManifestStatement,
    'currency' | 'opening' | 'closing' | 'verdict' | 'breaks' | 'breaksAfter' | 'columns'
  > & {
    /** `unknown`: a close does not say what its statements say of midnight. */
    readonly overMidnight?: ManifestStatement['overMidnight'] | 'unknown';
  };

export interface RowCheck {
  readonly take: (cells: readonly string[]) => void;
  readonly end: () => string[];
}

/** Checks the rows of a statement of `day`, whose times are of `zone`. `seen` names another day that has the number too. */
export function checkRows(
  statement: StatedRows,
  day: string,
  zone: string,
  { hasHeader }: Pick<StatementReader, 'hasHeader'>,
  seen: (batchNo: string) => string | null = () => null,
): RowCheck {
  const { say, reported, all } = createProblems();
  const columns = columnsOf(statement.columns);
  const lacking = COLUMNS_CHECKED.filter((name) => !columns.includes(name));
  const places = COLUMNS_CHECKED.map((name) => columns.indexOf(name));
  const balances = checkBalances(statement, midnightOf(day, zone), say);
  let line = 0;

  const takeRow = (cells: readonly string[]): void => {
    const [batchNo, bookedAt, currency, credit, debit, balance] = places.map((at) => cells[at]!) as Row;
    const amounts = { credit, debit, balance };
    const other = seen(batchNo);
    if (other !== null) say(`line ${line}: ${batchNo} is in the current statement of ${other} too`);
    if (currency !== statement.currency) say(`line ${line}: ${batchNo} is in ${currency || 'no currency'}`);
    if (!BOOKED_AT.test(bookedAt) || (bookedAt.slice(0, 10) !== day && !isOn(bookedAt, day, zone)))
      say(`line ${line}: ${batchNo} is booked at '${bookedAt}', not on ${day}`);
    if (isPlain(amounts)) balances.take({ batchNo, bookedAt, ...amounts }, line);
    else say(`line ${line}: ${batchNo} needs one plain amount and a balance`);
  };

  return {
    take: (cells) => {
      line += 1;
      if (line === 1 && hasHeader) {
        const header = cells.join(',');
        if (header !== columns.join(',')) say(`the header is '${header}', not '${columns.join(',')}'`);
      } else if (cells.length !== columns.length) {
        say(`line ${line} has ${cells.length} cells instead of ${columns.length}`);
      } else if (lacking.length === 0) takeRow(cells);
    },
    end: () => {
      if (line === 0 && hasHeader) say('the file is empty');
      if (lacking.length > 0)
        return [...reported, `its rows cannot be checked: they have no column ${lacking.join(', ')}`];
      balances.end();
      return all();
    },
  };
}

/** Where the clock is set back over midnight, a day has times with the date of the day after it. */
const isOn = (bookedAt: string, day: string, zone: string): boolean =>
  instantsOf(bookedAt, zone).some((ms) => dayOf(ms, zone) === day);

type Say = (problem: string) => void;

function createProblems() {
  const reported: string[] = [];
  let unreported = 0;
  const say: Say = (problem) => {
    if (reported.length < PROBLEMS_SHOWN_MAX) reported.push(problem);
    else unreported += 1;
  };
  const all = (): string[] => (unreported === 0 ? reported : [...reported, `and ${unreported} more`]);
  return { say, reported, all };
}

/** The cells of a row in the order of `COLUMNS_CHECKED`. */
type Row = [string, string, string, string, string, string];

interface CheckedRow extends RowAmounts {
  readonly batchNo: string;
  readonly bookedAt: string;
}

const isPlain = ({ credit, debit, balance }: RowAmounts): boolean =>
  (credit === '') !== (debit === '') && AMOUNT.test(credit || debit) && AMOUNT.test(balance);

/** Follows the balance from row to row, and compares it and the sums with what the manifest says. */
function checkBalances(
  statement: StatedRows,
  isNearMidnight: (bookedAt: string) => boolean,
  say: Say,
): { readonly take: (row: CheckedRow, line: number) => void; readonly end: () => void } {
  const sums = createSums();
  let reached = statement.opening;
  /** Jumps that can only be breaks, and their sum. */
  let jumps = 0;
  let jumped = '0';
  let openPlaces = 0;
  let nearMidnight = false;
  /** Where a row does not start from the balance before it, breaks included. */
  let places = 0;

  const takeJump = (batchNo: string, before: string, line: number): void => {
    jumps += 1;
    jumped = addAmounts(jumped, subtractAmounts(before, reached));
    if (statement.breaks > 0) return;
    say(`line ${line}: ${batchNo} starts from ${before}, but the balance before it is ${reached}`);
  };

  return {
    take: (row, line) => {
      const before = sums.take(row);
      const near = isNearMidnight(row.bookedAt);
      const jumps = compareAmounts(before, reached) !== 0;
      if (jumps) places += 1;
      const mayCross = near || nearMidnight;
      if (statement.verdict !== 'continuous' && mayCross) openPlaces += 1;
      else if (jumps) takeJump(row.batchNo, before, line);
      nearMidnight = near;
      reached = row.balance;
    },
    end: () => {
      const found = sums.end();
      compareSums(found, statement, say);
      const { breaks, overMidnight } = statement;
      if (breaks === 0 && jumps === 0 && overMidnight !== 'unknown')
        comparePlaces(places, reached, { ...statement, overMidnight }, say);
      compareBreaks({ jumps, jumped, openPlaces }, found, statement, say);
    },
  };
}

/** Without breaks, the rows lead from the opening to the closing but for what the manifest says of midnight. */
function comparePlaces(
  before: number,
  last: string,
  {
    closing,
    overMidnight,
  }: Pick<ManifestStatement, 'closing'> & { readonly overMidnight: ManifestStatement['overMidnight'] },
  say: Say,
): void {
  const isClosed = compareAmounts(last, closing) === 0;
  const places = before + Number(!isClosed);
  const said = overMidnight?.places ?? 0;
  if (places !== said)
    say(
      `its rows do not lead on from the opening to the closing at ${counted(places, 'place')}, the manifest says ` +
        `${counted(said, 'place')} (overMidnight)`,
    );
  const saidLast = overMidnight?.lastBalance ?? closing;
  if (compareAmounts(last, saidLast) !== 0) compare('the balance after the last row', last, saidLast, say);
}

function compare(what: string, found: string, said: string, say: Say): void {
  if (compareAmounts(found, said) !== 0) say(`${what} is ${found}, the manifest says ${said}`);
}

function compareSums(sums: Sums, statement: StatedRows, say: Say): void {
  compare('the sum of credits', sums.creditTotal, statement.creditTotal, say);
  compare('the sum of debits', sums.debitTotal, statement.debitTotal, say);
  if (sums.creditCount !== statement.creditCount || sums.debitCount !== statement.debitCount) {
    say(
      `there are ${sums.creditCount} credits and ${sums.debitCount} debits, ` +
        `the manifest says ${statement.creditCount} and ${statement.debitCount}`,
    );
  }
}

/**
 * Compares the number of breaks, and the closing. Near midnight an entry of the neighbouring day may belong between two
 * rows, so the size of a jump there is unknown. The closing is therefore only compared if no break is left for such a
 * place.
 */
function compareBreaks(
  {
    jumps,
    jumped,
    openPlaces,
  }: { readonly jumps: number; readonly jumped: string; readonly openPlaces: number },
  { creditTotal, debitTotal }: Sums,
  statement: StatedRows,
  say: Say,
): void {
  const breaks = statement.breaks - (statement.breaksAfter ?? 0);
  if (statement.breaks > 0 && (jumps > breaks || jumps + openPlaces < breaks)) {
    say(
      `the balance jumps at ${counted(jumps, 'place')}${openPlaces > 0 ? ' away from midnight' : ''}, ` +
        `the manifest says ${counted(breaks, 'break')}${breaks === statement.breaks ? '' : ' before them'}`,
    );
  } else if (breaks <= jumps) {
    const rows = subtractAmounts(creditTotal, debitTotal);
    const closing = addAmounts(addAmounts(statement.opening, rows), jumped);
    const what = `opening + credits - debits${jumps > 0 ? ' with its jumps' : ''}`;
    compare(what, closing, statement.closing, say);
  }
}

/** Compared as instants: some zones skip midnight itself. */
function midnightOf(day: string, zone: string): (bookedAt: string) => boolean {
  if (!isTimeZone(zone)) return () => false;
  const { beginMs, endMs } = dayWindow(day, zone);
  return (bookedAt) =>
    instantsOf(bookedAt, zone).some((ms) => ms < beginMs + MIDNIGHT_MS || ms > endMs - MIDNIGHT_MS);
}
