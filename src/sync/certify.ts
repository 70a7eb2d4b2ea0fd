/**
 * Reads one planned window, or a part of one, until it is certified, or says into which parts to split it, or gives up
 * and says why.
 *
 * - A window with more pages than its grain allows is split after its first page.
 * - A window of several pages that does not add up is read again, and then split into parts of one page. A page is one
 *   reply, so neither another order nor a change between pages can harm it.
 * - A window of one second cannot be split by full seconds. Its readings are put together, as long as the total stays
 *   the same, until they show as many entries as the total. If that does not help, the second is split by milliseconds.
 * - Calls that led nowhere are counted for each planned window with all its parts. At a limit, it is given up.
 */
import type { LedgerEntry, UnreadableEntry, Window } from '../ledger/entry.ts';
import type { LedgerPage } from '../platform/ledger-reader.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';
import type { WindowReading } from '../store/compare-with-stored.ts';
import {
  contradictionOf,
  distinctOf,
  judgePages,
  needsConfirming,
  pagesOf,
  uniteReadings,
  type Asked,
  type Reading,
  type UnreadableSeen,
  type OutOfScopeRecord,
} from './certificate.ts';
import {
  isDivisible,
  readsMaxOf,
  splitDeep,
  splitUnsteady,
  type SplitPolicy,
  type Split,
  type ReadLimits,
} from './limits.ts';
import { lengthMs, splitWindow, subtractWindows } from '../ledger/window.ts';
import { findCap } from './caps.ts';
import { isRefusal, spanText, type PageSource } from './page-source.ts';
import { inGroups, type WideWindow } from './wide-windows.ts';

/** What one planned window has cost so far, and what came of it; shared by all its parts. */
export interface RetryBudget {
  failedCalls: number;
  certifiedPages: number;
  /** Of all windows of a reading together: readings of one page that failed since one with entries was certified. */
  readonly streak: { failed: number };
}

export interface CertifyTask extends WideWindow {
  readonly splitPolicy: SplitPolicy;
  readonly retryBudget: RetryBudget;
}

export interface NotedReading {
  readonly reading: WindowReading;
  readonly notices: readonly string[];
  /** Entries that were not asked for. Such a reading has no certificate, and keeps them in quarantine. */
  readonly outOfScope: readonly LedgerEntry[];
}

type Outcome =
  | ({ readonly kind: 'read' } & NotedReading)
  /** `orderUnsteady`: the pages of an unchanged window did not fit together, as each call has another order. */
  | ({ readonly kind: 'split'; readonly orderUnsteady: boolean } & Split)
  /** A wide window is to be read as these groups of its planned windows instead. */
  | {
      readonly kind: 'apart';
      readonly groups: readonly (readonly Window[])[];
      readonly orderUnsteady: boolean;
    };

/** Most entries kept that were not asked for: a platform that ignores the query sends its complete ledger. */
const OUT_OF_SCOPE_KEPT_MAX = 100;

/** Throws what `source` throws. */
export async function certifyWindow(
  task: CertifyTask,
  source: PageSource,
  limits: ReadLimits,
): Promise<Outcome> {
  const { window, splitPolicy, retryBudget } = task;
  const everSeen = {
    entries: new Map<string, LedgerEntry>(),
    unreadable: new Map<string, UnreadableSeen>(),
    outOfScope: new Map<string, OutOfScopeRecord>(),
  };
  let united: Reading | null = null;
  let requests = 0;

  for (let reads = 1; ; reads += 1) {
    const first = await source.page(task, 1);
    requests += 1;
    source.onFirstPage(first, task);
    if (!(await source.isEmptyBelieved(task, first))) continue;
    const { total } = first;

    const deep = splitDeep(window, total, splitPolicy, limits);
    if (deep !== null && isFilled(first) && !isSpent(retryBudget, limits))
      return split(retryBudget, deep, false);

    const rest = pagesToFollow(first, task, deep !== null, limits);
    const reading: Reading = await readRest(task, source, { first, rest }, limits);
    requests += rest;
    united = united === null ? reading : uniteReadings(united, reading);
    if (united.problem === null) {
      const cap = await findCap(task, united, source, limits.clockSkewMsMax);
      if (cap.kind === 'capped') return read(united, { requests, problem: cap.sentence });
      if (cap.kind === 'none' || reads >= limits.onePageReadsMax)
        return proven(task, united, requests, source);
      united = null;
      continue;
    }
    // While known entries are seen a second time, a reading leads somewhere even without a certificate.
    if (united.seenOnce === null || distinctOf(united) < united.total) retryBudget.failedCalls += 1 + rest;
    if (rest === 0) retryBudget.streak.failed += 1;
    for (const entry of reading.entries.values()) everSeen.entries.set(entry.batchNo, entry);
    for (const [key, entry] of reading.unreadable) everSeen.unreadable.set(key, entry);
    for (const [key, outOfScope] of reading.outOfScope) everSeen.outOfScope.set(key, outOfScope);

    if (!isSpent(retryBudget, limits)) {
      const isHopeless = retryBudget.streak.failed >= limits.failedInARowMax;
      const roomMax = roomOf(first);
      const readsMax = readsMaxOf(window, { total, roomMax }, splitPolicy, limits);
      if (reads < (isHopeless ? limits.hopelessReadsMax : readsMax)) continue;
      const finer = splitUnsteady(window, { total, roomMax }, splitPolicy, limits);
      if (finer !== null) return split(retryBudget, finer, united.mayUnite);
    }
    const problem = `${spanText(task)} could not be certified in ${reads} reading${reads === 1 ? '' : 's'}: ${united.problem}`;
    return read({ ...united, ...everSeen }, { requests, problem });
  }
}

