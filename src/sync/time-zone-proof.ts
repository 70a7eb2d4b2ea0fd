/**
 * Proves the time zone of the platform's timestamps before a row is written. `busiDate` has no offset, while windows
 * are in ms (docs/platform.md 2.1 and 4.1). The proof: the platform finds an entry at the second that its timestamp
 * means in the zone, or as near to it as clocks may differ, and nowhere else.
 *
 * ### Example
 *
 * The zone is set to Asia/Shanghai, and an entry has the timestamp 2026-03-01 08:00:00. The platform must find it at
 * midnight UTC, and must not find it a little later. If it does not find it at midnight, the other offsets are tried.
 * If it finds it at 08:00 UTC, its timestamps are in UTC and the setting is wrong.
 */
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { offsetMs, zonesAt } from '../ledger/business-day.ts';
import type { LedgerEntry, Window } from '../ledger/entry.ts';
import type { LedgerPage } from '../platform/ledger-reader.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';

const MINUTE_MS = 60_000;
/** Offsets are between -12:00 and +14:00. We check 14 hours in both directions. */
const OFFSET_MAX_MIN = 14 * 60;
const OFFSET_STEP_MIN = 15;
export const ZONES_NAMED_MAX = 6;

/** Entries are not at the times the configured zone means, but all off by the same offset: the setting is wrong. */
export class TimeZoneWrong extends ExpectedError {
  override readonly name = 'TimeZoneWrong';
  readonly exitCode = EXIT.usage;
  readonly zone: string;
  /** East of UTC. */
  readonly offsetMinutes: number;
  readonly zones: readonly string[];
  /** A clause on where the platform finds an entry, and the offset that its timestamp then has. */
  readonly seen: string;

  constructor(zone: string, entry: LedgerEntry, trueMs: number, offsetMinutes: number) {
    const zones = zonesAt(trueMs, offsetMinutes);
    const named = zones.slice(0, ZONES_NAMED_MAX).join(', ');
    const seen =
      `it finds entry ${entry.batchNo}, booked ${entry.bookedAt}, at ${new Date(trueMs).toISOString()}, which is the ` +
      `offset ${offsetText(offsetMinutes)}`;
    super(
      `PLATFORM_TIME_ZONE is ${zone}, but the platform's timestamps are not: ${seen}. ` +
        (zones.length > 0 ? `Zones with that offset then: ${named}. ` : 'No zone has that offset then. ') +
        'Nothing was written under the wrong zone; set PLATFORM_TIME_ZONE and run again.',
    );
    this.zone = zone;
    this.offsetMinutes = offsetMinutes;
    this.zones = zones;
    this.seen = seen;
  }
}

/** The platform's answers neither prove the zone nor point to another one. */
export class TimeZoneUnproven extends ExpectedError {
  override readonly name = 'TimeZoneUnproven';
  readonly exitCode = EXIT.incomplete;
  readonly entries: readonly LedgerEntry[];

  constructor(zone: string, why: string, entries: readonly LedgerEntry[] = []) {
    super(
      `PLATFORM_TIME_ZONE ${zone} could not be proven, and nothing was written under it: ${why}. ` +
        'Run again; if it stays so, ask the platform how sp2404 treats batchNo together with beginDate and endDate. ' +
        'Where you know its zone for certain, PLATFORM_TIME_ZONE_PROOF=trusted goes without a proof, and every ' +
        'report, status and manifest then says so.',
    );
    this.entries = entries;
  }
}

/** Asks for one batchNo in a window, or with null for all of it. Resolves to the first page. */
export type Probe = (batchNo: string | null, window: Window) => Promise<LedgerPage>;

export type ZoneFinding =
  /** `exact`: timestamps are the times the platform filters by. `off`: they differ, within the tolerance. */
  | { readonly kind: 'proven'; readonly clock: 'exact' | 'off' }
  | { readonly kind: 'wrong'; readonly trueMs: number; readonly offsetMinutes: number }
  /** `why` completes "it could not be proven: ...". */
  | { readonly kind: 'unclear'; readonly why: string };

/**
 * Asks the platform where an entry is: it must be found at its timestamp, and not at a time where it must not be. The
 * second question is needed because a platform may ignore the dates if it is given a batchNo. If it does, the same is
 * asked without batchNo, as windows are.
 *
 * The time where it must not be is asked first. The entry came with a page before, and is found at its second
 * afterwards, so it existed in between. Otherwise, an entry that has just been removed would resemble one that is not
 * found there.
 *
 * If entries of other times are known (`others`), its second alone is asked for first: a platform that sends this entry and
 * none of those finds it there, and heeds the dates.
 *
 * This takes one call if the zone is right and others are known, two if none are, a few more if the clock is off or the
 * platform ignores dates with a batchNo, and about a dozen to find the offset if the zone is wrong. No total is used. `toleranceMs`: how far timestamps may
 * be from the times the platform filters by. Rejects with the error of the probe.
 */
