/** Lets entries into the store only once the zone is proven for their offset. One proof serves an entire run. */
import { isAfterChange } from '../ledger/business-day.ts';
import type { LedgerEntry, Window } from '../ledger/entry.ts';
import { placeOf, CLOCK_SKEW_S_MAX } from './clock-skew.ts';
import { findZone, TimeZoneUnproven, TimeZoneWrong, type Probe } from './time-zone-proof.ts';
import { createZoneProofs } from './zone-proofs.ts';

/** Entries that are asked about before an unclear answer is final. */
const ENTRIES_TRIED_MAX = 3;
/** Entries outside their window that are examined in one run. */
const OUTSIDERS_EXAMINED_MAX = 3;

export interface ZoneGateOptions {
  /** How far timestamps may differ from the times the platform filters by. */
  readonly clockToleranceS?: number;
  /** A person answers for the zone: nothing is asked, and windows are read as if the clock were off. */
  readonly isTrusted?: boolean;
}

export interface ZoneGate {
  /**
   * Resolves once the zone is proven at the offset these entries have in it. (An offset in winter proves nothing about
   * summer, and a platform may change its clock late: the day of a change is proven by itself.) An entry outside its window is examined too, as it may be in another zone than the proven entries.
   * Rejects with `TimeZoneWrong`, `TimeZoneUnproven`, or the error of the probe.
   */
  readonly check: (probe: Probe, entries: readonly LedgerEntry[], window: Window) => Promise<void>;
  /**
   * Resolves once the zone is proven at the offset of the first of these entries, by an entry that is as new or newer.
   * If the first one gives no clear answer, the others are asked about. Rejects like `check`, and with
   * `TimeZoneUnproven` if there is no entry.
   */
  readonly prove: (probe: Probe, entries: readonly LedgerEntry[]) => Promise<void>;
  /** Whether the zone is proven at any offset, or a person answers for it. */
  readonly isProven: () => boolean;
  /** How much wider windows have to be asked for, in ms; 0 while each timestamp seen was the time filtered by. */
  readonly clockSkewMs: () => number;
  /** A sentence on what showed that the clock is off; null while nothing did. */
  readonly clockOff: () => string | null;
  /** Takes note that the clock is off: known from an earlier run, or seen in a window. */
  readonly noteClockOff: (seen: string) => void;
  /** Takes over what earlier runs know of the clock. Of several calls, only the first one asks. */
  readonly learn: (isKnownOff: () => Promise<boolean>) => Promise<void>;
}

export function createZoneGate(zone: string, options: ZoneGateOptions = {}): ZoneGate {
  const toleranceMs = Math.min(options.clockToleranceS ?? 0, CLOCK_SKEW_S_MAX) * 1_000;
  const isTrusted = options.isTrusted ?? false;
  let outsidersExamined = 0;
  let clockOff: string | null = null;
  let learned: Promise<void> | null = null;
  const noteClockOff = (seen: string): void => {
    if (toleranceMs > 0) clockOff ??= seen;
  };
  const clockSkewMs = (): number => (isTrusted || clockOff !== null ? toleranceMs : 0);

  /** Asks where an entry is. Returns why that is unclear, or null. Throws `TimeZoneWrong`. */
  const askAbout = async (
    probe: Probe,
    entry: LedgerEntry,
    others: readonly LedgerEntry[] = [],
  ): Promise<string | null> => {
    const finding = await findZone(probe, entry, toleranceMs, others);
    if (finding.kind === 'unclear') return finding.why;
    if (finding.kind === 'wrong') throw new TimeZoneWrong(zone, entry, finding.trueMs, finding.offsetMinutes);
    if (finding.clock === 'off') noteClockOff(offText(entry, 'is not found at that second, but near it'));
    return null;
  };

  const proofs = createZoneProofs(zone, async (probe, entries) => {
    const tried = entries.slice(0, ENTRIES_TRIED_MAX);
    let why = '';
    for (const entry of tried) {
      const unclear = await askAbout(probe, entry, entries);
      if (unclear === null) return;
      why = unclear;
    }
    throw new TimeZoneUnproven(zone, why, tried);
  });

  return {
    check: async (probe, entries, window) => {
      if (entries.length === 0) return;
      const slack = clockSkewMs();
      const outsider = entries.find((entry) => placeOf(entry, window, slack) === 'outside');
      if (outsider !== undefined && isNear(outsider, window, toleranceMs)) {
        noteClockOff(offText(outsider, 'lies outside the window that returned it'));
      }
      if (isTrusted) return;
      const isExamined = outsider !== undefined && outsidersExamined < OUTSIDERS_EXAMINED_MAX;
      if (isExamined) outsidersExamined += 1;
      const { after = [], other = [] } = Object.groupBy(entries, ({ bookedMs }) =>
        isAfterChange(bookedMs, zone) ? 'after' : 'other',
      );
      if (other.length > 0) await proofs.ensure(probe, other);
      // Times near the change are skipped or come twice, so the last one of the day is asked about.
      const last = after.toSorted((one, two) => two.bookedMs - one.bookedMs);
      if (last.length > 0) await proofs.ensure(probe, [...last, ...other]);
      if (isExamined) await askAbout(probe, outsider);
    },
    prove: async (probe, entries) => {
      if (isTrusted) return;
      const [first] = entries;
      if (first === undefined) throw new TimeZoneUnproven(zone, 'there is no entry to prove it by');
      await proofs.ensure(probe, entries, first.bookedMs);
    },
    isProven: () => isTrusted || proofs.hasAny(),
    clockSkewMs,
    clockOff: () => clockOff,
    noteClockOff,
    learn: (isKnownOff) =>
      (learned ??= isKnownOff().then((isOff) => {
        if (isOff) noteClockOff('known from an earlier run');
      })),
  };
}

const isNear = ({ bookedMs }: LedgerEntry, { beginMs, endMs }: Window, toleranceMs: number): boolean =>
  bookedMs >= Math.floor(beginMs / 1_000) * 1_000 - toleranceMs && bookedMs <= endMs + toleranceMs;

const offText = ({ batchNo, bookedAt }: LedgerEntry, seen: string): string =>
  `entry ${batchNo}, booked ${bookedAt}, ${seen}`;
