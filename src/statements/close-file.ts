/** The file of a closed month: the frozen list of statements, who closed it, when and why. No package, as `verify.mjs` reads it. */
import type { FrozenStatement, MonthClose } from '../store/month-close.ts';
import type { OpenDay } from './open-days.ts';

export const CLOSE_FORMAT = 'daybook-close/1';

/** A statement in the file of a close. */
export interface ClosedStatement extends FrozenStatement {
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

/** What an account's month adds up to; opening and closing are null where no day is published. */
export interface ClosedAccount {
  readonly currency: string;
  readonly opening: string | null;
  readonly creditTotal: string;
  readonly creditCount: number;
  readonly debitTotal: string;
  readonly debitCount: number;
  readonly closing: string | null;
  readonly days: number;
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

/** What `verify` needs of such a file. */
export type ReadClose = Pick<CloseFile, 'merchantNo' | 'month' | 'number' | 'previous' | 'statements'>;

const SHA256 = /^[0-9a-f]{64}$/;
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isPlace = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;
const isDigest = (value: unknown): value is string => typeof value === 'string' && SHA256.test(value);

const isStatement = (value: unknown): value is ClosedStatement =>
  isRecord(value) &&
  ['currency', 'day', 'file'].every((key) => typeof value[key] === 'string') &&
  isPlace(value['revision']) &&
  isDigest(value['sha256']);

/** Reads such a file; null if the text is none. */
export function parseClose(text: string): ReadClose | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(value) || value['format'] !== CLOSE_FORMAT) return null;
  const { merchantNo, month, number, previous, statements } = value;
  if (typeof merchantNo !== 'string' || typeof month !== 'string' || !isPlace(number)) return null;
  if (!Array.isArray(statements) || !statements.every(isStatement)) return null;
  if (previous === null) return { merchantNo, month, number, previous, statements };
  if (!isRecord(previous) || !isPlace(previous['number']) || !isDigest(previous['sha256'])) return null;
  const before = { number: previous['number'], sha256: previous['sha256'] };
  return { merchantNo, month, number, previous: before, statements };
}