export async function findZone(
  probe: Probe,
  entry: LedgerEntry,
  toleranceMs: number,
  others: readonly LedgerEntry[] = [],
): Promise<ZoneFinding> {
  const { batchNo, bookedMs } = entry;
  const isElsewhere = (one: LedgerEntry) => Math.abs(one.bookedMs - bookedMs) > toleranceMs + 1_000;
  if (others.some(isElsewhere) && isAloneIn(await probe(null, secondAt(bookedMs)), entry))
    return { kind: 'proven', clock: 'exact' };
  const places = placesOf(bookedMs, toleranceMs);
  const [exact, off] = [places[0]!, places[1]];
  const elsewhere = await probe(batchNo, elsewhereOf(bookedMs, toleranceMs));
  let place = exact;
  let answer = answerOf(await probe(batchNo, exact.window), entry, exact);
  if (answer !== 'found' && off !== undefined) {
    place = off;
    answer = answerOf(await probe(batchNo, off.window), entry, off);
    // A clock that is off is remembered for good. One incomplete reply must not cause that, so we ask once more.
    const isThere = async () => answerOf(await probe(batchNo, exact.window), entry, exact) === 'found';
    if (answer === 'found' && (await isThere())) place = exact;
  }
  if (answer === 'others') return { kind: 'unclear', why: othersCame(entry) };
  if (answer === 'found') {
    if (isAmiss(elsewhere, entry, toleranceMs)) return findByWindow(probe, entry, toleranceMs);
    return { kind: 'proven', clock: place.clock };
  }
  return findOffset(probe, entry, toleranceMs);
}

interface Place {
  readonly clock: 'exact' | 'off';
  readonly window: Window;
  readonly nearMs: number;
  readonly isLast: boolean;
}

const placesOf = (bookedMs: number, toleranceMs: number): Place[] => [
  { clock: 'exact', window: secondAt(bookedMs), nearMs: 0, isLast: toleranceMs === 0 },
  ...(toleranceMs === 0 ? [] : [lastPlace('off', around(bookedMs, toleranceMs), toleranceMs)]),
];

const lastPlace = (clock: Place['clock'], window: Window, nearMs: number): Place => ({
  clock,
  window,
  nearMs,
  isLast: true,
});

const secondAt = (beginMs: number): Window => ({ beginMs, endMs: beginMs + 999 });
const around = (ms: number, toleranceMs: number): Window => ({
  beginMs: ms - toleranceMs,
  endMs: ms + toleranceMs + 999,
});

/**
 * The first second at which an entry must not be found, after all those at which it may be.
 *
 * Because it is later, it also shows if the platform ignores beginDate alone: then it finds the entry there. If it
 * ignores endDate alone, it finds nothing there, as the entry is before the begin; that proves enough.
 */
const elsewhereOf = (bookedMs: number, toleranceMs: number): Window =>
  secondAt(bookedMs + toleranceMs + 1_000);

const holds = (page: LedgerPage, { batchNo }: LedgerEntry): boolean =>
  [...page.entries, ...page.unreadable].some((one) => one.batchNo === batchNo);

const isAmiss = (page: LedgerPage, entry: LedgerEntry, toleranceMs: number): boolean => {
  const place = lastPlace('exact', elsewhereOf(entry.bookedMs, toleranceMs), toleranceMs);
  return holds(page, entry) || page.entries.some((one) => !isNear(one, place));
};

const isAloneIn = (page: LedgerPage, { batchNo, bookedMs }: LedgerEntry): boolean =>
  page.total === page.entries.length &&
  page.entries.some((one) => one.batchNo === batchNo) &&
  page.entries.every((one) => one.bookedMs === bookedMs);

