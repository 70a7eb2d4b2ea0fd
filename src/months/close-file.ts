/** The file of a closed month: the frozen list of statements, who closed it, when and why. No package, as `verify.mjs` reads it. */
import type { Adjustment, Action, MonthClose } from './closes.ts';
import { missingNetOf, sumOfDays, type DayFigures, type MonthFigures } from './month-figures.ts';
import type { OpenDay } from './open-days.ts';
import type { FrozenStatement } from './stored.ts';

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
    missingNet: missingNetOf(sums),
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

interface ActionInFile {
  readonly by: string;
  readonly at: string;
  readonly note: string | null;
}

/** A action as the file has it. */
export const actionInFile = ({ by, at, note }: Action): ActionInFile => ({ by, at: at.toISOString(), note });

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
  /** Who prepared it, where `by` approved it as another person. */
  readonly prepared?: ActionInFile;
  /** Who reopened the month after the close before, and why. */
  readonly reopened?: ActionInFile;
  /** Days that were open, where it was closed despite them. */
  readonly openDays: readonly Pick<OpenDay, 'currency' | 'day' | 'cause'>[];
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
const isInstant: Checks = (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value));
const orLeftOut =
  (isValid: Checks): Checks =>
  (value) =>
    value === undefined || isValid(value);
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

const ACTION = { by: isText, at: isInstant, note: orNull(isText) };

const isCloseFile = recordOf({
  format: (value) => value === CLOSE_FORMAT,
  merchantNo: isText,
  month: matches(/^\d{4}-(0[1-9]|1[0-2])$/),
  number: isPlace,
  closedAt: isInstant,
  by: isText,
  note: orNull(isText),
  despite: orNull(isText),
  prepared: orLeftOut(recordOf(ACTION)),
  reopened: orLeftOut(recordOf(ACTION)),
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
