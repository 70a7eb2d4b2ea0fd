/**
 * Lets entries into the store only once the zone is proven for their offset. Each merchant has proofs of its own: a platform may
 * change the zone of one ledger and leave the others.
 */
import { isAfterChange } from '../ledger/business-day.ts';
import { type NotedReading } from './certify.ts';
import { spanText } from './page-source.ts';
import type { Asked } from './certificate.ts';
import { AnotherLedgerAnswered } from './own-ledger.ts';
import type { UncertifiedSpan } from './store-readings.ts';
import type { LedgerEntry, Window } from '../ledger/entry.ts';
import { placeOf, CLOCK_SKEW_S_MAX } from './clocks.ts';
import { findZone, TimeZoneUnproven, TimeZoneWrong, type Probe, offsetMinutesOf } from './time-zone-proof.ts';
import type { Kysely } from 'kysely';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';
import type { DB } from '../store/engine/schema.ts';
import { newestEntryIn, secondsSeen, windowsHolding } from '../store/entries.ts';
import { merchantWith } from '../store/shared-entries.ts';

/** Entries that are asked about before an unclear answer is final. */
const ENTRIES_TRIED_MAX = 3;
/** Entries outside their window that are examined in one run. */
const OUTSIDERS_EXAMINED_MAX = 3;

interface ZoneGateOptions {
  readonly clockToleranceS?: number;
  /** A person answers for the zone: nothing is asked, and windows are read as if the clock were off. */
  readonly isTrusted?: boolean;
}

/** The gate of a run: what it knows of the platform's clock is the same for all merchants. */
export interface ZoneGate extends MerchantZoneGate {
  readonly ofMerchant: (merchantNo: string) => MerchantZoneGate;
  /** Whether any merchant proved the zone in this run. */
  readonly isProvenByAny: () => boolean;
}

export interface MerchantZoneGate {
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
  readonly isProven: () => boolean;
  /** A person answers for the zone. */
  readonly isTrusted: boolean;
  /** How much wider windows have to be asked for, in ms; 0 while each timestamp seen was the time filtered by. */
  readonly clockSkewMs: () => number;
  /** A sentence on what showed that the clock is off; null while nothing did. */
  readonly clockOff: () => string | null;
  readonly noteClockOff: (seen: string) => void;
  /** Takes over what earlier runs know of the clock. Of several calls, only the first one asks. */
  readonly learn: (isKnownOff: () => Promise<boolean>) => Promise<void>;
}

export function createZoneGate(zone: string, options: ZoneGateOptions = {}): ZoneGate {
  const toleranceMs = Math.min(options.clockToleranceS ?? 0, CLOCK_SKEW_S_MAX) * 1_000;
  const isTrusted = options.isTrusted ?? false;
  let clockOff: string | null = null;
  let learned: Promise<void> | null = null;
  const noteClockOff = (seen: string): void => {
    if (toleranceMs > 0) clockOff ??= seen;
  };
  const clockSkewMs = (): number => (isTrusted || clockOff !== null ? toleranceMs : 0);

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

  const clocks = {
    clockSkewMs,
    clockOff: () => clockOff,
    noteClockOff,
    learn: (isKnownOff: () => Promise<boolean>) =>
      (learned ??= isKnownOff().then((isOff) => {
        if (isOff) noteClockOff('known from an earlier run');
      })),
  };

  const ofOne = (): MerchantZoneGate =>
    createMerchantGate({ zone, toleranceMs, isTrusted, clocks, askAbout });
  const gates = new Map<string, MerchantZoneGate>();
  const ofMerchant = (merchantNo: string): MerchantZoneGate => {
    const known = gates.get(merchantNo) ?? ofOne();
    gates.set(merchantNo, known);
    return known;
  };
  return {
    ...ofOne(),
    ofMerchant,
    isProvenByAny: () => isTrusted || [...gates.values()].some((one) => one.isProven()),
  };
}

