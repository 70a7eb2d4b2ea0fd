/** The file of a closed month: the frozen list of statements, who closed it, when and why. No package, as `verify.mjs` reads it. */
import type { Figures } from '../ledger/entry.ts';
import { addAmounts, subtractAmounts } from '../ledger/money.ts';
import type { Adjustment, FrozenStatement, MonthClose } from '../store/month-close.ts';

type DayFigures = Omit<Figures, 'breakCount' | 'breaksAfter'>;

type Sums = Pick<Figures, 'creditTotal' | 'creditCount' | 'debitTotal' | 'debitCount'>;

export interface MonthFigures extends Sums {
  readonly opening: string | null;
  readonly closing: string | null;
  readonly daysBroken: number;
}

export function sumOfDays(days: readonly DayFigures[]): MonthFigures {
  const sum = (amountOf: (day: DayFigures) => string): string =>
    days.reduce((total, day) => addAmounts(total, amountOf(day)), '0');
  const count = (countOf: (day: DayFigures) => number): number =>
    days.reduce((total, day) => total + countOf(day), 0);
  return {
    opening: days[0]?.opening ?? null,
    creditTotal: sum((day) => day.creditTotal),
    creditCount: count((day) => day.creditCount),
    debitTotal: sum((day) => day.debitTotal),
    debitCount: count((day) => day.debitCount),
    closing: days.at(-1)?.closing ?? null,
    daysBroken: days.filter(({ verdict }) => verdict === 'broken').length,
  };
}

/** What opening + credits - debits lacks of the closing; null where nothing was published. */
export function missingNetOf({ opening, creditTotal, debitTotal, closing }: MonthFigures): string | null {
  if (opening === null || closing === null) return null;
  return subtractAmounts(closing, subtractAmounts(addAmounts(opening, creditTotal), debitTotal));
}

export interface ClosedFigures extends DayFigures {
  readonly breaks: number;
  readonly explained: readonly number[];
}

interface ClosedAccount extends MonthFigures {
  readonly currency: string;
  /** What opening + credits - debits lacks of the closing. */
  readonly missingNet: string | null;
  readonly days: number;
  readonly breaks: number;
  readonly explained: number;
}

export function closedAccount(currency: string, statements: readonly ClosedFigures[]): ClosedAccount {
  const { daysBroken, ...sums } = sumOfDays(statements);
  const count = (countOf: (one: ClosedFigures) => number): number =>
    statements.reduce((total, one) => total + countOf(one), 0);
  return {
    currency,
    ...sums,
    missingNet: missingNetOf({ ...sums, daysBroken }),
    days: statements.length,
    daysBroken,
    breaks: count((one) => one.breaks),
    explained: count((one) => one.explained.length),
  };
}

export const CLOSE_FORMAT = 'daybook-close/1';

export interface ClosedStatement extends FrozenStatement, ClosedFigures {
  readonly file: string;
}

/** `frozenRevision` is the one that the close before froze. */
type ClosedAdjustment = Pick<Adjustment, 'currency' | 'day' | 'frozenRevision' | 'revision' | 'reason'>;

/** A day that was open when its month was closed, and why. */
export interface ClosedOpenDay {
  readonly currency: string;
  readonly day: string;
  readonly cause:
    'not-over' | 'uncertified' | 'not-reconciled' | 'not-published' | 'broken' | 'unexplained' | 'unreadable';
}

export interface CloseFile extends Pick<
  MonthClose,
  'merchantNo' | 'month' | 'number' | 'by' | 'note' | 'despite'
> {
  readonly format: typeof CLOSE_FORMAT;
  readonly closedAt: string;
  /** The close before this one; null for the first. */
  readonly previous: { readonly number: number; readonly sha256: string } | null;
  readonly accounts: readonly ClosedAccount[];
  readonly statements: readonly ClosedStatement[];
  readonly adjustments: readonly ClosedAdjustment[];
  /** Days that were open, where it was closed despite them. */
  readonly openDays: readonly ClosedOpenDay[];
}

/** The text of the file. The order of its keys is the one in which a person reads it. */
export const closeText = (close: CloseFile): string => `${JSON.stringify(close, null, 2)}\n`;

type Checks = (value: unknown) => boolean;

const SHA256 = /^[0-9a-f]{64}$/;
const AMOUNT = /^-?\d+(\.\d+)?$/;
const DAY = /^\d{4}-\d\d-\d\d$/;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText: Checks = (value) => typeof value === 'string';
const isCount: Checks = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isPlace: Checks = (value) => isCount(value) && value !== 0;
const matches =
  (pattern: RegExp): Checks =>
  (value) =>
    typeof value === 'string' && pattern.test(value);
const orNull =
  (isValid: Checks): Checks =>
  (value) =>
    value === null || isValid(value);
const listOf =
  (isValid: Checks): Checks =>
  (value) =>
    Array.isArray(value) && value.every(isValid);
const recordOf =
  (fields: Readonly<Record<string, Checks>>): Checks =>
  (value) =>
    isRecord(value) && Object.entries(fields).every(([name, isValid]) => isValid(value[name]));

const [isDigest, isAmount, isDay] = [matches(SHA256), matches(AMOUNT), matches(DAY)];
const COUNTS = { creditCount: isCount, debitCount: isCount, breaks: isCount };
const SUMS = { creditTotal: isAmount, debitTotal: isAmount };

const isCloseFile = recordOf({
  format: (value) => value === CLOSE_FORMAT,
  merchantNo: isText,
  month: matches(/^\d{4}-(0[1-9]|1[0-2])$/),
  number: isPlace,
  closedAt: (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value)),
  by: isText,
  note: orNull(isText),
  despite: orNull(isText),
  previous: orNull(recordOf({ number: isPlace, sha256: isDigest })),
  accounts: listOf(
    recordOf({
      ...{ currency: isText, ...SUMS, ...COUNTS, days: isCount, daysBroken: isCount, explained: isCount },
      ...{ opening: orNull(isAmount), closing: orNull(isAmount), missingNet: orNull(isAmount) },
    }),
  ),
  statements: listOf(
    recordOf({
      ...{ currency: isText, day: isDay, revision: isPlace, file: isText, sha256: isDigest },
      ...{ opening: isAmount, ...SUMS, ...COUNTS, closing: isAmount, explained: listOf(isPlace) },
      verdict: matches(/^(continuous|reordered|broken)$/),
    }),
  ),
  adjustments: listOf(
    recordOf({
      ...{ currency: isText, day: isDay, frozenRevision: orNull(isPlace), revision: isPlace },
      reason: orNull(isText),
    }),
  ),
  openDays: listOf(recordOf({ currency: isText, day: isDay, cause: isText })),
});

export function parseClose(text: string): CloseFile | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  return isCloseFile(value) ? (value as CloseFile) : null;
}
