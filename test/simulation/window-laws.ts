/** What a certificate may claim, and what a reading may never do to what is stored. */
import type { Window } from '../../src/ledger/entry.ts';
import {
  dayOf,
  dayWindow,
  isInside,
  isNameless,
  nameOf,
  type Call,
  type Held,
  type WindowPlatform,
} from './window-platform.ts';

/** The clock tolerance. If the platform's clock seems to be off, windows are requested that much wider. */
export const TOLERANCE_S = 2;
export const SLACK_MS = TOLERANCE_S * 1_000;

export interface CertifiedWindow extends Window {
  readonly runId: number | null;
}

export interface StoredRow {
  readonly batchNo: string;
  readonly bookedMs: number;
  /** The credit as a number. A `Held` calls this its version. */
  readonly version: number;
  readonly vanished: boolean;
}

const holds = (outer: Window, inner: Window): boolean =>
  inner.beginMs >= outer.beginMs && inner.endMs <= outer.endMs;

const overlaps = (one: Window, other: Window): boolean =>
  one.beginMs <= other.endMs && one.endMs >= other.beginMs;

/** Whether the parts leave nothing of the window out. */
function coverAll(window: Window, parts: readonly Window[]): boolean {
  let fromMs = window.beginMs;
  for (const { beginMs, endMs } of [...parts].sort((a, b) => a.beginMs - b.beginMs))
    if (beginMs <= fromMs) fromMs = Math.max(fromMs, endMs + 1);
  return fromMs > window.endMs;
}

const isWiderThan =
  (window: Window) =>
  ({ query }: Call): boolean =>
    !holds({ beginMs: window.beginMs - SLACK_MS, endMs: window.endMs + SLACK_MS }, query.window);

/**
 * The calls from the first to the last that read a certified window: those for it or parts of it, or, if these do not
 * cover it, those for the wide window that holds it and was read last.
 */
function readingOf(window: Window, calls: readonly Call[]): readonly Call[] {
  const isWider = isWiderThan(window);
  const windows = calls.filter(({ query }) => query.batchNo === undefined);
  const own = windows.filter((call) => !isWider(call) && overlaps(window, call.query.window));
  const wider = windows.filter((call) => isWider(call) && holds(call.query.window, window));
  const last = wider.at(-1)?.query.window;
  // Calls that cover only a part of it ask where an entry lies, for the proof of the zone.
  const isRead =
    wider.length === 0 ||
    coverAll(
      window,
      own.map(({ query }) => query.window),
    );
  const reading = isRead ? own : wider.filter(({ query }) => last !== undefined && holds(query.window, last));
  return reading.length === 0
    ? []
    : calls.slice(calls.indexOf(reading[0]!), calls.indexOf(reading.at(-1)!) + 1);
}

/** What happened in a window between the first and the last call that read it. */
function movesWithin(
  calls: readonly Call[],
  window: Window,
): { joined: number; left: number; amended: number } {
  const openingChanged = { joined: 0, left: 0, amended: 0 };
  calls.forEach(({ held }, at) => {
    const before = calls[at - 1]?.held;
    if (before === undefined || before === held) return;
    for (const one of held.values()) {
      if (!isInside(one, window)) continue;
      const was = before.get(one.batchNo);
      if (was === undefined) openingChanged.joined += 1;
      else if (was !== one) openingChanged.amended += 1;
    }
    for (const one of before.values())
      if (isInside(one, window) && !held.has(one.batchNo)) openingChanged.left += 1;
  });
  return openingChanged;
}

/**
 * A certified window holds exactly what the platform held at one instant during the reading.
 *
 * If several kinds of change happened during the reading, or one change and wrong totals, counting cannot show it.
 * Then the law is only that everything stored was held at some instant. As many earlier entries may stay as the
 * planned day holds wrecks without batchNo, because each wreck may be one of them.
 */
