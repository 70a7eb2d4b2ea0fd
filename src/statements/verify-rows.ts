/** Checks a statement's rows against what its manifest says of them: header, sums, chain. Pure and streaming. */
import { counted } from '../ledger/text.ts';
import { dayWindow, instantsOf, isTimeZone } from '../ledger/business-day.ts';
import { addAmounts, compareAmounts, subtractAmounts } from '../ledger/money.ts';
import type { ManifestStatement } from './manifest.ts';

/** Of files whose manifest does not name them. */
export const FIRST_COLUMNS = [
  ...['batch_no', 'booked_at', 'currency', 'transaction_type'],
  ...['credit', 'debit', 'balance'],
];
/** What is looked at in each row, wherever it stands. */
const COLUMNS_CHECKED = ['batch_no', 'booked_at', 'currency', 'credit', 'debit', 'balance'] as const;
/** Problems told of one file; the rest are counted. */
const PROBLEMS_TOLD_MAX = 20;
const AMOUNT = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
const BOOKED_AT = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/;
/** So near midnight an entry may have traded places with one of the neighbouring day, which this file does not hold. */
const MIDNIGHT_MS = 60_000;

export interface RowCheck {
  /** Takes the file's rows in order, its header first. */
  readonly take: (cells: readonly string[]) => void;
  /** What does not hold, a sentence each. */
  readonly end: () => string[];
}

/** Checks the rows of a statement of `day`, whose times are of `zone`. */
export function checkRows(statement: ManifestStatement, day: string, zone: string): RowCheck {
  const problems: string[] = [];
  let untold = 0;
  const say = (problem: string): void => {
    if (problems.length < PROBLEMS_TOLD_MAX) problems.push(problem);
    else untold += 1;
  };
  const columns: readonly string[] = statement.columns ?? FIRST_COLUMNS;
  const places = COLUMNS_CHECKED.map((name) => columns.indexOf(name));
  const isReadable = !places.includes(-1);
  let line = 0;
  let credit = '0';
  let creditCount = 0;
  let debit = '0';
  let debitCount = 0;
  let reached = statement.opening;
  const isNearMidnight = midnightOf(day, zone);
  /** Jumps that can only be breaks, and their sum. */
  let jumps = 0;
  let jumped = '0';
  /** Places so near midnight that an entry of the neighbouring day may stand between the rows. */
  let openPlaces = 0;
  let besideMidnight = false;

  const takeRow = (cells: readonly string[]): void => {
    const [batchNo, bookedAt, currency, creditText, debitText, balance] = places.map((at) => cells[at]!) as [
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    if (currency !== statement.currency) say(`line ${line}: ${batchNo} is in ${currency || 'no currency'}`);
    if (!BOOKED_AT.test(bookedAt) || bookedAt.slice(0, 10) !== day) {
      say(`line ${line}: ${batchNo} is booked at '${bookedAt}', not on ${day}`);
    }
    const amount = creditText === '' ? debitText : creditText;
    if ((creditText === '') === (debitText === '') || !AMOUNT.test(amount) || !AMOUNT.test(balance)) {
      say(`line ${line}: ${batchNo} needs one plain amount and a balance`);
      return;
    }
    if (creditText === '') {
      debit = addAmounts(debit, amount);
      debitCount += 1;
    } else {
      credit = addAmounts(credit, amount);
      creditCount += 1;
    }
    const before = creditText === '' ? addAmounts(balance, amount) : subtractAmounts(balance, amount);
    const near = isNearMidnight(bookedAt);
    if (statement.verdict !== 'continuous' && (near || besideMidnight)) openPlaces += 1;
    else if (compareAmounts(before, reached) !== 0) takeJump(batchNo, before);
    besideMidnight = near;
    reached = balance;
  };

  const takeJump = (batchNo: string, before: string): void => {
    jumps += 1;
    jumped = addAmounts(jumped, subtractAmounts(before, reached));
    if (statement.breaks > 0) return;
    say(`line ${line}: ${batchNo} starts from ${before}, but the balance before it is ${reached}`);
  };

  const compare = (what: string, found: string, said: string): void => {
    if (compareAmounts(found, said) !== 0) say(`${what} is ${found}, the manifest says ${said}`);
  };

  return {
    take: (cells) => {
      line += 1;
      if (line === 1) {
        const header = cells.join(',');
        if (header !== columns.join(',')) say(`the header is '${header}', not '${columns.join(',')}'`);
      } else if (cells.length !== columns.length) {
        say(`line ${line} has ${cells.length} cells instead of ${columns.length}`);
      } else if (isReadable) takeRow(cells);
    },
    end: () => {
      if (line === 0) say('the file is empty');
      if (!isReadable) {
        const lacking = COLUMNS_CHECKED.filter((name) => !columns.includes(name));
        return [...problems, `its rows cannot be checked: they have no column ${lacking.join(', ')}`];
      }
      compare('the sum of credits', credit, statement.creditTotal);
      compare('the sum of debits', debit, statement.debitTotal);
      if (creditCount !== statement.creditCount || debitCount !== statement.debitCount) {
        say(
          `there are ${creditCount} credits and ${debitCount} debits, ` +
            `the manifest says ${statement.creditCount} and ${statement.debitCount}`,
        );
      }
      const breaks = statement.breaks - (statement.breaksAfter ?? 0);
      if (statement.breaks > 0 && (jumps > breaks || jumps + openPlaces < breaks)) {
        say(
          `the rows jump at ${counted(jumps, 'place')}${openPlaces > 0 ? ' away from midnight' : ''}, ` +
            `the manifest says ${counted(breaks, 'break')}${breaks === statement.breaks ? '' : ' before them'}`,
        );
      } else if (breaks <= jumps) {
        const closing = addAmounts(subtractAmounts(addAmounts(statement.opening, credit), debit), jumped);
        compare(
          `opening + credits - debits${jumps > 0 ? ' with its jumps' : ''}`,
          closing,
          statement.closing,
        );
      }
      // Where a break lies beside midnight, an entry of the neighbouring day may hide how much of a jump is its own.
      return untold === 0 ? problems : [...problems, `and ${untold} more`];
    },
  };
}

/** Tells times near the day's begin or end, wherever the clock puts them: some zones skip midnight itself. */
function midnightOf(day: string, zone: string): (bookedAt: string) => boolean {
  if (!isTimeZone(zone)) return () => false;
  const { beginMs, endMs } = dayWindow(day, zone);
  return (bookedAt) =>
    instantsOf(bookedAt, zone).some((ms) => ms < beginMs + MIDNIGHT_MS || ms > endMs - MIDNIGHT_MS);
}