interface GateParts {
  readonly zone: string;
  readonly toleranceMs: number;
  readonly isTrusted: boolean;
  readonly clocks: Pick<MerchantZoneGate, 'clockSkewMs' | 'clockOff' | 'noteClockOff' | 'learn'>;
  /** Null if the entry proves the zone, else why it does not. Throws `TimeZoneWrong`, and the error of the probe. */
  readonly askAbout: (
    probe: Probe,
    entry: LedgerEntry,
    others?: readonly LedgerEntry[],
  ) => Promise<string | null>;
}

function createMerchantGate({ zone, toleranceMs, isTrusted, clocks, askAbout }: GateParts): MerchantZoneGate {
  const { clockSkewMs, noteClockOff } = clocks;
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
  let outsidersExamined = 0;
  return {
    ...clocks,
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
    isTrusted,
  };
}

const isNear = ({ bookedMs }: LedgerEntry, { beginMs, endMs }: Window, toleranceMs: number): boolean =>
  bookedMs >= Math.floor(beginMs / 1_000) * 1_000 - toleranceMs && bookedMs <= endMs + toleranceMs;

const offText = ({ batchNo, bookedAt }: LedgerEntry, seen: string): string =>
  `entry ${batchNo}, booked ${bookedAt}, ${seen}`;

/** Proofs of the time zone for a merchant, one for each offset that the zone has and each day of a clock change. */
interface Proof {
  readonly throughMs: number;
  readonly done: Promise<void>;
}

/** What one proof serves for: an offset. On the day of a clock change a platform may still write the offset before it. */
function keyOf(zone: string, { bookedMs, bookedAt }: LedgerEntry): string {
  const offset = String(offsetMinutesOf(zone, bookedMs));
  return isAfterChange(bookedMs, zone) ? `${offset} ${bookedAt.slice(0, 10)}` : offset;
}

function createZoneProofs(
  zone: string,
  proveBy: (probe: Probe, entries: readonly LedgerEntry[]) => Promise<void>,
) {
  const proofs = new Map<string, Proof>();
  let hasAny = false;

  /** Waits for a proof that was begun before; false if it failed for a reason that says nothing about the zone. */
  const serves = async (key: string, proof: Proof): Promise<boolean> => {
    try {
      await proof.done;
      return true;
    } catch (error) {
      // Another pass's proof may fail because a call is refused, or because the answers make no sense.
      if (error instanceof TimeZoneWrong) throw error;
      if (proofs.get(key) === proof) proofs.delete(key);
      return false;
    }
  };

  return {
    /**
     * Resolves once the zone is proven at the offset it has when the first of these entries is booked. A proof that
     * somebody else began serves too, if its entry is booked at `throughMs` or later; else these entries prove it.
     * Rejects with what `proveBy` rejects with.
     */
    ensure: async (
      probe: Probe,
      entries: readonly LedgerEntry[],
      throughMs = Number.NEGATIVE_INFINITY,
    ): Promise<void> => {
      const { bookedMs } = entries[0]!;
      const key = keyOf(zone, entries[0]!);
      for (;;) {
        const begun = proofs.get(key);
        if (begun === undefined || begun.throughMs < throughMs) break;
        if (await serves(key, begun)) return;
      }
      const done = proveBy(probe, entries);
      proofs.set(key, { throughMs: bookedMs, done });
      await done;
      hasAny = true;
    },
    hasAny: (): boolean => hasAny,
  };
}

/**
 * Empty readings that wait for the zone's proof: an empty reply proves nothing about the zone, and a certificate must not be
 * stored without a proof. If entries of an empty window are stored already, the platform may have changed its zone.
 */
export interface Waiting {
  readonly part: Asked;
  readonly read: NotedReading;
}

interface ProvenBy {
  readonly db: Kysely<DB>;
  readonly merchantNo: string;
  readonly zoneGate: MerchantZoneGate;
  readonly probe: Probe;
}

/**
 * Of readings that waited to the end without a proof, those not to be stored: of windows with stored entries, if a wrong zone
 * may be why they came back empty, and what was read together with these. The platform is asked about that if `mayAsk`.
 * Throws `TimeZoneWrong`, and the error of the probe.
 */
