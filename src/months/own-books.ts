/** Merchants' own books, as the core and its pages ask about them. A plugin keeps them. */
import { slot } from '../host/slot.ts';
import type { Chosen } from '../ledger/account-filter.ts';
import type { Account, BusinessDay } from '../ledger/entry.ts';
import type {
  BookFigures,
  Decided,
  Decision,
  ListedMatch,
  OpenEntry,
  OpenFilter,
  Proposed,
  ProposedAsked,
  UnmatchedCount,
} from '../ledger/own-books.ts';
import type { SettingsWithoutPlatform } from '../settings/settings.ts';
import type { Db } from '../store/engine/database.ts';

/** Who decides on entries of own books, and by which rules what is around them is matched again. */
export interface Deciding {
  readonly db: Db;
  readonly settings: Pick<SettingsWithoutPlatform, 'books' | 'access' | 'currencies'>;
  readonly now: Date;
  readonly zone: string;
  readonly by: string;
  readonly note: string | null;
  /** Waits so long for other work on the merchant's books. Default: as long as the database lets it. */
  readonly lockMs?: number;
}

/** Work on own books. What cannot be done throws an `ExpectedError` with a sentence for the person, and changes nothing. */
export interface BooksDesk {
  readonly open: (db: Db, today: BusinessDay, filter: OpenFilter) => Promise<OpenEntry[]>;
  readonly proposed: (db: Db, asked: ProposedAsked) => Promise<Proposed[]>;
  readonly matches: (db: Db, account: Account, limit: number) => Promise<ListedMatch[]>;
  readonly decide: (deciding: Deciding, decision: Decision) => Promise<Decided>;
  /** Imports the file of a book, as the mapping says, and matches it. Returns what to say of it. */
  readonly takeIn: (deciding: Deciding, file: BookFile) => Promise<string>;
}

/** A file with entries of a book. */
export interface BookFile {
  /** Whether the person may import books of the merchant that the mapping names. */
  readonly isAllowed: (merchantNo: string) => boolean;
  /** YAML. */
  readonly mapping: string;
  readonly name: string;
  readonly content: Uint8Array;
  /** Aborts when the person has left. */
  readonly signal: AbortSignal;
}

/** Merchants' own books, as others ask about them. */
export interface OwnBooks {
  /** Of each account with own books. `to`: of entries up to that day alone. */
  readonly counts: (db: Db, merchants: Chosen, to?: BusinessDay) => Promise<UnmatchedCount[]>;
  /** Of the account's days in [from, to] with entries on either side; the first includes all days before. */
  readonly figures: (db: Db, account: Account, from: BusinessDay, to: BusinessDay) => Promise<BookFigures[]>;
  /** Loads what people work with. */
  readonly desk: () => Promise<BooksDesk>;
}

export const ownBooksSlot = slot<OwnBooks>('own books');

/** What is unmatched, of each account with own books. `to`: of entries up to that day alone. */
export const unmatchedCounts: OwnBooks['counts'] = async (...asked) =>
  (await ownBooksSlot.part()?.counts(...asked)) ?? [];
