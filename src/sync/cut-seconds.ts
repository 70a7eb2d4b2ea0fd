/**
 * Recognises timestamps whose seconds the platform has cut off: all that came end in :00. Stored under them, entries would
 * get wrong times, and other times again when the seconds come back. A ledger that books on full minutes is no such case.
 */
import type { Kysely } from 'kysely';
import { EXIT, ExpectedError } from '../ledger/ending.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';
import type { DB } from '../store/engine/schema.ts';
import { secondsSeen } from '../store/seconds-seen.ts';
import { TimeZoneUnproven, TimeZoneWrong, type Probe } from './time-zone-proof.ts';

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

export interface CutSecondsOptions {
  readonly db: Kysely<DB>;
  readonly merchantNo: string;
  readonly probe: Probe;
  /** How far timestamps may be from the times the platform filters by. */
  readonly clockSkewMs: () => number;
}

export interface CutSeconds {
  /**
   * Waits for the zone's proof by these entries. Where all of them end in :00 and the stored ones do not, or where they do
   * not prove it at once, the platform is asked whether it has them at that second. Throws `SecondsCut`, or what `prove`
   * and the probe throw.
   */
  readonly before: (entries: readonly LedgerEntry[], prove: () => Promise<void>) => Promise<void>;
}

export function createCutSeconds({ db, merchantNo, probe, clockSkewMs }: CutSecondsOptions): CutSeconds {
  /** Set once entries were found where their timestamps say. */
  let isSound = false;

  /** Whether the platform has an entry in the minute of its timestamp, but not at that second. */
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

  return {
    before: async (entries, prove) => {
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
        if (error instanceof TimeZoneWrong || error instanceof TimeZoneUnproven)
          await askAbout(entries, slack);
        throw error;
      }
      if (clockSkewMs() !== slack) await askAbout(entries, slack);
    },
  };
}