async function findByWindow(probe: Probe, entry: LedgerEntry, toleranceMs: number): Promise<ZoneFinding> {
  const elsewhere = await probe(null, elsewhereOf(entry.bookedMs, toleranceMs));
  for (const place of placesOf(entry.bookedMs, toleranceMs)) {
    const page = await probe(null, place.window);
    const astray = page.entries.filter((one) => !isNear(one, place));
    if (page.entries.length === 0 || (astray.length > 0 && !place.isLast)) continue;
    if (astray.length > 0) return astrayIn(astray, page, place.window, toleranceMs);
    if (isAmiss(elsewhere, entry, toleranceMs)) return { kind: 'unclear', why: datesIgnored };
    if (!holds(page, entry) && page.entries.length < PAGE_SIZE_MAX) break;
    if (place.clock === 'off' && holds(await probe(null, secondAt(entry.bookedMs)), entry))
      return { kind: 'proven', clock: 'exact' };
    return { kind: 'proven', clock: place.clock };
  }
  return {
    kind: 'unclear',
    why:
      `with a batchNo the platform ignores beginDate and endDate, and asked for the second of entry ${entry.batchNo}, ` +
      `booked ${entry.bookedAt}, without batchNo, it does not find it`,
  };
}

const datesIgnored =
  'the platform finds an entry at any time it is asked for: it ignores beginDate and endDate';

/** For entries that came at other times than their own: if all are off by the same offset, the zone is wrong. */
function astrayIn(
  astray: readonly LedgerEntry[],
  page: LedgerPage,
  { beginMs }: Window,
  toleranceMs: number,
): ZoneFinding {
  const stepMs = OFFSET_STEP_MIN * MINUTE_MS;
  const steps = astray.map(({ bookedMs }) => Math.round((bookedMs - beginMs) / stepMs));
  const [step] = steps;
  const isOffset =
    astray.length === page.entries.length &&
    steps.every((one) => one === step) &&
    astray.every(({ bookedMs }) => Math.abs(bookedMs - beginMs - step! * stepMs) <= toleranceMs + 999);
  if (!isOffset) return { kind: 'unclear', why: datesIgnored };
  const [first] = astray;
  const trueMs = first!.bookedMs - step! * stepMs;
  return { kind: 'wrong', trueMs, offsetMinutes: Math.round((wallMsOf(first!) - trueMs) / MINUTE_MS) };
}

/** The entry's time as the platform writes it, taken as a time in UTC. */
export const wallMsOf = ({ bookedAt }: LedgerEntry): number => Date.parse(`${bookedAt.replace(' ', 'T')}Z`);

async function findOffset(probe: Probe, entry: LedgerEntry, toleranceMs: number): Promise<ZoneFinding> {
  const { batchNo, bookedMs } = entry;
  const ask = async (window: Window) =>
    answerOf(await probe(batchNo, window), entry, lastPlace('exact', window, toleranceMs));
  const wallMs = wallMsOf(entry);
  const halfStepMs = (OFFSET_STEP_MIN / 2) * MINUTE_MS;
  const candidateMs = (step: number) => wallMs + (step * OFFSET_STEP_MIN - OFFSET_MAX_MIN) * MINUTE_MS;
  let low = 0;
  let high = (2 * OFFSET_MAX_MIN) / OFFSET_STEP_MIN;
  const within = (last: number): Window => ({
    beginMs: candidateMs(low) - halfStepMs,
    endMs: candidateMs(last) + halfStepMs - 1,
  });
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
  if (trueMs === bookedMs || (await ask(around(trueMs, toleranceMs))) !== 'found') {
    return {
      kind: 'unclear',
      why: `entry ${batchNo}, booked ${entry.bookedAt}, is at no instant a time zone could mean`,
    };
  }
  return { kind: 'wrong', trueMs, offsetMinutes: Math.round((wallMs - trueMs) / MINUTE_MS) };
}

/** Offset of a zone at an instant, in minutes east of UTC. */
export const offsetMinutesOf = (zone: string, ms: number): number => offsetMs(zone, ms) / MINUTE_MS;

type Answer = 'found' | 'none' | 'others';

/** If others came than the one asked for, that is as good, provided all are booked at the time asked for. */
function answerOf(page: LedgerPage, entry: LedgerEntry, place: Place): Answer {
  const batchNos = [...page.entries, ...page.unreadable].map(({ batchNo }) => batchNo);
  if (batchNos.length === 0) return 'none';
  if (batchNos.every((found) => found === entry.batchNo)) return 'found';
  return page.entries.length > 0 && page.entries.every((one) => isNear(one, place)) ? 'found' : 'others';
}

const isNear = ({ bookedMs }: LedgerEntry, { window, nearMs }: Place): boolean =>
  bookedMs >= window.beginMs - nearMs && bookedMs <= window.endMs + nearMs;

const othersCame = ({ batchNo }: LedgerEntry) =>
  `asked for batchNo ${batchNo} alone, the platform sent others too`;

function offsetText(minutes: number): string {
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${minutes < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`;
}
