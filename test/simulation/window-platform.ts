/** A platform that misbehaves in every way a case asks for, and remembers what it held at each call. */
import type { LedgerEntry, UnreadableEntry, Window } from '../../src/ledger/entry.ts';
import { PlatformUnreachable } from '../../src/platform/errors.ts';
import type { LedgerPage, LedgerPageQuery, LedgerReader } from '../../src/platform/ledger-reader.ts';
import { below, seeded } from '../../src/plugins/sandbox/ledger.ts';
import type { Group, Happening, Reading, WindowCase } from './window-cases.ts';

export const PAGE_SIZE = 100;
const DAY_MS = 86_400_000;
export const FIRST_DAY = '2026-03-10';
export const LAST_DAY = '2026-03-11';
export const FIRST_MS = Date.parse(`${FIRST_DAY}T00:00:00Z`);

/** One line of the books. It never changes; a change replaces it. */
export interface Held {
  readonly batchNo: string;
  readonly trueMs: number;
  /** Grows with each amendment. It is also the credit, so that contents differ. */
  readonly version: number;
  readonly wreck: UnreadableEntry | null;
}

export interface Call {
  readonly query: LedgerPageQuery;
  /**
   * Everything that was held while the call was answered, by batch number, or for a wreck without one by a name of
   * its own.
   */
  readonly held: ReadonlyMap<string, Held>;
}

export interface WindowPlatform {
  /** A reader for one reading. `calls` grows with each call that it answers. */
  readonly open: (reading: Reading) => { readonly reader: LedgerReader; readonly calls: Call[] };
  readonly held: () => ReadonlyMap<string, Held>;
  readonly trueMsOf: (batchNo: string) => number;
}

const wreckOf = (name: string, kind: Group['wreck']): UnreadableEntry | null => {
  if (kind === 'none') return null;
  if (kind === 'identical') return { raw: '{"busiType":"?"}', reason: 'no batchNo', batchNo: null };
  return { raw: `{"batchNo":"${name}"}`, reason: 'no amount', batchNo: name };
};

export const isInside = ({ trueMs }: Held, { beginMs, endMs }: Window): boolean =>
  trueMs >= beginMs && trueMs <= endMs;

export const dayOf = (ms: number): number => Math.floor((ms - FIRST_MS) / DAY_MS);

/** A day, as the window that is planned for it. */
export const dayWindow = (day: number): Window => ({
  beginMs: FIRST_MS + day * DAY_MS,
  endMs: FIRST_MS + (day + 1) * DAY_MS - 1,
});

export const nameOf = ({ batchNo, version }: { batchNo: string; version: number }): string =>
  `${batchNo} v${version}`;

export const isNameless = ({ wreck }: Held): boolean => wreck !== null && wreck.batchNo === null;

export function createWindowPlatform(drawn: WindowCase): WindowPlatform {
  const random = seeded(`windows ${drawn.seed}`);
  let held = new Map<string, Held>();
  const places = new Map<string, number>();
  let named = 0;
  const add = (trueMs: number, wreck: Group['wreck']): void => {
    const batchNo = `B${String(named++).padStart(4, '0')}`;
    places.set(batchNo, trueMs);
    held = new Map(held).set(batchNo, { batchNo, trueMs, version: 1, wreck: wreckOf(batchNo, wreck) });
  };
  for (const { day, second, count, together, wrecked, wreck } of drawn.groups)
    for (let at = 0; at < count; at += 1)
      add(
        FIRST_MS + day * DAY_MS + second * 1_000 + (together ? 500 : below(random, 1_000)),
        at < wrecked ? wreck : 'none',
      );

  const happen = ({ what, pick }: Happening): void => {
    const all = [...held.values()];
    const chosen = all[pick % Math.max(1, all.length)];
    if (chosen === undefined) return;
    if (what === 'join') {
      add(chosen.trueMs, 'none');
      return;
    }
    const next = new Map(held);
    if (what === 'leave') next.delete(chosen.batchNo);
    else if (what === 'amend') next.set(chosen.batchNo, { ...chosen, version: chosen.version + 1 });
    else {
      const kind = what === 'wreckNameless' ? 'identical' : 'named';
      next.set(chosen.batchNo, { ...chosen, wreck: wreckOf(chosen.batchNo, kind) });
    }
    held = next;
  };

  const entryOf = ({ batchNo, trueMs, version }: Held): LedgerEntry => {
    const bookedMs = Math.floor((trueMs + drawn.zoneOffMinutes * 60_000) / 1_000) * 1_000;
    return {
      batchNo,
      currency: 'USD',
      transactionType: 'T1',
      credit: `${version}.00`,
      debit: null,
      balance: '0.00',
      bookedAt: new Date(bookedMs).toISOString().slice(0, 19).replace('T', ' '),
      bookedMs,
    };
  };

  const ordered = (found: Held[], { beginMs, endMs }: Window): Held[] => {
    const steady = found.sort((a, b) => a.trueMs - b.trueMs || (a.batchNo < b.batchNo ? -1 : 1));
    if (drawn.order === 'stable') return steady;
    if (drawn.order === 'reversed') return steady.reverse();
    const chance = drawn.order === 'restless' ? random : seeded(`${drawn.seed} ${beginMs} ${endMs}`);
    for (let at = steady.length - 1; at > 0; at -= 1) {
      const other = below(chance, at + 1);
      [steady[at], steady[other]] = [steady[other]!, steady[at]!];
    }
    return steady;
  };

  const open = ({ happenings, misdeed }: Reading) => {
    const calls: Call[] = [];
    const answer = (query: LedgerPageQuery): LedgerPage => {
      const call = calls.length;
      for (const happening of happenings) if (happening.call === call) happen(happening);
      calls.push({ query, held });
      const strikes = 'everyNth' in misdeed && call % misdeed.everyNth === 0;
      if (misdeed.what === 'fails' && call >= misdeed.call)
        throw new PlatformUnreachable('the platform is away');
      if (misdeed.what === 'emptyOnce' && call === misdeed.call)
        return { total: 0, entries: [], unreadable: [], notices: [] };
      const { batchNo, window, pageNum } = query;
      const anyDate =
        misdeed.what === 'ignoresDates' ||
        (misdeed.what === 'ignoresDatesWithBatchNo' && batchNo !== undefined);
      const found = [...held.values()].filter(
        (one) =>
          (anyDate || isInside(one, window)) &&
          (batchNo === undefined || misdeed.what === 'ignoresBatchNo' || one.batchNo === batchNo),
      );
      const page = ordered(found, window).slice((pageNum - 1) * PAGE_SIZE, pageNum * PAGE_SIZE);
      if (misdeed.what === 'short' && strikes) page.pop();
      // A nameless wreck that is shown twice resembles two identical ones. No one can tell, so the twin has a name.
      const twin = page.find((one) => !isNameless(one));
      if (misdeed.what === 'doubled' && strikes && page.length > 1 && twin !== undefined)
        page[page.length - 1] = twin;
      return {
        total: Math.max(0, found.length + (misdeed.what === 'totals' && strikes ? misdeed.by : 0)),
        entries: page.filter(({ wreck }) => wreck === null).map(entryOf),
        unreadable: page.flatMap(({ wreck }) => (wreck === null ? [] : [wreck])),
        notices: [],
      };
    };
    const page = (query: LedgerPageQuery): Promise<LedgerPage> =>
      new Promise((resolve) => {
        resolve(answer(query));
      });
    return { calls, reader: { page } };
  };

  return { open, held: () => held, trueMsOf: (batchNo) => places.get(batchNo)! };
}
