/** Checks a statement's rows against what its manifest says of them: header, sums, chain. Pure and streaming. */
import { addAmounts, compareAmounts, subtractAmounts } from '../ledger/money.ts';
import { STATEMENT_COLUMNS } from './csv.ts';
import type { ManifestStatement } from './manifest.ts';

/** Problems told of one file; the rest are counted. */
const PROBLEMS_TOLD_MAX = 20;
const AMOUNT = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
const BOOKED_AT = /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/;
/** So near midnight an entry may have traded places with one of the neighbouring day, which this file does not hold. */
const MIDNIGHT_S = 60;

export interface RowCheck {
  /** Takes the file's rows in order, its header first. */
  readonly take: (cells: readonly string[]) => void;
  /** What does not hold, a sentence each. */
  readonly end: () => string[];
}

export function checkRows(statement: ManifestStatement, day: string): RowCheck {
  const problems: string[] = [];
  let untold = 0;
  const say = (problem: string): void => {
    if (problems.length < PROBLEMS_TOLD_MAX) problems.push(problem);
    else untold += 1;
  };
  let line = 0;
  let credit = '0';
  let creditCount = 0;
  let debit = '0';
  let debitCount = 0;
  let reached = statement.opening;
  let gaps = 0;
  let jumped = '0';
  let besideMidnight = false;

  const takeRow = (cells: readonly string[]): void => {
    const [batchNo, bookedAt, currency, , creditText, debitText, balance] = cells as [
      string,
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
    const near = nearMidnight(bookedAt);
    const excused = statement.verdict === 'reordered' && (near || besideMidnight);
    if (compareAmounts(before, reached) !== 0 && !excused) takeGap(batchNo, before);
    besideMidnight = near;
    reached = balance;
  };

  const takeGap = (batchNo: string, before: string): void => {
    gaps += 1;
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
        if (header !== STATEMENT_COLUMNS.join(',')) say(`the header is '${header}'`);
      } else if (cells.length === STATEMENT_COLUMNS.length) takeRow(cells);
      else say(`line ${line} has ${cells.length} cells instead of ${STATEMENT_COLUMNS.length}`);
    },
    end: () => {
      if (line === 0) say('the file is empty');
      compare('the sum of credits', credit, statement.creditTotal);
      compare('the sum of debits', debit, statement.debitTotal);
      if (creditCount !== statement.creditCount || debitCount !== statement.debitCount) {
        say(
          `there are ${creditCount} credits and ${debitCount} debits, ` +
            `the manifest says ${statement.creditCount} and ${statement.debitCount}`,
        );
      }
      const closing = addAmounts(subtractAmounts(addAmounts(statement.opening, credit), debit), jumped);
      compare('opening + credits - debits' + (gaps > 0 ? ' with its jumps' : ''), closing, statement.closing);
      if (statement.breaks > 0 && gaps === 0) {
        say(`the balances chain, but the manifest says ${statement.breaks} breaks`);
      }
      return untold === 0 ? problems : [...problems, `and ${untold} more`];
    },
  };
}

function nearMidnight(bookedAt: string): boolean {
  const [hours = 0, minutes = 0, seconds = 0] = bookedAt.slice(11).split(':').map(Number);
  const second = hours * 3_600 + minutes * 60 + seconds;
  return second < MIDNIGHT_S || second >= 86_400 - MIDNIGHT_S;
}
