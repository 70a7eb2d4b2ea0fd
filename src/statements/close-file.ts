/** The file of a closed month: the frozen list of statements, who closed it, when and why. No package, as `verify.mjs` reads it. */
import type { FrozenStatement, MonthClose } from '../store/month-close.ts';
import type { ClosedAccount, ClosedFigures } from './closed-account.ts';
import type { OpenDay } from './open-days.ts';

export const CLOSE_FORMAT = 'daybook-close/1';

/** A statement in the file of a close. */
export interface ClosedStatement extends FrozenStatement, ClosedFigures {
  /** Name of the file, in the folder of its day. */
  readonly file: string;
}

/** A day that differs from the close before. */
export interface ClosedAdjustment {
  readonly currency: string;
  readonly day: string;
  /** The revision that the close before froze; null if the day had no statement then. */
  readonly frozenRevision: number | null;
  readonly revision: number;
  readonly reason: string | null;
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
  /** What changed since the close before. */
  readonly adjustments: readonly ClosedAdjustment[];
  /** Days that were open, where it was closed despite them. */
  readonly openDays: readonly Pick<OpenDay, 'currency' | 'day' | 'cause'>[];
}

/** The text of the file. The order of its keys is the one in which a person reads it. */
export const closeText = (close: CloseFile): string => `${JSON.stringify(close, null, 2)}\n`;

/** Whether a value has the shape of what it is searched for as. */
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

/** Reads such a file; null if the text is none. */
export function parseClose(text: string): CloseFile | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  return isCloseFile(value) ? (value as CloseFile) : null;
}
