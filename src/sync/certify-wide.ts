/**
 * Reads a window that is made of several planned ones. Either one reading certifies it as it is, or it is read in groups
 * of its planned windows, down to each by itself. So nothing that is odd about one day leaves another one unproven, and
 * no trouble is ever stored about a wide window.
 */
import type { LedgerPage } from '../platform/ledger-reader.ts';
import { lengthMs } from '../ledger/window.ts';
import { contradictionOf, judgePages, needsConfirming, pagesOf, type Reading } from './certificate.ts';
import {
  isFilled,
  isRefusal,
  noteContradiction,
  pagesFromSecond,
  read,
  type CertifyTask,
  type Outcome,
  type PageSource,
} from './certify.ts';
import type { ReadLimits } from './limits.ts';
import { inGroups, type WideWindow } from './wide-windows.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';

export type WideTask = CertifyTask & WideWindow;

/**
 * Reads the window once more if it does not add up, as an entry may have come between two pages. It is read in two groups if
 * that does not help, if the platform refuses so wide a window, if a record was not asked for, or if one cannot be read:
 * no one could tell on which of the days that lies. It is read in as many groups as its total needs if it has too many pages, or if the order of
 * entries changes from call to call. Throws what `source` throws, but for such a refusal.
 */
export async function certifyWide(task: WideTask, source: PageSource, limits: ReadLimits): Promise<Outcome> {
  let requests = 0;
  let isHolding = false;
  for (let reads = 1; ; reads += 1) {
    const first = await firstPage(task, source);
    if (first === null) return apart(task, 2);
    requests += 1;
    source.onFirstPage(first, task);
    const { total } = first;
    if (isFilled(first) && pagesOf(total) > pagesMax(task, limits))
      return apart(task, groupsFor(total, task, limits));
    if (first.unreadable.length > 0) return apart(task, 2);

    const rest = isFilled(first) ? pagesOf(total) - 1 + (needsConfirming(total) ? 1 : 0) : 0;
    if (rest > 0 && !isHolding) {
      isHolding = true;
      await source.holdPages(rest);
    }
    const pages = [first, ...(await pagesFromSecond(task, source, total, rest))];
    requests += rest;
    const reading = judgePages(pages, task, limits.clockSkewMsMax);
    noteContradiction(source, task, contradictionOf(pages, reading));
    if (reading.unreadable.size + reading.outOfScope.size > 0) return apart(task, 2);
    if (reading.problem === null) {
      if (await isCutShort(task, reading, source)) return apart(task, 2);
      return read(reading, { requests, problem: null });
    }
    if (reading.mayUnite && rest > 0) {
      const fine = { ...task, splitPolicy: { ...task.splitPolicy, pageNumMax: 1 } };
      return apart(task, groupsFor(total, fine, limits), true);
    }
    if (reads === limits.readsBeforeSplitMax) return apart(task, 2);
  }
}

/** Some platforms answer only the first or last days of a longer window, with a total of these. */
const MAY_BE_CUT_MS = 9 * 86_400_000;
const QUIET_MS = 86_400_000 / 2;

/** Whether a long window without entries at its begin or end has some there when asked for that part alone. */
async function isCutShort(
  { window, currency }: WideTask,
  { entries, neighbours }: Reading,
  source: PageSource,
): Promise<boolean> {
  if (lengthMs(window) <= MAY_BE_CUT_MS || entries.size + neighbours.size === 0) return false;
  const times = [...entries.values(), ...neighbours.values()].map(({ bookedMs }) => bookedMs);
  const [firstMs, lastMs] = [Math.min(...times), Math.max(...times)];
  const edges = [
    { beginMs: window.beginMs, endMs: firstMs - 60_000 },
    { beginMs: lastMs + 60_000, endMs: window.endMs },
  ];
  for (const edge of edges) {
    if (lengthMs(edge) <= QUIET_MS) continue;
    const page = await source.page({ window: edge, currency }, 1);
    if (page.total + page.entries.length + page.unreadable.length > 0) return true;
  }
  return false;
}

async function firstPage(task: WideTask, source: PageSource): Promise<LedgerPage | null> {
  try {
    return await source.page(task, 1);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return null;
  }
}

const pagesMax = ({ splitPolicy }: WideTask, { widePages }: ReadLimits): number =>
  Math.min(widePages, splitPolicy.pageNumMax);

/** So many groups that each fits, if entries are spread evenly over the planned windows. */
function groupsFor(total: number, task: WideTask, limits: ReadLimits): number {
  const pages = pagesMax(task, limits);
  const fill = pages === 1 ? limits.onePageFill : pages * PAGE_SIZE_MAX * limits.partFill;
  const windows = task.planned.length;
  return Math.ceil(windows / Math.max(1, Math.floor((fill * windows) / total)));
}

const apart = ({ planned }: WideTask, groups: number, orderUnsteady = false): Outcome => ({
  kind: 'apart',
  groups: inGroups(planned, Math.max(2, groups)),
  orderUnsteady,
});
