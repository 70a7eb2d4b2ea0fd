/**
 * Finds out whether the platform caps its results: list and total of a window both end at some number, whatever the window
 * holds. A reading of such a window adds up, so nothing in it shows what it lacks; its halves do.
 *
 * The halves are asked for where the total is a round number, as caps are, where another window of the same reading
 * states the same total, and where entries end long before the window does. Not where all days of a window were read before, as
 * their stored entries would be missing. A window is cut in the middle of its entries: whether the platform shows the oldest, the newest or
 * any others, one half then has room for what the window lacked.
 */
import type { Window } from '../ledger/entry.ts';
import { lengthMs, subtractWindows } from '../ledger/window.ts';
import type { LedgerPage } from '../platform/ledger-reader.ts';
import type { Asked, Reading } from './certificate.ts';
import { isRefusal, spanText, type PageSource } from './page-source.ts';
import type { CapFinding } from './reading-work.ts';
import type { WideWindow } from './wide-windows.ts';

/** Caps on results are multiples of this. */
const ROUND = 100;
/** Whether a total may be a cap, as far as its number tells. */
export const isRound = (total: number): boolean => total > 0 && total % ROUND === 0;
const SECOND_MS = 1_000;
/** Quiet time at an edge is asked about where it is longer than a night and a day, */
const QUIET_MS = 36 * 3_600_000;
/** and as many entries as this are expected in it, by at least so many that came. */
const EXPECTED_MIN = 5;
const ENTRIES_MIN = 10;

/** So much more in the halves may be two wrong totals, unless they show an entry that the window hid. */
const WRONG_TOTALS_MAX = 2;

const NONE: CapFinding = { kind: 'none' };

export async function findCap(
  asked: WideWindow,
  reading: Pick<Reading, 'total' | 'entries' | 'neighbours'>,
  source: Pick<PageSource, 'page' | 'work'>,
  clockSkewMs: number,
): Promise<CapFinding> {
  const { total } = reading;
  if (wasRead(asked)) return NONE;
  const shown = [...reading.entries.values(), ...reading.neighbours.values()];
  const times = shown.map(({ bookedMs }) => bookedMs);
  const numbers = new Set(shown.map(({ batchNo }) => batchNo));
  const ask = (): Promise<CapFinding> => askHalves(asked, { total, times, numbers }, source, clockSkewMs);
  if (isRound(total) || (total > 0 && hasLongQuiet(asked, times))) return ask();
  return source.work.isStatedElsewhere(asked, total) ? source.work.onceFor(total, ask) : NONE;
}

async function askHalves(
  asked: Asked,
  {
    total,
    times,
    numbers,
  }: {
    readonly total: number;
    readonly times: readonly number[];
    readonly numbers: ReadonlySet<string>;
  },
  source: Pick<PageSource, 'page' | 'work'>,
  clockSkewMs: number,
): Promise<CapFinding> {
  const halves = halvesOf(asked.window, times);
  if (halves === null) return NONE;
  const firstPage = (window: Window): Promise<LedgerPage> => source.page({ window }, 1);
  try {
    const cutMs = halves[1].beginMs;
    // Asked for with the clock's slack, both halves have the entries next to the cut.
    const isInBoth = (ms: number): boolean =>
      clockSkewMs > 0 && Math.abs(ms - cutMs) <= 2 * clockSkewMs + SECOND_MS;
    const inBoth = times.filter(isInBoth).length;
    const halfPages = (): Promise<LedgerPage[]> => Promise.all(halves.map(firstPage));
    const sumOf = (totals: readonly number[]): number => totals[0]! + totals[1]! - inBoth;
    const first = (await halfPages()).map((page) => page.total);
    if (sumOf(first) <= total) return NONE;
    if ((await firstPage(asked.window)).total > total) return { kind: 'changed' };
    // One wrong total is no cap: both halves have to state as much again.
    const second = await halfPages();
    const sum = sumOf(first.map((one, nth) => Math.min(one, second[nth]!.total)));
    const isHiding = second.some(({ entries }) => entries.some(({ batchNo }) => !numbers.has(batchNo)));
    if (sum <= total + (isHiding ? 0 : WRONG_TOTALS_MAX)) return { kind: 'changed' };
    source.work.noteCapped(total);
    return { kind: 'capped', sentence: capText(asked, total, sum), parts: sum };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return NONE;
  }
}

/** Whether all of several days was read before: what a cap hides of them is then missed among the stored entries. */
const wasRead = ({ window, planned, readBefore }: WideWindow): boolean =>
  readBefore !== undefined && planned.length > 1 && subtractWindows([window], readBefore).length === 0;

/** Whether the entries leave time at an edge that would hold some by their number. Time read before would lack stored ones. */
function hasLongQuiet(
  { window, readBefore }: Pick<WideWindow, 'window' | 'readBefore'>,
  times: readonly number[],
): boolean {
  if (readBefore === undefined || times.length < ENTRIES_MIN) return false;
  const busy = { beginMs: Math.min(...times), endMs: Math.max(...times) };
  const quietMs = Math.max(QUIET_MS, (EXPECTED_MIN * lengthMs(busy)) / times.length);
  return subtractWindows([window], [...readBefore, busy]).some((one) => lengthMs(one) > quietMs);
}

/** The window in two, so that each has half of the entries; null if all are in its only second. */
function halvesOf({ beginMs, endMs }: Window, times: readonly number[]): readonly [Window, Window] | null {
  const sorted = times.toSorted((a, b) => a - b);
  const middleMs = sorted[Math.floor(sorted.length / 2)] ?? beginMs + Math.floor((endMs - beginMs) / 2);
  const secondMs = middleMs - (middleMs % SECOND_MS);
  const laterMs = sorted.find((ms) => ms >= secondMs + SECOND_MS) ?? secondMs + SECOND_MS;
  const cutMs = [secondMs, laterMs].find((ms) => ms > beginMs && ms <= endMs);
  return cutMs === undefined
    ? null
    : [
        { beginMs, endMs: cutMs - 1 },
        { beginMs: cutMs, endMs },
      ];
}

export const capText = (asked: Asked, total: number, parts: number): string =>
  `${spanText(asked)} could not be certified: the total is ${total}, but its parts hold ${parts}: the platform caps its results at ${total}`;
