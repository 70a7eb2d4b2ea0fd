/**
 * Proves the time zone of the platform's timestamps before a row is written (`busiDate` has no offset, while windows
 * are ms, platform-api.md 2.1 and 4.1): an entry must be found at the very second its timestamp means in the zone.
 */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { tzOffset } from '@date-fns/tz';
import { zonesAt } from '../ledger/business-day.ts';
import type { LedgerEntry, Window } from '../ledger/entry.ts';
import type { LedgerPage } from '../platform/ledger-reader.ts';

const MINUTE_MS = 60_000;
/** Offsets lie between -12:00 and +14:00; both ways the same, to find an odd one too. */
const OFFSET_MAX_MIN = 14 * 60;
const OFFSET_STEP_MIN = 15;
const ZONES_NAMED_MAX = 6;

/** Entries are not where the configured zone puts them, but all by the same offset: the setting is wrong. */
export class TimeZoneWrong extends ExpectedError {
  override readonly name = 'TimeZoneWrong';
  readonly exitCode = EXIT.usage;
  readonly zone: string;
  /** East of UTC. */
  readonly offsetMinutes: number;
  /** Zones with that offset then, well-known ones first. */
  readonly zones: readonly string[];

  constructor(zone: string, entry: LedgerEntry, trueMs: number, offsetMinutes: number) {
    const zones = zonesAt(trueMs, offsetMinutes);
    const named = zones.slice(0, ZONES_NAMED_MAX).join(', ');
    super(
      `PLATFORM_TIME_ZONE is ${zone}, but the platform's timestamps are not: it finds entry ${entry.batchNo}, booked ` +
        `${entry.bookedAt}, at ${new Date(trueMs).toISOString()}, which is the offset ${offsetText(offsetMinutes)}. ` +
        (zones.length > 0 ? `Zones with that offset then: ${named}. ` : 'No zone has that offset then. ') +
        'Nothing was written under the wrong zone; set PLATFORM_TIME_ZONE and run again.',
    );
    this.zone = zone;
    this.offsetMinutes = offsetMinutes;
    this.zones = zones;
  }
}

/** The platform's answers neither prove the zone nor point to another one. */
export class TimeZoneUnproven extends ExpectedError {
  override readonly name = 'TimeZoneUnproven';
  readonly exitCode = EXIT.incomplete;

  constructor(zone: string, why: string) {
    super(
      `PLATFORM_TIME_ZONE ${zone} could not be proven, and nothing was written under it: ${why}. ` +
        'Ask the platform how sp2404 treats batchNo together with beginDate and endDate, or run again.',
    );
  }
}

/** Asks for a batchNo inside a window: the first page of the answer. */
export type Probe = (batchNo: string, window: Window) => Promise<LedgerPage>;

export type ZoneFinding =
  | { readonly kind: 'proven' }
  | { readonly kind: 'wrong'; readonly trueMs: number; readonly offsetMinutes: number }
  /** `why` completes "it could not be proven: ...". */
  | { readonly kind: 'unclear'; readonly why: string };

/** One call where the zone is right; about ten to find the offset where it is not. Totals are not relied on. */
export async function findZone(probe: Probe, entry: LedgerEntry): Promise<ZoneFinding> {
  const { batchNo, bookedMs } = entry;
  const secondOf = (beginMs: number): Window => ({ beginMs, endMs: beginMs + 999 });
  const ask = async (window: Window) => answerOf(await probe(batchNo, window), batchNo);

  const atSecond = await probe(batchNo, secondOf(bookedMs));
  const answer = answerOf(atSecond, batchNo);
  if (
    answer === 'found' ||
    (answer === 'others' && atSecond.entries.every((other) => other.bookedMs === bookedMs))
  ) {
    return { kind: 'proven' };
  }
  if (answer === 'others') return { kind: 'unclear', why: othersCame(entry) };

  /** The timestamp read as if the zone were UTC. */
  const wallMs = Date.parse(`${entry.bookedAt.replace(' ', 'T')}Z`);
  const candidateMs = (step: number) => wallMs + (step * OFFSET_STEP_MIN - OFFSET_MAX_MIN) * MINUTE_MS;
  let low = 0;
  let high = (2 * OFFSET_MAX_MIN) / OFFSET_STEP_MIN;
  const within = (last: number): Window => ({ beginMs: candidateMs(low), endMs: candidateMs(last + 1) - 1 });
  const anywhere = await ask(within(high));
  if (anywhere === 'none')
    return { kind: 'unclear', why: `entry ${batchNo} was in a page but is not found by its batchNo` };
  if (anywhere === 'others') return { kind: 'unclear', why: othersCame(entry) };
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const here = await ask(within(middle));
    if (here === 'others') return { kind: 'unclear', why: othersCame(entry) };
    if (here === 'found') high = middle;
    else low = middle + 1;
  }
  const trueMs = candidateMs(low);
  if ((await ask(secondOf(trueMs))) !== 'found') {
    return {
      kind: 'unclear',
      why: `entry ${batchNo}, booked ${entry.bookedAt}, is at no instant a time zone could mean`,
    };
  }
  if (trueMs === bookedMs) return { kind: 'proven' };
  return { kind: 'wrong', trueMs, offsetMinutes: Math.round((wallMs - trueMs) / MINUTE_MS) };
}

/** Offset of a zone at an instant, in minutes east of UTC. */
export const offsetMinutesOf = (zone: string, ms: number): number => tzOffset(zone, new Date(ms));

type Answer = 'found' | 'none' | 'others';

function answerOf(page: LedgerPage, batchNo: string): Answer {
  const batchNos = [...page.entries, ...page.rejected].map((entry) => entry.batchNo);
  if (batchNos.length === 0) return 'none';
  return batchNos.every((found) => found === batchNo) ? 'found' : 'others';
}

const othersCame = ({ batchNo }: LedgerEntry) =>
  `asked for batchNo ${batchNo} alone, the platform sent others too`;

function offsetText(minutes: number): string {
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${minutes < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`;
}