export function wrongCertificates(
  platform: WindowPlatform,
  calls: readonly Call[],
  windows: readonly CertifiedWindow[],
  { before, after: rows, liesInTotals }: Step,
): string[] {
  const stoodBefore = new Set(before.filter(({ vanished }) => !vanished).map(nameOf));
  const staying = new Map<number, Set<string>>();
  // If windows are requested wider, wrecks next to the day come too.
  const clockSkewMs = calls.some(({ query }) => query.bookedWithin !== undefined) ? SLACK_MS : 0;
  const askedFor = ({ beginMs, endMs }: Window) => ({
    beginMs: beginMs - clockSkewMs,
    endMs: endMs + clockSkewMs,
  });
  const mayStay = (adds: readonly string[], window: Window): boolean => {
    const day = dayOf(window.beginMs);
    const stay = new Set([...(staying.get(day) ?? []), ...adds]);
    staying.set(day, stay);
    return (
      adds.every((one) => stoodBefore.has(one)) && stay.size <= namelessOn(askedFor(dayWindow(day)), calls)
    );
  };
  return windows.flatMap((window) => {
    const during = readingOf(window, calls);
    if (during.length === 0) return [];
    // A wide window is certified as one: what happened anywhere in it may hide from the count.
    const asked = {
      beginMs: Math.min(window.beginMs, ...during.map(({ query }) => query.window.beginMs)),
      endMs: Math.max(window.endMs, ...during.map(({ query }) => query.window.endMs)),
    };
    const unreadable = new Set(
      during.flatMap(({ held }) =>
        [...held.values()].filter(({ wreck }) => wreck !== null).map(({ batchNo }) => batchNo),
      ),
    );
    const list = (all: Iterable<Held>) =>
      [...all]
        .filter((one) => isInside(one, window) && !unreadable.has(one.batchNo))
        .map(nameOf)
        .sort();
    const stored = rows
      .filter(({ batchNo, vanished }) => !vanished && !unreadable.has(batchNo))
      .filter(({ batchNo }) => {
        const ms = platform.trueMsOf(batchNo);
        return ms >= window.beginMs && ms <= window.endMs;
      })
      .map(nameOf)
      .sort();
    const { joined, left, amended } = movesWithin(during, during.some(isWiderThan(window)) ? asked : window);
    const moved = [joined > 0, left > 0, amended > 0];
    const kinds = [...moved, liesInTotals && moved.includes(true)].filter(Boolean);
    const oneKind = kinds.length <= 1 && amended <= 1;
    const name = `${new Date(window.beginMs).toISOString()} to ${new Date(window.endMs).toISOString()}`;
    if (oneKind) {
      const additions = [...new Set(during.map(({ held }) => held))].flatMap((held) => {
        const there = new Set(list(held.values()));
        const adds = stored.filter((one) => !there.has(one));
        return stored.length - adds.length === there.size ? [adds] : [];
      });
      const [fewest] = additions.sort((a, b) => a.length - b.length);
      if (fewest !== undefined && (fewest.length === 0 || mayStay(fewest, window))) return [];
      const last = list(during.at(-1)!.held.values());
      const lacks = last.filter((one) => !stored.includes(one));
      const adds = stored.filter((one) => !last.includes(one));
      return [
        `a certified window holds what the platform never held: ${name}, of ${last.length} it lacks ` +
          `[${lacks.slice(0, 3).join(', ')}] and adds [${adds.slice(0, 3).join(', ')}]`,
      ];
    }
    const ever = new Set(during.flatMap(({ held }) => list(held.values())));
    const never = stored.filter((one) => !ever.has(one));
    return never.length === 0 || mayStay(never, window)
      ? []
      : [`a certified window holds entries never held there: ${name}, ${never[0]}`];
  });
}

/** The most wrecks without batchNo that a day held at one call. */
const namelessOn = (day: Window, calls: readonly Call[]): number => {
  const count = (held: Call['held']) =>
    [...held.values()].filter((one) => isNameless(one) && isInside(one, day)).length;
  return Math.max(...[...new Set(calls.map(({ held }) => held))].map(count));
};

export interface Step {
  readonly before: readonly StoredRow[];
  readonly after: readonly StoredRow[];
  /** The platform once said that a window is empty, and it was not. */
  readonly emptied: boolean;
  /** Some of the platform's totals were wrong. */
  readonly liesInTotals: boolean;
}

/**
 * Entries marked vanished that the platform held during the entire reading, readable or not. If it said that a window
 * is empty, a few are believed at once: fewer than three or at most half of the day, and never all of it.
 */
export function vanishedThoughHeld(
  platform: WindowPlatform,
  calls: readonly Call[],
  { before, after, emptied, liesInTotals }: Step,
): string[] {
  const states = [...new Set(calls.map(({ held }) => held))];
  const wasThere = new Set(before.filter(({ vanished }) => !vanished).map(({ batchNo }) => batchNo));
  const everything = { beginMs: 0, endMs: Number.MAX_SAFE_INTEGER };
  const { joined, left } = movesWithin(calls, everything);
  // A reading can mistake an entry that left for one that joined, or for a wrong total, and then miss a third.
  // Counting cannot show that.
  if (states.length === 0 || (left > 0 && (joined > 0 || liesInTotals))) return [];
  const dayOfEntry = (batchNo: string) => dayOf(platform.trueMsOf(batchNo));
  const isBelieved = (batchNo: string): boolean => {
    const onDay = after.filter((one) => dayOfEntry(one.batchNo) === dayOfEntry(batchNo));
    const gone = onDay.filter((one) => one.vanished && wasThere.has(one.batchNo)).length;
    const held = gone + onDay.filter((one) => !one.vanished).length;
    return gone < held && (gone < 3 || gone <= held / 2);
  };
  return after
    .filter(({ batchNo, vanished }) => vanished && wasThere.has(batchNo))
    .filter(({ batchNo }) => states.every((held) => held.has(batchNo)))
    .filter(({ batchNo }) => !emptied || !isBelieved(batchNo))
    .map(({ batchNo }) => `an entry held throughout is marked vanished: ${batchNo}`);
}