export async function leftWithoutProof(
  by: ProvenBy,
  waiting: readonly Waiting[],
  mayAsk: boolean,
): Promise<{ readonly left: readonly Waiting[]; readonly spans: readonly UncertifiedSpan[] }> {
  const parts = waiting.map(({ part }) => part);
  const holding = by.zoneGate.isProven() ? [] : await windowsHolding(by.db, by.merchantNo, parts);
  if (holding.length === 0 || (mayAsk && (await isNoZone(by, holding)))) return { left: [], spans: [] };
  // What one reading shows of its other windows cannot be believed either.
  const doubted = new Set(waiting.filter(({ part }) => holding.includes(part)).map(({ read }) => read));
  const left = waiting.filter(({ read }) => doubted.has(read));
  const spans = left.map(({ part }) => ({
    window: part.window,
    problem: leftText(part, holding.includes(part)),
  }));
  return { left, spans };
}

const OFFSETS_MS = 28 * 3_600_000;

/**
 * Whether a wrong zone is certainly not why these windows are empty. That is so if the newest entry stored in them,
 * or the newest one before, proves the zone, or if the platform has that entry at no time that any zone could mean.
 */
async function isNoZone(
  { db, merchantNo, zoneGate, probe }: ProvenBy,
  spans: readonly Asked[],
): Promise<boolean> {
  const beginMs = Math.min(...spans.map(({ window }) => window.beginMs));
  const endMs = Math.max(...spans.map(({ window }) => window.endMs));
  const found = await Promise.all([
    newestEntryIn(db, merchantNo, { beginMs, endMs }),
    newestEntryIn(db, merchantNo, { beginMs: 0, endMs: beginMs - 1 }),
  ]);
  const entries = found.flatMap((entry) => entry ?? []);
  try {
    await zoneGate.prove(asStored(probe, entries), entries);
    return true;
  } catch (error) {
    if (!(error instanceof TimeZoneUnproven)) throw error;
    const [{ batchNo, bookedMs }] = entries as [LedgerEntry];
    const anywhere = { beginMs: bookedMs - OFFSETS_MS, endMs: bookedMs + OFFSETS_MS };
    const page = await asStored(probe, entries)(batchNo, anywhere);
    return page.entries.length + page.unreadable.length === 0;
  }
}

/** A probe without entries whose timestamp is not the stored one: they were amended, and say nothing about the zone. */
const asStored = (probe: Probe, stored: readonly LedgerEntry[]): Probe => {
  const stamps = new Map(stored.map(({ batchNo, bookedAt }) => [batchNo, bookedAt]));
  return async (batchNo, window) => {
    const page = await probe(batchNo, window);
    const entries = page.entries.filter((entry) => {
      const stamp = stamps.get(entry.batchNo);
      return stamp === undefined || stamp === entry.bookedAt;
    });
    return { ...page, entries };
  };
};

const leftText = (part: Asked, isHolding: boolean): string =>
  isHolding
    ? `${spanText(part)} came back empty while entries of it are stored, and nothing of this run proves the time zone: they ` +
      'stay as they are'
    : `${spanText(part)} came back empty together with days of which entries are stored, and nothing of this run proves ` +
      'the time zone: it is read again';

/**
 * Recognises timestamps whose seconds the platform has cut off: all that came end in :00. Stored under them, entries would
 * get wrong times, and other times again when the seconds come back. A ledger that books on full minutes is no such case.
 */
class SecondsCut extends ExpectedError {
  override readonly name = 'SecondsCut';
  readonly exitCode = EXIT.incomplete;

  constructor(count: number, { batchNo, bookedAt }: LedgerEntry, shown: string) {
    super(
      `The platform has cut the seconds from its timestamps: all ${count} that came end in :00. ` +
        `Entry ${batchNo} came with ${bookedAt}, ${shown}. ` +
        'Nothing of it is stored, so that no entry gets a wrong time. ' +
        'Run again later; if it stays so, ask the platform why busiDate of sp2404 has no seconds.',
    );
  }
}

/** A single entry may have been moved to a complete minute by the platform: it is asked where that one is. */
const MOVED_FEW = 2;

