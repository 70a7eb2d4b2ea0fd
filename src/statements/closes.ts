/** Closed months as far as the core has to do with them: what is stored of a close, and what changed since. The option `close` makes them. */
import type { BusinessDay } from '../ledger/entry.ts';
import type { Problem, ReadManifest, VerifiedFile } from './verify-days.ts';

/** Who did something about a month, when, and what they said about it. */
export interface Action {
  readonly by: string;
  readonly at: Date;
  readonly note: string | null;
}

/** A close as it is stored. */
export interface MonthClose {
  readonly merchantNo: string;
  /** `2026-03`. */
  readonly month: string;
  /** From 1; the last one of a month counts. */
  readonly number: number;
  readonly closedAt: Date;
  readonly by: string;
  readonly note: string | null;
  /** Why it was closed though days were open; null where none was. */
  readonly despite: string | null;
  /** How many days of its accounts were open. */
  readonly openDays: number;
  readonly statements: number;
  /** Who prepared it, where another person approved it; `by` is the one who approved. */
  readonly prepared: Action | null;
  /** Who reopened the month after it, with the reason as its note. */
  readonly reopened: Action | null;
  readonly objectKey: string;
  readonly sha256: string;
}

/** The close that is in force, of all closes of a month in order: the last one, unless the month was reopened. */
export function inForce<Close extends Pick<MonthClose, 'reopened'>>(
  closes: readonly Close[],
): Close | undefined {
  const last = closes.at(-1);
  return last?.reopened === null ? last : undefined;
}

/** A month that a person prepared, and that waits for approval by another person. */
export interface Preparation extends Action {
  readonly merchantNo: string;
  /** `2026-03`. */
  readonly month: string;
  /** Why it is to be closed though days are open; null where none is. */
  readonly despite: string | null;
}

/** How many account days these are: a day may be named for several causes. */
export const countDays = (
  openDays: readonly { readonly currency: string; readonly day: BusinessDay }[],
): number => new Set(openDays.map(({ currency, day }) => `${currency} ${day}`)).size;

/** The same with the texts of its files. */
export interface StoredClose extends MonthClose {
  readonly content: string;
  readonly signature: string | null;
}

/** A current statement of a closed month that is not the one which its last close froze. */
export interface Adjustment {
  readonly merchantNo: string;
  readonly month: string;
  readonly number: number;
  readonly currency: string;
  readonly day: BusinessDay;
  /** The frozen revision; null if the day had no statement then. */
  readonly frozenRevision: number | null;
  readonly revision: number;
  readonly sha256: string;
  readonly reason: string | null;
  readonly publishedAt: Date;
}

/** Which closes are meant; left out or null: of all merchants, of all months. */
export interface CloseFilter {
  readonly merchants: readonly string[] | null;
  /** `2026-03`. */
  readonly month?: string | undefined;
  /** Also of months that were reopened: what changed since their last close. */
  readonly withReopened?: true;
}

/** The last close of a month, with what changed since. */
export interface ClosedMonth extends Pick<Adjustment, 'merchantNo' | 'month' | 'number'> {
  /** By day and currency. */
  readonly adjustments: readonly Adjustment[];
}

/** All closes of a merchant's month. */
export interface ClosesOfMonth {
  /** In order; the last one counts. */
  readonly closes: readonly MonthClose[];
  /** What changed since the last one. */
  readonly adjustments: readonly Adjustment[];
  /** Of all its closes: each file, behind it its signature. */
  readonly files: readonly { readonly key: string; readonly text: string; readonly closedAt: Date }[];
}

/** Of a note, and of the reason despite open days: both are published with the close. */
export const REASON_CHARACTERS_MAX = 1_000;

/** A day whose current statement is not the one that a close froze. */
type AdjustedDay = Pick<Adjustment, 'currency' | 'day' | 'frozenRevision' | 'revision'>;

/** A file of a close, as `verify` reports it. */
export interface VerifiedClose extends Pick<MonthClose, 'merchantNo' | 'month' | 'number' | 'despite'> {
  readonly path: string;
  readonly openDays: number;
  /** How many statements it froze, and of how many the day's manifest is here. */
  readonly statements: number;
  readonly compared: number;
  /** How many of these were replaced since and have no file here: their SHA-256 alone was compared, and no figure. */
  readonly byHash: number;
  /** What changed since, as far as the manifests here tell; empty where a later close is here. */
  readonly adjusted: readonly AdjustedDay[];
  /** Frozen statements of which no file is here; empty for a close that was given alone. */
  readonly missing: readonly Pick<AdjustedDay, 'currency' | 'day' | 'frozenRevision'>[];
}

/** Checks the closes among files that are verified: takes one after the other, then compares them with all the rest. */
export interface CloseCheck {
  /** Whether this is a close. One that is none is left to others. */
  readonly take: (path: string, content: Buffer) => boolean;
  readonly end: (here: FilesHere) => Promise<{
    readonly closes: readonly VerifiedClose[];
    readonly problems: readonly Problem[];
  }>;
}

/** What is here next to the closes. */
export interface FilesHere {
  readonly manifests: readonly ReadManifest[];
  readonly files: readonly VerifiedFile[];
  /** The paths of what was asked to be verified. */
  readonly given: readonly string[];
  /** Every close before the last one of a month has to be here. */
  readonly isComplete: boolean;
  /** Reads one of them. */
  readonly open: (path: string) => AsyncIterable<Uint8Array>;
}

/** What is said of a close's file where no option knows closes. */
export const CLOSE_UNKNOWN =
  'it is the close of a month, and this daybook has no option `close`, which reads it: use one that has it';
