/**
 * Judges whether the pages of one window are the window: the certificate.
 *
 * What it asks: every page states the same total; each page but the last is full and the last holds the rest; the
 * distinct entries (rejected ones included) are as many as that total; all lie inside the window and are of the
 * currency asked for.
 *
 * Why that is proof. Let S be the set of entries that match the query; the order of entries is nobody's promise.
 * - S did not change while the pages were read: each page shows members of S, so |S| distinct entries are all of S, in
 *   whatever order each request came. Order can make the count fall short, never make it pass.
 * - S only grew (a late entry), or only shrank: the total of a page is |S| at that moment, so equal totals on *all* pages
 *   say that S did not change. First and last page alone would not do, as pages are fetched concurrently.
 * - An entry moved inside the window (its time was amended): S as a set did not change; the first case.
 * - The last page is short: nothing follows it, even if the total lies. Where it is full (one window in a hundred), one
 *   more page is asked for and must bring nothing new. That is the one confirming call.
 *
 * What it cannot show: one entry leaving S and another joining it between two pages of one reading. Reading page 1
 * again would show that only where the place shifted lies on page 1, and a second reading of all pages would double
 * the cost of every window for an event a ledger does not know (entries are not taken back). Were it to happen, the
 * entry lost between pages breaks the balance chain, whose span is then read again, and the nightly re-sweep reads the
 * window again anyway. So page 1 is not read again.
 */
import type { LedgerEntry, RejectedEntry, Window } from '../ledger/entry.ts';
import type { LedgerPage } from '../platform/ledger-reader.ts';
import { PAGE_SIZE_MAX } from '../platform/wire.ts';

export interface Asked {
  readonly window: Window;
  /** Undefined: every currency. */
  readonly currency: string | undefined;
}

/** One reading of a window, or several united. */
export interface Reading {
  readonly total: number;
  /** By batchNo, as the page latest in order has them; without entries that were not asked for. */
  readonly entries: ReadonlyMap<string, LedgerEntry>;
  /** By batchNo, or by raw text where that is missing. */
  readonly rejected: ReadonlyMap<string, RejectedEntry>;
  readonly notices: readonly string[];
  /** A sentence with the figures; null where everything adds up. */
  readonly problem: string | null;
  /** Whether all there is to blame is that entries are missing: another reading may bring them. */
  readonly mayUnite: boolean;
}

/** Pages a total fills; an empty window is one (empty) page. */
export const pagesOf = (total: number): number => Math.max(1, Math.ceil(total / PAGE_SIZE_MAX));

/** Whether page `pagesOf(total) + 1` has to be asked for, and to be empty. */
export const needsConfirming = (total: number): boolean => total > 0 && total % PAGE_SIZE_MAX === 0;

/** Whether an entry's time lies in a window; a time cut to its second may lie up to a second before the window's begin. */
export const isInside = (entry: LedgerEntry, { beginMs, endMs }: Window): boolean =>
  entry.bookedMs >= Math.floor(beginMs / 1_000) * 1_000 && entry.bookedMs <= endMs;

/** Judges the pages of one reading, in order from page 1, the confirming one included. */
export function judgePages(pages: readonly LedgerPage[], asked: Asked): Reading {
  const { total } = pages[0]!;
  const entries = new Map<string, LedgerEntry>();
  const rejected = new Map<string, RejectedEntry>();
  const problems: string[] = [];
  const blame = (sentence: string) => problems.push(sentence);
  const changed = pages.findIndex((page) => page.total !== total);
  if (changed > 0) blame(`page 1 said ${total} in total, page ${changed + 1} said ${pages[changed]!.total}`);

  pages.forEach((page, index) => {
    const onPage = new Set<string>();
    for (const entry of page.entries) {
      onPage.add(keyOf(entry));
      const stranger = strangeness(entry, asked);
      if (stranger !== null) {
        blame(stranger);
        continue;
      }
      const twin = entries.get(entry.batchNo);
      if (twin !== undefined && !sameContent(twin, entry)) {
        blame(`batchNo ${entry.batchNo} came twice with different contents`);
      }
      entries.set(entry.batchNo, entry);
    }
    for (const entry of page.rejected) {
      onPage.add(keyOf(entry));
      rejected.set(keyOf(entry), entry);
    }
    const due = Math.min(PAGE_SIZE_MAX, Math.max(0, total - index * PAGE_SIZE_MAX));
    const records = page.entries.length + page.rejected.length;
    // The confirming page only must not bring anything new: some pagers answer with their last page again.
    if (due > 0 && (records < due || onPage.size > due)) {
      blame(`page ${index + 1} of ${total} entries held ${records} where ${due} were due`);
    }
  });
  const notices = pages.flatMap((page) => page.notices);
  const problem = problems[0] ?? shortfall(total, entries, rejected);
  return { total, entries, rejected, notices, problem, mayUnite: problems.length === 0 };
}

/** Two readings of a window that did not change between them show together what each of them missed. */
export function uniteReadings(earlier: Reading, later: Reading): Reading {
  if (!earlier.mayUnite || !later.mayUnite || earlier.total !== later.total) return later;
  const entries = new Map([...earlier.entries, ...later.entries]);
  const rejected = new Map([...earlier.rejected, ...later.rejected]);
  return { ...later, entries, rejected, problem: shortfall(later.total, entries, rejected) };
}

const keyOf = (entry: { readonly batchNo: string | null; readonly raw?: string }): string =>
  entry.batchNo === null ? `raw ${entry.raw ?? ''}` : `batchNo ${entry.batchNo}`;

function shortfall(
  total: number,
  entries: ReadonlyMap<string, LedgerEntry>,
  rejected: ReadonlyMap<string, RejectedEntry>,
): string | null {
  const both = [...rejected.values()].filter(
    ({ batchNo }) => batchNo !== null && entries.has(batchNo),
  ).length;
  const distinct = entries.size + rejected.size - both;
  return distinct === total ? null : `the total is ${total}, but ${distinct} distinct entries came`;
}

function strangeness(entry: LedgerEntry, { window, currency }: Asked): string | null {
  if (!isInside(entry, window)) {
    return `batchNo ${entry.batchNo} is booked at ${entry.bookedAt}, which lies outside the window`;
  }
  if (currency !== undefined && entry.currency !== currency) {
    return `batchNo ${entry.batchNo} is in ${entry.currency} where ${currency} was asked for`;
  }
  return null;
}

const sameContent = (one: LedgerEntry, other: LedgerEntry): boolean =>
  one.currency === other.currency &&
  one.transactionType === other.transactionType &&
  one.credit === other.credit &&
  one.debit === other.debit &&
  one.balance === other.balance &&
  one.bookedAt === other.bookedAt &&
  one.bookedMs === other.bookedMs;