const endsOnMinute = ({ bookedAt }: LedgerEntry): boolean => bookedAt.endsWith(':00');

/**
 * Waits for the zone's proof by these entries. Where all of them end in :00 and the stored ones do not, or where they do
 * not prove it at once, the platform is asked whether it has them at that second. Throws `SecondsCut`, or what `prove`
 * and the probe throw.
 */
export type SecondsCheck = (entries: readonly LedgerEntry[], prove: () => Promise<void>) => Promise<void>;

export function createSecondsCheck({
  db,
  merchantNo,
  probe,
  clockSkewMs,
}: {
  readonly db: Kysely<DB>;
  readonly merchantNo: string;
  readonly probe: Probe;
  readonly clockSkewMs: () => number;
}): SecondsCheck {
  let isSound = false;

  const isElsewhere = async ({ batchNo, bookedMs }: LedgerEntry, slack: number): Promise<boolean> => {
    const exact = await probe(null, { beginMs: bookedMs - slack, endMs: bookedMs + slack + 999 });
    const holds = (page: typeof exact): boolean =>
      [...page.entries, ...page.unreadable].some((one) => one.batchNo === batchNo);
    if (holds(exact) || exact.entries.length >= PAGE_SIZE_MAX) return false;
    return holds(await probe(batchNo, { beginMs: bookedMs, endMs: bookedMs + 59_999 }));
  };

  const askAbout = async (entries: readonly LedgerEntry[], slack: number): Promise<void> => {
    if (isSound) return;
    // Two are asked about: one alone may truly be booked on a complete minute.
    for (const entry of new Set([entries[0]!, entries.at(-1)!])) {
      if (await isElsewhere(entry, slack))
        throw new SecondsCut(entries.length, entry, 'and the platform finds it later in that minute');
    }
    isSound = true;
  };

  return async (entries, prove) => {
    if (entries.length === 0 || !entries.every(endsOnMinute)) return prove();
    const slack = clockSkewMs();
    const { hasSeconds, cut } = await secondsSeen(db, merchantNo, entries);
    if (cut !== null) {
      const entry = entries.find(({ batchNo }) => batchNo === cut.batchNo)!;
      if (cut.count >= MOVED_FEW || (await isElsewhere(entry, slack)))
        throw new SecondsCut(entries.length, entry, `and is stored with ${cut.bookedAt}`);
    }
    if (hasSeconds === true) await askAbout(entries, slack);
    try {
      await prove();
    } catch (error) {
      if (error instanceof TimeZoneWrong || error instanceof TimeZoneUnproven) await askAbout(entries, slack);
      throw error;
    }
    if (clockSkewMs() !== slack) await askAbout(entries, slack);
  };
}

/** The platform answered a merchant's call with another merchant's entries; none of them was written. */
export class OtherLedgerAnswered extends ExpectedError {
  override readonly name = 'OtherLedgerAnswered';
  readonly exitCode = EXIT.incomplete;

  constructor(otherMerchantNo: string, batchNo: string, how: string) {
    super(
      `the platform answered with entries of another merchant: ${batchNo} is stored under ${otherMerchantNo}, and ${how}. ` +
        'Nothing of that reply was written. Check PLATFORM_HEADERS (does ' +
        "each call say whose it is?) and at both merchants' tokens.",
    );
  }
}

/**
 * To be called when all merchants are read. A failure whose entries are stored under another merchant becomes an error
 * that says so; any other failure is returned as it is.
 */
export async function explainFailure(
  db: Kysely<DB>,
  merchantNo: string,
  failure: Error | null,
): Promise<Error | null> {
  const isAnother = failure instanceof AnotherLedgerAnswered;
  if (!(failure instanceof TimeZoneUnproven || isAnother) || failure.entries.length === 0) return failure;
  const other = await merchantWith(db, merchantNo, failure.entries);
  if (other === null) return failure;
  const how = isAnother
    ? "nothing of the merchant's own was shown"
    : 'asked for by its batchNo it is not found here';
  return new OtherLedgerAnswered(other.merchantNo, other.batchNo, how);
}