function proven(task: CertifyTask, reading: Reading, requests: number, { work }: PageSource): Outcome {
  const { total } = reading;
  if (total > 0) {
    task.retryBudget.certifiedPages += pagesOf(total);
    task.retryBudget.streak.failed = 0;
    work.countProven(task, total);
  }
  return read(reading, { requests, problem: null });
}

/**
 * Whether patience is used up. Then a window is not read again or split, but all its pages are still read, so that its
 * entries are stored even without a certificate. When it is used up twice (`times` 2), only first pages are read.
 */
const isSpent = ({ failedCalls, certifiedPages }: RetryBudget, limits: ReadLimits, times = 1): boolean =>
  failedCalls >= times * (limits.failedCallsMax + limits.failedCallsPerPage * certifiedPages);

/** Whether a first page holds as many records as its total promises. If not, the total is not believed. */
export const isFilled = ({ total, entries, unreadable }: LedgerPage): boolean =>
  entries.length + unreadable.length >= Math.min(PAGE_SIZE_MAX, total);

function pagesToFollow(first: LedgerPage, task: CertifyTask, isDeep: boolean, limits: ReadLimits): number {
  const pages = pagesOf(first.total);
  const isLastResort =
    isSpent(task.retryBudget, limits) || !isDivisible(task.window, task.splitPolicy.unitMs);
  if (isSpent(task.retryBudget, limits, 2) || (!isFilled(first) && !isLastResort)) return 0;
  if (pages > (isDeep ? limits.pageNumMax : limits.pageNumIndivisibleMax)) return 0;
  return pages - 1 + (needsConfirming(first) ? 1 : 0);
}

/** How many entries a page holds, as far as a first one with fewer than its total shows. */
const roomOf = ({ fullAt, total }: LedgerPage): number =>
  fullAt !== undefined && fullAt < total ? fullAt : PAGE_SIZE_MAX;

/** Reads so many pages after the first one, and judges all of them. */
async function readRest(
  asked: Asked,
  source: PageSource,
  { first, rest }: { readonly first: LedgerPage; readonly rest: number },
  { clockSkewMsMax }: ReadLimits,
): Promise<Reading> {
  if (rest > 0) await source.holdPages(rest);
  const others = Array.from({ length: rest }, (_, index) => pageAfterFirst(asked, source, first, index + 2));
  const pages = [first, ...(await Promise.all(others))];
  const reading = judgePages(pages, asked, clockSkewMsMax);
  const problem = contradictionOf(pages, reading);
  if (problem !== null) source.onContradiction(`${spanText(asked)}: ${problem}`);
  return reading;
}

/**
 * Some platforms refuse the extra page after a full last one instead of sending an empty one: a refusal counts as an empty
 * page with the same total. Others send the last page again; what they send in its place is judged like any page.
 */
async function pageAfterFirst(
  asked: Asked,
  source: PageSource,
  { total }: LedgerPage,
  pageNum: number,
): Promise<LedgerPage> {
  const isBeyondLast = pageNum > pagesOf(total);
  try {
    return await source.page(asked, pageNum, isBeyondLast);
  } catch (error) {
    if (!isRefusal(error) || !isBeyondLast) throw error;
    return { total, entries: [], unreadable: [], notices: [] };
  }
}

/** Each part of a split costs a call of patience, so that a platform that makes up totals comes to an end. */
function split(retryBudget: RetryBudget, { parts, splitPolicy }: Split, orderUnsteady: boolean): Outcome {
  retryBudget.failedCalls += parts.length;
  return { kind: 'split', parts, splitPolicy, orderUnsteady };
}

function read(from: Reading, { requests, problem }: { requests: number; problem: string | null }): Outcome {
  const { total, entries, neighbours, unreadable, notices } = from;
  const outOfScope = [...from.outOfScope.values()];
  const reading = {
    entries: [...entries.values()],
    unreadable: [
      ...[...unreadable.values()].flatMap(({ entry, times }) => Array.from({ length: times }, () => entry)),
      ...outOfScope.slice(0, OUT_OF_SCOPE_KEPT_MAX).map(outOfScopeKept),
    ],
    total: Math.max(0, total - neighbours.size),
    requests,
    certified: problem === null,
    problem,
  };
  return { kind: 'read', reading, notices, outOfScope: outOfScope.map(({ entry }) => entry) };
}

