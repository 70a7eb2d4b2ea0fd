/**
 * Tells a platform that changed the zone of a merchant's timestamps from a setting that is wrong. What is stored is the
 * memory: nothing is ever stored under a zone that is not proven, so stored entries say up to when the zone was right.
 */
import type { Kysely } from 'kysely';
import { offsetMs } from '../ledger/business-day.ts';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import { ALL_TIME } from '../ledger/window.ts';
import type { DB } from '../store/engine/schema.ts';
import { anyEntry, newestEntryIn } from '../store/entries.ts';
import { firstNamed } from '../ledger/text.ts';
import { wallMsOf, ZONES_NAMED_MAX, type TimeZoneWrong } from './time-zone-proof.ts';

/** One merchant's timestamps are in another zone than the one that was proven before, or that other merchants prove. */
class TimeZoneChanged extends ExpectedError {
  override readonly name = 'TimeZoneChanged';
  readonly exitCode = EXIT.incomplete;
}

interface Memory {
  readonly db: Kysely<DB>;
  readonly merchantNo: string;
  /** Whether another merchant of this run proved the zone. */
  readonly isProvenByAny: boolean;
}

/** The merchant's own trouble; null where nothing ever proved the zone, so that the setting is wrong for everybody. */
export async function asZoneChange(
  error: TimeZoneWrong,
  { db, merchantNo, isProvenByAny }: Memory,
): Promise<Error | null> {
  const own = await newestEntryIn(db, merchantNo, ALL_TIME);
  if (own !== null) return isOf(error.zone, own) ? new TimeZoneChanged(changedText(error, own)) : null;
  const other = isProvenByAny ? null : await anyEntry(db);
  return isProvenByAny || (other !== null && isOf(error.zone, other))
    ? new TimeZoneChanged(differsText(error))
    : null;
}

const storedOffsetMs = (entry: LedgerEntry): number => wallMsOf(entry) - entry.bookedMs;

/** Whether the entry was stored under a zone with the offset of this one. If not, the setting was changed since. */
const isOf = (zone: string, entry: LedgerEntry): boolean =>
  storedOffsetMs(entry) === offsetMs(zone, entry.bookedMs);

function changedText(error: TimeZoneWrong, last: LedgerEntry): string {
  const { zone, zones, seen } = error;
  const fitting = zones.filter((one) => offsetMs(one, last.bookedMs) === storedOffsetMs(last));
  const known = `PLATFORM_TIME_ZONE is ${zone}, and was right up to entry ${last.batchNo}, booked ${last.bookedAt}`;
  return fitting.length === 0
    ? `the platform changed the time zone of this merchant's timestamps: ${known}; now ${seen}. Nothing was written under ` +
        'another zone, and other merchants are read. Ask the platform why it changed; PLATFORM_TIME_ZONE can stay as it is.'
    : `the timestamps of this merchant are in another time zone since a clock change: ${known}; now ${seen}. Zones that fit ` +
        `before and now: ${firstNamed(fitting, ZONES_NAMED_MAX)}. Nothing was written under another zone, and other merchants are ` +
        'read. If every merchant ends so, set PLATFORM_TIME_ZONE to the zone of these that the platform names; if not, ask ' +
        'the platform why this ledger differs.';
}

const differsText = ({ zone, seen }: TimeZoneWrong): string =>
  `the timestamps of this merchant are in another time zone than those of other merchants: PLATFORM_TIME_ZONE is ${zone}, ` +
  `which other merchants prove; here ${seen}. Nothing was written under another zone, and other merchants are read. Ask the ` +
  'platform why this ledger differs.';
