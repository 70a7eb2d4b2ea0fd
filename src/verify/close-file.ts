/** The file of a closed month: the frozen list of statements, who closed it, when and why. */
import type { BusinessDay } from '../ledger/entry.ts';
import { missingNetOf, sumOfDays, type DayFigures, type MonthFigures } from '../ledger/month-figures.ts';
import {
  amount,
  sha256,
  listOf,
  objectOf,
  oneOf,
  optional,
  orNull,
  readOrNull,
  text,
  textLike,
  integer,
  type Read,
} from './shape.ts';

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

const day = textLike('a day', (value) => /^\d{4}-\d\d-\d\d$/.test(value));
const month = textLike('a month', (value) => /^\d{4}-(0[1-9]|1[0-2])$/.test(value));
const instant = textLike('an instant', (value) => !Number.isNaN(Date.parse(value)));
const [count, place] = [integer(0), integer(1)];
const counts = { creditCount: count, debitCount: count, breaks: count };
const sums = { creditTotal: amount, debitTotal: amount };

const action = objectOf({ by: text, at: instant, note: orNull(text) });

const accountShape = objectOf({
  ...{ currency: text, ...sums, ...counts, days: count, daysBroken: count, explained: count },
  ...{ opening: orNull(amount), closing: orNull(amount), missingNet: orNull(amount) },
});

const statementShape = objectOf({
  ...{ currency: text, day, revision: place, file: text, sha256, opening: amount },
  ...{ ...sums, ...counts, closing: amount, explained: listOf(place) },
  verdict: oneOf('continuous', 'reordered', 'broken'),
});

const closeShape = objectOf({
  format: oneOf(CLOSE_FORMAT),
  merchantNo: text,
  /** `2026-03`. */
  month,
  /** From 1; the last one of a month counts. */
  number: place,
  closedAt: instant,
  by: text,
  note: orNull(text),
  /** Why it was closed though days were open; null where none was. */
  despite: orNull(text),
  /** Who prepared it, where `by` approved it as another person. */
  prepared: optional(action),
  /** Who reopened the month after the close before, and why. */
  reopened: optional(action),
  /** The close before this one; null for the first. */
  previous: orNull(objectOf({ number: place, sha256 })),
  accounts: listOf(accountShape),
  statements: listOf(statementShape),
  /** What changed since the close before; `frozenRevision` is the one that it froze. */
  adjustments: listOf(
    objectOf({ currency: text, day, frozenRevision: orNull(place), revision: place, reason: orNull(text) }),
  ),
  /** Days that were open, where it was closed despite them. */
  openDays: listOf(objectOf({ currency: text, day, cause: text })),
});

export type CloseFile = Readonly<Read<typeof closeShape>>;
export type ClosedStatement = Readonly<Read<typeof statementShape>>;

export const parseClose = (json: string): CloseFile | null => readOrNull(closeShape, json);

/** How many account days these are: a day may be named for several causes. */
export const countDays = (
  openDays: readonly { readonly currency: string; readonly day: BusinessDay }[],
): number => new Set(openDays.map(({ currency, day }) => `${currency} ${day}`)).size;
