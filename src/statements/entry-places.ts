/** Where an entry stands in the published statements, and where it stood before. */
import type { Kysely } from 'kysely';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { BusinessDay, LedgerEntry } from '../ledger/entry.ts';
import type { ObjectStore } from '../objects/object-store.ts';
import type { DB } from '../store/engine/schema.ts';
import { statementsOfDay, type StatementRow } from '../store/statements/statements.ts';
import { StatementDamaged } from './fetch.ts';
import { findLine, type FoundLine } from './find-line.ts';
import { fileOf } from './keys.ts';

/** Newest revisions of an account's day that are read; what a statement was published as before those is history. */
const REVISIONS_READ_MAX = 10;

/** A revision of a statement that is, or was, the entry's. */
export interface EntryPlace {
  readonly currency: string;
  readonly day: BusinessDay;
  readonly revision: number;
  readonly isCurrent: boolean;
  readonly file: string;
  readonly objectKey: string;
  readonly publishedAt: Date;
  /** Null while it is the current one. */
  readonly supersededAt: Date | null;
  /** Why the file could not be read; null where it was. */
  readonly problem: string | null;
  /** The entry in it; null where it is not there, or could not be read. */
  readonly found: FoundLine | null;
}

export interface EntryPlaces {
  /** By the account's days, the newest revision of each in front. */
  readonly places: readonly EntryPlace[];
  /** Older revisions that were not read. */
  readonly unread: number;
}

/** Reads the statements of every account's day that the contents were booked on, one file after the other. */
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
      // A store that does not answer is not asked for one file after the other.
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

/** What the store does not give is told of the file; the rest of the answer needs no file. */
async function readFor(objects: ObjectStore, row: StatementRow, batchNo: string): Promise<Reading> {
  try {
    return { ...NOT_FOUND, found: await findLine(objects, row, batchNo) };
  } catch (error) {
    if (!(error instanceof ExpectedError) || error.exitCode !== EXIT.incomplete) throw error;
    return { ...NOT_FOUND, problem: error.message, isAway: !(error instanceof StatementDamaged) };
  }
}

/** Days and currencies as its contents had them: an amended entry may have moved. */
function accountDaysOf(contents: readonly LedgerEntry[]) {
  const days = contents.map(({ batchNo, currency, bookedAt }) => ({
    batchNo,
    currency,
    day: bookedAt.slice(0, 10),
  }));
  const keys = days.map(({ currency, day }) => `${currency} ${day}`);
  return days.filter((_, at) => keys.indexOf(keys[at]!) === at);
}