const outOfScopeKept = ({ entry, reason }: OutOfScopeRecord): UnreadableEntry => {
  const { batchNo, currency, transactionType, credit, debit, balance, bookedAt } = entry;
  const raw = JSON.stringify({ batchNo, currency, transactionType, credit, debit, balance, bookedAt });
  return { batchNo, raw, reason };
};

/**
 * Reads a window that is made of several planned ones. Either one reading certifies it as it is, or it is read in groups
 * of its planned windows, down to each by itself. So nothing that is odd about one day leaves another one unproven, and
 * no trouble is ever stored about a wide window.
 *
 * Reads the window once more if it does not add up, as an entry may have come between two pages. It is read in two groups if
 * that does not help, if the platform refuses so wide a window, if a record was not asked for, or if one cannot be read:
 * no one could tell on which of the days that lies. It is read in as many groups as its total needs if it has too many pages, or if the order of
 * entries changes from call to call. Throws what `source` throws, but for such a refusal.
 */
export async function certifyWide(
  task: CertifyTask,
  source: PageSource,
  limits: ReadLimits,
): Promise<Outcome> {
  let requests = 0;
  for (let reads = 1; ; reads += 1) {
    const first = await firstPage(task, source);
    if (first === null) return apart(task, 2);
    requests += 1;
    source.onFirstPage(first, task);
    if (!(await source.isEmptyBelieved(task, first))) continue;
    const { total } = first;
    if (isFilled(first) && pagesOf(total) > pagesMax(task, limits))
      return apart(task, groupsFor(total, task, limits));
    if (first.unreadable.length > 0) return apart(task, 2);

    const rest = isFilled(first) ? pagesOf(total) - 1 + (needsConfirming(first) ? 1 : 0) : 0;
    const reading = await readRest(task, source, { first, rest }, limits);
    requests += rest;
    if (reading.unreadable.size + reading.outOfScope.size > 0) return apart(task, 2);
    if (reading.problem === null) {
      const isLong = lengthMs(task.window) > MAY_BE_CUT_MS;
      if (isLong && (await isCutShort(task, reading, source))) return apart(task, 2);
      const cap = await findCap(task, reading, source, limits.clockSkewMsMax);
      if (cap.kind === 'capped') {
        // A longer window may be cut by its length.
        if (!isLong) source.work.noteCap(cap.sentence);
        return apart(task, Math.ceil((2 * cap.parts) / total));
      }
      if (cap.kind === 'none' || reads >= limits.readsBeforeSplitMax)
        return proven(task, reading, requests, source);
      continue;
    }
    if (reading.mayUnite && rest > 0) {
      const fine = { ...task, splitPolicy: { ...task.splitPolicy, pageNumMax: 1 } };
      return apart(task, groupsFor(total, fine, limits), true);
    }
    if (reads === limits.readsBeforeSplitMax) return apart(task, 2);
  }
}

/** Some platforms answer only the first or last days of a window longer than this, with a total of these. */
export const MAY_BE_CUT_MS = 9 * 86_400_000;
const QUIET_MS = 86_400_000 / 2;

/**
 * Asks again for quiet time at the edges, or for all of an empty window, in parts that are not cut. Not for time that was read
 * before: the stored entries of that would be missing.
 */
async function isCutShort(
  { window, readBefore = [] }: CertifyTask,
  { entries, neighbours }: Reading,
  source: PageSource,
): Promise<boolean> {
  const times = [...entries.values(), ...neighbours.values()].map(({ bookedMs }) => bookedMs);
  const [firstMs, lastMs] = [Math.min(...times), Math.max(...times)];
  const busy = times.length === 0 ? [] : [{ beginMs: firstMs - 60_000, endMs: lastMs + 60_000 }];
  const quiet = subtractWindows([window], [...readBefore, ...busy]).filter((one) => lengthMs(one) > QUIET_MS);
  for (const part of quiet.flatMap((one) => splitWindow(one, Math.ceil(lengthMs(one) / MAY_BE_CUT_MS)))) {
    const page = await source.page({ window: part }, 1);
    if (page.total + page.entries.length + page.unreadable.length > 0) return true;
  }
  return false;
}

async function firstPage(task: CertifyTask, source: PageSource): Promise<LedgerPage | null> {
  try {
    return await source.page(task, 1);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return null;
  }
}

const pagesMax = ({ splitPolicy }: CertifyTask, { widePages }: ReadLimits): number =>
  Math.min(widePages, splitPolicy.pageNumMax);

function groupsFor(total: number, task: CertifyTask, limits: ReadLimits): number {
  const pages = pagesMax(task, limits);
  const fill = pages === 1 ? limits.onePageFill : pages * PAGE_SIZE_MAX * limits.partFill;
  const windows = task.planned.length;
  return Math.ceil(windows / Math.max(1, Math.floor((fill * windows) / total)));
}

const apart = ({ planned }: CertifyTask, groups: number, orderUnsteady = false): Outcome => ({
  kind: 'apart',
  groups: inGroups(planned, Math.max(2, groups)),
  orderUnsteady,
});
