/** Finds the lines of an entry in published statements, in current and in superseded revisions. */
import type { Kysely } from 'kysely';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { BusinessDay, LedgerEntry } from '../ledger/entry.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import type { DB } from '../store/engine/schema.ts';
import { statementsOfDay, type StatementRow } from '../store/statements/statements.ts';
import { StatementDamaged } from './fetch.ts';
import { findLine, type FoundLine } from './find-line.ts';
import { fileOf } from './keys.ts';

/** Most revisions of an account's day that are read, the newest first; older ones are only counted. */
const REVISIONS_READ_MAX = 10;

/** A revision of a statement in which the entry is or may be. */
export interface EntryPlace {
  readonly currency: string;
  readonly day: BusinessDay;
  readonly revision: number;
  readonly isCurrent: boolean;
  readonly file: string;
  readonly objectKey: string;
  readonly publishedAt: Date;
  /** When the next revision was published; null for the current revision. */
  readonly supersededAt: Date | null;
  /** Why the file could not be read; null if it was. */
  readonly problem: string | null;
  /** The entry's line in the file; null if it is not there or the file could not be read. */
  readonly found: FoundLine | null;
}

export interface EntryPlaces {
  /** By account day, the newest revision of each first. */
  readonly places: readonly EntryPlace[];
  /** How many older revisions were not read. */
  readonly unread: number;
}

/**
 * Reads the statements of every account day on which any version of the entry (`contents`) was booked, one file after
 * the other.
 */
export async function placesOf(
  { db, objects }: { readonly db: Kysely<DB>; readonly objects: ObjectStore },
  merchantNo: string,
  contents: readonly LedgerEntry[],
): Promise<EntryPlaces> {
  const places: EntryPlace[] = [];
  let unread = 0;
  let away: string | null = null;
  for (const { currency, day, batchNo } of accountDaysOf(contents)) {
    const revisions = (await statementsOfDay(db, merchantNo, day))
      .filter((row) => row.currency === currency)
      .toReversed();
    unread += Math.max(0, revisions.length - REVISIONS_READ_MAX);
    for (const [at, row] of revisions.slice(0, REVISIONS_READ_MAX).entries()) {
      const next = revisions[at - 1];
      const read: Reading =
        away === null ? await readFor(objects, row, batchNo) : { ...NOT_FOUND, problem: away };
      // If the store does not answer, it is not asked for further files.
      if (read.isAway) away = read.problem;
      places.push({
        currency,
        day,
        revision: row.revision,
        isCurrent: next === undefined,
        file: fileOf(row.object_key),
        objectKey: row.object_key,
        publishedAt: row.published_at,
        supersededAt: next?.published_at ?? null,
        problem: read.problem,
        found: read.found,
      });
    }
  }
  return { places, unread };
}

interface Reading {
  readonly found: FoundLine | null;
  readonly problem: string | null;
  readonly isAway: boolean;
}
const NOT_FOUND: Reading = { found: null, problem: null, isAway: false };

/** A file that cannot be read becomes a problem of its place. The rest of the answer does not need it. */
async function readFor(objects: ObjectStore, row: StatementRow, batchNo: string): Promise<Reading> {
  try {
    return { ...NOT_FOUND, found: await findLine(objects, row, batchNo) };
  } catch (error) {
    if (!(error instanceof ExpectedError) || error.exitCode !== EXIT.incomplete) throw error;
    return { ...NOT_FOUND, problem: error.message, isAway: !(error instanceof StatementDamaged) };
  }
}

/** The account days of all contents: an amended entry may have moved to another day or currency. */
function accountDaysOf(contents: readonly LedgerEntry[]) {
  const days = contents.map(({ batchNo, currency, bookedAt }) => ({
    batchNo,
    currency,
    day: bookedAt.slice(0, 10),
  }));
  const keys = days.map(({ currency, day }) => `${currency} ${day}`);
  return days.filter((_, at) => keys.indexOf(keys[at]!) === at);
}
