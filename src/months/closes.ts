/** Closed months: what is asked of a close, what is stored of it, and what changed since. */
import type { BusinessDay } from '../ledger/entry.ts';
import type { LoginWays } from '../ledger/people.ts';
import type { SigningKey } from '../ledger/signature.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import type { AuditEvent } from '../store/audit.ts';
import type { Database } from '../store/engine/database.ts';
import type { Month } from './month.ts';
import type { OpenDay } from './open-days.ts';

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

/** A month to be closed, and who asks for it. */
export interface CloseRequest {
  readonly merchantNo: string;
  readonly month: Month;
  /** Why it is closed though days are open; null where that refuses. */
  readonly despite: string | null;
  readonly auditEvent: AuditEvent;
  /** Left out: it is closed at once. */
  readonly step?: CloseStep;
  /** What a person saw before they asked for it (`seen` of a result): anything else refuses. */
  readonly seen?: string | null;
}

/**
 * `check` only says what is in the way. `prepare`, `approve` and `withdraw` are of a close by two persons. `reopen` needs
 * its reason as the note of the audit event.
 */
export type CloseStep = 'close' | 'check' | 'prepare' | 'approve' | 'withdraw' | 'reopen';

/** What is in the way of a step, apart from open days. */
export interface Obstacle extends Pick<OpenDay, 'why' | 'todo' | 'who'> {
  readonly cause:
    | 'store'
    | 'unmatched'
    | 'not-prepared'
    | 'prepared'
    | 'own-preparation'
    | 'changed'
    | 'not-seen'
    | 'not-closed';
}

/** What closing works with. */
export interface CloseOptions {
  readonly db: Database['db'];
  readonly objects: ObjectStore;
  readonly signingKey: SigningKey | null;
  readonly zone: string;
  readonly now: () => Date;
  /** Whether one person prepares a month and another one approves it. Left out: one person closes it. */
  readonly needsApproval?: boolean;
  /** Whether unmatched entries of own books keep the month from being closed. Left out: they do not. */
  readonly needsMatch?: boolean;
  /** In which ways people log in. Left out: in one. */
  readonly logins?: LoginWays;
}

export type CloseResult =
  /** A new close. It names the one before, if there is one, and what changed since. */
  | { readonly kind: 'closed'; readonly close: StoredClose; readonly adjustments: readonly Adjustment[] }
  /** It was closed before, and no statement changed since. `openDays` are those that the close does not name. */
  | { readonly kind: 'already'; readonly close: StoredClose; readonly openDays: readonly OpenDay[] }
  /** Days are open, so it was not closed; `others` is what else is in the way. */
  | {
      readonly kind: 'open';
      readonly openDays: readonly OpenDay[];
      readonly others: readonly Obstacle[];
      readonly seen: string;
    }
  /** Nothing of it is published. */
  | { readonly kind: 'empty'; readonly openDays: readonly OpenDay[] }
  /** No day is open, or there is a reason, and something else is in the way. */
  | { readonly kind: 'refused'; readonly others: readonly Obstacle[]; readonly seen?: string }
  /** It was only checked, and nothing is in the way. */
  | { readonly kind: 'ready'; readonly seen: string; readonly preparation: Preparation | null }
  | { readonly kind: 'prepared'; readonly preparation: Preparation }
  /** `by` prepared it. */
  | { readonly kind: 'withdrawn'; readonly by: string }
  /** After the close of this number. */
  | { readonly kind: 'reopened'; readonly number: number };
