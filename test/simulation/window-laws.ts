/** What a certificate may claim, and what no reading may do to what is stored. */
import type { Window } from '../../src/ledger/entry.ts';
import { isInside, type Call, type Held, type WindowPlatform } from './window-platform.ts';

export interface CertifiedWindow extends Window {
  readonly runId: number | null;
}

export interface StoredRow {
  readonly batchNo: string;
  readonly bookedMs: number;
  /** The credit as a number: what a `Held` calls its version. */
  readonly version: number;
  readonly vanished: boolean;
}

const holds = (outer: Window, inner: Window): boolean =>
  inner.beginMs >= outer.beginMs && inner.endMs <= outer.endMs;
const nameOf = ({ batchNo, version }: { batchNo: string; version: number }): string =>
  `${batchNo} v${version}`;

/** What happened inside a window between the first and the last call that read it. */
function movesWithin(
  calls: readonly Call[],
  window: Window,
): { joined: number; left: number; amended: number } {
  const moves = { joined: 0, left: 0, amended: 0 };
  calls.forEach(({ held }, at) => {
    const before = calls[at - 1]?.held;
    if (before === undefined || before === held) return;
    for (const one of held.values()) {
      if (!isInside(one, window)) continue;
      const was = before.get(one.batchNo);
      if (was === undefined) moves.joined += 1;
      else if (was !== one) moves.amended += 1;
    }
    for (const one of before.values()) if (isInside(one, window) && !held.has(one.batchNo)) moves.left += 1;
  });
  return moves;
}

/**
 * A certified window holds exactly what the platform held at one instant of its reading. Where several kinds of change
 * met in one reading no count can tell: then everything stored was at least held at some instant.
 */
export function wrongCertificates(
  platform: WindowPlatform,
  calls: readonly Call[],
  windows: readonly CertifiedWindow[],
  rows: readonly StoredRow[],
): string[] {
  return windows.flatMap((window) => {
    const reading = (call: Call) => call.query.batchNo === undefined && holds(window, call.query.window);
    const first = calls.findIndex(reading);
    if (first === -1) return [];
    const during = calls.slice(first, calls.findLastIndex(reading) + 1);
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
    const { joined, left, amended } = movesWithin(during, window);
    const oneKind = [joined > 0, left > 0, amended > 0].filter(Boolean).length <= 1 && amended <= 1;
    const name = `${new Date(window.beginMs).toISOString()} to ${new Date(window.endMs).toISOString()}`;
    if (oneKind) {
      const states = new Set(during.map(({ held }) => held));
      if ([...states].some((held) => list(held.values()).join() === stored.join())) return [];
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
    return never.length === 0
      ? []
      : [`a certified window holds entries never held there: ${name}, ${never[0]}`];
  });
}

/** Entries marked vanished that the platform held throughout the reading, readable or not. */
export function vanishedThoughHeld(
  calls: readonly Call[],
  before: readonly StoredRow[],
  after: readonly StoredRow[],
): string[] {
  const states = [...new Set(calls.map(({ held }) => held))];
  const wasThere = new Set(before.filter(({ vanished }) => !vanished).map(({ batchNo }) => batchNo));
  const everything = { beginMs: 0, endMs: Number.MAX_SAFE_INTEGER };
  const { joined, left } = movesWithin(calls, everything);
  // A reading can mistake one that left for one that joined, and then miss a third: no count can tell.
  if (states.length === 0 || (joined > 0 && left > 0)) return [];
  return after
    .filter(({ batchNo, vanished }) => vanished && wasThere.has(batchNo))
    .filter(({ batchNo }) => states.every((held) => held.has(batchNo)))
    .map(({ batchNo }) => `an entry held throughout is marked vanished: ${batchNo}`);
}
